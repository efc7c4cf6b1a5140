"""`albert vocab`: what it says."""

import json

import pytest

from cli.commands.vocab import next_command
from cli.support.inputs import INPUT_OPTIONS
from pipeline.reading.formats import KINDS
from tests.commands import VOCAB, contents, run

SMALL = "--vocab v --output data --max-seq-length 128 --examples on-the-fly"
GIVEN = dict.fromkeys((*KINDS, *INPUT_OPTIONS), ())


@pytest.mark.parametrize(
    ("given", "documents", "expected"),
    [
        ({"text": ["a.txt"]}, 40_000, f"--text a.txt {SMALL}"),
        ({"text": ["a.txt"]}, 39_999, f"--text a.txt {SMALL} --eval-fraction 0.05"),
        (
            {"books": ["my novels", "b"], "language": "cy", "text_key": "a.b"},
            100,
            "--books 'my novels' --books b --language cy --text-key a.b "
            f"{SMALL} --eval-fraction 0.1024",
        ),
        ({"text": list("abcde"), "language": "cy"}, 1, f"... --language cy {SMALL}"),
    ],
    ids=["much text", "less", "several flags", "files that a shell found"],
)
def test_the_next_command_reads_the_same_text(given, documents, expected):
    command = next_command(GIVEN | given, "v", documents=documents)
    assert command == f"next: albert make-data {expected}"


def test_the_next_command_is_said_last_and_quoted_for_the_shell(small, tmp_path):
    output = tmp_path / "my vocabulary"
    said = run("vocab", "--text", small / "text", *VOCAB, "--output", output)
    assert said.splitlines()[-1].startswith(
        f"next: albert make-data --text {small / 'text'} --vocab '{output}' --output "
    )
    assert contents(output) == [
        "config.json",
        "manifest.json",
        "spiece.model",
        "spiece.vocab",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_what_a_person_should_know_of_the_text_is_said(small, tmp_path):
    given = ("--text", small / "text", "--text", small_crawl(tmp_path))
    said = run("vocab", *given, *VOCAB, "--output", tmp_path / "v").splitlines()
    assert [line for line in said if line.startswith("text: ")][1:] == [
        "text: 63.7% of its lines were joined to paragraphs",
        "text: letters 99.26% Latin, 0.74% Greek",
        "text: of the documents 55.6% hold HTML",
    ]


def test_the_size_that_suits_a_text_follows_from_it(small, tmp_path):
    text = ("--text", small / "text")
    said = run("vocab", *text, "--vocab-size", "auto", "--output", tmp_path / "v")
    assert f"{tmp_path / 'v'}: 1,000 tokens; on " in said
    record = json.loads((tmp_path / "v/config.json").read_bytes())
    assert record["vocab_size"] == "auto"
    run("vocab", "--config", tmp_path / "v/config.json", "--output", tmp_path / "w")
    models = [(tmp_path / name / "spiece.model").read_bytes() for name in "vw"]
    assert models[0] == models[1]


def small_crawl(folder):
    """Pages that hold a banner, a remnant of HTML and a Greek line each."""
    pages = [
        f"Accept all cookies\n\nIt rained all day &amp; all night of the {n}th.\n\n"
        f"Το βράδυ έβρεχε στην πόλη {n}.\n"
        for n in range(30)
    ]
    for number, page in enumerate(pages):
        (folder / f"page{number}.txt").write_text(page)
    return folder
