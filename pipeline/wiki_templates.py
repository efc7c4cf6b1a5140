"""The text that a template shows.

Templates are programs kept in the wiki itself; a dump of articles does not hold them.
Most show no prose (infoboxes, citations, navigation). The ones listed here carry words
of the sentence they stand in, so their text is taken from the arguments. Any other
leaves a ``HOLE``, so that "(born {{birth date|1950}})" can later be closed without a
trace; footnote marks leave nothing at all.
"""

import re
from collections.abc import Callable

from pipeline.wiki_names import LANGUAGE_CODES, names_of

HOLE = "\x01"

Arguments = dict[str, str]
_Rule = Callable[[Arguments], str]

_NAME_OF_ARGUMENT = re.compile(r"\s*+([\w -]{1,40})=")


def template_text(content: str) -> str:
    """Return what ``{{content}}`` shows, as far as its arguments tell.

    Args:
        content: The text between the braces; what is nested in it is text already.

    Returns:
        The text, nothing for a footnote mark, ``HOLE`` for an unknown template.

    Example:
        >>> template_text("lang|grc|ἀρχή"), template_text("convert|5|km|mi")
        ('ἀρχή', '5 km')
        >>> template_text("sfn|Smith|2001"), template_text("Infobox|a=b") == HOLE
        ('', True)
    """
    name, bar, rest = content.partition("|")
    name = " ".join(name.replace("_", " ").lower().split())
    if name in _INVISIBLE:
        return ""
    rule = _RULES.get(name) or _rule_of_family(name)
    if rule is not None:
        return rule(_arguments(rest) if bar else {})
    if name.startswith(_TEXT_FUNCTIONS):
        return content.partition(":")[2].partition("|")[0].strip()
    return HOLE


def _arguments(rest: str) -> Arguments:
    """Return the arguments by name; the nameless are "1", "2", ...

    Example:
        >>> _arguments("grc|ἀρχή| label = none ")
        {'1': 'grc', '2': 'ἀρχή', 'label': 'none'}
    """
    arguments: Arguments = {}
    position = 0
    for part in rest.split("|"):
        named = _NAME_OF_ARGUMENT.match(part)
        if named:
            arguments[named[1].strip().lower()] = part[named.end() :].strip()
        else:
            position += 1
            arguments[str(position)] = part.strip()
    return arguments


def _rule_of_family(name: str) -> _Rule | None:
    """Return the rule of names built by a pattern: ``lang-ru``, ``lang-en-short``.

    Example:
        >>> _rule_of_family("lang-ru") is _first, _rule_of_family("lang") is None
        (True, True)
    """
    if name.startswith("lang-*"):
        return _last
    if name.startswith(("lang-", "lang ", "link-", "ling-", "ipa-lang-")):
        return _first
    if name in LANGUAGE_CODES:
        return _first
    return None


def _first(arguments: Arguments) -> str:
    """Return the first nameless argument.

    Example:
        >>> _first({"1": "a", "2": "b"}), _first({"text": "c"})
        ('a', 'c')
    """
    for key in ("1", "text", "texto", "texte", "testo", "content", "quote", "текст"):
        if arguments.get(key):
            return arguments[key]
    return HOLE


def _argument(*keys: str) -> _Rule:
    """Return a rule that takes the first of these arguments that is given.

    Example:
        >>> _argument("3", "2")({"1": "a", "2": "b"})
        'b'
    """

    def rule(arguments: Arguments) -> str:
        return next((arguments[key] for key in keys if arguments.get(key)), HOLE)

    return rule


def _last(arguments: Arguments) -> str:
    """Return the last nameless argument.

    Example:
        >>> _last({"1": "ar", "2": "DIN", "3": "al-Jazāʼir", "x": "y"})
        'al-Jazāʼir'
    """
    texts = _nameless(arguments)
    return texts[-1] if texts else HOLE


def _nameless(arguments: Arguments) -> list[str]:
    """Return the nameless arguments that are not empty, in order.

    Example:
        >>> _nameless({"1": "a", "b": "c", "2": "", "3": "d"})
        ['a', 'd']
    """
    return [value for key, value in arguments.items() if key.isdigit() and value]


def _joined(separator: str) -> _Rule:
    """Return a rule that joins the nameless arguments.

    Example:
        >>> _joined("")({"1": "C", "2": "H", "3": "4"})
        'CH4'
    """
    return lambda arguments: separator.join(_nameless(arguments)) or HOLE


def _literal(text: str) -> _Rule:
    """Return a rule that shows a fixed text.

    Example:
        >>> _literal("–")({})
        '–'
    """
    return lambda arguments: text


def _around(before: str, after: str) -> _Rule:
    """Return a rule that sets text before and behind the first argument.

    Example:
        >>> _around("c. ", "")({"1": "1200"})
        'c. 1200'
    """

    def rule(arguments: Arguments) -> str:
        text = _first(arguments)
        return text if text == HOLE else f"{before}{text}{after}"

    return rule


_JOINING_WORDS = {
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
_UNITS = {
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
_NUMBER = re.compile(r"[-+−]?[\d০-৯][\d০-৯.,/ +]*")


def _convert(arguments: Arguments) -> str:
    """Return the measure as given, without the conversions.

    Example:
        >>> _convert({"1": "10", "2": "to", "3": "20", "4": "km2", "5": "sqmi"})
        '10 to 20 km²'
        >>> _convert({"1": "5", "2": "ft", "3": "10", "4": "in", "5": "m"})
        '5 ft 10 in'
    """
    parts = _nameless(arguments)
    shown = ""
    for position, part in enumerate(parts):
        if _NUMBER.fullmatch(part):
            shown += f" {part}" if shown and not shown.endswith((" ", "–")) else part
            continue
        if part.lower() in _JOINING_WORDS:
            shown += _JOINING_WORDS[part.lower()]
            continue
        shown += " " + _UNITS.get(part.lower(), part)
        following = parts[position + 1 : position + 2]
        if not (
            following and part in _PARTED_UNITS and _NUMBER.fullmatch(following[0])
        ):
            break
    return shown.strip() or HOLE


_PARTED_UNITS = frozenset(("ft", "mi", "yd", "lb", "st", "LT", "ch", "foot", "feet"))


def _circa(arguments: Arguments) -> str:
    """Return a date or a span of dates, each marked as approximate.

    Example:
        >>> _circa({"1": "334", "2": "262 BC"}), _circa({})
        ('c. 334 – c. 262 BC', 'c.')
    """
    years = _nameless(arguments)
    return " – ".join(f"c. {year}" for year in years) or "c."


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _date(arguments: Arguments) -> str:
    """Return day, month and year of numeric arguments.

    Example:
        >>> _date({"1": "1980", "2": "3", "3": "12", "df": "y"})
        '12 March 1980'
        >>> _date({"1": "2009", "2": "3"}), _date({"1": "May 1, 2005"})
        ('March 2009', 'May 1, 2005')
    """
    year, month, day = (arguments.get(key, "") for key in ("1", "2", "3"))
    if not year:
        return HOLE
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    return " ".join(part for part in (day, month, year) if part)


def _as_of(arguments: Arguments) -> str:
    """Return "As of" with its date.

    Example:
        >>> _as_of({"1": "2014", "2": "5", "lc": "y"})
        'as of May 2014'
    """
    opening = "as of" if arguments.get("lc") else "As of"
    return arguments.get("alt") or f"{opening} {_date(arguments)}"


def _fraction(arguments: Arguments) -> str:
    """Return a whole number and a fraction.

    Example:
        >>> _fraction({"1": "2", "2": "1", "3": "3"}), _fraction({"1": "4"})
        ('2 1/3', '1/4')
    """
    parts = _nameless(arguments)
    if len(parts) == 1:
        return f"1/{parts[0]}"
    return " ".join([*parts[:-2], "/".join(parts[-2:])]) or HOLE


def _value(arguments: Arguments) -> str:
    """Return a number with its power of ten and unit.

    Example:
        >>> _value({"1": "6.241", "e": "18", "u": "Hz"})
        '6.241×10^18 Hz'
    """
    number = _first(arguments)
    power = f"×10^{arguments['e']}" if arguments.get("e") else ""
    unit = arguments.get("u") or arguments.get("ul") or ""
    return f"{number}{power} {unit}".strip()


def _nihongo(arguments: Arguments) -> str:
    """Return a translated name with the original and its reading behind it.

    Example:
        >>> _nihongo({"1": "bayonet", "2": "銃剣", "3": "jūken"})
        'bayonet (銃剣, jūken)'
    """
    first, *others = (arguments.get(key, "") for key in ("1", "2", "3"))
    behind = ", ".join(part for part in others if part)
    return f"{first} ({behind})" if first and behind else first or behind or HOLE


def _interlanguage(arguments: Arguments) -> str:
    """Return the label of a link to an article that another wiki has.

    Example:
        >>> _interlanguage({"1": "Foo", "2": "de"})
        'Foo'
        >>> _interlanguage({"1": "de", "2": "Foo"})
        'Foo'
    """
    label = arguments.get("lt") or arguments.get("label")
    first, second = arguments.get("1", ""), arguments.get("2", "")
    if first.lower() in LANGUAGE_CODES and second:
        return label or arguments.get("3") or second
    return label or first or HOLE


def _ship(prefix: str) -> _Rule:
    """Return a rule for a ship's name with its prefix.

    Example:
        >>> _ship("USS")({"1": "Hornet", "2": "CV-12"})
        'USS Hornet (CV-12)'
    """

    def rule(arguments: Arguments) -> str:
        name, number = arguments.get("1", ""), arguments.get("2", "")
        shown = f"{prefix} {name}".strip()
        return f"{shown} ({number})" if number and "3" not in arguments else shown

    return rule


def _century(arguments: Arguments) -> str:
    """Return a century in the French way of writing it.

    Example:
        >>> _century({"1": "XIX", "2": "e"})
        'XIXe siècle'
    """
    return f"{arguments.get('1', '')}{arguments.get('2') or 'e'} siècle"


def _named(names: str, rule: _Rule) -> dict[str, _Rule]:
    """Return the same rule for each name of a list separated by bars.

    Example:
        >>> sorted(_named("a | b c", _first))
        ['a', 'b c']
    """
    return dict.fromkeys(names_of(names), rule)


_TEXT_FUNCTIONS = ("formatnum:", "lc:", "uc:", "lcfirst:", "ucfirst:")

_RULES: dict[str, _Rule] = {
    # Text with a look.
    **_named("""
        nowrap | nobr | nobreak | nowr | nobold | noitalic | small | smaller | big
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
        """,
        _first,
    ),
    # Text in a language, the code first.
    **_named("""
        lang | langx | lang2 | rtl-lang | rtl lang | langi | langue | língua | lingua
        idioma | язык | v jazyku | språk | sprache | xlang | lang-rtl
        foreign language | oq
        """,
        _argument("2", "text", "1"),
    ),
    **_named('lang3', _last),
    **_named("""
        transl | transliteration | translit | tlit | transliteral | sort | color
        colour | colored text | fontcolor | font color | resize | fs | small2
        textcolor | highlight
        """,
        _last,
    ),
    # Names of languages as template names: {{ألمانية|Spree}} in Arabic and so on.
    **_named("""
        ألمانية | إنجليزية | فرنسية | لاتينية | يونانية | إيطالية | إسبانية | روسية
        آلمانی | انگلیسی | فرانسوی | لاتین | یونانی | اینگیلیسجه | englisch | deutsch
        lateinisch | griechisch | ens | frs | las | grcs | its | russo | greco
        latino | tedesco | inglese | deu | eng | fra | lat | grc | k-de | k-en | spa
        ita | rus | ell | ja-text | jas | анг | англ | անգլ | ռուս
        """,
        _first,
    ),
    # Quotations.
    **_named("""
        quote | cquote | rquote | bquote | blockquote | block quote | bq | quotation
        quote text | quoted | pull quote | centered pull quote | quoteq | cytat
        citat | zitat | citation bloc | citation | citazione | cita | citação
        cytat d | cita destacada | tquote | цитата | цытата | цитат | παράθεμα
        απόσπασμα | քաղվածք | উক্তি | উদ্ধৃতি | idézet | citát | tsitaat | sitat
        sitaatti | lainaus | اقتباس | נקודה ציטוט | ציטוט | 引用文 | " | poem
        poemquote | verse | verse translation | poetry | vers | epigraph | эпиграф
        kutip | petikan
        """,
        _argument("1", "text", "quote", "texte", "texto", "testo", "текст", "zitat"),
    ),
    # Text marked as doubtful: it stays, its mark goes.
    **_named("""
        citazione necessaria | senza fonte | chiarire | cn-span | citation needed span
        要出典範囲 | 疑問点範囲 | 独自研究範囲 | ασαφές | fact span | ilq | 高線
        下げ核 | ref nec | cita requerida | refnec | référence nécessaire
        référence souhaitée | demande de référence | passage à actualiser
        passage non neutre | quoi | clarify span | sprawdź | fakt | potřebný zdroj
        cn | lähde | carece de fontes/trecho
        """,
        _argument("1", "text", "texte"),
    ),
    # Links.
    **_named("""
        ill | ill2 | illm | interlanguage link | interlanguage link multi | link-int
        仮リンク | enllaç | lien | lien interwiki | redwd | liên kết | link interwiki
        le | illwd | ilwd | lwd
        """,
        _interlanguage,
    ),
    **_named("""
        iw | iw2 | нп | нп2 | нп3 | нп4 | нп5 | не переведено | не переведено 2
        не переведено 3 | не переведено 4 | не переведено 5 | не перекладено
        """,
        _argument("2", "1"),
    ),
    **_named('linktext | wikt', _joined("")),
    **_named('section link | slink', _argument("2", "1")),
    **_named('ship', lambda arguments: " ".join(_nameless(arguments)[:2]) or HOLE),
    **{name.lower(): _ship(name) for name in ("USS", "HMS", "HMAS", "HMCS", "RMS")},
    # Numbers, measures, dates.
    **_named("""
        convert | cvt | unité | unit | unidad | unitat | einheit | eenheid | রূপান্তর
        chuyển đổi | конверт | dönüştür | omregn | m
        """,
        _convert,
    ),
    **_named('val | valor | liczba', _value),
    **_named('frac | fraction | sfrac | fracción | fracció', _fraction),
    **_named('chem | chem2 | chemical formula | gaps', _joined("")),
    **_named('e', _around("×10^", "")),
    **_named('circa | c. | ca. | আনুমানিক', _circa),
    **_named('floruit | fl. | fl', _around("fl. ", "")),
    **_named('reign | r.', lambda arguments: "r. " + "–".join(_nameless(arguments))),
    **_named('as of | asof | as at', _as_of),
    **_named("""
        birth date | birth date and age | death date | death date and age | bda | dda
        birth-date | death-date | birth-date and age | start date | end date | dob
        start date and age | date | film date
        """,
        _date,
    ),
    **_named('daton | data | dt | datum', _joined(" ")),
    **_named('siècle | s- | -s | s2-', _century),
    **_named('segle | siglo | século | séc | sec', _around("", "")),
    **_named('unichar', _around("U+", "")),
    **_named('nihongo', _nihongo),
    **_named('nihongo2 | nihongo3 | ruby | 読み仮名', _nihongo),
    **_named('zh | korean | ko-hhrm', lambda a: "; ".join(filter(None, a.values()))),
    # Characters.
    **_named('ndash | en dash | endash | –', _literal("–")),
    **_named('mdash | em dash | emdash | — | mdashb', _literal("—")),
    **_named('snd | spnd | sndash | spaced ndash | spaced en dash', _literal(" – ")),
    **_named('smd | spaced mdash | spaced em dash', _literal(" — ")),
    **_named("""
        nbsp | spaces | space | sp | nbs | thinsp | thin space | nnbsp | hairsp | pad
        """, _literal(" ")),
    **_named("""
        · | • | dot | middot | bull | bullet | pp-dot | \\
        """, _literal(" · ")),
    **_named("' | apostrophe | sapostrophe", _literal("'")),
    **_named("'s", _literal("'s")),
    **_named("""
        " ' | "'
        """, _literal("\" '")),
    **_named("""
        ' " | '"
        """, _literal("' \"")),
    **_named('= | equals', _literal("=")),
    **_named(',', _literal(",")),
    **_named('- | shy | wbr | zwj | zwnj | zwsp', _literal("")),
    "!": _literal("|"),
    **_named('((', _literal("{")),
    **_named('градус цельсія | °c | градус цельсия', _literal("°C")),
    **_named('m s.l.m. | m slm', _literal("m s.l.m.")),
    **_named('música | music', _argument("1")),
}  # fmt: skip

# Footnote marks and what stands for nothing: these never leave a hole.
_INVISIBLE = names_of("""
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
