"""Gradient checkpointing: activations are computed again instead of kept.

Chen et al. 2016, "Training deep nets with sublinear memory cost", 1604.06174. Only the
inputs of such a part of the model are kept.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """The value of a function that is computed again for its gradients.

    Args:
        function: Of tensors; anything else that it uses gets no gradients. It must
            give the same value each time, so its draws may not depend on earlier ones.
        inputs: The tensors.
    """
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    if keras.backend.backend() == "tensorflow":
        return _recomputed_in_tensorflow(function, *tensors)
    return keras.remat(function)(*tensors)


def _recomputed_in_tensorflow(
    function: Callable[..., Tensor], *inputs: Tensor
) -> Tensor:
    """Not `tf.recompute_grad`, which in a graph watches all variables of a model."""
    import tensorflow as tf

    @tf.custom_gradient
    def differentiable(*inputs: Tensor) -> Any:
        def gradient(doutput: Tensor) -> Any:
            # A graph runs whatever it can; without this every part would be computed
            # again at once, not when its gradient arrives.
            with tf.control_dependencies([doutput]), tf.GradientTape() as tape:
                again = [tf.identity(x) for x in inputs]
                tape.watch(again)
                output = function(*again)
            return tape.gradient(output, again, output_gradients=doutput)

        return function(*inputs), gradient

    return differentiable(*inputs)
