"""Train what others give on the same text for the same time, for `quality` to score.

    python -m benchmarks.peers hugging-face --data DATA --vocab VOCAB --output MODEL
    python -m benchmarks.peers keras-hub ...
    python -m benchmarks.peers keras-hub-guide ...

DATA is of `albert make-data --examples on-the-fly` and gives the text as the tokens of
VOCAB: documents one after the other, cut into rows of 128. Time runs from the first
step, after compiling; the learning rate of all but the guide falls linearly over it.
Single tokens are masked, 80 % by [MASK], 10 % by another, and logits are computed of
them alone.

hugging-face: as transformers' run_mlm.py with --model_type, compiled and in bfloat16.
keras-hub: AlbertMaskedLM of KerasHub, in bfloat16, by `fit`.
keras-hub-guide: the model of the guide "Pretraining a Transformer from scratch with
KerasHub", three layers of 256, in float32; its settings are --batch-size 128 --share
0.25 --learning-rate 0.0005, which stays as it is.
"""

import argparse
import dataclasses
from pathlib import Path

from benchmarks import hugging_face_peer, keras_hub_peer
from benchmarks.peer_training import LENGTH, Masks, batches_of, rows_of
from schemas.manifest import read_manifest
from schemas.presets import PRESETS

PEERS = {
    "hugging-face": hugging_face_peer.train,
    **dict.fromkeys(keras_hub_peer.MODELS, keras_hub_peer.train),
}


def main() -> None:
    """Train, and say how far it came."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--model", choices=PRESETS, default="tiny")
    parser.add_argument("--architecture", choices=["albert", "bert"], default="albert")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--share", type=float, default=0.15, help="to predict")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--xla", action="store_true", help="for KerasHub")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rows = rows_of(arguments.data)
    size = read_manifest(arguments.data).vocabulary["size"]
    config = dataclasses.replace(PRESETS[arguments.model], vocab_size=size)
    masks = Masks(round(arguments.share * (LENGTH - 2)), size)
    batches = batches_of(rows, masks, size=arguments.batch_size, seed=arguments.seed)
    steps = PEERS[arguments.peer](arguments, config, batches)
    print(f"{steps:,} steps, {steps * arguments.batch_size * LENGTH:,} tokens")


if __name__ == "__main__":
    main()
