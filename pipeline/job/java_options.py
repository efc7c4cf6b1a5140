"""Options of Flink and Spark that only Beam's Java knows, of version 2.77.

A job server names them only when a job is sent to it; they are listed here so that a
misspelled one is refused before anything is read. Each is spelled as in the server.
"""

from schemas.errors import SettingError

# What takes a value, and what is a switch.
_FLINK_VALUES = {
    *("auto_watermark_interval", "checkpoint_timeout_millis", "checkpointing_interval"),
    *("checkpointing_mode", "execution_mode_for_batch", "execution_retry_delay"),
    *("file_input_split_max_size_m_b", "flink_conf_dir", "job_check_interval_in_secs"),
    *("latency_tracking_interval", "max_bundle_size", "max_bundle_time_mills"),
    *("min_pause_between_checkpoints", "num_concurrent_checkpoints"),
    *("number_of_execution_retries", "report_checkpoint_duration", "savepoint_path"),
    *("shutdown_sources_after_idle_ms", "state_backend", "state_backend_factory"),
    "state_backend_storage_path",
}
_FLINK_SWITCHES = {
    *("allow_non_restored_state", "attached_mode", "disable_metrics"),
    *("auto_balance_write_files_sharding_enabled", "enable_stable_input_drain"),
    *("externalized_checkpoints_enabled", "fail_on_checkpointing_errors"),
    *("faster_copy", "finish_bundle_before_checkpointing"),
    *("force_unaligned_checkpoint_enabled", "object_reuse", "operator_chaining"),
    *("re_iterable_group_by_key_result", "unaligned_checkpoint_enabled"),
    "retain_externalized_checkpoints_on_cancellation",
    "use_data_stream_for_batch",
}
_SPARK_VALUES = {
    *("batch_interval_millis", "bundle_size", "checkpoint_dir"),
    *("checkpoint_duration_millis", "max_records_per_batch", "min_read_time_millis"),
    *("read_time_percentage", "spark_master", "storage_level"),
}
_SPARK_SWITCHES = {
    *("cache_disabled", "enable_spark_metric_sinks", "uses_provided_spark_context"),
}
_VALUES = {
    "FlinkRunner": _FLINK_VALUES,
    "SparkRunner": _SPARK_VALUES,
    # Whatever serves it.
    "PortableRunner": _FLINK_VALUES | _SPARK_VALUES,
}
_SWITCHES = {
    "FlinkRunner": _FLINK_SWITCHES,
    "SparkRunner": _SPARK_SWITCHES,
    "PortableRunner": _FLINK_SWITCHES | _SPARK_SWITCHES,
}


def check_unknown(runner: str, flags: list[str], *, unknown: set[str]) -> None:
    """Refuse options that neither Beam's Python nor its Java knows.

    Args:
        runner: Its name.
        flags: As given after `--`.
        unknown: The names that Beam's Python does not know.

    Raises:
        SettingError: Names one, or one that has a value and takes none, or lacks one.
    """
    values, switches = _VALUES.get(runner, set()), _SWITCHES.get(runner, set())
    if strange := sorted(unknown - values - switches):
        raise SettingError(
            f"--{strange[0]} is not an option that Beam knows for {runner}; albert's "
            "own flags come before the --, Beam's after it."
        )
    for flag in flags:
        name, has_value, _ = flag.removeprefix("--").partition("=")
        if name in unknown & switches and has_value:
            raise SettingError(f"--{name} is a switch; give it without a value.")
        if name in unknown & values and not has_value:
            raise SettingError(f"--{name} takes a value; write --{name}=VALUE.")
