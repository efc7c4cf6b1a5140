"""`albert import`: what becomes a run, what a vocabulary, and what is refused."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.evaluation.evaluate import evaluate
from albert_tf.model.trained_model import read_trained
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.runs.run_record import run_config, trained_length
from albert_tf.runs.task_record import read_record, write_record
from pipeline.job import estimate
from pipeline.vocabulary.tokenizer import load_tokenizer, model_of_pieces
from pipeline.vocabulary.wordpiece import read_wordpiece
from schemas.files import read_json, write_json
from schemas.task import KINDS
from tests import exported_runs
from tests.commands import contents, refused, run
from tests.exported_runs import SMALL_RUN, load_pretrainer, write_run, write_tuned
from tests.pipeline.vocabulary.test_importing import nmt_nfkc
from tests.runs import take_light_steps

VOCABULARY = [
    *("config.json", "manifest.json", "spiece.model", "spiece.vocab"),
    *("tokenizer.json", "tokenizer_config.json"),
]
CHECKPOINT = "checkpoints/step-00000000"


@pytest.mark.parametrize("source", ["hf", "google"])
def test_an_export_comes_back_as_the_run_it_was(models, tmp_path, source):
    out = tmp_path / "my models"
    said = run("import", models / source, "--output", out)
    assert said.splitlines() == [
        "The vocabulary already includes its normalization.",
        f"{out}: 4 layers of width 16, 400 pieces; make data with --vocab '{out}', then train on "
        f"it with --init-from '{out}' --budget 1h.",
    ]
    assert contents(out) == sorted(
        [
            *(*VOCABULARY, "model.json", "checkpoints/latest"),
            *(f"{CHECKPOINT}/{name}.safetensors" for name in ("model", "optimizer")),
            f"{CHECKPOINT}/state.json",
        ]
    )
    before, after = (load_pretrainer(folder) for folder in (models / "run", out))
    assert before.config == after.config
    theirs = arrays_of(after.weights_by_path)
    for path, array in arrays_of(before.weights_by_path).items():
        np.testing.assert_array_equal(array, theirs[path])


@pytest.mark.parametrize(
    ("said", "length"),
    [
        ('{"model_max_length": 24}', 24),
        # What transformers writes where it does not know.
        ('{"model_max_length": 1000000000000000019884624838656}', 48),
        ('{"model_max_length": "long"}', 48),
        ("{}", 48),
        # An export of ours says it too.
        (None, 32),
    ],
)
def test_an_import_keeps_how_long_the_sequences_were(models, tmp_path, said, length):
    source = shutil.copytree(models / "hf", tmp_path / "source")
    (source / "tokenizer_config.json").unlink()
    if said:
        (source / "export.json").unlink()
        (source / "tokenizer_config.json").write_text(said)
    run("import", source, "--output", tmp_path / "out")
    assert trained_length(tmp_path / "out", SMALL_RUN) == length


def test_heads_that_were_never_trained_are_told_wherever_they_are_asked(models, tmp_path):
    source = shutil.copytree(models / "hf", tmp_path / "source")
    (source / "export.json").unlink()
    tensors = safetensors.numpy.load_file(source / "model.safetensors")
    bare = {n.removeprefix("albert."): a for n, a in tensors.items() if n.startswith("albert.")}
    safetensors.numpy.save_file(bare, source / "model.safetensors")
    imported = tmp_path / "imported"
    run("import", source, "--output", imported)
    said = run("order", imported, "She opened it.", "Then she read.")
    assert "It has no sentence-order head; that starts at zero, where both" in said
    assert "It has no masked-LM head" in run("fill-mask", imported, "The [MASK].")
    run("export", imported, "--to", "hf", "--output", tmp_path / "hf")
    assert "It has no masked-LM head" in (tmp_path / "hf" / "README.md").read_text()


def test_an_imported_model_goes_on_with_what_it_had_learned(encoder, small, tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    run("export", encoder, "--to", "hf", "--output", tmp_path / "hf")
    run("import", tmp_path / "hf", "--output", tmp_path / "imported")
    said = run(
        *("pretrain", "--data", small / "data", "--output", tmp_path / "run"),
        *("--init-from", tmp_path / "imported", "--batch-size", 4, "--steps", 1),
        *("--warmup-steps", 0),
    )
    assert f"Starting from the weights of {tmp_path}/imported, step 0." in said
    before = evaluate(read_trained(encoder), data=small / "data")
    first = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0])
    assert (first["step"], first["split"]) == (0, "eval")
    for name in ("mlm_loss", "mlm_accuracy", "sentence_loss", "sentence_accuracy"):
        assert before[name] == pytest.approx(first[name], rel=1e-6)
    assert run_config(tmp_path / "run") == run_config(encoder)


def test_a_vocabulary_alone_becomes_a_vocabulary(small, tmp_path):
    source = small / "vocab" / "spiece.model"
    said = run("import", source, "--output", tmp_path / "out")
    *_, last = said.splitlines()
    assert last == f"{tmp_path}/out: 400 pieces; give it to make-data as --vocab."
    assert contents(tmp_path / "out") == VOCABULARY
    config = read_json(tmp_path / "out" / "manifest.json")["config"]
    assert config == {"cased": False, "keep_accents": False}


def pieces_of(folder):
    """The pieces of a vocabulary with their scores."""
    tokenizer = load_tokenizer((folder / "spiece.model").read_bytes())
    return [(tokenizer.piece(i), tokenizer.score(i)) for i in range(tokenizer.vocab_size)]


def test_make_data_says_when_a_vocabulary_needs_its_normalization(small, tmp_path, monkeypatch):
    """The remedy it names is typed, and then it says nothing more."""
    monkeypatch.setattr(estimate, "_start_seconds", lambda: 1.0)
    published = tmp_path / "published.model"
    published.write_bytes(model_of_pieces(pieces_of(small / "vocab"), nmt_nfkc()))
    arguments = ("--text", small / "text", "--plan", "--workers", 1)
    said = run("make-data", *arguments, "--vocab", published)
    (warning,) = [line for line in said.splitlines() if line.startswith("Warning")]
    assert warning == (
        f"Warning: {published} leaves lower-casing and dropping accents to the program "
        "around it, without which words become unknown pieces; albert import "
        f"{published} --output NEW writes it into the vocabulary."
    )
    said = run("import", published, "--output", tmp_path / "new")
    assert said.startswith("Written into spiece.model: lower case, without accents.\n")
    assert "Warning" not in run("make-data", *arguments, "--vocab", tmp_path / "new")


def test_a_vocabulary_of_another_size_or_with_other_pieces_is_refused(models, model, tmp_path):
    other = tmp_path / "other.model"
    flags = ("--vocab", other, "--output", tmp_path / "out")
    other.write_bytes(model)
    assert refused("import", models / "google", *flags, code=1) == (
        f"Error: {other} has 2000 pieces and the model has 400; give the vocabulary that the "
        "model was trained with, using --vocab if it is elsewhere.\n"
    )
    pieces = [*pieces_of(models / "hf")[:-1], ("▁zyzzyva", -9.0)]
    other.write_bytes(model_of_pieces(pieces, nmt_nfkc()))
    assert refused("import", models / "hf", *flags, code=1) == (
        f"Error: {models}/hf/tokenizer.json has other pieces than {other}; give the files of one "
        "model.\n"
    )
    assert not (tmp_path / "out").exists()


def exported(run_folder, output):
    """The files of an export, but for its card and its record of where it is from."""
    run("export", run_folder, "--to", "hf", "--output", output)
    own = ("README.md", "export.json")
    return {path.name: path.read_bytes() for path in output.iterdir() if path.name not in own}


@pytest.fixture
def there_and_back(small, tmp_path):
    """Exports a fine-tuned model and imports it as `imported`; the files, and what was said."""

    def go(kind, *, threshold=0.25, change=lambda folder: None, **shape):
        vocabulary = (small / "vocab" / "spiece.model").read_bytes()
        config = dataclasses.replace(exported_runs.ONE_LAYER, **shape)
        write_tuned(tmp_path / "tuned", kind, vocabulary, config=config, threshold=threshold)
        files = exported(tmp_path / "tuned", tmp_path / "hf")
        change(tmp_path / "hf")
        return files, run("import", tmp_path / "hf", "--output", tmp_path / "imported")

    return go


@pytest.mark.parametrize(
    ("kind", "shape"), [*((kind, {}) for kind in KINDS), ("tag", {"embedding_size": 16})]
)
def test_a_fine_tuned_model_comes_back_with_its_head(kind, shape, there_and_back, tmp_path):
    before, _ = there_and_back(kind, **shape)
    again = ("import", tmp_path / "hf", "--output", tmp_path / "imported")
    assert "is finished already; nothing to do." in run(*again)
    assert exported(tmp_path / "imported", tmp_path / "again") == before
    assert {"config.json", "model.safetensors", "tokenizer.json"} < set(before)
    tasks = [tmp_path / name / "task.json" for name in ("imported", "tuned")]
    assert tasks[0].read_bytes() == tasks[1].read_bytes()


def test_a_model_without_our_record_has_the_task_that_transformers_sees(there_and_back, tmp_path):
    there_and_back("multilabel", change=lambda folder: (folder / "export.json").unlink())
    record = read_record(tmp_path / "imported")
    labels, length = exported_runs.TUNED_LABELS, exported_runs.TUNED_LENGTH
    assert (record.spec.kind, record.spec.labels) == ("multilabel", labels)
    assert (record.max_seq_length, record.threshold) == (length, None)


def test_labels_that_were_renamed_in_an_export_are_those_of_the_import(there_and_back, tmp_path):
    labels = {"id2label": {"0": "bad", "1": "middling", "2": "good"}}

    def rename(folder):
        write_json(folder / "config.json", read_json(folder / "config.json") | labels)

    there_and_back("classify", change=rename)
    record = read_record(tmp_path / "imported")
    assert (record.spec.labels, record.threshold) == (("bad", "middling", "good"), 0.25)


@pytest.mark.parametrize(("threshold", "labels"), [(0.0, 3), (1.0, 0)])
def test_an_import_has_the_labels_of_its_threshold(threshold, labels, there_and_back, tmp_path):
    there_and_back("multilabel", threshold=threshold)
    said = run("predict", tmp_path / "imported", "an object is mutable", "--json")
    assert len(json.loads(said)["labels"]) == labels
    # One that was chosen since an export is another export.
    record = read_record(tmp_path / "tuned")
    write_record(tmp_path / "tuned", dataclasses.replace(record, threshold=0.25))
    again = ("export", tmp_path / "tuned", "--to", "hf", "--output", tmp_path / "hf")
    assert "holds an export of other weights" in refused(*again)


def wordpieces(folder, pieces, name="vocab.txt"):
    (folder / name).write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")


def test_an_imported_classifier_is_asked_as_it_was_before(there_and_back, tmp_path):
    _, said = there_and_back("classify")
    assert said.splitlines()[-1] == (
        f"{tmp_path}/imported: 1 layer of width 16, 400 pieces; a model of classify "
        "(dull, fair, fine) for albert predict."
    )
    asked = ("an object is mutable", "--json")
    ours, theirs = (run("predict", tmp_path / name, *asked) for name in ("imported", "tuned"))
    assert ours == theirs


# BERT's order: unused pieces between the padding and the other special ones.
WORDPIECES = [
    "[PAD]",
    *(f"[unused{n}]" for n in range(1, 100)),
    *("[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *(chr(0x4E00 + n) for n in range(196)),
    *(f"##{chr(0x4E00 + n)}" for n in range(100)),
]


@pytest.fixture(scope="module")
def original(small, tmp_path_factory):
    """A folder as the Chinese ALBERTs have it, with random weights and ReLU."""
    folder = tmp_path_factory.mktemp("chinese")
    write_run(folder / "run", dataclasses.replace(SMALL_RUN, hidden_act="relu"), small)
    run("export", folder / "run", "--to", "hf", "--output", folder / "zh")
    for name in ("spiece.model", "tokenizer.json", "tokenizer_config.json"):
        (folder / "zh" / name).unlink()
    wordpieces(folder / "zh", WORDPIECES)
    return folder / "zh"


@pytest.fixture
def chinese(original, tmp_path):
    return shutil.copytree(original, tmp_path / "zh")


@pytest.fixture(scope="module")
def imported(original):
    output = original.with_name("out")
    return output, run("import", original, "--output", output)


def test_a_model_with_wordpiece_is_imported_with_its_special_pieces_first(original, imported):
    folder, said = imported
    assert said.splitlines() == [
        "vocab.txt is BERT's WordPiece: the model is for albert finetune and "
        "fill-mask; albert make-data needs a SentencePiece vocabulary.",
        f"{folder}: 4 layers of width 16, 400 pieces.",
    ]
    before, after = map(load_pretrainer, (original, folder))
    assert after.config == before.config
    assert after.config.hidden_act == "relu"
    theirs, ours = (arrays_of(model.weights_by_path) for model in (before, after))
    order = [0, 100, 101, 102, 103, *range(1, 100), *range(104, 400)]
    for path, array in theirs.items():
        is_of_pieces = path.endswith(("word_embeddings", "output_bias"))
        expected = array[order] if is_of_pieces else array
        np.testing.assert_array_equal(ours[path], expected)
    filled = json.loads(run("fill-mask", folder, "\u4e00[MASK]\u4e01", "--json"))["filled"]
    assert (filled[0], filled[-1]) == ("\u4e00", "\u4e01")
    said = refused("fill-mask", original, "\u4e00[MASK]", code=1)
    assert "turn it into a run with albert import." in said


def test_a_model_with_wordpiece_is_written_back_as_it_was(original, imported, tmp_path):
    back = tmp_path / "back"
    run("export", imported[0], "--to", "hf", "--output", back)
    theirs, ours = (
        safetensors.numpy.load_file(folder / "model.safetensors") for folder in (original, back)
    )
    for name, array in theirs.items():
        np.testing.assert_array_equal(array, ours[name])
    assert (back / "vocab.txt").read_bytes() == (original / "vocab.txt").read_bytes()
    values = read_json(back / "config.json")
    tokens = {name: value for name, value in values.items() if name.endswith("token_id")}
    assert tokens == {"pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102}
    assert values["hidden_act"] == "relu"


def test_a_wordpiece_vocabulary_is_of_use_with_its_model_only(chinese, tmp_path):
    (tmp_path / "alone").mkdir()
    shutil.copy(chinese / "vocab.txt", tmp_path / "alone")
    for alone in (chinese / "vocab.txt", tmp_path / "alone"):
        (said,) = refused("import", alone, "--output", tmp_path / "out").splitlines()
        assert "is a WordPiece vocabulary, which is useful only with its model" in said
        assert not (tmp_path / "out").exists()
    (said,) = refused("import", chinese, "--cased", "--output", tmp_path / "out").splitlines()
    assert said.endswith("for text without capital letters; leave the flag out.")


def test_the_rules_and_added_tokens_of_a_wordpiece_come_along(chinese, tmp_path):
    """Also of one that is named as Google's is."""
    (chinese / "vocab.txt").unlink()
    wordpieces(chinese, WORDPIECES[:-1], "vocab_chinese.txt")
    token = {"content": "<e1>", "normalized": False}
    config = {"do_lower_case": False, "added_tokens_decoder": {"399": token}}
    write_json(chinese / "tokenizer_config.json", config)
    run("import", chinese, "--output", tmp_path / "out")
    run("export", tmp_path / "out", "--to", "hf", "--output", tmp_path / "back")
    for name in ("out", "back"):
        tokenizer = read_wordpiece(tmp_path / name / "vocab.txt")
        (ids,) = tokenizer.encode(["<e1>\u4e00"])
        assert [tokenizer.piece(token) for token in ids] == ["<e1>", "\u4e00"]
        assert not tokenizer.config["do_lower_case"]


def test_rows_that_pad_the_tables_are_left_out(chinese, tmp_path):
    wordpieces(chinese, WORDPIECES[:-5])
    said = run("import", chinese, "--output", tmp_path / "out")
    assert "Left out: 5 rows with which its tables of 400 are padded." in said
    weights = read_trained(tmp_path / "out").weights
    assert weights["albert/encoder/embeddings/word_embeddings"].shape == (395, 8)
    assert weights["albert/masked_lm_head/output_bias"].shape == (395,)


def test_bfloat16_is_read(models, tmp_path):
    torch_file = pytest.importorskip("safetensors.torch")
    shutil.copytree(models / "hf", tmp_path / "hf")
    tensors = torch_file.load_file(models / "hf/model.safetensors")
    halves = {name: tensor.bfloat16() for name, tensor in tensors.items()}
    torch_file.save_file(halves, tmp_path / "hf/model.safetensors")
    run("import", tmp_path / "hf", "--output", tmp_path / "out")
    ours = load_pretrainer(tmp_path / "hf").weights_by_path
    name = "albert.embeddings.word_embeddings.weight"
    np.testing.assert_array_equal(
        arrays_of(ours)["albert/encoder/embeddings/word_embeddings"], halves[name].float().numpy()
    )


def test_tokens_that_sentencepiece_cannot_find_are_refused(models, tmp_path):
    shutil.copytree(models / "hf", tmp_path / "hf")
    values = read_json(tmp_path / "hf/tokenizer.json")
    values["added_tokens"].append({"id": 400, "content": "<e1>"})
    write_json(tmp_path / "hf/tokenizer.json", values)
    given = ("import", tmp_path / "hf", "--output", tmp_path / "out")
    (said,) = refused(*given, code=1).splitlines()
    assert "its tokenizer finds <e1> in a text before the 400 pieces of its model" in said
