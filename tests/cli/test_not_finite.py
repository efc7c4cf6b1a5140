"""A model whose weights have NaN or infinity is refused, whichever command reads it."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from tests.commands import refused
from tests.exported_runs import load_pretrainer

PATH, NAME = "albert/encoder/pooler/kernel", "encoder/pooler/kernel"


@pytest.fixture(scope="module")
def spoiled(models, tmp_path_factory):
    """A run of which a weight is NaN, and an export of which one is infinite."""
    folder = tmp_path_factory.mktemp("spoiled")
    weights = arrays_of(load_pretrainer(models / "run").weights_by_path)
    weights[PATH] = weights[PATH].copy()
    weights[PATH][0, 0] = np.nan
    shutil.copytree(models / "run", folder / "run")
    save_checkpoint(folder / "run", Checkpoint(weights, {}, {"step": 9}), is_best=True)
    shutil.copytree(models / "hf", folder / "hf")
    tensors = load_file(folder / "hf" / "model.safetensors")
    tensors["albert.pooler.weight"][0, 0] = np.inf
    save_file(tensors, folder / "hf" / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "export run --to hf --output out",
        "fill-mask run [MASK].",
        "evaluate run --data data",
        "embed hf rows.csv",
        "import hf --output out",
        "finetune run --task classify --train rows.csv --output out",
        "pretrain --data data --init-from run --output out",
    ],
    ids=lambda command: command.split()[0],
)
def test_the_weight_is_named(spoiled, models, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"it is {n},{n % 2}\n" for n in range(40))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}")
    for folder in (spoiled / "run", spoiled / "hf", models / "data"):
        (tmp_path / folder.name).symlink_to(folder)
    said = refused(*command.split(), code=1)
    assert f"the weight {NAME} has a value that is not finite" in said
    assert not (tmp_path / "out").exists()
