"""A data set is whole, or it is said what is not."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.tf_example import Column, encode_examples
from pipeline.tfrecord import RecordWriter
from pipeline.verification import record_problem, verify
from schemas.config import DataConfig
from schemas.manifest import read_manifest
from tests.commands import attempt, make_data

CONFIG = DataConfig(max_seq_length=8, max_predictions_per_seq=2)
GOOD = {
    "input_ids": [2, 7, 4, 3, 9, 3],
    "masked_lm_positions": [2],
    "masked_lm_ids": [8],
    "next_sentence_labels": [1],
}


def encode(features) -> bytes:
    columns = {
        name: Column(np.array(values, np.int64), np.array([0, len(values)]))
        for name, values in features.items()
    }
    return encode_examples(columns)[0]


def test_a_good_record_has_no_problem():
    assert record_problem(encode(GOOD), CONFIG, vocab_size=10) == ""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"input_ids": [2, 3] * 5}, "has 10 values of input_ids, which takes 1 to 8"),
        (
            {"masked_lm_ids": [5, 6, 7]},
            "has 3 values of masked_lm_ids, which takes 0 to 2",
        ),
        ({"input_ids": [7, 7, 3]}, "does not begin with [CLS] and end with [SEP]"),
        ({"input_ids": [2, 10, 4, 3, 9, 3]}, "has a piece that the vocabulary has not"),
        (
            {"masked_lm_ids": [3]},
            "has a masked piece that is special or that the vocabulary has not",
        ),
        (
            {"masked_lm_positions": [2, 1], "masked_lm_ids": [7, 7]},
            "has masked places that do not ascend",
        ),
        ({"masked_lm_ids": []}, "has 1 masked places and 0 labels"),
        ({"masked_lm_positions": [5]}, "has a masked place outside its text"),
        ({"next_sentence_labels": [2]}, "has a label that is neither 0 nor 1"),
    ],
)
def test_a_bad_record_has_its_problem_named(change, problem):
    assert record_problem(encode(GOOD | change), CONFIG, vocab_size=10) == problem


def test_a_record_without_a_feature_has_that_named():
    features = {k: v for k, v in GOOD.items() if k != "masked_lm_ids"}
    problem = record_problem(encode(features), CONFIG, vocab_size=10)
    assert problem == "has no masked_lm_ids"


def test_a_feature_of_another_type_is_named():
    column = Column(np.array([0.5], np.float32), np.array([0, 1]))
    others = {
        name: Column(np.array(values, np.int64), np.array([0, len(values)]))
        for name, values in GOOD.items()
    }
    (record,) = encode_examples(others | {"masked_lm_ids": column})
    problem = record_problem(record, CONFIG, vocab_size=10)
    assert problem == "has something else than int64 in masked_lm_ids"


def test_bytes_that_are_no_example_are_named():
    problem = record_problem(b"\x99\x01", CONFIG, vocab_size=10)
    assert problem == "is no tf.train.Example"


def problems(data: Path) -> list[str]:
    return list(verify(data, read_manifest(data)))


def test_every_kind_of_damage_to_the_files_is_found(small, tmp_path):
    make_data(small, output=tmp_path / "d")
    shards = [s for s in read_manifest(tmp_path / "d").shards if s.examples > 2]
    first, second, third, fourth = shards[:4]
    data = bytearray((tmp_path / "d" / first.name).read_bytes())
    data[40] ^= 1
    (tmp_path / "d" / first.name).write_bytes(data)
    (tmp_path / "d" / second.name).unlink()
    cut = (tmp_path / "d" / third.name).read_bytes()[:-5]
    (tmp_path / "d" / third.name).write_bytes(cut)
    with (tmp_path / "d" / fourth.name).open("ab") as file:
        RecordWriter(file).write([encode(GOOD)])
    (tmp_path / "d/spiece.model").write_bytes(b"")
    found = problems(tmp_path / "d")
    assert found[:4] == [
        "spiece.model is not the vocabulary that the data was made with.",
        f"{first.name} is not the file that the manifest describes.",
        f"{first.name}: the record at byte 0 is damaged.",
        f"{second.name} is missing.",
    ]
    assert f"{third.name} is not the file that the manifest describes." in found
    assert any(p.startswith(f"{third.name}: ") and "cut off" in p for p in found)
    assert any(p.startswith(f"{fourth.name} has ") for p in found)


def test_inspect_shows_the_card_and_as_many_examples_as_asked_for(small):
    code, said = attempt("inspect", small / "data", "--examples", 2, "--verify")
    assert code == 0
    assert said.startswith("# Pre-training data for ALBERT\n")
    assert said.count(" masked\n  A  ") == 2
    assert said.count("\n  B was  ") == 2
    assert said.splitlines()[-1].startswith(f"{small}/data is whole: ")


def test_inspect_of_a_damaged_data_set_fails(small, tmp_path):
    make_data(small, output=tmp_path / "d")
    name = read_manifest(tmp_path / "d").shards[-1].name
    (tmp_path / "d" / name).unlink()
    code, said = attempt("inspect", tmp_path / "d", "--verify")
    assert code == 1
    assert said.endswith(
        f"{name} is missing.\nError: {tmp_path}/d is damaged; make it again with "
        "--overwrite.\n"
    )
