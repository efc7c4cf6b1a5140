"""Imported models and vocabularies, beside transformers reading the same folder."""

import shutil

import pytest
import safetensors.numpy

from albert_tf.data.input_pipeline import Records, evaluation_batches
from albert_tf.evaluation.evaluate import evaluate
from albert_tf.model.trained_model import read_trained
from pipeline.vocabulary.tokenizer import load_tokenizer, read_spm_model
from schemas.manifest import read_manifest
from tests.commands import make_data, run
from tests.exported_runs import SMALL_RUN, VOCAB_SIZE, write_run
from tests.huggingface_albert import assert_equal_but_for_ties, huggingface_losses
from tests.pipeline.vocabulary.test_importing import nmt_nfkc

pytestmark = pytest.mark.slow

SENTENCES = [
    "The Quick Brown Fox, in 1984, paid £1,000.50 -- ``ÉDITION'' of Naïve Ünïcode",
    "Ελληνικά Κείμενα, Русский Текст й ё, Tiếng Việt",
    "ＦＵＬＬ ｗｉｄｔｈ ½ ﬁne ™ 한국어 日本語 ガ ｶﾞ",
    "e\u0301 a\u030a \u200b tab\there  double  space\xa0",
]


@pytest.fixture(scope="module")
def huggingface(small, tmp_path_factory):
    """A folder as transformers saves it: no normalization inside, and no model file."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("huggingface")
    write_run(folder / "run", SMALL_RUN, small)
    run("export", folder / "run", "--to", "hf", "--output", folder / "export")
    model = transformers.AlbertForPreTraining.from_pretrained(folder / "export")
    model.save_pretrained(folder / "hf")
    ours = load_tokenizer((small / "vocab" / "spiece.model").read_bytes())
    pieces = [(ours.piece(i), ours.score(i)) for i in range(VOCAB_SIZE)]
    transformers.AlbertTokenizer(
        vocab=pieces, _spm_precompiled_charsmap=nmt_nfkc()
    ).save_pretrained(folder / "hf")
    run("import", folder / "hf", "--output", folder / "imported")
    return folder


def test_what_transformers_saved_is_written_back_byte_for_byte(huggingface):
    run("export", huggingface / "imported", "--to", "hf")
    before, after = (
        safetensors.numpy.load_file(huggingface / name / "model.safetensors")
        for name in ("hf", "imported-hf")
    )
    assert before.keys() <= after.keys()
    for name, array in before.items():
        assert array.tobytes() == after[name].tobytes(), name


@pytest.mark.parametrize("cased", [False, True])
@pytest.mark.parametrize("keep_accents", [False, True])
def test_an_imported_vocabulary_makes_the_pieces_of_its_tokenizer(
    huggingface, sentences, tmp_path, cased, keep_accents
):
    transformers = pytest.importorskip("transformers")
    settings = {"do_lower_case": not cased, "keep_accents": keep_accents}
    loaded = transformers.AutoTokenizer.from_pretrained(huggingface / "hf", **settings)
    loaded.save_pretrained(tmp_path / "hf")
    run("import", tmp_path / "hf", "--output", tmp_path / "imported")
    ours = load_tokenizer(read_spm_model(tmp_path / "imported"))
    texts = SENTENCES + [s for s in sentences if len(s) > 30]
    assert len(texts) > 1000
    theirs = loaded(texts, add_special_tokens=False)["input_ids"]
    assert_equal_but_for_ties(theirs, ours.encode(texts), ours, share=0.01)


def test_an_imported_model_is_measured_as_transformers_measures_it(huggingface, small, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shutil.copytree(small / "text", tmp_path / "text")
    shutil.copytree(huggingface / "imported", tmp_path / "vocab")
    make_data(tmp_path, "--eval-fraction", 0.3, output=tmp_path / "data")
    measured = evaluate(read_trained(huggingface / "imported"), data=tmp_path / "data")
    count = measured["examples"]
    records = Records(tmp_path / "data", read_manifest(tmp_path / "data"))
    (batch,) = evaluation_batches(records, batch_size=count, examples=count)
    model = transformers.AlbertForPreTraining.from_pretrained(huggingface / "hf").eval()
    with torch.no_grad():
        losses = huggingface_losses(model, batch)
    assert [measured["mlm_loss"], measured["sentence_loss"]] == pytest.approx(
        [float(loss) for loss in losses[2:]], abs=1e-4
    )
