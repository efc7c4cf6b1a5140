"""One script scores runs and what transformers reads on the same words."""

import argparse

import numpy as np
import pytest

from benchmarks.quality import held_out_passages, models_of, score
from tests.commands import run
from tests.exported_runs import SMALL_RUN, write_run

pytestmark = pytest.mark.slow


def test_a_run_and_its_export_score_alike_on_the_same_words(small, tmp_path):
    pytest.importorskip("transformers")
    write_run(tmp_path / "run", SMALL_RUN, small)
    run("export", tmp_path / "run", "--to", "hf", "--output", tmp_path / "hf")
    folders = [tmp_path / "run", tmp_path / "hf"]
    arguments = argparse.Namespace(models=folders, data=small / "data")
    models = list(models_of(arguments))
    passages = list(held_out_passages(small / "data"))
    ours, theirs, neighbours, tokens = score(models, passages, maximum=40)
    assert len(ours["losses"]) == 40
    np.testing.assert_allclose(theirs["losses"], ours["losses"], rtol=1e-4)
    assert neighbours["losses"].sum() < tokens["losses"].sum() < ours["losses"].sum()
