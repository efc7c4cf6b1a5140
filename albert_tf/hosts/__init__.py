"""Several hosts that train together: which one this is, and what they share.

    host_setting  Which of several hosts this process is, as the flags or its launcher
                  say.
    hosts         What the hosts tell each other besides gradients.
    jax_hosts     Several hosts joined by JAX, and what becomes of them when one is
                  lost.
    shared_state  What only the first of several hosts reads or makes, on all of them.

May import: `runs`. No TensorFlow, no Keras; only `jax_hosts` knows JAX.
"""
