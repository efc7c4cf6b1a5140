"""How fast a run is, told in few words."""

from albert_tf.training.timing import Pace


def test_before_the_first_step_its_time_is_the_estimate():
    pace = Pace(batch_size=32, estimate=2.0)
    assert pace.step_seconds == 2.0
    pace.add(1.0, waited=0.0)
    pace.add(3.0, waited=0.0)
    assert (pace.step_seconds, pace.text()) == (2.0, "16 seq/s")
    pace.add(5.0, waited=0.0)
    assert pace.step_seconds == 3.0


def test_waiting_for_data_is_told_only_where_it_is_much():
    pace = Pace(batch_size=2000)
    pace.add(2.0, waited=0.1)
    assert pace.text() == "1,000 seq/s"
    pace.add(2.0, waited=0.9)
    assert pace.text() == "1,000 seq/s, 25.0% of the time waiting for data"
