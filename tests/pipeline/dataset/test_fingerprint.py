"""A data set is known by all that decides its bytes."""

import dataclasses

from pipeline.dataset import fingerprint
from tests.pipeline.dataset.test_dataset import BOOK, CONFIG, WIKI, input_file, plan


def test_the_fingerprint_is_that_of_what_decides_the_bytes(monkeypatch):
    wanted = plan(WIKI, BOOK).fingerprint()
    assert plan(BOOK, WIKI).fingerprint() == wanted
    others = [
        plan(WIKI),
        plan(WIKI, BOOK, config=dataclasses.replace(CONFIG, seed=1)),
        plan(WIKI, BOOK, vocab_sha256="5f" * 32),
        plan(WIKI, input_file("book.txt", kind="books", sha256="bc" * 32)),
    ]
    assert wanted not in [other.fingerprint() for other in others]
    monkeypatch.setattr(fingerprint, "__version__", "99.0")
    assert plan(WIKI, BOOK).fingerprint() != wanted
