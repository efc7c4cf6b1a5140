"""An evaluation as `albert evaluate` keeps it."""

TASK = {"mlm_loss": 5.5, "mlm_accuracy": 0.125}
COUNTED = {
    "neighbours": {"mlm_loss": 5.75, "mlm_accuracy": 0.15},
    "unigram": {"mlm_loss": 6.8, "mlm_accuracy": 0.04},
}


def around(value, *, half=0.05):
    """A value with an interval."""
    return {"value": value, "low": value - half, "high": value + half}


def evaluation(*, step=7, difference=-0.25, pairs=True):
    """An evaluation of which all is measured.

    Args:
        step: Of the checkpoint.
        difference: Bits per character that the model needs more than counting.
        pairs: Whether minimal pairs were compared.
    """
    values = {
        "step": step,
        "data_fingerprint": "ab" * 32,
        "precision": "float32",
        "examples": 300,
        **TASK,
        "sentence_loss": 0.6931,
        "sentence_accuracy": 0.5,
        "mlm_perplexity": 244.7,
        "mlm_count": 4000,
        "sentence_count": 300,
        "counting": {"examples": 1200, "tokens": 120_000, **COUNTED},
        "bits_per_character": {
            "words": 2000,
            "characters": 10_000,
            "model": around(2.0 + difference),
            "neighbours": around(2.0),
            "unigram": around(2.75),
            "model_minus_neighbours": around(difference),
        },
    }
    if pairs:
        one = {"right": 6, "pairs": 10, "accuracy": 0.6, "low": 0.3127, "high": 0.8318}
        two = {"right": 8, "pairs": 10, "accuracy": 0.8, "low": 0.4902, "high": 0.9433}
        both = {"right": 14, "pairs": 20, "accuracy": 0.7, "low": 0.481, "high": 0.8545}
        values["minimal_pairs"] = {
            **both,
            "paradigms": [{"paradigm": "agreement", **one}, {"paradigm": "order", **two}],
        }
    return values
