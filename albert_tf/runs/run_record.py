"""What a run has written about itself, and where it stands; read without TensorFlow.

Every reader of a run's settings, architecture and data takes them from here, so that a
file that was edited or damaged is refused once, in the same words.

`task.json` has the task and how texts are encoded for it, `eval.json` the measures.
"""

import dataclasses
import fcntl
import itertools
import shlex
import typing
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from albert_tf.runs.checkpoints import best_step, newest_state, newest_step
from albert_tf.runs.metrics import (
    Metrics,
    best_evaluation,
    collapse_warning,
    metrics_text,
    read_evaluations,
    read_metrics,
)
from schemas.architecture import ModelConfig
from schemas.config import (
    Initializer,
    ResolvedTrainConfig,
    TrainConfig,
    check_type,
    config_from_dict,
    deciding,
)
from schemas.errors import AlbertError, SettingError
from schemas.files import Values, read_json, undamaged, write_json
from schemas.layout import (
    BUDGET_RECORD,
    CONFIG,
    DATA_MANIFEST,
    EVAL,
    EXPORT_RECORD,
    HF_TOKENIZER_CONFIG,
    LENGTH_BEFORE,
    LOCK,
    MODEL_CONFIG,
    TASK,
    TASK_EVALUATION,
    TRAIN,
)
from schemas.manifest import DatasetManifest, parse_manifest
from schemas.phases import phases_of
from schemas.readable import counted, duration
from schemas.report import Table
from schemas.task import KINDS, Columns, TaskRecord, TaskSpec

Config = TypeVar("Config")

# What the settings say besides those of the training, where they say anything.
_TYPES: dict[str, type] = {
    "command": str,
    "albert_version": str,
    "data": str,
    "model": str,
    "overrides": list,
    "init_from": str,
    "source": str,
    "identity": dict,
    "environment": dict,
    "began": dict,
    BUDGET_RECORD: dict,
    LENGTH_BEFORE: int,
}

# So many of the newest lines tell how long a step takes.
_RECENT = 20

# Other files that may say how long the sequences were that a model was trained on.
_LENGTHS = {EXPORT_RECORD: "max_seq_length", HF_TOKENIZER_CONFIG: "model_max_length"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What a run has written about itself.

    Attributes:
        lines: Of metrics, the oldest first.
        settings: Empty if it keeps none.
    """

    title: str
    lines: tuple[Metrics, ...]
    settings: Values
    config: ResolvedTrainConfig
    model: ModelConfig
    data: DatasetManifest | None
    evaluations: list[Metrics]

    def of_split(self, split: str) -> list[Metrics]:
        """The lines of a split."""
        return [line for line in self.lines if line["split"] == split]


def read_run(run: Path, *, title: str) -> Run:
    """Read what a run, finished or not, has written about itself."""
    lines = read_metrics(run)
    settings = recorded_settings(run)
    if not lines and settings.get("command") == "import":
        raise AlbertError(
            f"{run} was imported and not trained further, so it has no curves to draw; "
            "the card of albert export shows what albert evaluate measured of it."
        )
    if not lines:
        raise AlbertError(
            f"{run} has no metrics yet; let albert pretrain take its first steps, then ask again."
        )
    return Run(
        title=title,
        lines=tuple(lines),
        settings=settings,
        config=recorded_training(run, settings).resolved(),
        model=run_config(run),
        data=recorded_manifest(run),
        evaluations=read_evaluations(run),
    )


def recorded_settings(run: Path) -> Values:
    """The settings that a run was given; empty if it keeps none."""
    path = run / CONFIG
    settings = read_json(path) if path.exists() else {}
    places = [(settings, _TYPES)]
    if isinstance(settings.get("environment"), dict):
        places.append((settings["environment"], {"started": str, "python": str}))
    for values, types in places:
        for name, kind in types.items():
            value = values.get(name)
            if value is not None and not isinstance(value, kind):
                raise AlbertError(
                    f"{path}: {name} must be of type {kind.__name__}, not "
                    f"{type(value).__name__}; put the file back as it was written."
                )
    return settings


def recorded_training(run: Path, settings: Values, *names: str) -> TrainConfig:
    """How a run is trained, as far as its settings say; the defaults for the rest.

    Args:
        names: Of the only settings that are asked for.
    """
    names = names or tuple(field.name for field in dataclasses.fields(TrainConfig))
    identity = settings.get("identity") or {}
    given = {**settings, **{k: v for k, v in identity.items() if v is not None}}
    values = {name: value for name, value in given.items() if name in names}
    return _parsed(TrainConfig, values, path=run / CONFIG)


def record_training(run: Path, config: ResolvedTrainConfig) -> None:
    """Keep with what settings a run goes on: its number of steps is another from now on.

    The one that it began with stays too.
    """
    settings = recorded_settings(run)
    before = settings.get("identity") or {}
    now = {name: value for name, value in deciding(config).items() if name in before}
    began = settings.get("began") or {}
    if before.get("steps", config.steps) != config.steps:
        began = {"steps": before["steps"]} | began
    settings |= {**dataclasses.asdict(config), "identity": before | now}
    write_json(run / CONFIG, settings | ({"began": began} if began else {}))


def recorded_initializer(run: Path) -> Initializer:
    """The first weights that a run, or a fine-tuning from scratch, began with.

    "range" if nothing says so, as for models from elsewhere.
    """
    return recorded_training(run, recorded_settings(run), "initializer").initializer


def recorded_manifest(run: Path) -> DatasetManifest | None:
    """The manifest of the data that a run was trained on; None if it keeps none."""
    path = run / DATA_MANIFEST
    return parse_manifest(read_json(path), path) if path.exists() else None


def run_config(run: Path) -> ModelConfig:
    """The architecture of a run."""
    path = run / MODEL_CONFIG
    if not path.exists():
        raise AlbertError(
            f"{run} has no {MODEL_CONFIG}, so it is not a run; give a folder that "
            "albert pretrain or albert import has written."
        )
    return _parsed(ModelConfig, read_json(path), path=path)


def is_tuned(folder: Path) -> bool:
    """Whether a folder is of a fine-tuned model."""
    return (folder / TASK).is_file()


def trained_length(folder: Path, config: ModelConfig) -> int:
    """Tokens in the longest sequences that a model was trained on.

    A run keeps the settings of its data and the length of the model it began with, an
    export has it in its record, an import and most models from elsewhere in the
    settings of their tokenizer. Where nothing says it, tokens in the longest sequences
    that the model takes.
    """
    longest = config.max_position_embeddings
    manifest = recorded_manifest(folder)
    if manifest is not None:
        settings = recorded_settings(folder)
        phases = phases_of(manifest.config, recorded_training(folder, settings))
        lengths = [phase.config.max_seq_length for phase in phases]
        return min(longest, max(*lengths, settings.get(LENGTH_BEFORE) or 0))
    for name, key in _LENGTHS.items():
        said = read_json(folder / name).get(key) if (folder / name).exists() else None
        if type(said) is int and said > 0:
            return min(longest, said)
    return longest


def finished_step(run: Path) -> int | None:
    """The step of a run's newest checkpoint, if it is whole and was evaluated.

    A run whose last step this is has nothing left to do. None for everything else:
    training then finds out what is missing or damaged, and says so.
    """
    state = newest_state(run)
    if state is None:
        return None
    step: int = state["step"]
    try:
        manifest = recorded_manifest(run)
        lines = read_metrics(run)
    except AlbertError:
        return None
    if manifest is None:
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, EVAL) for e in lines)
    return step if is_evaluated or not manifest.num_examples(EVAL) else None


def _parsed(kind: type[Config], values: Values, *, path: Path) -> Config:
    try:
        return config_from_dict(kind, values)
    except SettingError as error:
        reason = str(error).removesuffix(".")
        raise AlbertError(f"{path}: {reason}; put the file back as it was written.") from error


def standing(run: Path) -> Iterator[str]:
    """What a person asks of a run that goes on, was stopped or has ended."""
    settings, model = recorded_settings(run), run_config(run)
    if settings.get("command") == "import":
        yield f"{run}: a model from another program, not trained here; {model.shape}."
        return
    config = recorded_training(run, settings).resolved()
    lines = read_metrics(run)
    trained = [line for line in lines if line["split"] == TRAIN]
    step = max((line["step"] for line in lines), default=0)
    saved = (newest_state(run) or {"step": 0})["step"]
    # A run that is stopped is saved between two lines of metrics.
    is_live = _is_being_written(run)
    yield (
        f"{run}: {'running, ' * is_live}step {max(step, saved):,} of {config.steps:,}, in "
        f"batches of {config.batch_size:,}; {model.shape}."
    )
    if trained:
        yield f"training:  {metrics_text(trained[-1])}"
    evaluations = [line for line in lines if line["split"] == EVAL]
    if evaluations:
        yield f"held out:  {metrics_text(evaluations[-1])}"
    best = best_evaluation(evaluations)
    if best and best != evaluations[-1]:
        yield f"best:      {metrics_text(best)}"
    if warning := collapse_warning(evaluations):
        yield warning
    yield from _next(run, config, step=step, saved=saved, lines=lines, is_live=is_live)


def _is_being_written(run: Path) -> bool:
    """Whether a process holds the folder of a run, which trains then."""
    try:
        with (run / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _next(
    run: Path,
    config: ResolvedTrainConfig,
    *,
    step: int,
    saved: int,
    lines: list[Metrics],
    is_live: bool,
) -> Iterator[str]:
    """What comes next and how long it takes, and what the same command would do.

    Args:
        step: Of the newest line of metrics.
        saved: Of the newest checkpoint, 0 if there is none.
        is_live: Whether it runs.
    """
    if saved >= config.steps:
        yield (
            "All steps are done; the same command would find nothing to do. Another "
            f"run goes on from its weights with --init-from {shlex.quote(str(run))}."
        )
        return
    # A run that is stopped goes on from its checkpoint.
    steps_left = config.steps - (max(step, saved) if is_live else saved)
    seconds = _step_seconds(lines)
    left = f", about {duration(steps_left * seconds)}" if seconds else ""
    yield f"left: {counted(steps_left, 'step')}{left}."
    for name, every in (("evaluation", config.eval_every), ("checkpoint", config.checkpoint_every)):
        if every:
            after = min(config.steps, every * (step // every + 1))
            yield f"The next {name} comes after step {after:,}."
    killed = " if it were killed" if is_live else ""
    if saved:
        lost = f", and do {step - saved:,} steps again" if step > saved else ""
        yield f"The same command would go on from step {saved:,}{lost}{killed}."
    else:
        yield f"No checkpoint is whole: the same command would begin at the first step{killed}."


def _step_seconds(lines: list[Metrics]) -> float | None:
    """Seconds a step takes, by the median of a run's newest lines: some may have compiled.

    None of fewer than two lines; where a run was continued, its clock starts anew.

    >>> times = {1: 9.0, 5: 17.0, 9: 95.0, 13: 103.0}
    >>> _step_seconds([{"step": step, "seconds": times[step]} for step in times])
    2.0
    """
    pairs = [
        (after["seconds"] - before["seconds"], after["step"] - before["step"])
        for before, after in itertools.pairwise(lines[-_RECENT:])
        if before.get("seconds") is not None and after.get("seconds") is not None
    ]
    return median([t / n for t, n in pairs if t >= 0 and n > 0] or [0.0]) or None


# The key under which the record of an export holds what `task.json` says.
EXPORTED_TASK = "task"

# The types of single values in `task.json`.
_PLAIN = (str, int, bool, str | None, int | None, float | None)


def write_record(folder: Path, record: TaskRecord) -> None:
    """Write `task.json`."""
    write_json(folder / TASK, record_values(record))


def record_values(record: TaskRecord) -> Values:
    """The fields of the task beside those of the record, for JSON."""
    values = dataclasses.asdict(record)
    return {**values.pop("spec"), **values}


def read_record(folder: Path) -> TaskRecord:
    """What `task.json` says."""
    path = folder / TASK
    return _record_of(read_json(path), path=path)


def exported_record(folder: Path) -> TaskRecord | None:
    """What the record of an export says of its task; None where it says nothing."""
    path = folder / EXPORT_RECORD
    values = read_json(path).get(EXPORTED_TASK) if path.is_file() else None
    return None if values is None else _record_of(values, path=path)


def _record_of(values: Any, *, path: Path) -> TaskRecord:
    with undamaged(path, remedy="put the file back as it was written"):
        if values["kind"] not in KINDS:
            raise ValueError(f"kind is {values['kind']!r:.60}")
        # Records of before 0.3 have no divider.
        columns = _taken(Columns, {"divider": None, **values["columns"]})
        if columns.first_option not in (None, 0, 1):
            raise ValueError(f"columns.first_option is {columns.first_option!r:.60}")
        spec = _taken(TaskSpec, {**values, "columns": columns})
        return _taken(TaskRecord, {**values, "spec": spec})


def _taken(kind: type[Config], values: Values) -> Config:
    """The fields of a dataclass in an object."""
    given = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        value = given[field.name] = values[field.name]
        kinds = (field.type, *typing.get_args(field.type))
        lists = [each for each in kinds if typing.get_origin(each) is tuple]
        if lists and (value is not None or field.type in lists):
            check_type(field.name, value, list)
            for item in value:
                check_type(field.name, item, typing.get_args(lists[0])[0])
            given[field.name] = tuple(value)
        elif field.type in _PLAIN:
            check_type(field.name, value, field.type)
    return kind(**given)


def shown(value: float) -> str:
    """A measure, to four decimal places.

    >>> shown(-0.00001)
    '0.0000'
    """
    return f"{value:z.4f}"


def unmeasured(folder: Path) -> str | None:
    """Why a fine-tuned model has no `eval.json`, and what to do; None if it has one."""
    if (folder / TASK_EVALUATION).exists():
        return None
    if recorded_settings(folder).get("command") == "import":
        return (
            f"{folder} was imported and has no {TASK_EVALUATION}; albert evaluate "
            f"{shlex.quote(str(folder))} --data FILE measures it."
        )
    newest, best = newest_step(folder) or 0, best_step(folder) or 0
    return (
        f"{folder} is not finished yet: its newest checkpoint is of step {newest:,}, the best of "
        f"step {best:,}; the same albert finetune goes on."
    )


def read_worth(folder: Path) -> Values:
    """What `eval.json` of a fine-tuned model says."""
    path = folder / TASK_EVALUATION
    if reason := unmeasured(folder):
        raise AlbertError(reason)
    result: Values = read_json(path)
    with undamaged(path, remedy="put the file back as it was written"):
        # Whatever is shown of it can be shown.
        _ = result["step"], result["examples"]
        measures_table(result)
        labels_table(result)
        list(task_verdict(result))
    return result


def measures_table(result: Values) -> Table:
    """The measures with their intervals, beside those of guessing."""
    baselines, rows = result["baselines"], []
    # Earlier records have none of the baselines.
    known = {"model": result["intervals"], **result.get("baseline_intervals", {})}
    for name in result["metrics"]:
        cells = []
        for what, values in {"model": result["metrics"], **baselines}.items():
            bounds = known[what][name] if what in known else ()
            interval = f" ({' to '.join(map(shown, bounds))})" if bounds else ""
            cells.append(shown(values[name]) + interval)
        rows.append((name, *cells))
    return Table(
        title="Measures", columns=("measure (95 %)", "model", *baselines), rows=tuple(rows)
    )


def labels_table(result: Values) -> Table | None:
    """Precision, recall and F1 of each label, the most frequent first, if it has any.

    A label of tags that are entities is a type of them, and `all` stands for all types.
    """
    if "labels" not in result:
        return None
    names = ("precision", "recall", "f1")
    found = sorted(result["labels"].items(), key=lambda item: -item[1]["support"])
    return Table(
        title="Labels",
        columns=("label", *names, "examples"),
        rows=tuple(
            (label, *(shown(values[name]) for name in names), values["support"])
            for label, values in found
        ),
        is_folded=True,
    )


def threshold_sentence(record: TaskRecord) -> str:
    """From which threshold on a model says something; "" where it has none."""
    said = {
        "multilabel": "A label is given from a probability of {:.4f} up.",
        "answer": "A question has no answer where [CLS] scores more than the best span by more "
        "than {:.4f}.",
    }
    has_one = record.threshold is not None
    return said.get(record.spec.kind, "").format(record.threshold) if has_one else ""


def task_verdict(result: Values) -> Iterator[str]:
    """What the measures say, in sentences."""
    name = result["metric"]
    value = result["metrics"][name]
    # What the model does not beat.
    as_good = {
        what: of[name]
        for what, of in result["baselines"].items()
        if name in of and value <= of[name]
    }
    for what in ("tf-idf", "bm25", "before"):
        if what in as_good:
            called = {"before": "it was before"}.get(what, what.upper())
            yield f"The model is no better than {called} ({name} {shown(as_good[what])})."
    if "majority" in as_good:
        yield _beside_majority(result, name, value=value, majority=as_good["majority"])
    elif "words" in as_good:
        yield f"Words alone give {shown(as_good['words'])}: the model is no better than they are."
    if epochs := result.get("still_improving_after_epochs"):
        steps = result.get("still_improving_after_steps")
        either = f" or --steps {2 * steps}" if steps else ""
        yield (
            "It was still improving at the last step: train again, into another "
            f"--output, twice as long (--epochs {2 * epochs}{either}) or with a higher "
            "--learning-rate."
        )


def _beside_majority(result: Values, name: str, *, value: float, majority: float) -> str:
    """What is said of a model that is no better than always the same answer."""
    if name in ("pearson", "spearman"):
        return (
            "The model predicts no better than the mean: its scores do not follow the "
            f"right ones ({name} {shown(value)})."
        )
    if name == "entity_f1" and value == 0:
        return f"No entity that the model finds is right: {name} {shown(value)}."
    # Two that are always wrong are so each in its way.
    metrics = result["metrics"]
    is_same = any(metrics.values()) and metrics == result["baselines"]["majority"]
    relation = "stuck at" if is_same else "no better than"
    return (
        f"The model is {relation} the majority: {name} {shown(value)}, and always "
        f"giving the same answer scores {shown(majority)}."
    )
