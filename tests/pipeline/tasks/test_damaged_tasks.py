"""Whatever stands where a value should: one sentence, or examples that encode."""

import copy
import dataclasses
import gzip
import json
import time
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.encoding.task_rows import encode_examples
from pipeline.tasks.named_tasks import task_called
from pipeline.tasks.tags import entity_forms
from pipeline.tasks.task_files import read_task_file
from pipeline.tasks.training_data import check_examples, with_labels
from schemas.errors import AlbertError
from schemas.task import TaskRecord
from tests.manifests import places
from tests.pipeline.tasks.task_file import read
from tests.pipeline.tasks.test_published import question, squad

ANSWERS = {"text": ["blue"], "answer_start": [6]}
FILES = {
    "classify": [{"id": 7, "text": "Good.", "label": 1}, {"text": "Bad.", "label": 0}],
    "multilabel": [{"text": "Go.", "labels": ["rude", "loud"]}],
    "regress": [{"sentence1": "One.", "sentence2": "Two.", "score": score} for score in (2.5, 1)],
    "choose": [{"article": "a", "question": "q", "options": ["a", "b"], "answer": "B"}],
    "race": dict(id="7", article="a", questions=["q"], options=[["a", "b"]], answers=["B"]),
    "c3": [[["a"], [{"question": "q", "choice": ["a", "b"], "answer": "b"}], "1-2"]],
    "squad": json.loads(squad(question("1", "blue", 6), passage="It is blue.")),
    "answer": [{"id": "1", "context": "It is blue.", "question": "What?", "answers": ANSWERS}],
    "tag": [{"tokens": ["Ada", "ran"], "tags": ["B-P", "O"]}],
    "cluener": [{"id": 1, "text": "in Rome", "label": {"L": {"Rome": [[3, 6]]}}}],
}
OTHERS = (None, 5, -1, 2.5, True, "", "x", [], ["x"], [[]], {}, {"x": [1]}, 10**30)


def with_value(value, path, new):
    if not path:
        return new
    value = copy.deepcopy(value)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = new
    return value


@pytest.mark.parametrize("task", FILES)
def test_any_value_in_place_of_another_is_refused_or_read(tmp_path, tokenizer, task):
    read_well = 0
    for path in places(FILES[task]):
        for other in OTHERS:
            damaged = with_value(FILES[task], path, other)
            try:
                file = read(tmp_path, json.dumps(damaged), task=task)
                spec = with_labels(dataclasses.replace(task_called(task), labels=()), file.examples)
                check_examples(spec, file.examples, evaluation=[])
            except AlbertError:
                continue
            record = TaskRecord(spec=spec, max_seq_length=16, doc_stride=4, max_query_tokens=4)
            rows = encode_examples(file.examples, record, tokenizer=tokenizer).rows
            read_well += len({row.example for row in rows}) == len(file.examples)
    assert read_well


MEGABYTE = "he came and she left " * 50_000


def write_packed(path):
    """A file of 300 MB of rows that was packed."""
    head, row = ("text\tlabel\n", MEGABYTE + "\t1\n")
    if path.suffix == ".gz":
        if "jsonl" in path.name:
            head, row = "", json.dumps({"text": MEGABYTE, "label": 1}) + "\n"
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(head)
            for _ in range(300):
                file.write(row)
        return
    text = pa.array([MEGABYTE])
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), text)
    pages = {}
    if path.name.startswith("pages"):
        rows, pages = rows.dictionary_decode(), {"use_dictionary": False}
    table = pa.table({"text": rows, "label": [1] * 300})
    pq.write_table(table, path, compression="zstd", store_schema=False, **pages)


@pytest.mark.parametrize("name", ["rows.tsv.gz", "rows.jsonl.gz", "rows.parquet", "pages.parquet"])
def test_what_unpacks_to_more_than_any_text_is_refused_in_time(tmp_path, name):
    path = tmp_path / name
    write_packed(path)
    assert path.stat().st_size < 4_000_000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(AlbertError, match="unpacks to more than 50 times its size"):
        read_task_file(str(path), task_called("classify"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak + pa.total_allocated_bytes() - before < 250_000_000


@pytest.mark.parametrize("word", ["x" * 40_000, "=" * 40_000, "x|" * 20_000])
def test_a_word_of_any_length_is_looked_at_in_time(word):
    before = time.process_time()
    assert entity_forms({word}) is None
    assert time.process_time() - before < 2
