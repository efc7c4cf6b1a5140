"""`albert embed`, and `finetune --task embed`: from text to the texts most like one."""

import json

import numpy as np
import pyarrow.parquet
import pytest

from cli.support.task_data import read_crops
from pipeline.dataset.manifest import load_vocabulary, read_examples
from pipeline.tasks.named_tasks import task_called
from schemas.example import SEP_ID
from schemas.files import read_json
from schemas.manifest import read_manifest
from tests.commands import make_data, refused, run
from tests.runs import take_light_steps

TEXTS = ("The river is wide.", "", "Numbers are objects, too.", "Ünïcödé 北京 \u200d🦊")


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


def test_a_row_of_each_text_in_every_form(encoder, lines, tmp_path):
    outputs = [tmp_path / name for name in ("v.npy", "v.parquet", "v.jsonl")]
    for output in outputs:
        said = run("embed", encoder, lines, "--output", output)
        assert f"{output}: 4 vectors of 16 numbers\n" in said
    matrix = np.load(outputs[0])
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    table = pyarrow.parquet.read_table(outputs[1]).to_pydict()
    assert table["text"] == list(TEXTS)
    np.testing.assert_array_equal(np.array(table["vector"], np.float32), matrix)
    rows = [json.loads(line) for line in outputs[2].read_text().splitlines()]
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(np.array([row["vector"] for row in rows], "f4"), matrix)


def test_standard_input_is_read_and_vectors_can_be_shortened(encoder, lines, tmp_path, send):
    run("embed", encoder, lines, "--output", tmp_path / "whole.npy")
    send(lines.read_bytes())
    run("embed", encoder, "--output", tmp_path / "short.npy", "--dimensions", 8)
    part = np.load(tmp_path / "whole.npy")[:, :8]
    expected = part / np.linalg.norm(part, axis=1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "short.npy"), expected, atol=1e-6)


def test_the_texts_most_like_one_are_shown(encoder, lines):
    said = run("embed", encoder, lines, "--similar", TEXTS[2], "--top", 2)
    first, second = said.splitlines()[-2:]
    assert first == f"1.0000  {TEXTS[2]}"
    assert float(second.split()[0]) < 1


def test_texts_that_are_cut_are_said_and_so_is_which_of_a_pair_is_embedded(encoder, tmp_path):
    table, out = tmp_path / "pairs.csv", tmp_path / "v.npy"
    table.write_text(f"anchor,positive\nit is,no\n{'it is ' * 40},yes\n")
    said = run("embed", encoder, table, "--output", out)
    assert "50.0% of the texts are cut after 32 tokens." in said
    assert "Of each row the first text is embedded; --text-column names another one." in said
    assert np.load(out).shape == (2, 16)


def test_a_table_with_rows_that_are_left_out_has_no_vectors_without_ids(encoder, tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("nr,text,note\n1,it is,\n2,it, is,x\n3\n4,so\n")
    said = refused("embed", encoder, table, "--output", tmp_path / "v.npy")
    assert not (tmp_path / "v.npy").exists()
    assert (
        f"{table}: 1 x row with more cells than the header, left out; vectors in a .npy have no "
        "ids that tell which; correct these rows, or give another --output (.parquet or .jsonl)."
    ) in said
    run("embed", encoder, table, "--output", tmp_path / "v.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "v.parquet").to_pydict()
    assert (found["id"], found["text"]) == (["0", "2", "3"], ["it is", "", "so"])


def test_documents_alone_teach_a_model_to_embed(encoder, small, tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    data, out = tmp_path / "data", tmp_path / "tuned"
    make_data(small, "--examples", "on-the-fly", "--eval-fraction", 0, output=data)
    fast = ("--steps", 2, "--batch-size", 16, "--micro-batch-size", 8, "--max-seq-length", 16)
    said = run("finetune", encoder, "--task", "embed", "--data", data, "--output", out, *fast)
    assert "other passages of the same documents, whose halves are to find each other." in said
    result = read_json(out / "eval.json")
    assert set(result["baselines"]) == {"before", "tf-idf", "bm25"}
    assert result["metric"] == "recall_at_1"
    card = (out / "README.md").read_text()
    assert "near each other where texts belong together" in card


def test_crops_are_others_in_each_epoch_and_held_out_examples_are_the_yardstick(documents):
    said = []
    data = read_crops(documents, task_called("embed"), length=16, say=said.append)
    assert "held-out examples, whose segments are to find each other." in said[0]
    assert data.redraw(0, 0) == data.train[0]
    texts = [[data.redraw(number, epoch).text for number in range(20)] for epoch in (0, 1, 1)]
    assert texts[1] == texts[2]
    assert sum(a != b for a, b in zip(*texts[:2], strict=True)) > 10
    # What both segments of the first example are, with its masks undone.
    manifest = read_manifest(documents)
    tokenizer = load_vocabulary(documents, manifest)
    example = next(read_examples(documents, manifest, split="eval", copy=0))
    ids = np.array(example["input_ids"])
    ids[example["masked_lm_positions"]] = example["masked_lm_ids"]
    pair = (data.held_out[0].text, data.held_out[0].text_pair)
    assert [*tokenizer.encode([pair[0]])[0]] == ids[1 : list(ids).index(SEP_ID)].tolist()
    assert pair[1] == tokenizer.decode(ids[list(ids).index(SEP_ID) + 1 : -1].tolist())


def test_it_learns_from_pairs_or_scores_and_is_measured_by_a_file(encoder, tmp_path, monkeypatch):
    """Pairs of which no text has two partners, or scores, whatever it learned from."""
    pairs, scored = tmp_path / "pairs.csv", tmp_path / "scored.csv"
    pairs.write_text("text,positive,negative\na b,b a,c\nc d,d c,e\na b,x y,c\ne f,b a,c\n")
    scored.write_text("sentence1,sentence2,score\na b,b a,5\nc d,a b,0\ne f,f,3\n")
    tuned = tmp_path / "tuned"
    fast = ("--steps", 1, "--batch-size", 4, "--output", tuned)
    files = ("--train", pairs, "--eval", pairs)
    said = run("finetune", encoder, "--task", "embed", *files, *fast)
    assert "2 pairs are not measured on: each has a text of a pair before" in said
    assert read_json(tuned / "eval.json")["metric"] == "recall_at_1"
    named = ("--text-column", "sentence1", "--pair-column", "sentence2")
    assert "spearman" in run("evaluate", tuned, "--data", scored, *named)
    assert "has no column 'text'" in refused("evaluate", tuned, "--data", scored)
    take_light_steps(monkeypatch)
    learned = tmp_path / "learned"
    files = ("--train", scored, "--eval", scored, *fast[:-1], learned)
    run("finetune", encoder, "--task", "embed", *files)
    assert read_json(learned / "eval.json")["metric"] == "spearman"
    named = ("--text-column", "text", "--pair-column", "positive")
    found = run("evaluate", learned, "--data", pairs, *named)
    assert "recall_at_1" in found
    assert "2 pairs are not measured on" in found
