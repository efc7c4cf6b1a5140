"""TFRecords become a trained ALBERT."""

import os

# TensorFlow reports every missing GPU library at start; what matters raises anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
