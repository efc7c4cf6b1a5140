"""What does not belong together is refused in a sentence."""

from albert_tf.data.data_check import check_same_data
from tests.refusals import refusal


def test_data_that_a_run_goes_on_with_must_be_there(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "data_manifest.json").write_text("{}")
    assert refusal(check_same_data, run, data=tmp_path / "data") == (
        f"{tmp_path}/data/manifest.json cannot be read: No such file or directory; "
        f"continue {run} on the data set it was started on."
    )
