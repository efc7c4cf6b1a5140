"""A state that no training has written is refused."""

import pytest

from albert_tf.runs.saved_state import check_state


def state(landmark):
    return {"step": 3, "examples": 10, "landmark": landmark}


def test_reading_may_begin_at_or_before_the_position():
    check_state(state([1, 0, 10]), step=3)
    check_state(state([0, 0, 0]), step=3)


@pytest.mark.parametrize("landmark", [[1, 0, 11], [1, 0], [-1, 0, 0], [1, 0, "8"], 7])
def test_a_place_to_begin_reading_that_cannot_be_one_is_refused(landmark):
    with pytest.raises(ValueError, match=r"^landmark is "):
        check_state(state(landmark), step=3)
