"""A file that never ends, where any command reads one: a sentence at once."""

import os
import shutil
import signal

import pytest

from tests.commands import attempt

COMMANDS = {
    "data": "inspect data --verify",
    "vocab": "make-data --text text --vocab vocab --output out",
    "run": "inspect run",
    "tuned": "report tuned --output out.html",
    "hf": "import hf --output out",
    "out": "vocab --text text --output out",
}
FILES = {
    "data": ("manifest.json", "spiece.model", "eval/", "train/"),
    "vocab": ("spiece.model", "vocab_manifest.json"),
    "run": ("metrics.jsonl", "config.json", "model.json", "checkpoints/"),
    "tuned": ("task.json", "model.json"),
    "hf": ("config.json", "model.safetensors", "spiece.model", "tokenizer.json"),
    "out": ("config.json",),
}
# What is no file is refused whatever it is: of each folder's first one a device is tried too.
CASES = [(what, name, "pipe") for what, names in FILES.items() for name in names]
CASES += [(what, names[0], "device") for what, names in FILES.items()]


@pytest.fixture(scope="module")
def whole(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipes") / "whole"
    shutil.copytree(models, folder)
    (folder / "out").mkdir()
    return folder


def late(*_):
    raise TimeoutError


@pytest.fixture
def alarm():
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("what", "name", "kind"), CASES, ids=map("/".join, CASES))
def test_what_never_ends_is_not_waited_for(whole, tmp_path, monkeypatch, alarm, what, name, kind):
    monkeypatch.chdir(tmp_path)
    for folder in whole.iterdir():
        copy = shutil.copytree if folder.name == what else os.symlink
        copy(folder, tmp_path / folder.name)
    path = tmp_path / what / name
    if name.endswith("/"):
        path = next(each for each in sorted(path.rglob("*")) if each.is_file())
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    code, said = attempt(*COMMANDS[what].split())
    assert "Unexpected" not in said
    assert "TimeoutError" not in said
    if code:
        assert said.count("Error: ") == 1, said
