"""`albert vocab`: what it says."""

import re
import shlex

import pytest

from cli.commands.vocab import next_command, next_lines
from cli.support.inputs import INPUT_OPTIONS
from pipeline.core.documents import ReadingCounts
from pipeline.reading.formats import KINDS
from pipeline.vocabulary.sampling import SampledText
from schemas.files import read_json
from tests.commands import VOCAB, contents, run

SMALL = "--vocab v --output data --max-seq-length 128 --examples on-the-fly"
GIVEN = dict.fromkeys((*KINDS, *INPUT_OPTIONS), ())
# Half of the numbers that a document can have.
HALF = 1 << 63


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"text": ["a.txt"]}, "--text a.txt"),
        (
            {"books": ["my novels", "b"], "language": "cy", "text_key": "a.b"},
            "--books 'my novels' --books b --language cy --text-key a.b",
        ),
        ({"text": 21 * ["a"], "language": "cy"}, "... --language cy"),
    ],
    ids=["one file", "several flags", "files that a script found"],
)
def test_the_next_command_reads_the_text_into_a_new_folder(given, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert next_command(GIVEN | given, "v") == f"next: albert make-data {expected} {SMALL}"
    (tmp_path / "data").mkdir()
    assert " --output data-2 " in next_command(GIVEN | given, "v")


# How many documents there are, the first numbers of them, and the share that is advised.
SHARES = {
    "much text": (40_000, [0], []),
    "less": (39_999, range(5), ["--eval-fraction 0.05"]),
    "one": (1, [0], []),
    "two": (2, [HALF - 1, HALF + 1], ["--eval-fraction 0.5"]),
    "novels": (22, [HALF // 4, HALF // 2, HALF], ["--eval-fraction 0.2501"]),
    "none is held out early": (2, [HALF * 2 - 2, HALF * 2 - 1], []),
}


@pytest.mark.parametrize(("documents", "first", "expected"), SHARES.values(), ids=SHARES)
def test_the_share_that_is_advised_holds_out_enough(documents, first, expected):
    text = SampledText([], [], ReadingCounts(documents=documents), {}, list(first))
    *_, command = next_lines(GIVEN | {"text": ["a.txt"]}, "v", text=text, files=[])
    assert re.findall("--eval-fraction [^ ]+", command) == expected


def test_what_the_advised_share_holds_out_is_what_make_data_does(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(10):
        text = (small / "text/assert.txt").read_text("utf-8") + f"Number {number}.\n"
        (tmp_path / f"{number}.txt").write_text(text, "utf-8")
    said = run("vocab", "--books", "*.txt", "--vocab-size", 120, "--output", "v")
    note, command = said.splitlines()[-2:]
    share, held_out = re.match("(.*) holds out (1 of the 10 documents)", note).groups()
    assert (held_out, command.endswith(share)) == ("1 of the 10 documents", True)
    said = run(*shlex.split(command)[2:], "--near-duplicates", "keep")
    assert " of 1 document; " in said


def test_sentences_in_no_order_get_no_task_of_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = (f"{n}\tThe river rose by {n} feet that night.\n" for n in range(900))
    (tmp_path / "eng_news-sentences.txt").write_text("".join(lines))
    given = ("--text", "eng_news-sentences.txt", "--vocab-size", 60)
    *_, command = run("vocab", *given, "--output", "v").splitlines()
    assert " --sentence-task none " in f"{command} "


def test_the_next_command_is_said_last_and_quoted_for_the_shell(small, tmp_path):
    output = tmp_path / "my vocabulary"
    said = run("vocab", "--text", small / "text", *VOCAB, "--output", output)
    assert said.splitlines()[-1].startswith(
        f"next: albert make-data --text {small / 'text'} --vocab '{output}' --output "
    )
    assert contents(output) == [
        *("config.json", "manifest.json", "spiece.model", "spiece.vocab"),
        *("tokenizer.json", "tokenizer_config.json"),
    ]


def test_what_a_person_should_know_of_the_text_is_said(small, tmp_path):
    for number in range(30):
        (tmp_path / f"page{number}.txt").write_text(
            f"Accept all cookies\n\nIt rained all day<br> all night of the {number}th.\n\n"
            f"Το βράδυ έβρεχε στην πόλη {number}.\n"
        )
    given = ("--text", small / "text", "--text", tmp_path)
    said = run("vocab", *given, *VOCAB, "--output", tmp_path / "v").splitlines()
    assert [line for line in said if line.startswith("text: ")][1:] == [
        "text: 63.7% of its lines were joined to paragraphs",
        "text: letters 99.26% Latin, 0.74% Greek",
        "text: 55.6% of the documents hold HTML, whose tags no flag removes",
    ]


def test_the_size_that_suits_a_text_follows_from_it(small, tmp_path):
    text = ("--text", small / "text")
    said = run("vocab", *text, "--vocab-size", "auto", "--output", tmp_path / "v")
    assert f"{tmp_path / 'v'}: 1,000 pieces; on " in said
    assert read_json(tmp_path / "v/config.json")["vocab_size"] == "auto"
    run("vocab", "--config", tmp_path / "v/config.json", "--output", tmp_path / "w")
    models = [(tmp_path / name / "spiece.model").read_bytes() for name in "vw"]
    assert models[0] == models[1]


UKRAINIAN = "Її подруга живе в Україні. Мій дім стоїть на горі, а твій у полі біля тихої річки."
ENGLISH = "A fine day it was, my dear. The house stands on a hill, and yours in a field by a river."


@pytest.mark.parametrize(
    ("text", "flags", "kept"),
    [
        (UKRAINIAN, (), True),
        (UKRAINIAN, ("--drop-accents",), False),
        (ENGLISH, (), False),
        (ENGLISH, ("--keep-accents",), True),
    ],
)
def test_accents_are_kept_where_letters_would_become_others(tmp_path, text, flags, kept):
    (tmp_path / "text.txt").write_text(99 * f"{text}\n\n", "utf-8")
    given = ("--text", tmp_path / "text.txt", "--vocab-size", "auto", *flags)
    said = run("vocab", *given, "--output", tmp_path / "v")
    assert read_json(tmp_path / "v" / "manifest.json")["config"]["keep_accents"] is kept
    is_told = kept and not flags
    assert ("Accents are kept" in said) == is_told
    assert ("without them 11.1 % of the letters would become others" in said) == is_told
