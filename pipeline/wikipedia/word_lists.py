"""Words by which Wikipedias, in their languages, mark what is not prose: `words.txt`.

They are listed for many languages, and all of them are recognised in every dump: its
``<siteinfo>`` has only its own canonical namespaces, but articles also use aliases and
the English names, and a bare ``<page>`` has no siteinfo at all.
"""

import json
import re
from importlib.resources import files
from typing import Any
from unicodedata import normalize

_COMMENT = re.compile(r"(?:# .*\n)+")

# Of each kind of word what its names show.
WORDS: dict[str, dict[str, Any]] = {}
# MediaWiki stores NFC, an editor of the file may not.
_text = normalize("NFC", (files("pipeline.wikipedia") / "words.txt").read_text("utf-8"))
for _block in _text.strip().split("\n\n")[1:]:
    _head, *_names = _COMMENT.sub("", _block, count=1).split("\n")
    _kind, _, _shown = _head.partition(": ")
    _all = dict.fromkeys(" | ".join(_names).split(" | "), json.loads(_shown or '""'))
    WORDS.setdefault(_kind.rstrip(":"), {}).update(_all)

HIDDEN_PREFIXES = frozenset(WORDS["hidden prefix"])
LANGUAGE_CODES = WORDS["language code"]
