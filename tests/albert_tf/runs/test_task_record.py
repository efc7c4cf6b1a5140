"""What a fine-tuned model is for is read as it was written, or refused."""

import pytest

from albert_tf.runs.task_record import read_record, write_record
from schemas.files import read_json, write_json
from schemas.layout import TASK
from schemas.task import Columns, TaskRecord, TaskSpec
from tests.refusals import refusal


def written(folder, **columns):
    spec = TaskSpec(name="choose", kind="choose", columns=Columns(**columns), max_seq_length=64)
    record = TaskRecord(spec=spec, max_seq_length=64, doc_stride=16, max_query_tokens=32)
    write_record(folder, record)
    return record


def test_from_what_options_are_counted_may_be_unknown_but_is_0_or_1(tmp_path):
    for known in (1, None):
        assert written(tmp_path, first_option=known) == read_record(tmp_path)
    values = read_json(tmp_path / TASK)
    values["columns"]["first_option"] = 2
    write_json(tmp_path / TASK, values)
    assert refusal(read_record, tmp_path) == (
        f"{tmp_path / TASK} is damaged: columns.first_option is 2; put the file back "
        "as it was written."
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "sing"}, "kind is 'sing'"),
        ({"max_seq_length": "64"}, "max_seq_length must be of type int, not '64'"),
        ({"columns": []}, "is damaged"),
        ({"labels": False}, "labels must be of type list, not False"),
        ({"labels": ["dull", 7]}, "labels must be of type str, not 7"),
        ({"score_range": [0, "5"]}, "score_range must be of type float, not '5'"),
        ({"doc_stride": None}, "doc_stride must be of type int, not None"),
        ({"threshold": "0.5"}, "threshold must be of type float, not '0.5'"),
    ],
)
def test_an_edited_task_is_one_sentence(tmp_path, change, says):
    written(tmp_path)
    write_json(tmp_path / TASK, read_json(tmp_path / TASK) | change)
    assert says in refusal(read_record, tmp_path)
