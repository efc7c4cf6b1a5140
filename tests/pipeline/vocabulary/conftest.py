from tests.one_trainer import one_trains, trainer  # noqa: F401
