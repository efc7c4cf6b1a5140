"""The text that a template shows.

A form is text with placeholders; of several forms the first holds whose placeholders all show
something. ``{2|text|1}`` is the first of these arguments that is given (the nameless arguments
are 1, 2, ...), ``{*, }`` are all nameless ones with what follows the star between them, and a
word such as ``{convert}`` is one of the functions in `pipeline.wikipedia.templates`.

Templates are programs that the wiki stores; a dump of articles does not contain them.
Nearly all show no prose (infoboxes, citations, navigation). Those in `words.txt` show
words of a sentence, which are taken from their arguments, or nothing, as footnote marks
do. Any other template leaves a ``HOLE``, so that what announced it, as in
"(born {{unknown|1950}})", can be removed later.
"""

import re
from collections.abc import Callable

from pipeline.wikipedia.word_lists import LANGUAGE_CODES, WORDS

HOLE = "\x01"

Arguments = dict[str, str]

# French templates that show their name; "Ver" and "Xe" are names of others.
_ORDINAL = re.compile(
    r"er|(?:\d{1,3}(?:er|re|ère|e|ème|nde?)(?: siècles?)?"
    r"|[IVXLC]{1,8}(?:er|e|ème) siècles?)(?: av\. J\.-C\.)?"
)

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_NAME_OF_ARGUMENT = re.compile(r"\s*+([\w -]{1,40})=")


def template_text(content: str) -> str:
    """What ``{{content}}`` shows, taken from its arguments.

    Args:
        content: The text between the braces, in which nothing is nested any more.

    Returns:
        The text, nothing for a footnote mark, ``HOLE`` for an unknown template.

    >>> template_text("lang|grc|ἀρχή"), template_text("convert|5|km|mi")
    ('ἀρχή', '5 km')
    >>> template_text("sfn|Smith|2001"), template_text("Infobox|a=b") == HOLE
    ('', True)
    >>> template_text("XVIe siècle"), template_text("1er|mai")  # as in French
    ('XVIe siècle', '1er mai')
    >>> template_text("Ver|Historia") == template_text("ER") == HOLE
    True
    """
    called, bar, rest = content.partition("|")
    name = " ".join(called.replace("_", " ").lower().split())
    # Names are also built by a pattern: lang-ru, lang-en-short.
    families = ("lang-", "lang ", "link-", "ling-", "ipa-lang-")
    is_of_language = name in LANGUAGE_CODES or name.startswith(families)
    shown = "{last}" if name.startswith("lang-*") else "{first}"
    form = WORDS["template"].get(name, shown if is_of_language else None)
    if form is not None:
        return _filled(form, _arguments(rest) if bar else {})
    if _ORDINAL.fullmatch(called.strip()):
        return " ".join([called.strip(), *_nameless(_arguments(rest))])
    if name.startswith(_TEXT_FUNCTIONS):
        return called.partition(":")[2].strip()
    return HOLE


def _arguments(rest: str) -> Arguments:
    """The arguments by name; the nameless are "1", "2", ...

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


def _filled(forms: str | list[str], arguments: Arguments) -> str:
    """The first form with its placeholders filled in, ``HOLE`` if nothing fits one.

    >>> _filled("fl. {first}", {"1": "1200"}), _filled("{3|2}", {"2": "b"})
    ('fl. 1200', 'b')
    >>> _filled("fl. {first}", {}) == HOLE, _filled("–", {})
    (True, '–')
    >>> _filled("{first}", {"text": "c"}), _filled("{last}", {"1": "ar", "2": "DIN"})
    ('c', 'DIN')
    >>> _filled("{*}", {"1": "C", "2": "H", "3": "4", "x": "y"})
    'CH4'
    >>> _filled("{* }", {"1": "3", "2": "May", "3": "1"})
    '3 May 1'
    >>> _filled("{pair}", {"1": "HMS", "2": "Beagle", "3": "1820"})
    'HMS Beagle'
    >>> _filled("{values}", {"t": "中文", "p": "Zhōngwén"})
    '中文; Zhōngwén'
    >>> circa = ["c. {* – c. }", "c."]
    >>> _filled(circa, {"1": "334", "2": "262 BC"}), _filled(circa, {})
    ('c. 334 – c. 262 BC', 'c.')
    """
    for form in [forms] if isinstance(forms, str) else forms:
        parts = _PLACEHOLDER.split(form)
        parts[1::2] = [_shown(name, arguments) for name in parts[1::2]]
        if HOLE not in parts:
            text = "".join(parts)
            return text.strip() if len(parts) > 1 else text
    return HOLE


def _shown(name: str, arguments: Arguments) -> str:
    """What a placeholder shows, ``HOLE`` for nothing."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](arguments)
    if name.startswith("*"):
        return name[1:].join(_nameless(arguments)) or HOLE
    return _given(arguments, name)


def _given(arguments: Arguments, keys: str) -> str:
    """The first of these arguments that is given.

    >>> _given({"1": "a", "2": "b"}, "3|2")
    'b'
    """
    return next((arguments[key] for key in keys.split("|") if arguments.get(key)), HOLE)


# Where a template may have its text.
_TEXT_KEYS = "1|text|texto|texte|testo|content|quote|текст"


def _nameless(arguments: Arguments) -> list[str]:
    """The nameless arguments that are not empty, in order.

    >>> _nameless({"1": "a", "b": "c", "2": "", "3": "d"})
    ['a', 'd']
    """
    return [value for key, value in arguments.items() if key.isdigit() and value]


_NUMBER = re.compile(r"[-+−]?[\d০-৯][\d০-৯.,/ +]*")


def _convert(arguments: Arguments) -> str:
    """A measure as it is given, without its conversions.

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
        if joint := WORDS["joining word"].get(part.lower()):
            shown += joint
            continue
        shown += " " + WORDS["unit"].get(part.lower(), part)
        following = parts[position + 1 : position + 2]
        if not (following and part in _PARTED_UNITS.split() and _NUMBER.fullmatch(following[0])):
            break
    return shown.strip() or HOLE


_PARTED_UNITS = "ft mi yd lb st LT ch foot feet"


def _measure(arguments: Arguments) -> str:
    """A measure whose unit has a name, as in Italian.

    >>> _measure({"1": "5", "ul": "km"}), _measure({"1": "5", "2": "km"})
    ('5 km', '5 km')
    """
    unit = next((arguments[key] for key in ("u", "ul", "um") if key in arguments), "")
    return _convert({**arguments, "99": unit} if unit else arguments)


_POWER = re.compile(r"[-−+]?\d{1,2}")
_POWER_AT_END = re.compile(r"(?<=[a-z])[23]$")
_SUPERSCRIPTS = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻", "+")


def _unit(arguments: Arguments) -> str:
    """A number, and its units with the power of each, as in French.

    >>> _unit({"1": "3,5", "2": "m", "3": "s", "4": "-1"}), _unit({"1": "5 km"})
    ('3,5 m·s⁻¹', '5 km')
    >>> _unit({"1": "80", "2": "km2"}), _unit({"1": "5", "2": "à", "3": "8", "4": "m"})
    ('80 km²', '5 à 8 m')
    """
    parts = _nameless(arguments)
    if {"à", "et", "x", "×"} & set(parts) or not parts:
        return " ".join(parts) or HOLE
    units: list[str] = []
    for part in parts[1:]:
        if units and _POWER.fullmatch(part):
            units[-1] += part.translate(_SUPERSCRIPTS)
        else:
            units.append(_POWER_AT_END.sub(lambda found: found[0].translate(_SUPERSCRIPTS), part))
    exponent = _filled(["×10^{e}", ""], arguments)
    shown = "·".join(units).replace("·/", "/").replace("/·", "/")
    return f"{parts[0]}{exponent} {shown}".strip()


_MONTHS = "January February March April May June July August September October November December"


def _date(arguments: Arguments) -> str:
    """Day, month and year of numeric arguments.

    >>> _date({"1": "1980", "2": "3", "3": "12", "df": "y"})
    '12 March 1980'
    >>> _date({"1": "2009", "2": "3"}), _date({"1": "May 1, 2005"})
    ('March 2009', 'May 1, 2005')
    >>> _date({"1": "26", "2": "février", "3": "1802"})  # the French order
    '26 février 1802'
    >>> _date({"1": "26", "2": "2", "3": "1802"})
    '26.2.1802'
    """
    year, month, day = (arguments.get(key, "") for key in ("1", "2", "3"))
    if len(day) > 2 >= len(year):
        if month.isdecimal():
            # The name of the month would be that of another language.
            return f"{year}.{month}.{day}"
        year, day = day, year
    if not year:
        return HOLE
    # Python refuses to convert thousands of digits.
    if len(month) < 3 and month.isdecimal() and 1 <= int(month) <= 12:
        month = _MONTHS.split()[int(month) - 1]
    return " ".join(part for part in (day, month, year) if part)


def _as_of(arguments: Arguments) -> str:
    """Return "As of" with its date.

    >>> _as_of({"1": "2014", "2": "5", "lc": "y"})
    'as of May 2014'
    """
    opening = "as of" if arguments.get("lc") else "As of"
    return arguments.get("alt") or f"{opening} {_date(arguments)}"


def _fraction(arguments: Arguments) -> str:
    """A whole number and a fraction.

    >>> _fraction({"1": "2", "2": "1", "3": "3"}), _fraction({"1": "4"})
    ('2 1/3', '1/4')
    """
    parts = _nameless(arguments)
    if len(parts) == 1:
        return f"1/{parts[0]}"
    return " ".join([*parts[:-2], "/".join(parts[-2:])]) or HOLE


def _value(arguments: Arguments) -> str:
    """A number with its power of ten and unit.

    >>> _value({"1": "6.241", "e": "18", "u": "Hz"})
    '6.241×10^18 Hz'
    """
    number = _given(arguments, _TEXT_KEYS)
    power, unit = (_filled([form, ""], arguments) for form in ("×10^{e}", "{u|ul}"))
    return f"{number}{power} {unit}".strip()


def _interlanguage(arguments: Arguments) -> str:
    """The label of a link to an article that another wiki has.

    >>> _interlanguage({"1": "Foo", "2": "de"})
    'Foo'
    >>> _interlanguage({"1": "de", "2": "Foo"})
    'Foo'
    """
    has_code = arguments.get("1", "").lower() in LANGUAGE_CODES and arguments.get("2")
    return _given(arguments, "lt|label|3|2" if has_code else "lt|label|1")


def _ship(arguments: Arguments) -> str:
    """A ship's name and number.

    >>> _ship({"1": "Hornet", "2": "CV-12"})
    'Hornet (CV-12)'
    """
    forms = ["{1}", ""] if "3" in arguments else ["{1} ({2})", "({2})", "{1}", ""]
    return _filled(forms, arguments)


_ROMAN = re.compile("[IVXLC]+")


def _century_or_text(arguments: Arguments) -> str:
    """A century, where the same name elsewhere is that of text with a look.

    >>> _century_or_text({"1": "XVI"}), _century_or_text({"1": "struck"})
    ('XVIe siècle', 'struck')
    """
    is_number = _ROMAN.fullmatch(arguments.get("1", ""))
    return _filled(WORDS["template"]["siècle"] if is_number else "{first}", arguments)


def _siglo(arguments: Arguments) -> str:
    """A century in the Spanish way: its number, an era, and the word if asked for.

    >>> _siglo({"1": "XVI"}), _siglo({"1": "V", "2": "a", "3": "s"})
    ('XVI', 'siglo V a. C.')
    """
    word = {"s": "siglo ", "S": "Siglo "}.get(arguments.get("3", ""), "")
    era = {"a": " a. C.", "d": " d. C."}.get(arguments.get("2", "")[:1], "")
    return f"{word}{arguments['1']}{era}" if arguments.get("1") else HOLE


_TEXT_FUNCTIONS = ("formatnum:", "lc:", "uc:", "lcfirst:", "ucfirst:")

# The placeholders of `pipeline.wikipedia.templates` that are functions.
_FUNCTIONS: dict[str, Callable[[Arguments], str]] = {
    "first": lambda given: _given(given, _TEXT_KEYS),
    "last": lambda given: (_nameless(given) or [HOLE])[-1],
    "pair": lambda given: " ".join(_nameless(given)[:2]) or HOLE,
    "values": lambda given: "; ".join(filter(None, given.values())),
    "convert": _convert,
    "date": _date,
    "as_of": _as_of,
    "fraction": _fraction,
    "value": _value,
    "interlanguage": _interlanguage,
    "ship": _ship,
    "century_or_text": _century_or_text,
    "siglo": _siglo,
    "measure": _measure,
    "unit": _unit,
}
