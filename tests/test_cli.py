"""The command line: what it refuses, in which words, and what it leaves behind."""

import fcntl
import json
import subprocess
import sys

import pytest
import sentencepiece

from tests.commands import VOCAB, attempt, contents, make_data, run

SENTENCES = ("The old bridge crosses the river.", "Nobody knew why the clock stopped.")


# What is refused


def test_a_missing_path_is_named_with_its_flag(tmp_path):
    said = attempt("vocab", "--books", tmp_path / "no", "--output", tmp_path / "v")
    assert said == (2, f"Error: --books: {tmp_path}/no does not exist.\n")
    assert not (tmp_path / "v").exists()


def test_no_input_at_all_is_refused(tmp_path):
    said = attempt("vocab", "--output", tmp_path / "v")
    assert said == (
        2,
        "Error: Give at least one input: --wikipedia, --books or --text.\n",
    )


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    said = attempt(
        "vocab", "--text", tmp_path / "empty.txt", "--output", tmp_path / "v"
    )
    assert said == (1, f"Error: {tmp_path}/empty.txt is empty.\n")


def test_a_corpus_too_small_for_the_vocabulary_names_a_size_that_works(small, tmp_path):
    text = small / "text/assert.txt"
    code, said = attempt(
        "vocab", "--text", text, "--vocab-size", 9000, "--output", tmp_path / "v"
    )
    assert code == 1
    assert "too small for --vocab-size 9000: it gives at most" in said
    assert not (tmp_path / "v").exists()
    size = said.split("use --vocab-size ")[1].split()[0]
    run("vocab", "--text", text, "--vocab-size", size, "--output", tmp_path / "v")


def test_a_corpus_without_a_document_leaves_no_data_set(small, tmp_path):
    text = "<revision><text>Talk, only talk.</text></revision>"
    page = f"<page><title>Talk:A</title><ns>1</ns>{text}</page>"
    (tmp_path / "talk.xml").write_text(f"<mediawiki>{page}</mediawiki>", "utf-8")
    code, said = attempt(
        *("make-data", "--wikipedia", tmp_path / "talk.xml", "--workers", 1),
        *("--vocab", small / "vocab", "--output", tmp_path / "d"),
    )
    assert code == 1
    assert "Error: The inputs give no document to train on (left out: 1 x " in said
    assert not (tmp_path / "d").exists()


def test_a_file_that_is_no_sentencepiece_model_is_no_vocabulary(small, tmp_path):
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("[PAD]\n[UNK]\n", encoding="utf-8")
    said = make_data(small, "--vocab", vocab, output=tmp_path / "d")
    assert said == (
        1,
        f"Error: {vocab} is not a SentencePiece model (a WordPiece vocabulary or a "
        "text file cannot be used); make one with albert vocab.\n",
    )


def test_a_vocabulary_with_other_special_ids_is_refused(small, tmp_path):
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(SENTENCES * 3),
        model_prefix=str(tmp_path / "other"),
        vocab_size=26,
        minloglevel=9,
    )
    said = make_data(small, "--vocab", tmp_path / "other.model", output=tmp_path / "d")
    assert said == (
        1,
        f"Error: {tmp_path}/other.model: piece 0 must be <pad> and is <unk>; "
        "make a vocabulary with albert vocab.\n",
    )


def test_an_output_folder_with_other_files_is_left_alone(small, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    for extra in ([], ["--overwrite"]):
        said = attempt("vocab", "--text", small / "text", "--output", tmp_path, *extra)
        assert said[0] == 2
        assert said[1].endswith(
            f"Error: --output: {tmp_path} holds other files; give a new or empty "
            "folder.\n"
        )
    assert contents(tmp_path) == ["thesis.txt"]


def test_the_output_of_another_command_is_left_alone(small):
    before = contents(small / "vocab")
    code, said = make_data(small, output=small / "vocab")
    assert code == 2
    assert "holds the output of albert vocab; give a new or empty folder." in said
    assert contents(small / "vocab") == before


def test_a_data_set_without_a_manifest_is_no_data_set(tmp_path):
    (tmp_path / "data/train/copy-00").mkdir(parents=True)
    said = attempt(
        "pretrain", "--data", tmp_path / "data", "--output", tmp_path / "run"
    )
    assert said == (
        1,
        f"Error: {tmp_path}/data has no manifest.json, so it is not a finished data "
        "set; run albert make-data again to finish it.\n",
    )
    assert not (tmp_path / "run").exists()


def test_a_model_too_short_for_the_data_is_refused(small, tmp_path):
    code, said = attempt(
        *("pretrain", "--data", small / "data", "--model", "tiny"),
        *("--set", "max_position_embeddings=16", "--output", tmp_path / "run"),
    )
    assert code == 2
    assert "has sequences of 32 tokens" in said
    assert "max_position_embeddings is 16" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-seq-length", "4"], "--max-seq-length must be at least 8, not 4."),
        (["--eval-fraction", "1.5"], "--eval-fraction must be at most 0.9, not 1.5."),
        (
            ["--max-seq-length", "32", "--max-predictions-per-seq", "40"],
            "--max-predictions-per-seq must be at most --max-seq-length - 3 = 29, "
            "not 40.",
        ),
    ],
)
def test_a_setting_out_of_bounds_names_rule_and_value(
    small, tmp_path, arguments, sentence
):
    said = make_data(small, *arguments, output=tmp_path / "d")
    assert said == (2, f"Error: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "huge"], "--model must be one of tiny, base"),
        (["--set", "hidden=3"], "--set takes FIELD=VALUE with a field of"),
        (["--set", "hidden_size=wide"], "--set hidden_size must be of type int"),
        (["--batch-size", "10", "--micro-batch-size", "4"], "4 does not."),
        (["--max-time", "soon"], "'soon' is not a time; write 90s, 30m or 1h30m."),
        (["--max-time", "1h30"], "'1h30' is not a time; write 90s, 30m or 1h30m."),
    ],
)
def test_a_wrong_training_setting_is_refused(small, tmp_path, arguments, sentence):
    code, said = attempt(
        "pretrain", "--data", small / "data", "--output", tmp_path / "r", *arguments
    )
    assert code == 2
    assert sentence in said
    assert not (tmp_path / "r").exists()


# Settings from files


def test_the_written_config_makes_the_same_data_again(small, tmp_path):
    run("make-data", "--config", small / "data/config.json", "--output", tmp_path / "d")
    assert (tmp_path / "d/manifest.json").read_bytes() == (
        small / "data/manifest.json"
    ).read_bytes()


def test_a_flag_goes_before_the_file_and_the_file_before_the_default(small, tmp_path):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"max_ngram": 2, "max_seq_length": 64}), "utf-8")
    make_data(small, "--config", file, output=tmp_path / "d")
    config = json.loads((tmp_path / "d/manifest.json").read_bytes())["config"]
    assert (config["max_seq_length"], config["max_ngram"]) == (32, 2)
    assert config["short_seq_prob"] == 0.1


def test_an_unknown_key_in_a_file_is_refused(small, tmp_path):
    file = tmp_path / "settings.json"
    file.write_text('{"max_seq_len": 64}', encoding="utf-8")
    said = make_data(small, "--config", file, output=tmp_path / "d")
    assert said == (
        2,
        f"Error: {file}: 'max_seq_len' is not a setting of albert make-data; "
        "albert make-data --help lists them.\n",
    )


def test_the_config_of_another_command_is_refused(small, tmp_path):
    code, said = attempt(
        "vocab", "--config", small / "data/config.json", "--output", tmp_path / "v"
    )
    assert (code, said) == (
        2,
        f"Error: --config: {small}/data/config.json was written by albert make-data; "
        "give one of albert vocab.\n",
    )


# Finished, repeated, locked


def test_a_finished_command_does_nothing_when_run_again(small):
    before = (small / "data/manifest.json").stat().st_mtime_ns
    said = run(
        *("make-data", "--config", small / "data/config.json"),
        *("--output", small / "data"),
    )
    assert said.splitlines()[-1] == f"{small}/data is finished already; nothing to do."
    assert (small / "data/manifest.json").stat().st_mtime_ns == before


def test_a_finished_folder_refuses_other_settings_and_says_which(small):
    code, said = attempt(
        *("make-data", "--config", small / "data/config.json", "--seed", 7),
        *("--output", small / "data"),
    )
    assert code == 2
    assert said.endswith(
        f"{small}/data holds a run with other settings: --seed was 12345 and is 7; "
        "give another --output, or --overwrite to start over.\n"
    )


def test_overwrite_replaces_what_the_command_wrote(small, tmp_path):
    make_data(small, output=tmp_path / "d")
    make_data(small, "--seed", 7, "--overwrite", output=tmp_path / "d")
    manifest = json.loads((tmp_path / "d/manifest.json").read_bytes())
    assert manifest["config"]["seed"] == 7


def test_a_folder_that_is_being_written_is_refused(small, tmp_path):
    (tmp_path / "d/train").mkdir(parents=True)
    (tmp_path / "d/config.json").write_text('{"command": "make-data"}', "utf-8")
    with open(tmp_path / "d/.lock", "w") as file:
        file.write("4711\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = make_data(small, output=tmp_path / "d")
        # What the other process has written so far is left alone.
        assert sorted(p.name for p in (tmp_path / "d").iterdir()) == [
            ".lock",
            "config.json",
            "train",
        ]
    assert code == 1
    assert said.endswith(
        f"Error: {tmp_path}/d is being written by process 4711; wait for it to end.\n"
    )


def test_a_lock_left_by_a_dead_process_does_not_matter(small, tmp_path):
    (tmp_path / "v").mkdir()
    (tmp_path / "v/.lock").write_text("4711\n", encoding="utf-8")
    run("vocab", "--text", small / "text", *VOCAB, "--output", tmp_path / "v")
    assert contents(tmp_path / "v") == [
        "config.json",
        "manifest.json",
        "spiece.model",
        "spiece.vocab",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_a_finished_training_run_does_nothing_when_run_again(small, tmp_path):
    command = (
        *("pretrain", "--data", small / "data", "--output", tmp_path / "run"),
        *("--model", "tiny", "--steps", 2, "--batch-size", 2, "--eval-examples", 2),
    )
    said = run(*command)
    assert "the square-root rule gives 3.9e-05 for 2 (--scale-lr-to-batch)." in said
    config = (tmp_path / "run/config.json").read_bytes()
    said = run(*command)
    assert (
        said.splitlines()[-1] == f"{tmp_path}/run is finished already; nothing to do."
    )
    assert (tmp_path / "run/config.json").read_bytes() == config
    code, said = attempt(*command, "--seed", 7)
    assert code == 2
    assert "--seed was 12345 and is 7; give another --output (--init-from takes" in said


# What is said


def test_derived_settings_are_printed(small, tmp_path):
    _, said = make_data(small, "--max-seq-length", 64, output=tmp_path / "d")
    assert "derived: --max-predictions-per-seq 10 --num-shards 8\n" in said


def test_quiet_says_nothing(small, tmp_path):
    assert make_data(small, "--quiet", output=tmp_path / "d") == (0, "")


def test_an_unexpected_error_is_one_sentence_too(small, tmp_path, monkeypatch):
    import pipeline.reading.inputs

    def fail(*_, **__):
        raise ZeroDivisionError("seven by nothing")

    monkeypatch.setattr(pipeline.reading.inputs, "find_inputs", fail)
    said = attempt("vocab", "--text", small / "text", "--output", tmp_path / "v")
    assert said == (
        1,
        "Error: Unexpected ZeroDivisionError: seven by nothing (--debug shows where it "
        "happened).\n",
    )


def test_ctrl_c_ends_a_job_with_130_and_no_data_set(small, tmp_path):
    program = (
        "import os, signal, sys\n"
        "import pipeline.job.make_data as job\n"
        "job.run_here = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "from cli.main import cli\n"
        "cli(sys.argv[1:])\n"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-c", program, "make-data"),
            *("--text", small / "text", "--vocab", small / "vocab"),
            *("--output", tmp_path / "d"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith("Error: Interrupted")
    assert not (tmp_path / "d/manifest.json").exists()
