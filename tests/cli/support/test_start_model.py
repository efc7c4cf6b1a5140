"""What is taken of a model that fine-tuning starts from."""

import shutil

import pytest

from cli.support.start_model import Source, Start, read_source
from schemas.errors import AlbertError, SettingError
from schemas.task import TaskSpec
from tests.exported_runs import (
    SMALL_RUN,
    TUNED_LABELS,
    TUNED_LENGTH,
    write_run,
    write_tuned,
)

SPEC = TaskSpec(
    name="mood", kind="classify", labels=TUNED_LABELS, metrics=("accuracy",)
)
HEAD = "albert/task_head/classifier/kernel"


def read(folder, **start):
    return read_source(folder, SPEC, start=Start(**start), say=print)


def test_from_scratch_a_run_needs_no_weights(small, tmp_path):
    write_run(tmp_path / "run", SMALL_RUN, small, initializer="positional-heads")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    assert read(tmp_path / "run", from_scratch=True) == Source(
        config=SMALL_RUN,
        weights={},
        max_seq_length=32,
        initializer="positional-heads",
    )
    with pytest.raises(AlbertError, match="holds no checkpoint yet"):
        read(tmp_path / "run")


def test_from_scratch_a_fine_tuned_model_needs_no_weights(tmp_path):
    write_tuned(tmp_path / "tuned", "classify", b"a vocabulary")
    shutil.rmtree(tmp_path / "tuned" / "checkpoints")
    assert read(tmp_path / "tuned", from_scratch=True) == Source(
        config=SMALL_RUN,
        weights={},
        max_seq_length=TUNED_LENGTH,
        initializer="range",
    )


def test_an_encoder_knows_the_lengths_that_it_knew_before_its_last_task(tmp_path):
    write_tuned(tmp_path / "tuned", "classify", b"a vocabulary", trained_length=48)
    assert read(tmp_path / "tuned").max_seq_length == 48


def test_the_head_is_taken_only_where_it_is_asked_for(tmp_path):
    write_tuned(tmp_path / "tuned", "classify", b"a vocabulary")
    without, whole = (
        read(tmp_path / "tuned", keep_head=keep).weights for keep in (False, True)
    )
    assert HEAD in whole
    assert {path for path in whole if "/task_head/" not in path} == set(without)


def test_a_head_of_other_labels_is_refused(tmp_path):
    write_tuned(tmp_path / "tuned", "tag", b"a vocabulary")
    with pytest.raises(SettingError) as caught:
        read(tmp_path / "tuned", keep_head=True)
    assert str(caught.value) == (
        f"--keep-head: {tmp_path}/tuned is for tag with other labels than mood; leave "
        "it out."
    )


@pytest.mark.parametrize(
    ("flags", "name"),
    [({"keep_head": True}, "--keep-head"), ({"checkpoint": "best"}, "--checkpoint")],
)
def test_from_scratch_nothing_is_said_about_weights(flags, name):
    with pytest.raises(SettingError) as caught:
        Start(from_scratch=True, **flags)
    assert str(caught.value) == (
        f"{name} is about the weights of MODEL, and --from-scratch takes none; leave "
        "one of them out."
    )
