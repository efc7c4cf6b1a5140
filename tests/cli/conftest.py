from tests.one_trainer import it_reads_too, one_trains, trainer  # noqa: F401
