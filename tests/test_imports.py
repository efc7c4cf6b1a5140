"""What is imported when, and what is installed."""

import os
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.training_data import write_dataset

ROOT = Path(__file__).parent.parent
COMMAND = (
    "from cli.main import cli\n"
    "try: cli({0})\n"
    "except SystemExit as end: assert not end.code, end.code"
)


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        (COMMAND.format(["--help"]), "apache_beam keras numpy sentencepiece tensorflow"),
        (COMMAND.format(["plan"]), "apache_beam keras numpy tensorflow"),
        (
            "import pipeline.job.make_data, pipeline.vocabulary.training",
            "apache_beam keras tensorflow",
        ),
        ("import pipeline.reading.read", "apache_beam fsspec pyarrow"),
        ("import pipeline.reading.formats", "fsspec numpy pyarrow zstandard"),
        (
            "from pathlib import Path\n"
            "from pipeline.dataset.report import dataset_section\n"
            "dataset_section(Path(sys.argv[1]), title='data', examples=1)",
            "apache_beam keras tensorflow",
        ),
        (
            "from pathlib import Path\n"
            "path = Path(sys.argv[1]).parent / 'task.csv'\n"
            "path.write_text('text,label\\n' + ''.join(f'{n},{n % 2}\\n' for n in range(40)))\n"
            + COMMAND.format("['inspect', '--task', 'classify', str(path)]"),
            "apache_beam keras scipy sklearn tensorflow",
        ),
        ("import albert_tf.reporting.run_report", "keras tensorflow"),
        ("import cli.report.page", "matplotlib"),
    ],
)
def test_what_takes_long_is_imported_where_it_is_needed(small, statement, unwanted):
    program = f"import sys\n{statement}\nprint()\nprint(*sys.modules)"
    done = run_python(program, small / "data", check=True)
    assert set(unwanted.split()) & set(done.stdout.splitlines()[-1].split()) == set()


def test_the_distribution_holds_exactly_four_packages():
    owners = packages_distributions().items()
    names = {name for name, of in owners if "albert-pretraining" in of and name[0] != "_"}
    assert names == {"albert_tf", "cli", "pipeline", "schemas"}


def test_the_image_of_the_workers_has_the_tested_version_of_beam():
    beam = version("apache-beam")
    dockerfile, constraints = (
        (ROOT / name).read_text(encoding="utf-8").splitlines()
        for name in ("Dockerfile", "constraints.txt")
    )
    assert f"ARG BEAM={beam}" in dockerfile
    assert f"apache-beam=={beam}" in constraints


def test_the_settings_of_keras_do_not_choose_the_backend(tmp_path):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text('{"backend": "torch"}')
    kept = {k: v for k, v in os.environ.items() if not k.startswith("KERAS_")}
    program = "import albert_tf, os; print(os.environ['KERAS_BACKEND'])"
    done = run_python(program, check=True, env=kept | {"HOME": str(tmp_path)})
    assert done.stdout == "tensorflow\n"


NO_BACKEND = {
    "torch": "KERAS_BACKEND must be tensorflow or jax, not torch; correct or unset it.",
    "jax": "KERAS_BACKEND=jax needs JAX, which is not installed; "
    'pip install "albert-pretraining[jax]" adds it.',
}


@pytest.mark.parametrize("backend", NO_BACKEND)
def test_a_backend_that_is_none_or_not_installed_is_one_sentence(tmp_path, backend):
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'jax' else find(n, *a)\n"
        "from cli.main import cli\n"
        "cli()"
    )
    write_dataset(tmp_path / "data")
    arguments = ("--data", tmp_path / "data", "--output", tmp_path / "run")
    environment = os.environ | {"KERAS_BACKEND": backend}
    done = run_python(program, "pretrain", *arguments, warn="default::UserWarning", env=environment)
    assert (done.returncode, done.stderr) == (2, f"Error: {NO_BACKEND[backend]}\n")
    assert not (tmp_path / "run").exists()


def test_onnxruntime_reports_to_nobody_and_keeps_nothing(tmp_path):
    pytest.importorskip("onnxruntime")
    program = "import albert_tf, onnxruntime; print(onnxruntime.get_available_providers())"
    environment = {key: value for key, value in os.environ.items() if "TELEMETRY" not in key}
    environment |= {"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    run_python(program, check=True, env=environment)
    assert list(tmp_path.iterdir()) == []
