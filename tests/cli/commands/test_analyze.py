"""`albert analyze layers`: what is printed, drawn and refused."""

import dataclasses
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from albert_tf.evaluation.held_out import LayerSimilarity
from cli.commands.analyze import layers_table
from cli.report.plots import draw_layers
from tests.commands import contents, refused, run
from tests.exported_runs import SMALL_RUN, write_run

MEASURED = {
    Path("run"): [LayerSimilarity(1, 12.5, 0.5, 60.0)],
    Path("a/very/long/path/to/another/run"): [
        LayerSimilarity(1, 3.25, 1.0, 0.0),
        LayerSimilarity(2, 1.0, 0.0, 90.0),
    ],
}


@pytest.fixture(scope="module")
def runs(encoder, small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyze") / "one"
    write_run(folder, dataclasses.replace(SMALL_RUN, num_hidden_layers=2), small)
    return folder, encoder, small / "data"


def test_programs_get_every_layer_of_both_models_and_a_person_a_table(runs, tmp_path):
    one, two, data = runs
    asked = ("analyze", "layers", one, "--data", data, "--eval-examples", 3)
    lines = run(*asked).splitlines()
    assert [line[:5].strip() for line in lines[2:4]] == ["1", "2"]
    assert lines[4:] == [f"3 held-out examples of {data}"]
    flags = ("--json", "--quiet", "--plot", tmp_path / "layers.svg")
    answer = json.loads(run(*asked, two, *flags))
    assert answer["examples"] == 3
    assert [m["model"] for m in answer["models"]] == [str(one), str(two)]
    for model, depth in zip(answer["models"], (2, 1), strict=True):
        assert [row["layer"] for row in model["layers"]] == [*range(1, depth + 1)]
        assert list(model["layers"][0]) == ["layer", "l2_distance", "cosine_similarity", "degrees"]
    assert contents(tmp_path) == ["layers.svg"]


def test_data_on_storage_are_measured_as_here(runs, memory, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, _, data = runs
    for path in data.rglob("*"):
        if path.is_file():
            memory[f"memory://bucket/data/{path.relative_to(data)}"] = path.read_bytes()
    asked = ("analyze", "layers", one, "--json", "--quiet", "--eval-examples", 3)
    assert run(*asked, "--data", "memory://bucket/data") == run(*asked, "--data", data)


def test_two_models_stand_side_by_side_in_a_table_and_in_a_figure_that_may_be_pixels(tmp_path):
    """It names models and axes and is the same each time."""
    assert layers_table(MEASURED) == (
        "layer                              run   ...ry/long/path/to/another/run\n"
        "        L2 distance   cosine   degrees   L2 distance   cosine   degrees\n"
        "    1       12.5000   0.5000     60.00        3.2500   1.0000      0.00\n"
        "    2                                         1.0000   0.0000     90.00"
    )
    plot = tmp_path / "layers.svg"
    draw_layers(MEASURED, plot)
    texts = {t.text for t in ET.parse(plot).iter("{http://www.w3.org/2000/svg}text")}
    assert {*map(str, MEASURED), "layer", "L2 distance", "Cosine similarity (degrees)"} <= texts
    first = plot.read_bytes()
    draw_layers(MEASURED, plot)
    assert plot.read_bytes() == first
    draw_layers(MEASURED, tmp_path / "layers.PNG")
    assert (tmp_path / "layers.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_without_matplotlib_a_plot_names_the_extra(runs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    one, _, data = runs
    plot = ("--plot", tmp_path / "layers.svg")
    assert refused("analyze", "layers", one, "--data", data, *plot, code=1) == (
        "Error: --plot draws with matplotlib, which is not installed; "
        'pip install "albert-pretraining[report]" adds it.\n'
    )
