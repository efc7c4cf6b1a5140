"""The model for a budget: not the largest, not the one with most steps; its steps counted again."""

import dataclasses
import functools
from types import SimpleNamespace

import pytest

from albert_tf.planning import budget
from albert_tf.planning.cost import training_flops
from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig
from schemas.errors import SettingError
from tests.refusals import refusal

LAW = budget.Law(a=200.0, b=100_000.0, c=0.0, most_weights=1e7, most_tokens=1e8)
WORK = budget.Work(length=100, held_out=10_000_000, text=1_000_000)
TRAIN = TrainConfig(batch_size=32, learning_rate=0.002)
LADDER = [budget.ladder_model(*shape) for shape in ((2, 128), (4, 256), (8, 512))]


def test_evaluations_are_part_of_a_budget_and_no_run_is_expected_to_end_worse_than_it_begins():
    found = budget.candidate(LADDER[0], TRAIN, WORK, step_seconds=0.5, seconds=106.3)
    assert (found.steps, found.tokens) == (200, 640_000)
    # One that is shorter than a step is a step all the same.
    found = budget.candidate(LADDER[2], TRAIN, WORK, step_seconds=9.0, seconds=1)
    assert found.steps == 1
    assert found.loss_share > found.expected_share == 1.1


@pytest.mark.parametrize(
    ("settings", "held_out", "share"),
    [
        ({}, 100_000, 1.25 / 3 * 0.15),
        ({"eval_examples": 10_000}, 100_000, 1.25 / 3 * 10_000 / (400 * 32)),
        (
            {"eval_examples": 10_000, "sampled_softmax": True, "schedule": "constant-cooldown"},
            100_000,
            1.25 / 2 * 10_000 / (400 * 32),
        ),
        ({"eval_every": 10_000}, 100_000, 1.25 / 3 * 10_000 / (10_000 * 32)),
        ({}, 192, 1.25 / 3 * 192 / (400 * 32)),
        ({"warmup_steps": 20_000}, 0, 0.0),
    ],
)
def test_evaluations_take_what_their_number_and_their_examples_ask(settings, held_out, share):
    train = TrainConfig(batch_size=32, steps=50_000, **settings)
    found = budget.evaluating_share(10_000, train, held_out=held_out)
    assert found == pytest.approx(share)


def test_a_model_that_would_hardly_begin_is_no_choice_if_another_is():
    # Seconds of a step: a machine of 2e11 operations a second, about.
    pairs = [*zip(LADDER, (0.12, 0.45, 2.4), strict=True)]
    certain = LAW._replace(b=0.0, most_weights=1e9, most_tokens=1e9)

    def considered(seconds):
        given = {"seconds": seconds, "law": certain}
        return [budget.candidate(m, TRAIN, WORK, step_seconds=each, **given) for m, each in pairs]

    found = considered(2.4 * budget.LEAST_STEPS)
    assert found[2].loss_share < found[1].loss_share
    assert budget.best(found) == 1
    assert budget.best(considered(10)) == 2


def test_a_run_far_beyond_those_measured_is_told_from_one_among_them():
    assert not LAW.is_outside(weights=1e6, tokens=199_000_000)
    assert LAW.is_outside(weights=1e6, tokens=201_000_000)
    assert LAW.is_outside(weights=1e9, tokens=1_000_000)


@pytest.mark.parametrize(
    ("weights", "tokens", "text", "is_fitted"),
    [
        (393_216, 3_987_130, 1_000_000, True),
        (4_718_592, 60_000_000, 38_000_000, True),
        (393_216, 320_000, 320_000, True),
        # Planned before a step is timed, and perhaps half of it is done.
        (393_216, 200_000, 320_000, False),
        (100_000, 10_000_000, 1_000_000, False),
        # Six layers of 384, as a GPU trains in minutes.
        (10_616_832, 10_000_000, 1_000_000, False),
        (4_718_592, 78_000_000, 38_000_000, False),
        (393_216, 3_987_130, 80_000, False),
        (393_216, 3_987_130, 4_000_000_000, True),
    ],
)
def test_a_loss_is_told_only_where_runs_like_it_were_fitted(weights, tokens, text, is_fitted):
    found = budget.LAW.is_fitted(weights=weights, tokens=tokens, text=text)
    assert found == is_fitted


def test_more_weights_and_more_tokens_never_promise_less():
    share = functools.partial(budget.LAW.share, text=1e6)
    at = [share(weights=1e6, tokens=tokens) for tokens in (1e6, 1e7, 1e8)]
    assert at == sorted(at, reverse=True)
    of = [share(weights=weights, tokens=1e7) for weights in (1e5, 1e6, 1e7)]
    assert of == sorted(of, reverse=True)


@pytest.mark.parametrize(
    ("changes", "worth"),
    [
        ({}, 12),
        ({"intermediate_size": 512}, 8),
        ({"sharing": "all"}, 12 * 4**-0.54),
        ({"sharing": "all", "num_hidden_groups": 4}, 12),
        ({"sharing": "all", "num_hidden_groups": 2}, 12 * 2**-0.54),
        ({"sharing": "attention"}, 4 * 4**-0.54 + 8),
        ({"sharing": "ffn"}, 4 + 8 * 4**-0.54),
    ],
)
def test_weights_count_for_what_they_are_worth(changes, worth):
    model = budget.ladder_model(4, 256, **changes)
    assert budget.effective_weights(model) == pytest.approx(4 * 256 * 256 * worth)


def test_rungs_have_a_head_for_each_neighbour_and_the_widest_is_base_with_wider_embeddings():
    models = [budget.ladder_model(*shape) for shape in budget.SHAPES]
    assert min(model.num_attention_heads for model in models) == 4
    assert models[-1] == ModelConfig(sharing="none", embedding_size=256)


def manifest_of(data=None, *, length=118.0, text=21_000_000):
    """What of a manifest decides a choice: English Wikipedia of the first run on a GPU."""
    data = data or DataConfig(max_seq_length=128, examples="on-the-fly")
    return SimpleNamespace(
        config=data.resolved(input_bytes=0),
        statistics={"mean_length": length},
        splits={"train": {"copies": [{"tokens": text}]}},
        num_examples=lambda split: 5000,
    )


MANIFEST = manifest_of()
MODELS = [budget.ladder_model(*shape, vocab_size=30_000) for shape in budget.SHAPES]
# Those of `--budget`.
RECIPE = TrainConfig(
    batch_size=32,
    learning_rate=0.002,
    schedule="constant-cooldown",
    masked_lm_prob="0.40:0.8,0.40..0.15",
)


def test_the_operations_of_a_step_are_those_of_its_examples_among_candidates_of_a_sampled_softmax():
    train = dataclasses.replace(RECIPE, masked_lm_prob="0.4")
    among = {"length": 118, "predictions": 47}
    whole = training_flops(MODELS[3], **among)
    assert budget.step_flops(MODELS[3], train, MANIFEST) == pytest.approx(32 * whole)
    sampled = dataclasses.replace(train, sampled_softmax=True)
    before = training_flops(MODELS[3], **among, candidates=2400)
    expected = 32 * (0.95 * before + 0.05 * whole)
    assert budget.step_flops(MODELS[3], sampled, MANIFEST) == pytest.approx(expected)
    # Steps that are timed first are those of the beginning.
    ahead = budget.cost_ahead(budget.sample_flops(MODELS[3], sampled, MANIFEST))
    assert ahead == pytest.approx(expected / (32 * before))


@dataclasses.dataclass
class FakeMachine:
    """Two cores, so many times slower than they should be, on a clock that goes as they work."""

    rate: float = 2e11
    is_accelerator: bool = False
    slower: float = 1.0
    clock: float = 5000.0
    timed_shapes: list = dataclasses.field(default_factory=list)

    def now(self):
        return self.clock

    def seconds(self, config, train):
        flops = budget.step_flops(config, train, MANIFEST)
        hidden = config.hidden_size
        return self.slower * flops / (self.rate * hidden / (hidden + 250))

    def timed(self, config, train, *, seconds):
        step, compiling = self.seconds(config, train), self.slower * (1 + config.num_hidden_layers)
        self.clock += compiling + seconds + step
        self.timed_shapes.append((config.num_hidden_layers, config.hidden_size))
        return budget.Timed(step, compiling)


class FakeH200(FakeMachine):
    """A step of 2 layers of 128 takes 5.5 ms however small, one of base's 65,536 tokens 108.

    Products are made at 780 TFLOP/s; what stands beside them grows with layers and width
    alone. A first step compiles for 4.3 seconds, or more in proportion to its layers.
    """

    def seconds(self, config, train):
        work = budget.work_of(MANIFEST, train)
        share = config.num_hidden_layers / 12 * config.hidden_size / 768
        beside = 0.0545 * share * train.batch_size * work.length / 65_536
        flops = budget.step_flops(config, train, MANIFEST)
        calls = 0.0055 * (1 + config.num_hidden_layers) / 3
        return max(calls, flops / 780e12 + beside + 0.003)

    def timed(self, config, train, *, seconds):
        found = super().timed(config, train, seconds=seconds)
        compiling = 4.3 * (2 + config.num_hidden_layers) / 4
        self.clock += compiling - found.compiling
        return found._replace(compiling=compiling)


def choice_of(machine, seconds, *, models=MODELS, spent=0.0, train=RECIPE, say=lambda line: None):
    """What is chosen for a budget, and the share of it that choosing took.

    Args:
        spent: Seconds of the time for choosing that something else took.
    """
    begun = machine.clock
    machine.clock += spent
    if machine.is_accelerator:
        train = dataclasses.replace(train, batch_size=32 * budget.ACCELERATOR_BATCH)
    latest, until = begun + budget.CHOOSING_SHARE * seconds, begun + seconds
    found = budget.choose(models, train, MANIFEST, machine, latest=latest, until=until, say=say)
    return found, (machine.clock - begun) / seconds


def shape_of(choice):
    return choice.chosen.config.num_hidden_layers, choice.chosen.config.hidden_size


GPU = functools.partial(FakeH200, 780e12, is_accelerator=True)


@pytest.mark.parametrize(
    ("machine", "seconds", "shape"),
    [
        (FakeMachine(2e11), 300, (2, 128)),
        (FakeMachine(2e11), 600, (2, 128)),
        (FakeMachine(2e11), 3600, (4, 192)),
        (FakeMachine(2e11), 86_400, (6, 384)),
        (FakeMachine(4e12), 300, (4, 192)),
        (FakeMachine(4e12), 3600, (6, 384)),
        (FakeMachine(4e12), 86_400, (12, 768)),
        (GPU(), 300, (8, 512)),
        (GPU(), 3600, (12, 768)),
        (GPU(), 86_400, (12, 768)),
    ],
)
def test_a_model_is_chosen_in_a_tenth_of_the_time_and_larger_for_a_gpu(machine, seconds, shape):
    found, share = choice_of(machine, seconds)
    assert (shape_of(found), share < budget.CHOOSING_SHARE) == (shape, True)
    if machine.is_accelerator:
        assert found.train.batch_size == 256
        assert found.chosen.steps * found.chosen.step_seconds > 0.6 * seconds


@pytest.mark.parametrize(("rung", "rows", "measured"), [(0, 8, 0.0055), (-1, 128, 0.108)])
def test_the_guess_of_a_step_is_that_of_the_machines_that_were_measured(rung, rows, measured):
    flops = rows * training_flops(MODELS[rung], length=512, predictions=77)
    assert budget.guessed(GPU(), MODELS[rung], flops).step == pytest.approx(measured, rel=0.25)


def test_steps_are_timed_until_the_model_that_promises_most_was():
    machine, said = FakeMachine(), []
    found, _ = choice_of(machine, 5400, say=said.append)
    assert machine.timed_shapes == [(4, 128), (4, 192)]
    assert shape_of(found) == machine.timed_shapes[-1]
    assert said == [
        f"Timing steps of {layers} layers of {hidden}, sharing none for 27 s, once they are "
        "compiled ..."
        for layers, hidden in machine.timed_shapes
    ]
    # What was wrong with the guess of one is wrong with that of all.
    of_steps = [each.step_seconds for each in found.candidates]
    assert of_steps == pytest.approx([machine.seconds(m, RECIPE) for m in MODELS], rel=0.1)


def test_steps_fill_the_time_that_is_left():
    found, share = choice_of(FakeMachine(), 3600)
    left = (1 - share) * 3600
    assert left - 70 < found.train.steps * found.chosen.step_seconds * 17 / 16 < left - 10


@pytest.mark.parametrize("slower", [3, 10])
def test_a_busy_machine_still_trains_something(slower):
    found, share = choice_of(FakeMachine(slower=slower), 300, spent=slower * 4.0)
    assert shape_of(found) == (2, 128)
    assert share < 2.2 * budget.CHOOSING_SHARE
    assert found.train.steps * found.chosen.step_seconds > 0.25 * 300


def test_without_time_to_time_steps_the_guess_is_doubted_and_the_smallest_is_trained():
    machine, said = FakeMachine(), []
    found, _ = choice_of(machine, 60, say=said.append)
    assert (shape_of(found), machine.timed_shapes) == ((2, 128), [])
    assert said == ["Too little time to time steps; they are counted again during the run."]
    flops = budget.step_flops(MODELS[0], RECIPE, MANIFEST)
    assert found.chosen.step_seconds == 2 * budget.guessed(machine, MODELS[0], flops).step
    assert not found.chosen.is_timed
    assert {each.interval for each in found.candidates} == {budget.UNLIKE_FITTED}


def test_what_a_run_compiles_is_no_time_to_train_in():
    quick, slow = FakeMachine(), FakeMachine()
    timed = slow.timed
    slow.timed = lambda *given, **more: timed(*given, **more)._replace(compiling=503.0)
    chosen = [choice_of(machine, 36_000, models=MODELS[:1])[0].chosen for machine in (quick, slow)]
    spent = [each.steps * each.step_seconds for each in chosen]
    assert spent[0] - spent[1] == pytest.approx(3.6 * 500, rel=0.02)


@pytest.mark.parametrize("seconds", [30, 300])
def test_a_budget_without_time_for_a_step_is_refused(seconds):
    machine = FakeMachine(rate=2e9)
    assert refusal(choice_of, machine, seconds, models=[MODELS[-1]], error=SettingError).startswith(
        "--budget is too short: a step, which takes "
    )


@pytest.mark.parametrize(
    ("schedule", "length"), [(None, 470), ("128", 118), ("1024", 940), ("128:0.9,512", 153)]
)
def test_a_step_is_that_of_the_run_and_not_of_its_data(schedule, length):
    data = manifest_of(DataConfig(examples="on-the-fly"), length=470.0)
    work = budget.work_of(data, TrainConfig(max_seq_length=schedule))
    assert work.length == length


@pytest.mark.parametrize(("done", "length"), [(0.5, 118), (0.9, 118), (0.95, 137), (1.0, 153)])
def test_a_training_that_is_half_done_has_had_the_examples_of_its_first_half(done, length):
    data = manifest_of(DataConfig(examples="on-the-fly"), length=470.0)
    train = TrainConfig(max_seq_length="128:0.9,512")
    assert budget.tokens_of_example(data, train, done=done) == length


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        # The share of the steps, tokens in an example, and those to predict.
        ({}, [(1.0, 20, 3)]),
        ({"masked_lm_prob": "0.30:0.1,0.30..0.15"}, [(0.1, 20, 6), (0.45, 20, 5), (0.45, 20, 4)]),
        ({"max_seq_length": "24:0.9,48"}, [(0.9, 20, 3), (0.1, 40, 6)]),
    ],
)
def test_steps_ahead_cost_what_their_examples_do(settings, parts):
    config = TrainConfig(steps=2000, warmup_steps=200, **settings)
    model = ModelConfig()
    costs = [training_flops(model, length=length, predictions=few) for _, length, few in parts]
    whole = sum(share * cost for (share, *_), cost in zip(parts, costs, strict=True))
    # A twentieth of the steps is done, at the first cost.
    expected = (whole - 0.05 * costs[0]) / (0.95 * costs[0])
    data = manifest_of(DataConfig(max_seq_length=24, examples="on-the-fly"), length=20.0)
    ahead = budget.cost_ahead(budget.sample_flops(model, config, data), done=100 / 2000)
    assert ahead == pytest.approx(expected)
