"""Activations computed again for the gradients instead of kept.

Chen et al. 2016, "Training deep nets with sublinear memory cost", 1604.06174. Of a
part of the model that is computed again only what enters it is kept.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """The value of a function, whose gradients compute it again.

    Args:
        function: Of tensors; what it uses besides gets no gradients. It must give the
            same each time, so it may draw nothing that depends on earlier draws.
        inputs: What it is a function of.
    """
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    if keras.backend.backend() == "tensorflow":
        return _recomputed_in_tensorflow(function, *tensors)
    return keras.remat(function)(*tensors)


def _recomputed_in_tensorflow(
    function: Callable[..., Tensor], *inputs: Tensor
) -> Tensor:
    """By hand: in a graph `tf.recompute_grad` watches all variables of a model."""
    import tensorflow as tf

    @tf.custom_gradient
    def differentiable(*inputs: Tensor) -> Any:
        def gradient(doutput: Tensor) -> Any:
            # Not before its gradient is there: a graph runs what it can, so all would
            # be computed again at once.
            with tf.control_dependencies([doutput]), tf.GradientTape() as tape:
                again = [tf.identity(x) for x in inputs]
                tape.watch(again)
                output = function(*again)
            return tape.gradient(output, again, output_gradients=doutput)

        return function(*inputs), gradient

    return differentiable(*inputs)
