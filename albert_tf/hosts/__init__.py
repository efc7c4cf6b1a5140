"""Several hosts that train together: which one this is, and what they share.

May import: `runs`. No TensorFlow, no Keras; only `jax_hosts` knows JAX.
"""
