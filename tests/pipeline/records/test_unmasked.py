"""The text of records as it was before masking."""

import pytest

from pipeline.records.unmasked import read_unmasked, unmasked
from schemas.errors import AlbertError
from schemas.manifest import read_manifest
from schemas.special_tokens import CLS_ID, MASK_ID, SEP_ID
from tests.training_data import encode, write_dataset

FIRST = {
    "input_ids": [CLS_ID, MASK_ID, 11, 12, SEP_ID],
    "masked_lm_positions": [1, 3],
    "masked_lm_ids": [10, 13],
    "next_sentence_labels": [0],
}
SECOND = {
    "input_ids": [CLS_ID, 20, SEP_ID],
    "masked_lm_positions": [1],
    "masked_lm_ids": [20],
    "next_sentence_labels": [0],
}


@pytest.mark.parametrize("layout", ["compact", "padded"])
def test_masked_tokens_are_put_back(layout):
    text = unmasked([encode(FIRST, layout), encode(SECOND, layout)], layout)
    assert [row.tolist() for row in text.rows] == [
        [CLS_ID, 10, 11, 13, SEP_ID],
        [CLS_ID, 20, SEP_ID],
    ]
    assert text.shown.tolist() == [*FIRST["input_ids"], *SECOND["input_ids"]]
    assert text.is_masked.tolist() == [*map(bool, [0, 1, 0, 1, 0, 0, 1, 0])]
    assert text.offsets.tolist() == [0, 5, 8]


def test_the_first_rows_of_a_text_are_a_text():
    text = unmasked([encode(FIRST), encode(SECOND)], "compact").first(1)
    assert text.ids.tolist() == [CLS_ID, 10, 11, 13, SEP_ID]
    assert len(text.shown) == len(text.is_masked) == 5
    assert text.offsets.tolist() == [0, 5]


def test_a_copy_of_a_split_is_read_whole(tmp_path):
    manifest = write_dataset(tmp_path, examples=300)
    texts = list(read_unmasked(tmp_path, manifest, split="train", copy=1))
    # Three files, of each what is read at a time.
    assert [len(text.rows) for text in texts] == [256, 44] * 3
    assert sum(int(text.is_masked.sum()) for text in texts) >= 900


def test_a_corrupt_record_is_named(tmp_path):
    write_dataset(tmp_path)
    path = tmp_path / "eval/copy-00/part-00001-of-00002.tfrecord"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AlbertError) as caught:
        list(read_unmasked(tmp_path, read_manifest(tmp_path), split="eval"))
    assert str(caught.value).startswith(f"{path}: record 2, at byte ")
    assert str(caught.value).endswith("the file ends in it; make the data again.")


def test_corrupt_records_can_be_left_out(tmp_path):
    write_dataset(tmp_path)
    manifest = read_manifest(tmp_path)
    (before,) = list(read_unmasked(tmp_path, manifest, split="eval"))[:1]
    path = tmp_path / "eval/copy-00/part-00000-of-00002.tfrecord"
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    (after,) = list(read_unmasked(tmp_path, manifest, split="eval", skip_corrupt=True))[
        :1
    ]
    assert [row.tolist() for row in after.rows] == [
        row.tolist() for row in before.rows[1:]
    ]
