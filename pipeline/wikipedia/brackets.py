"""Resolve the brackets of wikitext: templates, links and tables.

A stack and a single pass, so that the time is linear in the length of any text: the
stack has a maximum depth (deeper brackets are only counted), and the text of a bracket
is passed on only once. A bracket that is never closed must not swallow the article: a
blank line ends an open link, a heading ends everything open, and the text in an open
bracket is kept without its parameters.
"""

import re
from collections.abc import Collection

from pipeline.wikipedia.templates import HOLE, template_text
from pipeline.wikipedia.word_lists import LANGUAGE_CODES

# The deepest nesting in 13 dumps is 12.
_MAX_DEPTH = 40
# The text in a run of braces is read again for every two of them.
_MAX_WIDTH = 12

# A run of braces or brackets is one token, so that a megabyte of "{" takes one step.
_TOKEN = re.compile(
    r"\{\{+|\}\}+|\[\[+|\]\]+"
    r"|\n[ \t:*#]{0,8}\{\|"  # a table opens
    r"|\n[ \t]{0,8}\|\}(?!\})"  # a table closes; "|}}" ends a template's last argument
    r"|\n(?=\n|=)"  # a blank line or a heading
)

# Nearly all links need no stack. A colon before the bar may end a namespace.
_PLAIN_LINK = re.compile(r"\[\[(?:[^\[\]{}|\n:<]{1,300}+\|)?+([^\[\]{}|\n:]{1,1000}+)\]\]")

_MEDIA_FILE = re.compile(
    r"(?i)\.(?:jpe?g|png|svg|gif|tiff?|webp|xcf|djvu?|pdf|og[agv]|webm|mp3|mid|wav|flac"
    r"|opus|stl|mpg|mpeg)\s*$"
)
_PARENTHESIS_AT_END = re.compile(r" ?\([^()]*\)$|, .*$")


class _Frame:
    """One open bracket.

    Attributes:
        kind: "text" (the page itself), "template", "link" or "table".
        width: The number of its braces that are still open.
    """

    __slots__ = ("kind", "parts", "width")

    def __init__(self, kind: str, *, width: int = 2) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.width = width


def resolve_brackets(text: str, *, prefixes: Collection[str]) -> str:
    """The text with every template, link and table replaced by what it shows.

    Args:
        text: Wikitext without comments and extension tags.

    >>> resolve_brackets("[[Paris|the city]] {{nowrap|of [[light]]}}", prefixes=())
    'the city of light'
    >>> resolve_brackets("[[File:a.jpg|thumb|A [[b]]]]c", prefixes={"file"})
    'c'
    """
    # Faster than a substitution by \1, with the same result.
    text = "".join(_PLAIN_LINK.split(text))
    scanner = _Scanner(prefixes)
    position = 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        if start > position:
            scanner.parts.append(text[position:start])
        position = match.end()
        scanner.take(match[0], heading=text[position : position + 1] == "=")
    scanner.parts.append(text[position:])
    return scanner.finish()


class _Scanner:
    """The stack of open brackets, and what each token does to it."""

    def __init__(self, prefixes: Collection[str]) -> None:
        self._prefixes = prefixes
        self._stack = [_Frame("text")]
        self.parts = self._stack[0].parts
        self._uncounted = {"template": 0, "link": 0, "table": 0}

    def take(self, token: str, *, heading: bool) -> None:
        """Act on one token."""
        first = token[0]
        if first == "{":
            self._open("template", width=len(token))
        elif first == "}":
            self._close_template(len(token))
        elif first == "[":
            if len(token) % 2:
                self.parts.append("[")
            for _ in range(min(len(token) // 2, _MAX_DEPTH)):
                self._open("link")
        elif first == "]":
            self._close_links(len(token))
        elif token[-1] == "|":
            self._open("table")
        elif token[-1] == "}":
            if self._counted("table"):
                return
            if self._reach("table", through=("template", "link")):
                self._pop()
            self.parts.append("\n")
        else:
            if heading:
                self._abandon(down_to=1)
                self._uncounted = dict.fromkeys(self._uncounted, 0)
            while self._stack[-1].kind == "link":
                self._abandon(down_to=len(self._stack) - 1)
            self.parts.append("\n")

    def finish(self) -> str:
        """The text of the page, with the prose of what is still open."""
        self._abandon(down_to=1)
        return "".join(self.parts)

    def _open(self, kind: str, *, width: int = 2) -> None:
        if len(self._stack) > _MAX_DEPTH:
            self._uncounted[kind] += width // 2
            return
        self._uncounted[kind] += max(0, width - _MAX_WIDTH) // 2
        frame = _Frame(kind, width=min(width, _MAX_WIDTH))
        self._stack.append(frame)
        self.parts = frame.parts

    def _pop(self) -> str:
        """Close the innermost bracket and return what is in it."""
        content = "".join(self._stack.pop().parts)
        self.parts = self._stack[-1].parts
        return content

    def _abandon(self, *, down_to: int) -> None:
        """Treat the innermost brackets as never closed: keep only their prose."""
        while len(self._stack) > down_to:
            kind = self._stack[-1].kind
            content = self._pop()
            self.parts.append(_loose_text(content, kind=kind, prefixes=self._prefixes))

    def _reach(self, kind: str, *, through: tuple[str, ...]) -> bool:
        """Make the innermost bracket of a kind the top of the stack.

        Brackets of the kinds in `through` may be open inside it; they are abandoned.
        Returns whether there was such a bracket.
        """
        for depth in range(len(self._stack), 1, -1):
            found = self._stack[depth - 1].kind
            if found == kind:
                self._abandon(down_to=depth)
                return True
            if found not in through:
                return False
        return False

    def _counted(self, kind: str) -> bool:
        """Whether a closing bracket closes one too deep for the stack."""
        if self._uncounted[kind]:
            self._uncounted[kind] -= 1
            return True
        return False

    def _close_template(self, width: int) -> None:
        while width >= 2:
            if self._counted("template"):
                width -= 2
                continue
            if not self._reach("template", through=("link", "table")):
                return
            frame = self._stack[-1]
            taken = min(width, frame.width, 3)
            width -= taken
            frame.width -= taken
            content = "".join(frame.parts)
            if taken == 2:
                shown = template_text(content)
            else:
                # A parameter, {{{name|default}}}, shows its default.
                shown = content.partition("|")[2].partition("|")[0]
            if frame.width >= 2:
                frame.parts[:] = [shown]
            else:
                self._pop()
                self.parts.append(shown)

    def _close_links(self, width: int) -> None:
        if width % 2:
            self.parts.append("]")
        for _ in range(min(width // 2, 2 * _MAX_DEPTH)):
            if self._counted("link"):
                continue
            if not self._reach("link", through=("template",)):
                return
            content = self._pop()
            self.parts.append(_link_text(content, prefixes=self._prefixes))


def _link_text(content: str, *, prefixes: Collection[str]) -> str:
    """What ``[[content]]`` shows.

    >>> _link_text("Paris (Texas)|", prefixes=())
    'Paris'
    >>> _link_text("de:Foo", prefixes=()), _link_text(":de:Foo", prefixes=())
    ('', 'de:Foo')
    """
    target, bar, label = content.partition("|")
    if "\n" in target:
        return content
    if _is_hidden(target, prefixes=prefixes):
        return ""
    target = target.strip().removeprefix(":")
    if not bar:
        return target
    if label.strip():
        return label.rpartition("|")[2]
    return _PARENTHESIS_AT_END.sub("", target.rpartition(":")[2])


def _is_hidden(target: str, *, prefixes: Collection[str]) -> bool:
    """Whether a link shows nothing: files, categories, other languages.

    >>> _is_hidden("Category:A", prefixes={"category"})
    True
    >>> _is_hidden("X:a.jpg", prefixes=()), _is_hidden(":de:A", prefixes=())
    (True, False)
    """
    prefix, colon, _ = target.partition(":")
    if not colon:
        return False
    prefix = prefix.strip().lower().replace("_", " ")
    if prefix in prefixes or prefix in LANGUAGE_CODES:
        return True
    return bool(prefix) and _MEDIA_FILE.search(target) is not None


def _loose_text(content: str, *, kind: str, prefixes: Collection[str]) -> str:
    r"""The prose of a bracket that was never closed.

    >>> _loose_text("Infobox|a=b\n| c = d\nAda was a lady.", kind="template",
    ...     prefixes=())
    '\x01\nAda was a lady.'
    >>> _loose_text("Paris|the city] is large", kind="link", prefixes=())
    'the city is large'
    """
    first, newline, rest = content.partition("\n")
    if kind == "link":
        if _is_hidden(first.partition("|")[0], prefixes=prefixes):
            return newline + rest
        target, bar, label = first.partition("|")
        return (label if bar else target).replace("]", "", 1) + newline + rest
    if "|" in first or rest.startswith("|") or kind == "table":
        first = HOLE
    if newline:
        lines = (line for line in rest.split("\n") if not line.startswith(("|", "!")))
        rest = "\n".join(lines)
    return first + newline + rest
