import gzip
import json
import signal
import tempfile
import time

import pytest
from sentencepiece import SentencePieceProcessor

from pipeline.core.documents import ReadingCounts
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import plan_chunks
from pipeline.vocabulary import sampling
from pipeline.vocabulary.tokenizer import load_tokenizer
from pipeline.vocabulary.training import failure_in_words, train_vocabulary, trained_share
from schemas.config import VocabConfig
from schemas.errors import AlbertError
from tests.refusals import refusal


@pytest.fixture(scope="module")
def splits(topics, tmp_path_factory):
    """The topics in files of their own, four or more to read."""
    folder = tmp_path_factory.mktemp("texts")
    for number, document in enumerate(topics):
        (folder / f"{number:02d}.txt").write_text(document.text)
    files = find_inputs({"text": (str(folder),)}, input_format="prose")
    return plan_chunks(files, chunk_bytes=1 << 17)


@pytest.fixture(scope="module")
def sampled(splits):
    return sampling.sample_sentences(splits, VocabConfig(sample_sentences=2000), workers=1)


def test_special_pieces_come_first_and_then_the_user_symbols(tokenizer):
    assert [tokenizer.piece(i) for i in range(13)] == [
        *("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "(", ")", '"', "-", ".", "–", "£", "€")
    ]


def test_user_symbols_are_pieces_of_their_own(tokenizer):
    (ids,) = tokenizer.encode(["(a-b.) “€5–£6” ''c''"])
    pieces = [tokenizer.piece(i) for i in ids]
    assert [piece for piece in pieces if piece in set('()"-.–£€')] == list('(-.)€–£""')


def test_the_same_sentences_give_the_same_bytes(sentences, model):
    assert train_vocabulary(sentences, VocabConfig(vocab_size=2000)) == model


def test_text_without_the_end_of_a_sentence_is_trained_on(sentences):
    words = " ".join(sentence.replace(".", "") for sentence in sentences)
    endless = words * (200_000 // len(words) + 1)
    model = train_vocabulary([endless], VocabConfig(vocab_size=500))
    assert SentencePieceProcessor(model_proto=model).vocab_size() == 500


def test_no_path_of_this_machine_is_in_the_model_file(model):
    assert tempfile.gettempdir().encode() not in model
    assert b"albert-vocab" not in model


def test_workers_and_order_of_the_splits_do_not_show_in_the_sample(splits, sampled):
    assert len(splits) >= 4
    config = VocabConfig(sample_sentences=2000)
    assert sampling.sample_sentences(splits[::-1], config, workers=2) == sampled


def test_progress_is_told_while_one_file_is_read(topics, tmp_path, monkeypatch):
    """A packed file is one split, however long it takes."""
    monkeypatch.setattr(sampling, "LOOK_SECONDS", 0.005)
    rows = "".join(json.dumps({"text": topic.text}) + "\n" for topic in topics)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    (split,) = plan_chunks(find_inputs({"text": (str(tmp_path / "rows.jsonl.gz"),)}))
    told = []
    config = VocabConfig(sample_sentences=10)
    sampling.sample_sentences([split], config, workers=1, on_progress=told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, split.text_bytes)
    assert len(set(told)) > 2


def test_of_a_split_no_more_is_read_than_was_estimated(splits):
    one, two, *_ = splits
    texts = {one.number: one.text_bytes - 7, two.number: 10 * two.text_bytes}
    read = sampling.text_being_read([one, two], texts)
    assert read == one.text_bytes - 7 + two.text_bytes


def test_a_sample_says_what_memory_training_will_need():
    text = sampling.SampledText(["four", "é"], [], ReadingCounts(), {}, [])
    assert text.training_memory == 21 * 6


def test_inputs_without_text_are_one_sentence(tmp_path):
    (tmp_path / "blank.txt").write_text("\n \n")
    files = find_inputs({"text": (str(tmp_path / "blank.txt"),)})
    with pytest.raises(AlbertError, match=r"to train on \(left out: 1 x no text\)\.$"):
        sampling.sample_sentences(plan_chunks(files), VocabConfig(), workers=1)


def refused_size(sentences, size):
    """The error of a size that cannot be, and the size that it names."""
    return refusal(lambda: train_vocabulary(sentences, VocabConfig(vocab_size=size)))


def size_trained(text, size, **given):
    """The size of a vocabulary that can be."""
    model = train_vocabulary(text, VocabConfig(vocab_size=size), **given)
    return load_tokenizer(model).vocab_size


def test_a_vocabulary_too_large_is_refused_with_a_size_that_suits_the_text_or_becomes_it(sentences):
    some = sentences[:20]
    message = refused_size(some, 5000)
    size = int(message.split("--vocab-size ")[2].split(",")[0])
    largest = int(message.split("at most ")[1].split()[0])
    assert size == largest * 3 // 4
    assert message == (
        f"The text is too small for --vocab-size 5000: it gives at most {largest} "
        f"pieces; use --vocab-size {size}, which suits it, or add text."
    )
    assert size_trained(some, size) == size
    assert size_trained(some, 5000, may_be_smaller=True) == size


def test_a_vocabulary_too_small_is_refused_with_a_size_that_works(sentences):
    some = sentences[:20]
    message = refused_size(some, 32)
    size = int(message.split("pieces")[0].split()[-1]) + 1
    assert message == (
        f"--vocab-size 32 is too small: the text has characters for {size - 1} pieces; "
        "use a size above that."
    )
    assert size_trained(some, size) == size


def test_no_size_is_suggested_that_the_characters_do_not_fit():
    text = ["".join(map(chr, range(0x4E00, 0x4F00))), "".join(map(chr, range(0x4E00, 0x4F00, 2)))]
    size = int(refused_size(text, 5000).split("--vocab-size ")[2].split(",")[0])
    assert size_trained(text, size) == size


def test_any_other_error_of_sentencepiece_is_shown():
    assert failure_in_words("no idea", asked="", smaller=0) == "SentencePiece failed: no idea"


@pytest.mark.parametrize(
    ("log", "share"),
    [
        ("", 0.0),
        ("Making suffix array...", 0.0),
        ("EM sub_iter=0 size=16000 obj=9", 0.3),
        ("EM sub_iter=0 size=16000 obj=9\nEM sub_iter=1 size=1100 obj=8", 1.0),
        ("EM sub_iter=0 size=900 obj=9", 1.0),
    ],
)
def test_the_log_of_sentencepiece_tells_how_much_is_done(log, share):
    assert trained_share(log, vocab_size=1000) == share


def test_progress_is_told_while_a_vocabulary_is_trained(sentences, monkeypatch):
    monkeypatch.setattr(sampling, "LOOK_SECONDS", 0.01)
    shares = []
    train_vocabulary(sentences, VocabConfig(vocab_size=400), on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] == 0.0 < shares[-1] <= 1.0


def test_a_killed_worker_is_one_sentence():
    expected = (
        "^A worker process was killed, perhaps for want of memory; "
        "try fewer --workers or a smaller --sample-sentences.$"
    )
    with sampling.processes(1) as pool, pytest.raises(AlbertError, match=expected):
        pool.submit(signal.raise_signal, signal.SIGKILL).result()


def test_an_error_does_not_wait_for_a_worker_that_is_busy():
    tasks = []

    def fail():
        with sampling.processes(1) as pool:
            tasks.append(pool.submit(time.sleep, 600))
            raise ZeroDivisionError

    start = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert time.monotonic() - start < 300
    assert tasks[0].done()


def test_a_cased_vocabulary_has_capitals(sentences):
    config = VocabConfig(vocab_size=400, cased=True, keep_accents=True)
    tokenizer = load_tokenizer(train_vocabulary(sentences[:1000], config))
    assert tokenizer.normalize("The Élève") == "▁The▁Élève"
    assert "▁The" in {tokenizer.piece(i) for i in range(400)}
