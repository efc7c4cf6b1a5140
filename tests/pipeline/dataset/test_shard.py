import hashlib
import io
import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.documents import ShardDocument
from pipeline.core.draws import hash_key
from pipeline.dataset.manifest import realised
from pipeline.dataset.shard import (
    Counts,
    Shard,
    count_batch,
    distinct_documents,
    encode,
    write_shard,
)
from pipeline.examples.examples import make_examples, pack_copies
from pipeline.records.tfrecord import encode_rows
from schemas.config import DataConfig
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, SEP_ID
from tests.pipeline.records.one_record import read_records
from tests.random_documents import max_seq_lengths, shares

SMALL = DataConfig(max_seq_length=64, dupe_factor=2).resolved(input_bytes=0)
TRAIN = Shard(split="train", index=0, num_shards=1)

words = st.sampled_from(
    ["the", "statement", "is", "evaluated", "(", "1984", "привет", "日本語", "ก"]
)
nasty_words = words | st.sampled_from(["z" * 600, "x1" * 200, "☃", "\u0301"])
text_sentences = st.lists(words | nasty_words, max_size=12).map(" ".join)
texts = st.lists(text_sentences, min_size=1, max_size=6).map("\n".join)
text_documents = st.lists(texts, min_size=1, max_size=3).map(lambda batch: [*map(document, batch)])


def document(text):
    """A document whose id follows from its text."""
    return ShardDocument(hashlib.blake2b(text.encode(), digest_size=16).digest(), text)


def files_of(documents, output, *, tokenizer, config=SMALL, shard=TRAIN):
    """The sidecar of a shard, and the bytes of its files."""
    sidecar = write_shard(documents, shard, tokenizer=tokenizer, config=config, output=output)
    return sidecar, [(output / file["name"]).read_bytes() for file in sidecar["files"]]


def parse(record):
    """The features of a record, and its pieces before masking."""
    features = tf.train.Example.FromString(record).features.feature
    row = {name: list(value.int64_list.value) for name, value in features.items()}
    row["restored"] = list(row["input_ids"])
    for position, label in zip(row["masked_lm_positions"], row["masked_lm_ids"], strict=True):
        row["restored"][position] = label
    return row


def segments(row):
    ids = row["restored"]
    middle = ids.index(SEP_ID)
    return ids[1:middle], ids[middle + 1 : -1]


def copies_of(documents, *, tokenizer, config, copies=2):
    """For each copy its sequences, rows and counts; and the pieces of the shard."""
    unique = distinct_documents(documents, dropped=Counter(), gone={})
    pieces, *_ = encode(unique, tokenizer, dropped=Counter(), config=config)
    result = []
    for sequences in pack_copies(pieces, copies=range(copies), config=config):
        rows, counts = [], Counts()
        for batch in make_examples(
            sequences, pieces, vocab_size=tokenizer.vocab_size, config=config
        ):
            counts.add(count_batch(batch))
            records = encode_rows(batch.rows, batch.masked, batch.pairs.labels, config=config)
            rows += map(parse, records)
        result.append((sequences, rows, counts))
    return pieces, result


def masked_words(row, tokenizer):
    """For each word of a row, which of its pieces are masked."""
    masked = set(row["masked_lm_positions"])
    words = []
    behind_special = True
    for place, piece in enumerate(row["restored"]):
        is_special = piece in (CLS_ID, SEP_ID)
        if is_special or behind_special or tokenizer.word_starts[piece]:
            words.append([])
        words[-1].append(place in masked)
        behind_special = is_special
    return words


def settings_of(*tasks):
    return st.builds(
        DataConfig,
        sentence_task=st.sampled_from(tasks),
        max_seq_length=max_seq_lengths,
        short_seq_prob=shares,
        seed=st.integers(0, 5),
    ).map(lambda config: config.resolved(input_bytes=0))


def documents_of_two_words(documents, config, tokenizer):
    """The key of each document of two or more words, with its pieces."""
    source = {}
    for one in documents:
        sentences = tokenizer.encode(one.text.split("\n"))
        pieces = [piece for sentence in sentences for piece in sentence]
        if np.count_nonzero(tokenizer.word_starts[pieces]) > 1:
            source[hash_key(str(config.seed).encode(), one.id)] = pieces
    return source


def in_order(sequences, rows, pieces):
    """The key of the document of each row, and the row, as they stand in the text."""
    for place in np.argsort(sequences.start, kind="stable"):
        yield pieces.document_keys[sequences.chain[place]], rows[place]


def own_text(row, task):
    """The text of a row that is of its document, in the order it has there."""
    is_1 = row["next_sentence_labels"] == [1]
    if task == "none":
        assert not is_1
        return row["restored"][1:-1]
    first, second = segments(row)
    if task == "nsp":
        return first if is_1 else first + second
    return second + first if is_1 else first + second


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
@settings(max_examples=15)
@given(documents=text_documents, data=st.data())
def test_a_copy_is_every_document_piece_by_piece(task, documents, data, tokenizer):
    config = data.draw(settings_of(task))
    pieces, copies = copies_of(documents, tokenizer=tokenizer, config=config)
    source = documents_of_two_words(documents, config, tokenizer)
    for sequences, rows, _ in copies:
        found = defaultdict(list)
        for key, row in in_order(sequences, rows, pieces):
            found[key] += own_text(row, task)
        assert {key: found[key] for key in source} == source


@settings(max_examples=25)
@given(documents=text_documents, config=settings_of("nsp"))
def test_what_does_not_follow_is_text_of_another_document(documents, config, tokenizer):
    pieces, copies = copies_of(documents, tokenizer=tokenizer, config=config)
    encoded = {
        key: "".join(map(chr, pieces.ids[start:end]))
        for key, (start, end) in zip(
            pieces.document_keys, itertools.pairwise(pieces.document_starts), strict=True
        )
    }
    for sequences, rows, _ in copies:
        for own, row in in_order(sequences, rows, pieces):
            if row["next_sentence_labels"] == [1]:
                text = "".join(map(chr, segments(row)[1]))
                assert any(text in other for key, other in encoded.items() if key != own)


def test_of_next_sentence_pairs_half_do_not_follow_if_there_is_another_document(topics, tokenizer):
    config = DataConfig(max_seq_length=64, sentence_task="nsp").resolved(input_bytes=0)
    for documents, copies, share in ((topics, 5, pytest.approx(0.5, abs=0.01)), (topics[:1], 1, 0)):
        given = {"tokenizer": tokenizer, "config": config, "copies": copies}
        _, made = copies_of(documents, **given)
        labels = [row["next_sentence_labels"] for _, rows, _ in made for row in rows]
        assert np.mean(labels) == share


@settings(max_examples=25)
@given(documents=text_documents, config=settings_of("sop", "nsp", "none"))
def test_rows_are_two_segments_with_whole_words_masked_as_counted(documents, config, tokenizer):
    _, copies = copies_of(documents, tokenizer=tokenizer, config=config)
    for _, rows, counts in copies:
        recounted = Counter()
        for row in rows:
            ids, positions = row["restored"], row["masked_lm_positions"]
            special = [i for i, piece in enumerate(ids) if piece in (CLS_ID, SEP_ID)]
            assert len(ids) <= config.max_seq_length
            assert len(special) == config.num_special_tokens
            assert (special[0], special[-1]) == (0, len(ids) - 1)
            assert min(np.diff(special)) > 1
            assert positions == sorted(set(positions))
            assert len(positions) <= config.max_predictions_per_seq
            assert all(piece >= FIRST_ORDINARY_ID for piece in row["masked_lm_ids"])
            words = masked_words(row, tokenizer)
            assert all(len(set(word)) == 1 for word in words)
            marks = "".join("x" if word[0] else " " for word in words)
            recounted.update(map(len, marks.split()))
        assert recounted == counts.spans


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=text_documents, data=st.data())
def test_neither_order_nor_duplicates_of_documents_show(documents, data, tokenizer, tmp_path):
    again = data.draw(st.permutations(documents + documents[:2]))
    _, files = files_of(documents, tmp_path, tokenizer=tokenizer)
    _, files_again = files_of(again, tmp_path, tokenizer=tokenizer)
    assert files_again == files


# Of one document.
PARTS = [ShardDocument(bytes(15) + bytes([n]), f"It is number {n}.", n == 0) for n in range(3)]


def test_parts_of_one_document_in_any_shards_are_counted_as_one(tokenizer, tmp_path):
    other = document("The statement is evaluated.")
    for index, documents in enumerate(([PARTS[1], other], [PARTS[0], PARTS[2]])):
        shard = Shard(split="train", index=index, num_shards=2)
        sidecar, _ = files_of(documents, tmp_path, tokenizer=tokenizer, shard=shard)
        assert sidecar["documents"] == 1


def test_a_long_document_given_twice_is_one_duplicate():
    dropped = Counter()
    assert distinct_documents(PARTS + PARTS, dropped=dropped, gone={}) == PARTS
    assert dropped == {"duplicate document": 1}


def test_of_two_segmentations_of_the_same_text_the_order_does_not_decide(tokenizer, tmp_path):
    one = ShardDocument(bytes(16), "The statement is evaluated.\nThen it ends.")
    other = ShardDocument(bytes(16), "The statement is evaluated. Then it ends.")
    _, files = files_of([one, other], tmp_path, tokenizer=tokenizer)
    _, files_again = files_of([other, one], tmp_path, tokenizer=tokenizer)
    assert files_again == files


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("most", ["examples.examples.BATCH_ROWS", "dataset.shard.ENCODE_SENTENCES"])
def test_what_is_done_together_does_not_show(most, size, tokenizer, topics, tmp_path, monkeypatch):
    expected = files_of(topics[:5], tmp_path, tokenizer=tokenizer)
    monkeypatch.setattr(f"pipeline.{most}", size)
    assert files_of(topics[:5], tmp_path, tokenizer=tokenizer) == expected


def test_a_document_gives_the_same_rows_in_any_company(tokenizer, topics, tmp_path):
    alone, together = (
        read_records(io.BytesIO(files_of(topics[:n], tmp_path, tokenizer=tokenizer)[1][0]))
        for n in (1, 5)
    )
    assert [record for record in together if record in set(alone)] == alone


def test_a_sidecar_describes_its_shard(tokenizer, tmp_path):
    text = "The statement is evaluated.\nThen it ends."
    documents = [document(each) for each in (text, text, "the", "\n\u0301\n")]
    shard = Shard(split="eval", index=1, num_shards=3)
    config = DataConfig(max_seq_length=64, short_seq_prob=0.0).resolved(input_bytes=0)
    settings = {"tokenizer": tokenizer, "config": config, "shard": shard}
    sidecar, (content,) = files_of(documents, tmp_path, **settings)
    (counts,) = sidecar.pop("copies")
    file = {"name": "eval/copy-00/part-00001-of-00003.tfrecord", "examples": 1}
    file |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert sidecar == {
        **{"split": "eval", "shard": 1, "documents": 1, "files": [file]},
        "dropped": {"duplicate document": 1, "document without text": 1, "document of one word": 1},
    }
    assert counts["totals"]["examples"] == counts["totals"]["document_ends"] == 1


def test_a_shard_without_documents_has_empty_files(tokenizer, tmp_path):
    sidecar, files = files_of([], tmp_path, tokenizer=tokenizer)
    assert files == [b"", b""]
    names = [f"train/copy-0{copy}/part-00000-of-00001.tfrecord" for copy in (0, 1)]
    nothing = {"examples": 0, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    assert sidecar == {
        **{"split": "train", "shard": 0, "documents": 0, "dropped": {}},
        "files": [{"name": name} | nothing for name in names],
        "copies": [{"totals": {}, "spans": {}, "lengths": {}}] * 2,
    }


CONFIG_512 = DataConfig(dupe_factor=40).resolved(input_bytes=0)


@pytest.fixture(scope="module")
def corpus(topics, tokenizer, tmp_path_factory):
    """40 copies of the language reference at 512 pieces: what a reader finds there."""
    output = tmp_path_factory.mktemp("corpus")
    sidecar = write_shard(topics, TRAIN, tokenizer=tokenizer, config=CONFIG_512, output=output)
    counts = Counts()
    for copy in sidecar["copies"]:
        counts.add(Counts.from_dict(copy))
    files = [str(output / file["name"]) for file in sidecar["files"]]
    (records,) = tf.data.TFRecordDataset(files).batch(1_000_000)
    ragged = {
        name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
        for name in ("input_ids", "masked_lm_positions", "masked_lm_ids")
    }
    labels = {"next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64)}
    rows = tf.io.parse_example(records, ragged | labels)
    starts = rows["input_ids"].row_starts().numpy()
    owners = rows["masked_lm_positions"].value_rowids().numpy()
    ids, originals = (rows[n].flat_values.numpy() for n in ("input_ids", "masked_lm_ids"))
    masked = starts[owners] + rows["masked_lm_positions"].flat_values.numpy()
    restored = ids.copy()
    restored[masked] = originals
    labels = rows["next_sentence_labels"].numpy().ravel()
    made = {"counts": counts, "ids": ids, "starts": starts, "masked": masked, "labels": labels}
    return made | {"originals": originals, "restored": restored}


def test_spans_in_the_files_are_counted_in_the_sidecar_and_as_long_as_in_the_paper(
    corpus, tokenizer
):
    restored, masked = corpus["restored"], corpus["masked"]
    is_special = np.isin(restored, (CLS_ID, SEP_ID))
    starts_word = tokenizer.word_starts[restored] | is_special
    starts_word[1:] |= is_special[:-1]
    span = np.cumsum(np.diff(masked, prepend=-2) > 1) - 1
    spans = np.bincount(np.bincount(span, weights=starts_word[masked]).astype(int))
    assert dict(enumerate(spans)) == {0: 0, **corpus["counts"].spans}
    assert spans.sum() > 100_000
    assert spans[1:] / spans.sum() == pytest.approx(np.array([6, 3, 2]) / 11, rel=0.01)


def test_15_percent_of_the_pieces_in_the_files_are_masked_80_10_10_mask_kept_random(
    corpus, tokenizer
):
    assert len(corpus["masked"]) / len(corpus["ids"]) == pytest.approx(0.15, abs=0.002)
    now = corpus["ids"][corpus["masked"]]
    is_mask = now == MASK_ID
    is_kept = now == corpus["originals"]
    shares = [is_mask.mean(), is_kept.mean(), (~is_mask & ~is_kept).mean()]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.005)
    # Random pieces are any ordinary ones equally often.
    drawn = now[~is_mask & ~is_kept]
    ordinary = (FIRST_ORDINARY_ID, tokenizer.vocab_size - 1)
    assert (drawn.min(), drawn.max()) == ordinary
    tenths = np.histogram(drawn, bins=10, range=ordinary)[0] / len(drawn)
    assert tenths == pytest.approx(np.full(10, 0.1), rel=0.05)


def test_half_of_the_pairs_are_swapped_a_tenth_short_and_others_nearly_full(corpus):
    statistics = realised(corpus["counts"], CONFIG_512)
    assert corpus["labels"].mean() == pytest.approx(0.5, abs=0.01)
    assert statistics["short_share"] == pytest.approx(0.1, abs=0.005)
    # Up to half a sentence or so.
    assert statistics["fill"] >= 0.93


def test_the_last_pieces_of_both_segments_do_not_tell_which_pairs_are_swapped(corpus):
    separators = np.flatnonzero(corpus["restored"] == SEP_ID).reshape(-1, 2)
    first, second = corpus["restored"][separators - 1].T
    # What a sentence ends with most often stands last in segments that are whole.
    full_stop = np.bincount(np.concatenate([first, second])).argmax()
    tells = (first == full_stop) != (second == full_stop)
    right = (second == full_stop)[tells] == corpus["labels"][tells]
    accuracy = (right.sum() + 0.5 * np.sum(~tells)) / len(tells)
    assert accuracy == pytest.approx(0.5, abs=0.03)


def test_the_files_of_a_shard_are_shuffled(corpus):
    lengths = np.diff(corpus["starts"])
    correlation = np.corrcoef(lengths[:-1], lengths[1:])[0, 1]
    assert correlation == pytest.approx(0, abs=0.03)
