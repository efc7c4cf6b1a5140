"""The benchmark of ALBERT beside the BERT of its shape."""

import json
import subprocess
import sys

import pytest

from benchmarks.beside_bert import WORK, Side, table


def test_the_bert_of_a_shape_shares_nothing_and_has_wide_embeddings():
    shape = {"precision": "float32", "rows": 4, "length": 32, "predictions": 5}
    albert, bert = (Side(**shape, is_bert=is_bert) for is_bert in (False, True))
    assert (albert.name, albert.config.sharing) == ("ALBERT-base", "all")
    assert (bert.name, bert.config.sharing) == ("BERT-base", "none")
    assert bert.config.embedding_size == bert.config.hidden_size == 768


def test_a_table_has_a_row_for_each_of_the_two():
    def side(parameters, training, inference):
        return {
            "parameters": parameters,
            "training": {"seconds": training, "megabytes": 1800.0},
            "inference": {"seconds": inference, "megabytes": 200.0},
        }

    sides = {"ALBERT-base": side(12_000_000, 8.0, 2.0)}
    sides |= {"BERT-base": side(110_000_000, 16.0, 2.5)}
    assert table(sides, rows=32) == (
        "                parameters    training    memory    inference    memory\n"
        "ALBERT-base     12,000,000  4.00 seq/s   1800 MB  16.00 seq/s    200 MB\n"
        "BERT-base      110,000,000  2.00 seq/s   1800 MB  12.80 seq/s    200 MB"
    )


@pytest.mark.slow
def test_all_of_it_runs_on_a_small_model():
    program = [sys.executable, "-m", "benchmarks.beside_bert"]
    options = ["--models", "tiny", "--shapes", "2x32x5", "--rounds", "1"]
    done = subprocess.run(program + options, check=True, capture_output=True, text=True)
    (result,) = json.loads(done.stdout.splitlines()[-1])
    sides = result["sides"]
    assert sides["ALBERT-tiny"]["parameters"] < sides["BERT-tiny"]["parameters"]
    figures = [each[work] for each in sides.values() for work in WORK]
    assert all(min(each.values()) > 0 for each in figures)
