"""A job for Dataflow, made in full and never submitted (Beam's `--dry_run=true`)."""

import bz2
import itertools
import shlex
from pathlib import Path

import pytest

from pipeline.job.make_data import dry_run
from pipeline.job.plan import plan_job
from pipeline.job.runners import choose_runner
from pipeline.reading.inputs import find_inputs
from schemas.config import DataConfig
from schemas.errors import AlbertError, SettingError
from tests.commands import run

PAGE = Path(__file__).parents[1] / "docs" / "dataflow.md"
IMAGE = "europe-docker.pkg.dev/my-project/albert/worker:1"
OPTIONS = (
    *("--project=my-project", "--region=europe-west1", "--temp_location=gs://my-bucket/temp"),
    *("--staging_location=gs://my-bucket/staging", f"--sdk_container_image={IMAGE}"),
    *("--sdk_location=container", "--max_num_workers=50", "--dry_run=true"),
)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _dataflow():
    pytest.importorskip(
        "apache_beam.runners.dataflow.internal.apiclient", reason="needs albert-pretraining[gcp]"
    )


@pytest.fixture(scope="module")
def planned(small, model):
    """A job for the texts of a folder."""
    files = find_inputs({"text": (str(small / "text"),)})
    config = DataConfig().resolved(input_bytes=0)
    return plan_job(files, config, model=model, output="gs://my-bucket/data")


@pytest.fixture(scope="module")
def job(planned):
    """What Dataflow would get."""
    return dry_run(planned, choose_runner("DataflowRunner", OPTIONS)).job


def test_the_graph_is_one_chain_of_standard_steps(job):
    transforms = job.proto_pipeline.components.transforms
    chain = {t.unique_name: t for t in transforms.values()}["MakeData"]
    steps = [transforms[step] for step in chain.subtransforms]
    assert [(s.unique_name.removeprefix("MakeData/"), s.spec.urn) for s in steps] == [
        ("Chunks", "beam:transform:pickled_python:v1"),
        ("Spread", "beam:transform:reshuffle:v1"),
        ("read_on_cluster", "beam:transform:pardo:v1"),
        ("AddGone", "beam:transform:generic_composite:v1"),
        ("ByItem", "beam:transform:group_by_key:v1"),
        ("do_group", "beam:transform:pardo:v1"),
        ("AllItems", "beam:transform:group_by_key:v1"),
        ("finish_on_cluster", "beam:transform:pardo:v1"),
    ]
    for before, after in itertools.pairwise(steps):
        assert list(before.outputs.values()) == list(after.inputs.values())


def test_the_workers_run_in_the_image_and_get_no_package_staged(job):
    environments = list(job.proto_pipeline.components.environments.values())
    assert [e.urn for e in environments] == ["beam:env:docker:v1"]
    assert IMAGE.encode() in environments[0].payload
    # Beam's own note of what is installed where the job was made.
    (staged,) = environments[0].dependencies
    assert staged.role_payload.endswith(b"submission_environment_dependencies.txt")


def test_the_options_are_those_given(job):
    given = job.options.get_all_options(drop_default=True)
    name = given["job_name"]
    assert name.startswith("albert-make-data-")
    # Each job has folders of its own for what is staged.
    assert given["staging_location"].startswith(f"gs://my-bucket/staging/{name}.")
    assert given["temp_location"].startswith(f"gs://my-bucket/temp/{name}.")
    expected = {"max_num_workers": 50, "project": "my-project", "region": "europe-west1"}
    expected |= {"runner": "DataflowRunner", "save_main_session": False}
    expected |= {"sdk_container_image": IMAGE, "sdk_location": "container"}
    assert {key: given.get(key) for key in expected} == expected
    # Dataflow refuses a graph of more than 10 MB.
    assert job.proto_pipeline.ByteSize() < 1_000_000


def test_the_documented_command_checks_a_job_without_touching_storage(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab").symlink_to(small / "vocab")
    text = "".join(path.read_text() for path in sorted((small / "text").iterdir()))
    page = f"<page><title>T</title><ns>0</ns><revision><text>{text}</text></revision>"
    dump = f"<mediawiki>{page.replace('&', '&amp;')}</page></mediawiki>"
    Path("dump.xml.bz2").write_bytes(bz2.compress(dump.encode()))
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    (line,) = (each for each in lines if each.endswith("--dry_run=true"))
    command = shlex.split(line)
    said = run(*command[1:])
    assert said.splitlines()[-1] == ("Beam has checked the job; nothing was submitted (--dry_run).")


def test_what_beam_finds_wrong_is_one_sentence(planned):
    wrong = [*OPTIONS[1:], "--project=P"]
    with pytest.raises(AlbertError, match=r"^The job failed: Invalid Project ID \(P\)"):
        dry_run(planned, choose_runner("DataflowRunner", wrong))


def test_a_job_whose_workers_would_lack_the_program_is_refused():
    options = [option for option in OPTIONS if "image" not in option]
    with pytest.raises(SettingError, match=r"--sdk_container_image after --"):
        choose_runner("DataflowRunner", options)
