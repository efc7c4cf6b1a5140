import dataclasses
from collections import Counter

from pipeline.core.documents import ReadingCounts

ONE = ReadingCounts(
    documents=3,
    sentences=9,
    dropped=Counter({"redirect": 2, "no text": 0}),
    changed=Counter({"zero byte taken out": 1}),
)


def test_counts_add_up_kind_by_kind():
    total = ReadingCounts(documents=1, dropped=Counter({"redirect": 1, "no text": 4}))
    total.add(ONE)
    dropped = Counter({"redirect": 3, "no text": 4})
    assert total == dataclasses.replace(ONE, documents=4, dropped=dropped)


def test_counts_survive_as_json():
    expected = dataclasses.replace(ONE, dropped=Counter({"redirect": 2}))
    assert ReadingCounts.from_dict(ONE.to_dict()) == expected
