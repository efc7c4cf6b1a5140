"""The metrics of a run while it trains: `metrics.jsonl` and TensorBoard's events."""

import json
from pathlib import Path

import tensorflow as tf

from albert_tf.runs.metrics import Metrics, read_metrics
from schemas.errors import AlbertError
from schemas.json_file import write_text
from schemas.layout import EVAL, METRICS, TENSORBOARD


class RememberedMetrics:
    """The metrics of a run on a host that writes none of them.

    Attributes:
        lines: Oldest first.
    """

    def __init__(self, lines: list[Metrics]) -> None:
        self.lines = lines

    def write(self, line: Metrics) -> None:
        """Add one line: `step`, `split` and what was measured."""
        self.lines.append(line)

    def evaluations(self) -> list[Metrics]:
        """The lines of the eval split, oldest first."""
        return [line for line in self.lines if line["split"] == EVAL]

    def close(self) -> None:
        """There is nothing to finish."""


class MetricsLog(RememberedMetrics):
    """`metrics.jsonl` and TensorBoard of a run, cut back to the step it resumes from.

    TensorBoard's event files cannot be cut, so they are written again from the lines.
    """

    def __init__(self, run: Path, *, step: int) -> None:
        self._path = run / METRICS
        super().__init__([line for line in read_metrics(run) if line["step"] <= step])
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        write_text(self._path, text)
        directory = run / TENSORBOARD
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = tf.summary.create_file_writer(str(directory))
        for line in self.lines:
            self._show(line)

    def write(self, line: Metrics) -> None:
        """Append one line to the files as well.

        Raises:
            AlbertError: It cannot be written, as when the disk is full.
        """
        super().write(line)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            self._show(line)
            self._writer.flush()
        except (OSError, tf.errors.OpError) as error:
            raise AlbertError(
                f"{self._path.parent} cannot be written to: {error}; free some space "
                "and run the same command again to continue from the last checkpoint."
            ) from error

    def close(self) -> None:
        """Finish the event file."""
        self._writer.close()

    def _show(self, line: Metrics) -> None:
        split, step = line["split"], line["step"]
        with self._writer.as_default():
            for name, value in line.items():
                if name not in ("step", "split") and value is not None:
                    tf.summary.scalar(f"{split}/{name}", value, step=step)
