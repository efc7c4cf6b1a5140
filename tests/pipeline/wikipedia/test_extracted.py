import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.core.documents import Dropped
from pipeline.storage.lines import LINE_PREFIX_BYTES, read_documents, read_raw_lines
from pipeline.wikipedia import extracted
from pipeline.wikipedia.extracted import article_document, read_articles, starts_article

SENTENCE = "Ada wrote the first of all programs."


def article(title, *body):
    return [f'<doc id="1" url="u" title="{title}">', title, "", *body, "", "</doc>"]


# Lines, and what is read: the paragraphs of each article, or why it was dropped.
READ = {
    **{
        f"a title is no text: {title}": (article(title, SENTENCE), [(SENTENCE,)])
        for title in ("Ada", 'The "Countess" of L.', "A > B", "1815")
    },
    "it is further down": (article(SENTENCE, "", SENTENCE), [(SENTENCE,)]),
    "what looks like markup ends no article": (
        article("Ada", SENTENCE, "<doc of a kind", "She met </doc> and he met her."),
        [(SENTENCE, "She met and he met her.")],
    ),
    "an article without end, and the next": (
        [*article("A", SENTENCE)[:-1], *article("B", SENTENCE)],
        ["page cut off", (SENTENCE,)],
    ),
    "what stands between articles is none": (["<docs>", SENTENCE, "</docs>"], []),
    "a list of meanings": (article("Ada", "Ada may refer to:"), ["no text"]),
}


@pytest.mark.parametrize(("lines", "expected"), READ.values(), ids=READ)
def test_articles_are_read_from_their_lines(lines, expected):
    assert [found[0] for found in read_articles(lines)] == expected


LINES = (
    *(SENTENCE, "<doc is a tag of a kind.", "<doc >", "</doc>", '<doc id="1">', "\r"),
    *('<doc id="1" url="u" title="Ada">', '<doc id="2" title="É">\r', '<doc title="A">'),
    *(f'<doc id="3" title="{"é" * 1500}">', f'<doc id="4" title="{"é" * 900}">', ""),
)


def read_range(path, start, end):
    blocks = read_documents(path, starts_article, start=start, end=end)
    return list(read_articles(read_raw_lines(blocks)))


@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
@example([*LINES[6:7], SENTENCE, "<doc is", SENTENCE, "</doc>"], None)
def test_articles_are_the_same_wherever_a_file_is_cut(lines, data):
    content = "".join(f"{line}\n" for line in lines).encode()
    last = max(1, len(content) - 1)
    cuts = range(1, last + 1) if data is None else [data.draw(st.integers(1, last))]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "wiki_00")
        Path(path).write_bytes(content)
        whole = read_range(path, 0, None)
        for cut in cuts:
            assert read_range(path, 0, cut) + read_range(path, cut, None) == whole


def test_a_line_that_opens_an_article_is_seen_whole_in_ranges():
    assert extracted._MAX_OPENING_CHARACTERS * 4 < LINE_PREFIX_BYTES


def test_what_an_article_has_beyond_all_measure_is_counted(monkeypatch):
    monkeypatch.setattr(extracted, "_MOST_CHARACTERS", 3 * len(SENTENCE))
    lines = [*article("A", *[SENTENCE] * 9), *article("B", SENTENCE)]
    cut, rest, whole = read_articles(lines)
    assert cut.paragraphs == (SENTENCE,) * 2
    assert rest == Dropped("rest of a page too large")
    assert whole.paragraphs == (SENTENCE,)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Ada ( ; born 1815) was the first programmer.", "Ada (born 1815) was the"),
        ("Ada () was the first programmer of all.", "Ada was the first programmer"),
        ("Ada , the first programmer of all , wrote.", "Ada, the first programmer"),
        ("As of 2013[ [update]], five letters are known.", "As of 2013, five"),
        ("Fresnel ( ; ]; 1788–1827) was a French engineer.", "Fresnel (1788–1827) was"),
        ("She [[wrote]] it <br/>all by herself in 1843.", "She wrote it all by"),
    ],
)
def test_holes_and_residue_are_mended(line, expected):
    (paragraph,) = article_document([line], title="").paragraphs
    assert paragraph.startswith(expected)


@pytest.mark.parametrize(
    "line",
    [
        "Early life and education.",
        "Early life",
        "Kingdom of Hungary:",
        "|laydate = {{#if: a b c d e f g h",
        " #if: a b c d e f g h i j",
        "}}{{ #if: some words behind it that are many.",
        "* a list item of very many words is here",
        "",
    ],
)
def test_what_is_no_prose_is_left_out(line):
    assert article_document([line, SENTENCE], title="").paragraphs == (SENTENCE,)


def test_text_without_spaces_is_prose_by_its_length():
    lines = ["エイダ", "エイダは最初のプログラムを書いたと言われている。"]
    assert article_document(lines, title="エイダ").paragraphs == (lines[1],)


@pytest.mark.parametrize("unit", ['title="', 'title="" ', "> ", " ", ">", '"'])
def test_a_megabyte_of_hostile_opening_takes_seconds_at_most(unit):
    start = time.process_time()
    hostile = unit * (1_000_000 // len(unit))
    list(read_articles([f"<doc {hostile}", f'<doc {hostile}">x']))
    assert time.process_time() - start < 10


def test_what_is_behind_a_template_that_never_ends_is_left_out():
    assert extracted.remove_templates("It TEMPLATE[a, [b]] is TEMPLATE[c, [d] so.") == "It  is "


@pytest.mark.parametrize("unit", ["TEMPLATE[]", "TEMPLATE[", "[", "] TEMPLATE["])
def test_megabytes_of_hostile_templates_take_seconds_at_most(unit):
    start = time.process_time()
    extracted.remove_templates(unit * (2_000_000 // len(unit)))
    assert time.process_time() - start < 10


MORE = (
    "Most of the novels of the country have been written in both of its languages "
    "since it became independent."
)
TAUGHT = "She was taught by Augustus De Morgan, who wrote of her letters. " * 4 + "So it was."
BOOK = "Karl Corino: Robert Musil. Eine Biographie. Rowohlt, Reinbek 2003, Neuausgabe Wien 2010."


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["References", "Woolley, B. (1999). The Bride. London: Macmillan.", TAUGHT], [TAUGHT]),
        # A section of the article that is named as lists of books are.
        (["Literatur", MORE, SENTENCE], [MORE, SENTENCE]),
        (["Sources.", MORE, "References.", SENTENCE], [MORE]),
        (["Literatur", BOOK, SENTENCE], []),
        # What is left of a link to another article.
        (["See also: .", SENTENCE], [SENTENCE]),
        (["Siehe auch:", SENTENCE, "Siehe auch", SENTENCE], [SENTENCE]),
        (["References:", BOOK, BOOK], []),
        # Another section begins, and goes on while its text does.
        (["Notes", BOOK, "Later life.", MORE, MORE, BOOK], [MORE, MORE]),
        (["Notes.", "Karl Corino.", MORE, BOOK, MORE], [MORE]),
        (["Later life.", MORE, "Notes.", MORE], [MORE]),
        (["Later life.", "Notes.", MORE], []),
        (["Notes", BOOK, "Karl Corino, 2003", MORE], []),
        (["Notes", BOOK, "Later editions", BOOK, SENTENCE], []),
    ],
)
def test_what_follows_an_apparatus_that_is_none_or_has_ended_is_text(lines, kept):
    assert article_document([SENTENCE, *lines], title="").paragraphs == (SENTENCE, *kept)
