"""What each template shows, as a table: a form, then the names of the templates.

A form is text with at most one placeholder. Of the placeholders, ``{2|text|1}`` is the
first of these arguments that is given (the nameless arguments are 1, 2, ...), and a
word such as ``{convert}`` is one of the functions in `pipeline.wikipedia.templates`.
Where a name stands in several rows, the last one counts.
"""

from pipeline.wikipedia.word_lists import names_of

_TABLE = (
    # Text with a look.
    ("{first}", """
        nowrap | nobr | nobreak | nowr | esd | nobold | noitalic | small | smaller | big
        larger | large | smallcaps | sc | sc1 | sc2 | caps | aut | allcaps | nocaps
        smallsup | sup | sub | u | em | strong | bold | italic | italics title | i | b
        s | strike | overline | mono | monospace | code | tt | kbd | key | keypress
        key press | samp | var | mvar | math | bigmath | big math | serif | unicode
        polytonic | linear-b | runic | script | hebrew | nastaliq | nq | xt | mxt
        not a typo | typo | as written | sic | proper name | abbr | abbrlink
        abbreviation | define | tooltip | comment | hover title | text | transl-text
        plain text | plainlist | unbulleted list | center | centre | block indent
        blockindent | indent | left | right | bdi | rtl | ltr | iast | iast2
        iso15919 | angbr | angle bracket | vr | grapheme | script/hebrew
        tutto attaccato | small-caps | jis2004フォント | 補助漢字フォント | cjkv
        kana | railgauge | track gauge | gauge | nts | ntsh | number | numero | num
        ta | flag | flagcountry | flagu | country | flaglink | visible anchor
        visanchor | va | vanchor | anchored text
        """),
    # Text in a language, the code first.
    ("{2|text|1}", """
        lang | langx | lang2 | rtl-lang | rtl lang | langi | langue | língua | lingua
        idioma | язык | v jazyku | språk | sprache | xlang | lang-rtl
        foreign language | oq
        """),
    ("{last}", 'lang3'),
    ("{last}", """
        transl | transliteration | translit | tlit | transliteral | sort | color
        colour | colored text | fontcolor | font color | resize | fs | small2
        textcolor | highlight
        """),
    # Names of languages as template names: {{ألمانية|Spree}} in Arabic and so on.
    ("{first}", """
        ألمانية | إنجليزية | فرنسية | لاتينية | يونانية | إيطالية | إسبانية | روسية
        آلمانی | انگلیسی | فرانسوی | لاتین | یونانی | اینگیلیسجه | englisch | deutsch
        lateinisch | griechisch | ens | frs | las | grcs | its | russo | greco
        latino | tedesco | inglese | deu | eng | fra | lat | grc | k-de | k-en | spa
        ita | rus | ell | ja-text | jas | анг | англ | անգլ | ռուս
        """),
    # Quotations.
    ("{1|text|quote|texte|texto|testo|текст|zitat}", """
        quote | cquote | rquote | bquote | blockquote | block quote | bq | quotation
        quote text | quoted | pull quote | centered pull quote | quoteq | cytat
        citat | zitat | citation bloc | citation | citazione | cita | citação
        cytat d | cita destacada | tquote | цитата | цытата | цитат | παράθεμα
        απόσπασμα | քաղվածք | উক্তি | উদ্ধৃতি | idézet | citát | tsitaat | sitat
        sitaatti | lainaus | اقتباس | נקודה ציטוט | ציטוט | 引用文 | " | poem
        poemquote | verse | verse translation | poetry | vers | epigraph | эпиграф
        kutip | petikan
        """),
    # Text marked as doubtful: it stays, its mark goes.
    ("{1|text|texte}", """
        citazione necessaria | senza fonte | chiarire | cn-span | citation needed span
        要出典範囲 | 疑問点範囲 | 独自研究範囲 | ασαφές | fact span | ilq | 高線
        下げ核 | ref nec | cita requerida | refnec | référence nécessaire
        référence souhaitée | demande de référence | passage à actualiser
        passage non neutre | quoi | clarify span | sprawdź | fakt | potřebný zdroj
        cn | lähde | carece de fontes/trecho
        """),
    # Links.
    ("{interlanguage}", """
        ill | ill2 | illm | interlanguage link | interlanguage link multi | link-int
        仮リンク | enllaç | lien | lien interwiki | redwd | liên kết | link interwiki
        le | illwd | ilwd | lwd
        """),
    ("{2|1}", """
        iw | iw2 | нп | нп2 | нп3 | нп4 | нп5 | не переведено | не переведено 2
        не переведено 3 | не переведено 4 | не переведено 5 | не перекладено
        """),
    ("{joined}", 'linktext | wikt'),
    # Of sister wikis: links to Wikipedia, first letters, what a listing says.
    ("{2|1}", 'w | lw | wlink | pedia | pedialink | wikipedialink | วิ'),
    ("{1}", 'drop initial | dropinitial | di | initial | dropcap | drop cap'),
    ("{content|description|beschreibung|contenu|descrizione|descripción|内容}", """
        see | do | eat | drink | sleep | buy | listing | go | vcard | marker-listing
        """),
    ("{2|1}", 'section link | slink'),
    ("{pair}", 'ship'),
    ("USS {ship}", "uss"),
    ("HMS {ship}", "hms"),
    ("HMAS {ship}", "hmas"),
    ("HMCS {ship}", "hmcs"),
    ("RMS {ship}", "rms"),
    # Numbers, measures, dates.
    ("{convert}", """
        convert | cvt | unit | unidad | unitat | einheit | eenheid | রূপান্তর
        chuyển đổi | конверт | dönüştür | omregn
        """),
    ("{measure}", 'm'),
    ("{unit}", 'unité'),
    ("{pair}", 'num'),
    ("{value}", 'val | valor | liczba'),
    ("{fraction}", 'frac | fraction | sfrac | fracción | fracció'),
    ("{joined}", 'chem | chem2 | chemical formula | gaps'),
    ("{power}", 'e'),
    ("{issue}", 'n° | nº | numéro'),
    ("{circa}", 'circa | c. | ca. | আনুমানিক'),
    ("fl. {first}", 'floruit | fl. | fl'),
    ("{reign}", 'reign | r.'),
    ("{as_of}", 'as of | asof | as at'),
    ("{date}", """
        birth date | birth date and age | death date | death date and age | bda | dda
        birth-date | death-date | birth-date and age | start date | end date | dob
        start date and age | date | film date
        """),
    ("{spaced}", 'daton | data | dt | datum'),
    ("{century}", 'siècle | s- | -s | s2-'),
    ("{century_or_text}", 's'),
    ("{siglo}", 'siglo'),
    ("século {first}", 'século | séc'),
    ("{first}", 'segle | sec'),
    ("U+{first}", 'unichar'),
    ("{nihongo}", 'nihongo'),
    ("{nihongo}", 'nihongo2 | nihongo3 | ruby | 読み仮名'),
    ("{values}", 'zh | korean | ko-hhrm'),
    # Characters.
    ("–", 'ndash | en dash | endash | –'),
    ("—", 'mdash | em dash | emdash | — | mdashb'),
    (" – ", 'snd | spnd | sndash | spaced ndash | spaced en dash'),
    (" — ", 'smd | spaced mdash | spaced em dash'),
    (" ", """
        nbsp | spaces | space | sp | nbs | thinsp | thin space | nnbsp | hairsp | pad
        """),
    (" · ", """
        · | • | dot | middot | bull | bullet | pp-dot | \\
        """),
    ("'", "' | apostrophe | sapostrophe"),
    ("'s", "'s"),
    ("\" '", """
        " ' | "'
        """),
    ("' \"", """
        ' " | '"
        """),
    ("=", '= | equals'),
    (",", ','),
    ("", '- | shy | wbr | zwj | zwnj | zwsp'),
    ("|", "!"),
    ("{", '(('),
    ("°C", 'градус цельсія | °c | градус цельсия'),
    ("m s.l.m.", 'm s.l.m. | m slm'),
    ("{1}", 'música | music'),
)  # fmt: skip

FORMS = {name: form for form, names in _TABLE for name in names_of(names)}

# Footnote marks and the like, which show nothing and leave no hole.
INVISIBLE = names_of("""
sfn | sfnp | sfnm | sfnmp | sfnref | harvnb | harv | harvp | harvtxt | r | rp | ref
refn | refnest | efn | efn2 | efn-ua | efn-lr | nb | note | notetag | cref | cref2
ref label | ref_label | note label | note_label | ref-label | ref+ | ref-ru | ref-en
ref-uk | citation needed | fact | dubious | page needed | clarify | when | who | which
where | why | how | vague | by whom | failed verification | verify source
better source | better source needed | dead link | webarchive | full
full citation needed | specify | disambiguation needed | anchor | inflation-fn
shortdesc | short description | use dmy dates | use mdy dates | clear | clr | toc left
toc right | subscription | subscription required | registration required
original research inline | pov-statement | update inline | update after | needs update
contradict inline | citazione non necessaria | qif | 要出典 | 誰 | 誰2 | いつ | 要検証
リンク切れ | 要曖昧さ回避 | джерело | не вказано джерело | нет аи | նշ | փաստ | ն | հղ
cần chú thích | cần số trang | số trang | liên kết hỏng | তথ্যসূত্র প্রয়োজন | সত্যতা
πηγή | εκκρεμεί παραπομπή | παραπομπή | χρειάζεται σελίδα | ר | הערה | סخ | سخ | bron?
carece de fontes | vok | flagicon | flag icon | coord | audio | odn | sfn0 | harvsp
sfn2 | cite quran | cite bible
""")

# How measures show the words between their numbers, and their units.
JOINING_WORDS = {
    "-": "–",
    "–": "–",
    "to": " to ",
    "to(-)": " to ",
    "and": " and ",
    "and(-)": " and ",
    "or": " or ",
    "x": " × ",
    "by": " by ",
    "×": " × ",
    "+/-": " ± ",
    "±": " ± ",
}
UNITS = {
    "c": "°C",
    "f": "°F",
    "km2": "km²",
    "m2": "m²",
    "cm2": "cm²",
    "m3": "m³",
    "km3": "km³",
    "cm3": "cm³",
    "sqmi": "sq mi",
    "sqft": "sq ft",
    "cuft": "cu ft",
    "cumi": "cu mi",
    "usgal": "US gal",
    "impgal": "imp gal",
    "kph": "km/h",
    "km/h2": "km/h²",
}
