"""Engines that nobody here wrote make the bytes of the default runner."""

import itertools
import json
import subprocess

import pytest

from pipeline.job.runners import KEEP_WORKERS_MS
from tests.commands import contents, make_data, run
from tests.engines import start
from tests.engines.conftest import processes
from tests.processes import session_of, wait_until
from tests.servers import HERE

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

CLUSTERS = ("flink_cluster", "spark_cluster")
# Engines keep workers that they started for a while after the job.
SECONDS_TO_END = 2 * KEEP_WORKERS_MS / 1000
SETTINGS = ("--max-seq-length", 32, "--dupe-factor", 2, "--num-shards", 4)
SETTINGS += ("--eval-fraction", 0.3)


@pytest.fixture(scope="module")
def engine(request):
    """The options that lead to an engine, which several tests use."""
    if request.param in CLUSTERS:
        return request.getfixturevalue(request.param).options
    return start.EMBEDDED[request.param]


@pytest.fixture(scope="module")
def pages(small, tmp_path_factory):
    """Texts with banners and near-copies, some of a text that is only held out."""
    folder = tmp_path_factory.mktemp("pages")
    texts = [path.read_text() for path in sorted((small / "text").iterdir())]
    made = [f"Accept all cookies\n{text}\nPage {at}." for at, text in enumerate(texts)]
    changed = [f"{page}\nRead more." for page in made]
    for name, rows in (("train", made + changed[:5]), ("eval", changed[-3:])):
        lines = [json.dumps({"text": row}) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return folder


def of_pages(folder, output):
    """The arguments that leave out of pages what can be left out."""
    return (
        *("--text", folder / "train.jsonl", "--eval-text", folder / "eval.jsonl"),
        *("--near-duplicates", "drop", "--max-line-repeats", 5),
        *("--removed", output.with_name("removed")),
    )


@pytest.fixture(scope="module")
def expected(small, pages, tmp_path_factory):
    """What the default runner makes of texts, and of pages."""
    texts = tmp_path_factory.mktemp("expected") / "data"
    make_data(small, *SETTINGS, output=texts)
    cleaned = tmp_path_factory.mktemp("cleaned") / "data"
    options = (*SETTINGS, "--workers", 1, *of_pages(pages, cleaned))
    run("make-data", "--vocab", small / "vocab", "--output", cleaned, *options)
    lines = (json.loads(line) for line in lines_of(cleaned.with_name("removed")))
    assert {line["reason"] for line in lines} == {
        "document with held-out text",
        "line that stands in many documents",
        "near-copy of another document",
    }
    return {"texts": texts, "pages": cleaned}


def lines_of(folder):
    for path in sorted(folder.iterdir()):
        yield from path.read_text().splitlines()


# With each environment one of both; pages take stages of their own. What a cluster makes with a
# pool is looked at where one of its workers is killed.
WAYS = [
    *itertools.product((*start.EMBEDDED, *CLUSTERS), ("LOOPBACK", "PROCESS"), ("pages",)),
    *itertools.product(start.EMBEDDED, ("EXTERNAL",), ("texts",)),
]


@pytest.mark.parametrize(("engine", "environment", "what"), WAYS, indirect=["engine"])
def test_an_engine_writes_the_bytes_of_one_process(
    small, pages, tmp_path, expected, engine, pool, *, environment, what
):
    output = tmp_path / "data"
    given = of_pages(pages, output) if what == "pages" else None
    with start.short_folder() as folder:
        workers = {"LOOPBACK": start.OWN_WORKERS, "EXTERNAL": pool}
        workers["PROCESS"] = start.started_workers(folder)
        options = (*engine, *workers[environment])
        code, said = run_there(small, output, options, given=given)
        assert code == 0, said
        assert not [line for line in said.splitlines() if is_of_beam(line)]
        for name in ("data", "removed"):
            assert_same(output.with_name(name), expected[what].with_name(name))
        wait_until(lambda: not processes("", folder), seconds=SECONDS_TO_END)


def assert_same(output, expected):
    names, there = ({*contents(each)} - {"config.json"} for each in (expected, output))
    assert there == names
    for name in names:
        assert (output / name).read_bytes() == (expected / name).read_bytes(), name


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "--paralellism=2",
            "--paralellism is not an option that Beam knows for this engine; albert's "
            "own flags come before the --, Beam's after it.",
        ),
        (
            "--job_server_timeout=soon",
            "Beam's options after --: argument --job_server_timeout/"
            "--job-server-timeout: invalid int value: 'soon'.",
        ),
    ],
)
def test_an_option_that_the_server_does_not_know_is_refused(small, tmp_path, option, sentence):
    options = (*start.EMBEDDED["prism"], option)
    code, said = run_there(small, tmp_path / "data", options)
    assert (code, said.splitlines()[-1]) == (2, f"Error: {sentence}")


@pytest.mark.parametrize("name", ["flink", "prism"])
def test_an_error_in_a_worker_is_one_sentence(small, tmp_path, name):
    text = tmp_path / "text.txt"
    text.write_text("word\n")
    given = {"options": start.EMBEDDED[name], "given": ("--text", text)}
    code, said = run_there(small, tmp_path / "data", **given)
    assert code == 1, said
    assert not [line for line in said.splitlines() if is_of_beam(line)]
    assert said.splitlines()[-1].startswith("Error: The inputs give no document to ")


def is_of_beam(line):
    return "WARNING" in line or "Traceback" in line or "apache_beam" in line


def run_there(small, output, options, *, given=None):
    """Run a job in a process of its own, which must leave none behind."""
    command = [
        *(*start.PYTHON, "-c", start.ALBERT, "make-data", "--output", output),
        *("--vocab", small / "vocab", *SETTINGS),
        *(given or ("--text", small / "text")),
        *options,
    ]
    with subprocess.Popen(
        [*map(str, command)], cwd=HERE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as job:
        said = job.communicate(timeout=400)[1]
    # A worker of LOOPBACK ends a moment after the engine has let it go.
    wait_until(lambda: not session_of(job.pid), seconds=SECONDS_TO_END)
    return job.returncode, said
