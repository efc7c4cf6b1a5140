"""Functions of a model and a batch, compiled by the backend that Keras runs on."""

import concurrent.futures
import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from albert_tf.model.pretrainer import Batch, Model
from albert_tf.model.unpadding import OF_SIZE
from albert_tf.runs.metrics import QUIET, Say
from schemas.readable import duration

Tensor = Any
Array = np.ndarray[Any, Any]
# Compiles a program that can be called from then on.
Program = Callable[[], object]
# Asked now and then; true to stop. Several hosts have to ask together.
Stop = Callable[[], object]


def never() -> bool:
    """A `Stop` of what nobody ends early."""
    return False


class Compiled:
    """A function of a model and a batch `[B, ...]`, compiled for each shape of the batch.

    It is called with the batch alone, and takes the weights of the model as they are. On JAX each
    device takes an equal part of the rows, those of other hosts too, which have the same batch;
    what the function gives of the parts follows one another.

    Attributes:
        devices: How many there are; 1 on TensorFlow.
    """

    def __init__(self, function: Callable[[Any, Batch], Tensor], model: Model) -> None:
        self._weights, self.devices = model.weights_by_path, 1
        if keras.backend.backend() == "jax":
            import jax

            def of_values(values: dict[str, Tensor], batch: Batch) -> Tensor:
                with with_weights(model, values):
                    return function(model, batch)

            everywhere, divided = shardings()
            self.devices = divided.mesh.size
            of_parts = jax.shard_map(
                of_values,
                mesh=divided.mesh,
                in_specs=(everywhere.spec, divided.spec),
                out_specs=divided.spec,
                check_vma=False,  # as of a step, which has the same operations
            )
            self._function: Any = jitted(
                of_parts, in_shardings=(everywhere, divided), out_shardings=everywhere
            )
            return
        import tensorflow as tf

        self._function = tf.function(lambda batch: function(model, batch), autograph=False)

    def __call__(self, batch: Batch) -> Array:
        """What the function gives, in float64."""
        if keras.backend.backend() == "jax":
            found = np.asarray(self._function(*self._given(batch)), np.float64)
            missing = -len(batch["input_ids"]) % self.devices
            return found[: len(found) - missing]
        # Finds the graph that was made before.
        self._function.get_concrete_function(of_any_size(batch))
        return np.asarray(self._function(batch), np.float64)

    def program(self, batch: Batch) -> Program:
        """What compiles it on JAX for batches of a shape."""
        program: Program = self._function.lower(*self._given(batch)).compile
        return program

    def _given(self, batch: Batch) -> Any:
        """What the function is called with: some rows again where parts would not be equal."""
        import jax

        _, divided = shardings()
        rows: Batch = {
            name: np.resize(own, (len(own) + -len(own) % self.devices, *own.shape[1:]))
            for name, own in batch.items()
        }
        if not divided.is_fully_addressable:
            rows = {
                name: jax.make_array_from_callback(own.shape, divided, own.__getitem__)
                for name, own in rows.items()
            }
        return on_all_devices(self._weights), rows


@functools.cache
def shardings() -> tuple[Any, Any]:
    """Of what is the same on all devices, of other hosts too, and of rows divided among them."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    devices = sorted(jax.devices(), key=lambda one: (one.process_index, one.id))
    mesh = Mesh(np.array(devices), ("devices",))
    return NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("devices"))


def on_all_devices(variables: Mapping[str, keras.Variable]) -> dict[str, Tensor]:
    """The values of variables on all devices of JAX, by path; the variables have them from then on.

    A checkpoint's are on one device: with each batch they would be sent to the others, and
    programs would be compiled again.
    """
    import jax

    everywhere, _ = shardings()
    values = {path: variable.value for path, variable in variables.items()}
    if any(value.sharding != everywhere for value in values.values()):
        values = jax.device_put(values, everywhere)
        for path, variable in variables.items():
            variable.assign(values[path])
    return values


def compile_together(programs: Sequence[Program], *, say: Say = QUIET.say) -> None:
    """Compile programs at the same time, if there are any, and say how long that took."""
    if programs:
        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            list(threads.map(lambda program: program(), programs))
        seconds = duration(time.perf_counter() - start)
        say(f"Compiled {len(programs)} programs in {seconds}.")


# What XLA leaves out on GPUs: trying many forms of each part of a program, which takes most of
# the time of compiling and finds next to nothing for products as large as ours.
COMPILER_OPTIONS = ("xla_gpu_enable_triton_gemm", "xla_gpu_experimental_enable_fusion_autotuner")


def jitted(function: Callable[..., Any], **how: Any) -> Any:
    """`jax.jit` with the `COMPILER_OPTIONS` that this version of XLA has."""
    import jax

    options = None if jax.default_backend() == "cpu" else _known_options()
    return jax.jit(function, compiler_options=options, **how)


@functools.cache
def _known_options() -> dict[str, bool]:
    import jax

    known = {}
    for name in COMPILER_OPTIONS:
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            jax.jit(lambda: 0, compiler_options={name: False}).lower().compile()
            known[name] = False
    return known


def with_weights(model: Model, values: Mapping[str, Tensor]) -> keras.StatelessScope:
    """A scope in which the weights of a model have these values, by path."""
    return keras.StatelessScope(
        state_mapping=[(w, values[path]) for path, w in model.weights_by_path.items()]
    )


def of_any_size(batch: Batch) -> dict[str, Any]:
    """The TensorSpecs of a batch with any number of tokens and predictions.

    So one graph serves them all; only what XLA compiles in it is compiled for each
    number.
    """
    import tensorflow as tf

    of_size = OF_SIZE if "row_places" in batch else ()
    return {
        name: tf.TensorSpec(
            (*values.shape[:-1], None) if name in of_size else values.shape, values.dtype
        )
        for name, values in batch.items()
    }
