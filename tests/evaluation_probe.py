"""What is measured of a model under JAX, on so many devices of the CPU.

Run as a program by `test_devices.py`: writes figures to an .npz file, with the names of the
programs and how many of 1024 rows a device has of each.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

from tests.batches import random_batch
from tests.huggingface_albert import lively_model
from tests.step_probe import split_cpu
from tests.training_data import MAX_SEQ_LENGTH, TINY, VOCAB_SIZE, write_dataset

# Of which four devices compute a last time that is not full.
EXAMPLES, WORDS = 25, 400


def measured(folder):
    """Figures, programs and shares by name."""
    import jax

    from albert_tf.data.input_pipeline import Records
    from albert_tf.evaluation import bits_per_character, held_out
    from albert_tf.model.compiling import Compiled
    from albert_tf.runs.metrics import QUIET

    names = []

    def note(event, seconds, **of):
        if event.endswith("backend_compile_duration"):
            names.append(of["fun_name"])

    held_out.MAX_TOKENS = bits_per_character.MAX_TOKENS = 5 * MAX_SEQ_LENGTH
    records = Records(folder, write_dataset(folder, eval_examples=EXAMPLES))
    model = lively_model(dataclasses.replace(TINY, num_hidden_layers=2))
    jax.monitoring.register_event_duration_secs_listener(note)
    examples = held_out.HeldOut(model, records, examples=EXAMPLES)
    scorer = bits_per_character.WordScorer(model)
    programs = [program() for program in [*examples.programs(), scorer.program(MAX_SEQ_LENGTH)]]
    rng = np.random.default_rng(0)
    rows = [rng.integers(5, VOCAB_SIZE, MAX_SEQ_LENGTH) for _ in range(WORDS)]
    sums, by_example = examples.measure(on_batch=lambda number: None)
    of_words = scorer.losses(rows, [bits_per_character.Span(row, 1, 3) for row in range(WORDS)])
    layers = held_out.layer_similarities(model, records, examples=5, progress=QUIET)
    orders = Compiled(lambda of, batch: of(batch)[1], model)
    return {
        "sums": sums,
        "losses of examples": by_example,
        "losses of words": of_words,
        "layers": [dataclasses.astuple(layer) for layer in layers],
        # Which four devices cannot divide.
        "orders of five rows": orders(random_batch(TINY, rows=5)),
        "programs": names,
        "shares": [
            one.input_shardings[0][1]["input_ids"].shard_shape((1024, 1))[0] for one in programs
        ],
    }


if __name__ == "__main__":
    path = Path(sys.argv[1])
    split_cpu(int(sys.argv[2]))
    np.savez(path, **measured(path.parent))
