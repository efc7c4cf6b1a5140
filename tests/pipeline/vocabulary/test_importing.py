"""SentencePiece models of other ALBERTs do by themselves what was done around them."""

import base64
import functools
import json

import pytest
import sentencepiece

from cli.commands.import_model import take_vocabulary
from pipeline.vocabulary import tokenizer as vocabulary
from pipeline.vocabulary.importing import imported_model, read_external_vocabulary
from pipeline.vocabulary.normalization import (
    Normalization,
    missing_normalization,
    normalization_of_pieces,
    normalization_warning,
)
from pipeline.vocabulary.tokenizer import load_tokenizer, model_of_pieces, with_rules_and_scores
from pipeline.vocabulary.training import train_vocabulary
from pipeline.vocabulary.writing import tokenizer_json
from schemas.config import VocabConfig
from schemas.errors import AlbertError, SettingError
from schemas.example import SPECIAL_TOKENS
from tests.refusals import refusal

LOWER = Normalization(cased=False, keep_accents=False)
AS_IT_IS = Normalization(cased=True, keep_accents=True)
CASED = Normalization(cased=True, keep_accents=False)
PIECES = [
    *((token, 0.0) for token in SPECIAL_TOKENS),
    *((piece, -float(n)) for n, piece in enumerate("▁aebcd12,éA")),
    ("▁1,", -0.5),
    ("▁de", -1.0),
]


SCORES = [score for _, score in PIECES]


@functools.cache
def nmt_nfkc():
    """The compiled rules that published models have."""
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    return vocabulary.compiled_normalization(normalizer.serialized_model_proto())


@pytest.fixture(scope="module")
def bare():
    """A model as others publish it: its rules know neither case nor accents."""
    return model_of_pieces(PIECES, nmt_nfkc())


@pytest.fixture(scope="module")
def imported(bare):
    """Imports that model with the normalization asked for, once each."""
    return functools.cache(lambda asked: imported_model(bare, asked))


@pytest.fixture(scope="module")
def lower(imported):
    return imported(LOWER)


@pytest.fixture(scope="module")
def ruled(bare):
    """The same with rules that somebody gave SentencePiece, which know neither case nor accents."""
    return with_rules_and_scores(bare, charsmap=nmt_nfkc(), scores=SCORES)


def pieces_of(model, text):
    tokenizer = load_tokenizer(model)
    return [tokenizer.piece(i) for i in tokenizer.encode([text])[0]]


def test_what_was_done_before_the_model_is_done_inside(bare, lower):
    assert load_tokenizer(bare).normalize("ÉDÉ ﬁ\t``A''") == "▁ÉDÉ▁fi▁``A''"
    assert load_tokenizer(lower).normalize("ÉDÉ ﬁ\t``A''") == '▁ede▁fi▁"a"'


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (LOWER, "▁ede▁한국어▁a"),
        (CASED, "▁EDe▁한국어▁A"),
        (Normalization(cased=False, keep_accents=True), "▁édé▁한국어▁å"),
        (AS_IT_IS, "▁ÉDé▁한국어▁Å"),
    ],
)
def test_case_and_accents_are_kept_as_asked(imported, asked, text):
    assert load_tokenizer(imported(asked)).normalize("ÉDe\u0301 한국어 Å") == text


def test_pieces_and_kinds_stay(bare, lower):
    before, after = load_tokenizer(bare), load_tokenizer(lower)
    assert [after.piece(i) for i in range(after.vocab_size)] == [
        before.piece(i) for i in range(before.vocab_size)
    ]
    processor = sentencepiece.SentencePieceProcessor(model_proto=lower)
    assert [processor.IsControl(i) for i in range(6)] == [*(True, False, True, True, True, False)]
    assert processor.IsUnknown(1)


def test_a_comma_after_a_digit_stands_alone_unless_the_other_program_scores_otherwise(bare, lower):
    assert pieces_of(bare, "1, 1") == ["▁1,", "▁", "1"]
    assert pieces_of(lower, "1, 1") == ["▁", "1", ",", "▁", "1"]
    assert pieces_of(imported_model(bare, LOWER, scores=SCORES), "1,") == ["▁1,"]


def test_a_model_that_was_imported_or_made_here_stays_as_it_is(bare, lower, model):
    assert not vocabulary.has_own_rules(bare)
    for own in (lower, model):
        assert vocabulary.has_own_rules(own)
        assert imported_model(own, AS_IT_IS) == own


def test_rules_of_a_model_are_completed_by_those_of_the_program_around_it(ruled):
    assert vocabulary.has_own_rules(ruled)
    assert imported_model(ruled, AS_IT_IS) == ruled
    whole = imported_model(ruled, LOWER)
    assert load_tokenizer(whole).normalize("\u00c9D") == "\u2581ed"
    assert pieces_of(whole, "1,") == ["\u2581", "1", ","]
    assert imported_model(whole, LOWER) == whole


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"do_lower_case": True}, "\u2581ed"),
        ({"do_lower_case": False, "keep_accents": True}, "\u2581\u00c9D"),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, "\u2581\u00c9D"),
        (None, "\u2581\u00c9D"),
    ],
)
def test_an_import_goes_by_the_files_around_a_model_with_its_rules(ruled, tmp_path, config, text):
    (tmp_path / "spiece.model").write_bytes(ruled)
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    rules = {"cased": None, "keep_accents": None}
    assert take_vocabulary(tmp_path, None, rules).tokenizer.normalize("\u00c9D") == text


def test_pieces_tell_what_their_text_was_like(sentences, model, bare):
    assert normalization_of_pieces(load_tokenizer(model)) == LOWER
    assert normalization_of_pieces(load_tokenizer(bare)) == AS_IT_IS
    config = VocabConfig(vocab_size=400, cased=True)
    cased = load_tokenizer(train_vocabulary(sentences[:1000], config))
    assert normalization_of_pieces(cased) == CASED


def test_a_model_without_its_normalization_is_noticed(model):
    tokenizer = load_tokenizer(model)
    pieces = [(tokenizer.piece(i), tokenizer.score(i)) for i in range(tokenizer.vocab_size)]
    published = model_of_pieces(pieces, nmt_nfkc())
    assert missing_normalization(load_tokenizer(published)) == ["lower-casing", "dropping accents"]
    assert missing_normalization(tokenizer) == []
    imported = imported_model(published, LOWER)
    assert missing_normalization(load_tokenizer(imported)) == []
    assert normalization_warning(imported, vocab="v") == ""
    assert "lower-casing and dropping accents" in normalization_warning(published, vocab="v")


@pytest.mark.parametrize("text", ["he came late", "НА ДВОРЕ ТРАВА"])
def test_a_vocabulary_of_text_with_few_accents_misses_nothing(text):
    config = VocabConfig(vocab_size=35, keep_accents=True)
    sentences = [f"{text} {n}" for n in range(200)]
    assert normalization_warning(train_vocabulary(sentences, config), vocab="v") == ""


def write_tokenizer(folder, *, kinds=(), **settings):
    """`tokenizer.json` with these steps of normalization, and its settings."""
    charsmap = base64.b64encode(nmt_nfkc()).decode()
    steps = [{"type": kind} for kind in kinds]
    steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    values = {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "model": {"type": "Unigram", "vocab": PIECES},
    }
    (folder / "tokenizer.json").write_text(json.dumps(values))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def test_a_tokenizer_file_alone_becomes_a_model(bare, tmp_path):
    write_tokenizer(tmp_path, kinds=["NFKD", "StripAccents", "Lowercase"])
    found = read_external_vocabulary(tmp_path)
    assert found == (tmp_path / "tokenizer.json", bare, LOWER, SCORES)


def test_a_model_is_found_by_any_name(bare, tmp_path):
    (tmp_path / "30k-clean.model").write_bytes(bare)
    found = read_external_vocabulary(tmp_path)
    assert found == (tmp_path / "30k-clean.model", bare, None, None)
    assert read_external_vocabulary(tmp_path / "30k-clean.model") == found
    (tmp_path / "other.model").write_bytes(bare)
    with pytest.raises(AlbertError, match="has 2 SentencePiece models; say which"):
        read_external_vocabulary(tmp_path)
    assert read_external_vocabulary(tmp_path, given=tmp_path / "other.model").model == bare
    said = refusal(read_external_vocabulary, tmp_path, given=tmp_path / "none", error=SettingError)
    assert "none does not exist" in said


@pytest.mark.parametrize(
    ("settings", "kinds", "asked"),
    [
        ({}, None, LOWER),
        ({"do_lower_case": False}, None, CASED),
        ({"do_lower_case": False, "keep_accents": True}, None, AS_IT_IS),
        ({"do_lower_case": True}, ["NFKD", "StripAccents"], CASED),
    ],
)
def test_settings_say_what_is_kept_and_the_tokenizer_file_before_them(
    bare, tmp_path, settings, kinds, asked
):
    (tmp_path / "spiece.model").write_bytes(bare)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    if kinds:
        write_tokenizer(tmp_path, kinds=kinds, **settings)
    found = read_external_vocabulary(tmp_path)
    assert (found.asked, found.scores) == (asked, SCORES if kinds else None)


def test_a_tokenizer_file_of_ours_becomes_the_model_it_is_of(model, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(model)))
    found = read_external_vocabulary(tmp_path)
    again = imported_model(found.model, AS_IT_IS, scores=found.scores)
    text = "The Quick (brown) fox, 1984. ``É''"
    assert pieces_of(again, text) == pieces_of(model, text)


def test_files_that_contradict_each_other_are_refused(model, bare, tmp_path):
    path = tmp_path / "spiece.model"
    path.write_bytes(model)
    write_tokenizer(tmp_path)
    assert "has other pieces than " in refusal(read_external_vocabulary, tmp_path)
    path.write_bytes(bare)
    settings = {"tokenizer_class": "AlbertTokenizer", "do_lower_case": True}
    write_tokenizer(tmp_path, kinds=["NFKD", "StripAccents"], **settings)
    assert "disagree on capital letters or accents; " in refusal(read_external_vocabulary, tmp_path)
    # Tokens that are found before the pieces.
    write_tokenizer(tmp_path, do_lower_case=False, keep_accents=True)
    (tmp_path / "added_tokens.json").write_text('{"<e1>": 20}')
    said = refusal(read_external_vocabulary, tmp_path)
    assert "its tokenizer finds <e1> in a text before" in said


def tokenizer_with(vocab=PIECES, normalizer=None, before=None, **model):
    return {
        "normalizer": normalizer,
        "pre_tokenizer": before,
        "model": {"type": "Unigram", "vocab": vocab, **model},
    }


NOT_OURS = "is not the tokenizer.json of an ALBERT"
HOSTILE = [
    (tokenizer_with(vocab=[["a", 10**400]]), "int too large to convert to float"),
    *((tokenizer_with(vocab=[["a", score]]), NOT_OURS) for score in (1e300, float("nan"))),
    (tokenizer_with(vocab=[[["a"], -1.0]]), NOT_OURS),
    (tokenizer_with(vocab=[]), "piece 0 must be <pad>|is not a SentencePiece model"),
    (tokenizer_with(normalizer="NFKD"), "has a normalizer that is not a list"),
    (tokenizer_with(normalizer={"normalizers": 5}), "has a normalizer that is not"),
    (tokenizer_with(normalizer={"type": []}), "with a step that has no name"),
    (tokenizer_with(normalizer={"type": "NFC"}), "with the step NFC, which a"),
    (
        tokenizer_with(normalizer={"type": "Replace", "pattern": {"String": []}}),
        "tokenizer.json is damaged: unhashable type: 'list'; copy it again",
    ),
    (tokenizer_with(before={"type": "Digits"}), "divides text by Digits with"),
    (tokenizer_with(byte_fallback=True), "spells unknown characters in bytes"),
]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("readme", "", "has no SentencePiece model; give one with --vocab."),
        ("spiece.model", "no model", "is not a SentencePiece model"),
        (
            "tokenizer.json",
            '{"model": {"type": "WordPiece"}}',
            "is a WordPiece tokenizer, and only Unigram ones can be read",
        ),
        ("tokenizer.json", "{}", "is not the tokenizer.json of an ALBERT"),
        ("tokenizer.json", '{"model": []}', "is not the tokenizer.json of an ALBERT"),
        *(("tokenizer.json", json.dumps(values), message) for values, message in HOSTILE),
    ],
)
def test_what_is_no_vocabulary_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(AlbertError, match=message):
        read_external_vocabulary(tmp_path)
