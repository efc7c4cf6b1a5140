"""A tokenizer that puts other tokens around a text than ALBERT's is refused."""

import json

import pytest

from pipeline.vocabulary.importing import read_external_vocabulary
from pipeline.vocabulary.wordpiece import read_wordpiece
from tests.pipeline.vocabulary.test_importing import PIECES as UNIGRAM
from tests.pipeline.vocabulary.test_wordpiece_rules import PIECES, tokenizer_json
from tests.refusals import refusal

FILE = {"tokenizer_class": "PreTrainedTokenizerFast"}


def template(*, cls="[CLS]", segment=1, cls_id=2, sep_id=3):
    """`cls A [SEP] B [SEP]`, B in a segment."""

    def special(token, type_id):
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    single = [special(cls, 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    second = {"Sequence": {"id": "B", "type_id": segment}}
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, second, special("[SEP]", segment)],
        "special_tokens": {
            token: {"id": token, "ids": [number], "tokens": [token]}
            for token, number in ((cls, cls_id), ("[SEP]", sep_id))
        },
    }


BERT = {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}


def write(folder, config, **tokenizer):
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def sentencepiece(folder, config, **values):
    model = {"type": "Unigram", "vocab": UNIGRAM, **values.pop("model", {})}
    write(folder, config, model=model, **values)
    return read_external_vocabulary(folder)


def wordpiece(folder, config, **values):
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    write(folder, config, **tokenizer_json() | values)
    return read_wordpiece(folder / "vocab.txt")


KINDS = pytest.mark.parametrize("read", [sentencepiece, wordpiece])


@KINDS
@pytest.mark.parametrize(
    ("config", "processor"),
    [*((each, it) for each in ({}, FILE) for it in (template(), BERT)), ({}, None)],
)
def test_tokens_around_a_text_as_albert_has_them_are_read(tmp_path, read, processor, config):
    assert read(tmp_path, config, post_processor=processor, truncation=None)


@KINDS
@pytest.mark.parametrize(
    ("config", "values", "reason"),
    [
        *(
            ({}, {"post_processor": processor}, "does not make [CLS] A [SEP] B [SEP]")
            for processor in (
                template(segment=0),
                template(cls="<s>"),
                template(sep_id=4),
                {"type": "RobertaProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
                {**BERT, "cls": ["[MASK]", 4]},
            )
        ),
        # Where the class adds none either.
        (FILE, {"post_processor": None}, "its post_processor does not make"),
        ({"sep_token": "[MASK]"}, {}, "its sep_token is '[MASK]' and not '[SEP]'"),
        ({"unk_token": {"content": "a"}}, {}, "its unk_token is 'a' and not '"),
        ({"truncation_side": "left"}, {}, "it cuts long texts at their beginning"),
        ({}, {"truncation": {"direction": "Left"}}, "it cuts long texts at their"),
        ({"tokenizer_class": "XLNetTokenizer"}, {}, "tokenizer_class is XLNetTok"),
    ],
)
def test_what_an_albert_is_not_read_with_is_refused(tmp_path, read, config, values, reason):
    assert reason in refusal(read, tmp_path, config, **values)


def test_a_model_with_other_special_pieces_is_refused(tmp_path):
    said = refusal(sentencepiece, tmp_path, {}, model={"unk_id": 5})
    assert "unk_id is 5 and not 1" in said
    # As older folders have them.
    (tmp_path / "special_tokens_map.json").write_text('{"cls_token": "<s>"}')
    assert "its cls_token is '<s>' and not" in refusal(sentencepiece, tmp_path, {})
