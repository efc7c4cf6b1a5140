"""A model of transformers, trained in a loop of its own for some time."""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.peer_training import LENGTH, Arrays, rate_at
from benchmarks.step_frameworks import huggingface_config
from pipeline.core.cores import usable_cores
from schemas.config import ModelConfig
from schemas.special_tokens import PAD_ID


def train(
    arguments: argparse.Namespace, config: ModelConfig, batches: Iterator[Arrays]
) -> int:
    """Train a model and write it; how many steps it did."""
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(usable_cores())
    torch.manual_seed(arguments.seed)
    model, encoder, head = model_of(config, arguments.architecture)
    model.train()
    optimizer = optimizer_of(model)
    loss_of = compiled_loss(encoder, head, width=config.hidden_size)
    starts = np.arange(arguments.batch_size)[:, None] * LENGTH

    def step(batch: Arrays, rate: float) -> float:
        places = (batch["places"] + starts).reshape(-1)
        given = batch["ids"], places, batch["labels"].reshape(-1)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(*(torch.from_numpy(values).long() for values in given))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    steps = for_some_time(step, batches, arguments)
    model.save_pretrained(arguments.output)
    AutoTokenizer.from_pretrained(arguments.vocab).save_pretrained(arguments.output)
    return steps


def model_of(config: ModelConfig, architecture: str) -> tuple[Any, Any, Any]:
    """A masked language model of transformers, its encoder and its head."""
    from transformers import AlbertForMaskedLM, BertConfig, BertForMaskedLM

    if architecture == "albert":
        model = AlbertForMaskedLM(huggingface_config(config))
        return model, model.albert, model.predictions
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=PAD_ID,
        )
    )
    return model, model.bert, model.cls


def optimizer_of(model: Any) -> Any:
    """AdamW as run_mlm.py has it, without weight decay of vectors."""
    import torch

    matrices, vectors = [], []
    for parameter in model.parameters():
        (matrices if parameter.ndim > 1 else vectors).append(parameter)
    return torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}],
        weight_decay=0.01,
    )


def compiled_loss(encoder: Any, head: Any, *, width: int) -> Callable[..., Any]:
    """The loss of ids `[B, S]`, flat places to predict `[B*P]` and labels `[B*P]`."""
    import torch

    @torch.compile
    def loss_of(ids: Any, places: Any, labels: Any) -> Any:
        states = encoder(input_ids=ids).last_hidden_state
        rows = states.reshape(-1, width).index_select(0, places)
        return torch.nn.functional.cross_entropy(head(rows).float(), labels)

    return loss_of


def for_some_time(
    step: Callable[[Arrays, float], float],
    batches: Iterator[Arrays],
    arguments: argparse.Namespace,
) -> int:
    """Do steps until the time is over; how many."""
    step(next(batches), 0.0)  # compiles
    begun, steps, window = time.monotonic(), 0, 0.0
    while (share := (time.monotonic() - begun) / arguments.seconds) < 1:
        window += step(next(batches), arguments.learning_rate * rate_at(share))
        steps += 1
        if steps % 100 == 0:
            print(f"{share:.1%} of the time, step {steps}, loss {window / 100:.3f}")
            window = 0.0
    return steps
