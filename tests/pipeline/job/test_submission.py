"""Workers do no more for a job that is to end."""

import pytest

from pipeline.job import submission
from pipeline.job.runners import choose_runner
from pipeline.job.submission import MarkedOutput, end_job, write_mark
from pipeline.storage import files
from schemas.errors import AlbertError
from schemas.layout import SUBMITTED


@pytest.fixture
def output(tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "LOOK_SECONDS", 0)
    (tmp_path / "data/.work").mkdir(parents=True)
    write_mark(f"{tmp_path}/data", "mine")
    return f"{tmp_path}/data"


FLINK = choose_runner("FlinkRunner", [])


def test_an_output_with_its_mark_is_written_to(output):
    marked = MarkedOutput(output, "mine")
    marked.check()
    marked.check()


def test_a_job_without_a_mark_looks_for_none(tmp_path):
    MarkedOutput(f"{tmp_path}/data", "").check()


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_worker_ends_with_the_command(output, is_at_work):
    marked = MarkedOutput(output, "mine")
    if is_at_work:
        marked.check()
    assert end_job(output, FLINK) == (
        "The job was told to end; it does so as soon as its workers have finished what "
        "they are at. Run the same command again: what is finished is kept."
    )
    with pytest.raises(AlbertError) as refused:
        marked.check()
    assert str(refused.value) == (
        f"The job that makes {output} was told to end, or its command was run a second "
        "time."
    )


def test_a_worker_ends_when_the_command_is_run_again(output):
    marked = MarkedOutput(output, "mine")
    marked.check()
    write_mark(output, "another")
    with pytest.raises(AlbertError, match="was run a second time"):
        marked.check()


def test_an_output_that_is_not_seen_for_a_while_ends_nothing(output):
    marked = MarkedOutput(output, "mine")
    marked.check()
    files.remove(files.join(output, SUBMITTED))
    marked.check()


@pytest.mark.parametrize("mark", ["another", None])
def test_another_output_is_refused_at_once(output, mark):
    files.remove(files.join(output, SUBMITTED))
    if mark:
        write_mark(output, mark)
    with pytest.raises(AlbertError, match=r"^A worker on \S+ does not see the "):
        MarkedOutput(output, "mine").check()


def test_where_workers_cannot_be_told_the_job_goes_on(tmp_path):
    (tmp_path / "data").write_text("")
    said = end_job(f"{tmp_path}/data", FLINK)
    assert said.startswith("A job that FlinkRunner runs elsewhere goes on; to end it, ")
    assert "cannot be told to stop" in said
