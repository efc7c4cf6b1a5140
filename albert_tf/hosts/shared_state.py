"""What only the first of several hosts reads or makes, on all of them."""

import json
from typing import Any

import safetensors.numpy

from albert_tf.hosts.hosts import Hosts
from albert_tf.runs.checkpoints import Checkpoint
from albert_tf.runs.tensor_files import Arrays


def shared_value(value: Any, hosts: Hosts) -> Any:
    """What the first host has, anything that JSON can say."""
    return json.loads(hosts.share(json.dumps(value).encode()))


def shared_arrays(arrays: Arrays, hosts: Hosts) -> Arrays:
    """Those of the first host, bit for bit."""
    if hosts.number == 1:
        return arrays
    content = safetensors.numpy.save(arrays) if hosts.index == 0 else None
    shared: Arrays = safetensors.numpy.load(hosts.share(content))
    return shared


def shared_checkpoint(checkpoint: Checkpoint | None, hosts: Hosts) -> Checkpoint | None:
    """That of the first host, None if it has none."""
    if hosts.number == 1 or not shared_value(checkpoint is not None, hosts):
        return checkpoint
    weights, optimizer_state, state = (
        (checkpoint.weights, checkpoint.optimizer_state, checkpoint.state)
        if checkpoint is not None
        else ({}, {}, {})
    )
    return Checkpoint(
        shared_arrays(weights, hosts),
        shared_arrays(optimizer_state, hosts),
        shared_value(state, hosts),
    )
