"""Resolve the brackets of wikitext: templates, links and tables.

A stack and a single pass, so that the time is linear in the length of any text: the
stack has a maximum depth (what opens deeper is left out), and the text of a bracket
is passed on only once. A bracket that is never closed must not swallow the article: a
blank line ends an open link, a heading ends everything open, and the text in an open
bracket is kept without its parameters.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class _Frame:
    """One open bracket.

    Attributes:
        kind: "text" (the page itself), "template", "link" or "table".
        width: The number of its braces that are still open.
    """

    kind: str
    width: int = 2
    parts: list[str] = field(default_factory=list)


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
            if len(token) % 2:
                self.parts.append("]")
            for _ in range(min(len(token) // 2, 2 * _MAX_DEPTH)):
                if not self._reach("link"):
                    return
                content = self._pop()
                self.parts.append(_link_text(content, prefixes=self._prefixes))
        elif token[-1] == "|":
            self._open("table")
        elif token[-1] == "}":
            if self._reach("table"):
                self._pop()
            self.parts.append("\n")
        else:
            if heading:
                self._abandon(down_to=1)
            while self._stack[-1].kind == "link":
                self._abandon(down_to=len(self._stack) - 1)
            self.parts.append("\n")

    def finish(self) -> str:
        """The text of the page, with the prose of what is still open."""
        self._abandon(down_to=1)
        return "".join(self.parts)

    def _open(self, kind: str, *, width: int = 2) -> None:
        if len(self._stack) <= _MAX_DEPTH:
            self._stack.append(_Frame(kind, min(width, _MAX_WIDTH)))
            self.parts = self._stack[-1].parts

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

    def _reach(self, kind: str) -> bool:
        """Make the innermost bracket of a kind the top of the stack.

        Other brackets that are open inside it are abandoned, but for a table in a link.
        Returns whether there was such a bracket.
        """
        for depth in range(len(self._stack), 1, -1):
            found = self._stack[depth - 1].kind
            if found == kind:
                self._abandon(down_to=depth)
                return True
            if (kind, found) == ("link", "table"):
                break
        return False

    def _close_template(self, width: int) -> None:
        while width >= 2:
            if not self._reach("template"):
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
    prefix = prefix.strip().lower().replace("_", " ")
    if not colon or not prefix:
        return False
    return bool(prefix in prefixes or prefix in LANGUAGE_CODES or _MEDIA_FILE.search(target))


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
        target, bar, label = first.partition("|")
        is_hidden = _is_hidden(target, prefixes=prefixes)
        first = "" if is_hidden else (label if bar else target).replace("]", "", 1)
    else:
        if "|" in first or rest.startswith("|") or kind == "table":
            first = HOLE
        rest = "\n".join(line for line in rest.split("\n") if not line.startswith(("|", "!")))
    return first + newline + rest
