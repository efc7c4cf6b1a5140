"""From a dump of Wikipedia to the paragraphs of its articles.

    mediawiki       Read MediaWiki XML dumps page by page.
    wikitext        Turn wikitext into paragraphs of plain text.
    elements        Remove comments, extension tags and HTML from wikitext.
    brackets        Resolve the brackets of wikitext: templates, links and tables.
    templates       The text that a template shows.
    template_forms  What each template shows, as a table.
    names           What the wikis of the world call things that are not prose.
    paragraphs      Divide a page without markup into paragraphs, and keep those that
                    are prose.
    entities        Turn entities of HTML into characters.
    extracted       Clean articles that another program extracted from Wikipedia.
    wikiextractor   Read the output of wikiextractor: one article in each ``<doc>``.

May import: `core`, `storage`. No NumPy, no Beam.
"""
