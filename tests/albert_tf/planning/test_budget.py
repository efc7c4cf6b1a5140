"""The model for a budget: not the largest, not the one with most steps."""

from albert_tf.planning.budget import LEAST_STEPS, Workload, best, candidate, candidates
from albert_tf.planning.ladder import Law, Terms, ladder_model
from albert_tf.planning.speed import Timing

LAW = Law(
    Terms(floor=0.3, a=6.0, b=16.0),
    margin=0.05,
    most_weights=1e7,
    most_tokens=1e8,
)
STEP = Workload(batch_size=32, length=100, predictions=15)
LADDER = [ladder_model(*shape) for shape in ((2, 128), (4, 256), (8, 512))]
# Seconds of a step: a machine of 2e11 operations a second, about.
TIMINGS = [
    Timing(config, *STEP, seconds=seconds)
    for config, seconds in zip(LADDER, (0.12, 0.45, 2.4), strict=True)
]


def chosen(seconds):
    found = candidates(LADDER, TIMINGS, workload=STEP, seconds=seconds, law=LAW)
    return LADDER[best(found)].hidden_size


def test_the_longer_the_budget_the_larger_the_model():
    assert [chosen(hours * 3600) for hours in (0.1, 5, 500)] == [128, 256, 512]


def test_evaluations_are_part_of_the_budget():
    found = candidate(
        LADDER[0], step_seconds=0.5, workload=STEP, seconds=106.3, law=LAW
    )
    assert found.steps == 200
    assert found.tokens == 640_000


def test_a_budget_shorter_than_a_step_still_is_a_step():
    found = candidate(LADDER[2], step_seconds=9.0, workload=STEP, seconds=1, law=LAW)
    assert found.steps == 1


def test_a_model_that_would_hardly_begin_is_no_choice_if_another_is():
    certain = Law(Terms(0.3, 6.0, 0.0), 0.05, 1e9, 1e9)
    seconds = 2.4 * LEAST_STEPS
    found = candidates(LADDER, TIMINGS, workload=STEP, seconds=seconds, law=certain)
    assert found[2].loss_share < found[1].loss_share
    assert best(found) == 1
    short = candidates(LADDER, TIMINGS, workload=STEP, seconds=10, law=certain)
    assert best(short) == 2
