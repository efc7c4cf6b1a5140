"""Books of Aozora Bunko: readings in ruby, notes of the typists, a head and a foot."""

import re
from collections.abc import Iterable

from pipeline.core.documents import Documents, ReadingCounts
from pipeline.reading.head import Head
from pipeline.reading.plain_text import divide_bytes, prose_document
from pipeline.storage.lines import decode

_READING = re.compile("(?<=[々\u3400-\u9fff])《[\u3041-\u30ff]+》")
_MARKS = re.compile(r"《[^《》\n]*》|［＃[^［］\n]*］|｜")
# The symbols are explained between two lines of dashes; the foot names the source.
_EXPLAINED = "【テキスト中に現れる記号について】"
_HEAD = re.compile(rf"(?s)-{{20,}}\n.*?{_EXPLAINED}.*?\n-{{20,}}\n")
_FOOT = re.compile(r"\n底本[：:]")
_FEWEST = 3


def is_aozora(head: Head) -> bool:
    """Whether a text has readings after its words, or the marks explained in its head."""
    text = "\n".join(head.lines)
    # In the same brackets are titles.
    readings = 2 * len(_READING.findall(text)) > max(text.count("《"), 2 * _FEWEST - 1)
    return _EXPLAINED in text or readings


def read_aozora(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Documents:
    """A book, as a document; each line is a paragraph.

    >>> lines = "川の話", "山道《やまみち》を三人｜兄弟《きょうだい》が行く［＃改行］。", "底本：川"
    >>> text = chr(10).join(lines).encode()
    >>> [document.paragraphs for document in read_aozora([text])]
    [('川の話', '山道を三人兄弟が行く。')]
    """
    for data in divide_bytes(blocks):
        text = decode(data, counts=counts)
        if _EXPLAINED in text:
            text = _HEAD.sub("", text, count=1)
        text, *foot = _FOOT.split(text, maxsplit=1)
        yield prose_document(_MARKS.sub("", text).replace("\n", "\n\n"))
        if foot:
            return
