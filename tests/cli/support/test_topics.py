"""Help by topic: every flag once, the few that all commands have at the end."""

import pytest

from cli.commands import make_data, pretrain

OF_ALL_COMMANDS = {"config", "quiet", "debug", "seed", "beam_options"}


@pytest.mark.parametrize(
    ("command", "topics"),
    [
        (make_data.make_data, make_data.TOPICS),
        (pretrain.pretrain, pretrain.TOPICS),
    ],
    ids=["make-data", "pretrain"],
)
def test_every_flag_has_one_topic(command, topics):
    named = [name for names in topics.values() for name in names]
    assert len(named) == len(set(named))
    flags = {param.name for param in command.params}
    assert set(named) <= flags
    assert flags - set(named) <= OF_ALL_COMMANDS
