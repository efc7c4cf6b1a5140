"""Workers do no more for a job that is to end."""

import dataclasses
from pathlib import Path

import pytest

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.job import beam, make_data, resume
from pipeline.job.beam import end_job
from pipeline.job.plan import plan_job
from pipeline.job.resume import MarkedOutput, write_mark
from pipeline.job.runners import DATAFLOW, choose_runner
from pipeline.reading.inputs import find_inputs
from pipeline.storage import files
from schemas.errors import AlbertError
from schemas.layout import REPEATED_LINES, SPM_MODEL, SUBMITTED, WORK
from tests.pipeline.job.jobs import config_of
from tests.refusals import refusal

FLINK = choose_runner("FlinkRunner", [])
ENDED = "The job that makes {} was told to end, or its command was run a second time."


@pytest.fixture
def output(tmp_path, monkeypatch):
    monkeypatch.setattr(resume, "LOOK_SECONDS", 0)
    (tmp_path / "data/.work").mkdir(parents=True)
    write_mark(f"{tmp_path}/data", "mine")
    return f"{tmp_path}/data"


def test_a_job_without_a_mark_looks_for_none(tmp_path):
    MarkedOutput(f"{tmp_path}/data", "").check()


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_worker_ends_with_the_command(output, is_at_work):
    marked = MarkedOutput(output, "mine")
    if is_at_work:
        marked.check()
    assert end_job(output, "mine", FLINK) == (
        "The job was told to end; it does so as soon as its workers have finished what "
        "they are at. Run the same command again: what is finished is kept."
    )
    assert refusal(marked.check) == ENDED.format(output)


@pytest.mark.parametrize(
    "anew",
    [
        lambda output: write_mark(output, "another"),
        lambda output: files.remove(files.join(output, WORK)),
    ],
    ids=["the command is run again", "its output is made anew"],
)
def test_a_worker_ends_when_another_takes_its_place(output, anew):
    marked = MarkedOutput(output, "mine")
    marked.check()
    anew(output)
    assert refusal(marked.check) == ENDED.format(output)


def test_an_output_that_is_not_seen_for_a_while_ends_nothing(output):
    marked = MarkedOutput(output, "mine")
    marked.check()
    Path(output).rename(f"{output}-unmounted")
    marked.check()
    Path(f"{output}-unmounted").rename(output)
    marked.check()


@pytest.mark.parametrize(
    ("runner", "mark", "left"),
    [("FlinkRunner", "mine", "ended"), ("FlinkRunner", "new", "mine"), (DATAFLOW, "mine", "mine")],
)
def test_a_job_is_ended_unless_the_output_is_that_of_another_command(output, runner, mark, left):
    end_job(output, mark, FLINK._replace(name=runner))
    assert files.read_whole(files.join(output, SUBMITTED)).decode() == left


@pytest.fixture
def job(small, tmp_path):
    """One whose output is to be in tmp_path / "d"."""
    model = (small / "vocab" / SPM_MODEL).read_bytes()
    found = find_inputs({"text": (str(small / "text"),)})
    return plan_job(found, config_of(max_seq_length=32), model=model, output=tmp_path / "d")


@pytest.mark.parametrize(("runner", "is_kept"), [(DATAFLOW, True), ("FlinkRunner", False)])
def test_a_job_in_dataflow_keeps_what_it_needs(job, tmp_path, monkeypatch, runner, is_kept):
    """Dataflow refuses the command that is run again; Flink takes the new job."""
    found = []

    def refuse(transform, job, runner):
        found.extend(path.name for path in (tmp_path / "d/.work").iterdir())
        raise AlbertError("Refused.")

    monkeypatch.setattr(beam, "run_there", refuse)
    write_mark(str(job.output), job.fingerprint)
    (tmp_path / "d" / REPEATED_LINES).write_bytes(b"")
    with pytest.raises(AlbertError, match=r"Refused\."):
        make_data.make_data(job, runner=FLINK._replace(name=runner))
    kept = ["repeated-lines.npy"] if is_kept else []
    assert sorted(found) == [*kept, "submitted"]


@pytest.mark.parametrize(("runner", "is_same"), [(DATAFLOW, True), ("FlinkRunner", False)])
def test_only_what_dataflow_still_runs_keeps_its_mark(job, runner, is_same):
    goes_on = FLINK._replace(name=runner).goes_on_alone
    first = resume.mark_of(job, goes_on_alone=goes_on)
    write_mark(str(job.output), first)
    assert (resume.mark_of(job, goes_on_alone=goes_on) == first) == is_same
    # As with --overwrite: the workers that there are belong to nobody.
    files.remove(files.join(job.output, SUBMITTED))
    assert resume.mark_of(job, goes_on_alone=goes_on) != first


@pytest.mark.parametrize(("mark", "is_left"), [("mine", False), ("another", True)])
def test_of_nothing_to_train_on_only_the_own_files_go(job, tmp_path, mark, is_left):
    job = dataclasses.replace(job, mark="mine")
    write_mark(job.output, mark)
    files.write_whole(f"{job.output}/shards/train-00000.json", "{}")
    with pytest.raises(NothingToTrainOn), resume.nothing_left_of_nothing(job):
        raise NothingToTrainOn("None.")
    assert (tmp_path / "d/shards").exists() == is_left
    assert (tmp_path / "d/.work").exists() == is_left


@pytest.mark.parametrize("mark", ["another", None])
def test_another_output_is_refused_at_once(output, mark):
    files.remove(files.join(output, SUBMITTED))
    if mark:
        write_mark(output, mark)
    with pytest.raises(AlbertError, match=r"^A worker on \S+ does not see the "):
        MarkedOutput(output, "mine").check()


def test_where_workers_cannot_be_told_the_job_goes_on(tmp_path):
    (tmp_path / "data").write_text("")
    assert end_job(f"{tmp_path}/data", "mine", FLINK) == (
        "A job that FlinkRunner runs elsewhere goes on; to end it, stop it there. Its "
        f"workers cannot be told to stop: {tmp_path}/data/.work/submitted does not exist. "
        "Run the same command again when it has ended."
    )
