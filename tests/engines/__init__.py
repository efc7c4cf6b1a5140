"""Engines that run the job as a cluster does: Flink, Spark and Prism."""
