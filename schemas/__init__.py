"""The contract between the two halves: records, manifests, settings, file names."""

__version__ = "0.3.0"
