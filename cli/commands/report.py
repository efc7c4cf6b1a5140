"""`albert report`: data sets and runs on one page for people."""

import itertools
import os
from pathlib import Path

import click

from cli.support.console import Console
from cli.support.inputs import data_here, kind_of_input
from cli.support.options import ANYWHERE, PATH, debug_option
from schemas.errors import AlbertError, SettingError
from schemas.files import write_text
from schemas.layout import TRAIN
from schemas.readable import prefixed


@click.command(epilog="Example:  albert report data run --output report.html")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=ANYWHERE)
@click.option(
    "--output",
    default="report.html",
    type=PATH,
    help="HTML file to write; an earlier one is replaced.",
)
@click.option(
    "--examples",
    default=3,
    type=click.IntRange(min=0, max=100),
    help="Examples to show of each data set.",
)
@debug_option
def report_command(paths: tuple[Path | str, ...], output: Path, examples: int) -> None:
    """Write one HTML page about data and runs.

    PATH is the folder of a data set, a fine-tuned model or a run, which may still be
    training; several runs are drawn in the same plots. The page needs no network and no
    other file.
    """
    from pipeline.dataset.local_copy import first_files
    from pipeline.dataset.report import SAMPLE

    if output.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"--output: {output} must end with .html.")
    if os.path.isdir(output):
        raise SettingError(f"--output: {output} is a folder; give a file in it.")
    if not os.path.isdir(output.parent):
        raise SettingError(f"--output: the folder {output.parent} does not exist; make it first.")
    wanted = first_files(TRAIN, copy=0, examples=max(SAMPLE, examples))
    folders = [data_here(path, Console(quiet=False), choose=wanted) for path in paths]
    titles = titles_of(list({os.path.abspath(path): path for path in folders}.values()))
    kinds = {path: kind_of_input(path) for path in titles}
    # A section for each data set and fine-tuned model, then one for all runs.
    sections, runs = [], []
    for path, title in titles.items():
        if kinds[path] == "tuned":
            from albert_tf.reporting.run_report import tuned_section

            sections.append(tuned_section(path, title=title))
        elif kinds[path] == "run":
            from albert_tf.runs.run_record import read_run

            runs.append(read_run(path, title=title))
        elif kinds[path] != "data":
            raise AlbertError(
                f"{path}: there is no report of an export or a vocabulary; albert inspect shows it."
            )
        else:
            from pipeline.dataset.report import dataset_section

            sections.append(dataset_section(path, title=title, examples=examples))
    if runs:
        from albert_tf.reporting.run_report import runs_section

        sections.append(runs_section(runs))

    from cli.report.page import page

    text = page(sections)
    write_text(output, text)
    for section in sections:
        if section.kind == "Runs":
            # What differs between them, and which is better.
            for note in section.notes[: len(section.runs)]:
                click.echo(note)
    click.echo(f"{output}: {prefixed(len(text.encode()), 'B')}.")


def titles_of(paths: list[Path]) -> dict[Path, str]:
    """The name of each folder, with as many of its parents as make it unique.

    >>> list(titles_of([Path("a/run"), Path("b/run"), Path("data")]).values())
    ['a/run', 'b/run', 'data']
    """
    parts = {path: Path(os.path.abspath(path)).parts for path in paths}
    number = len(set(parts.values()))
    depth = next(n for n in itertools.count(1) if len({p[-n:] for p in parts.values()}) == number)
    lasts = [names[-1] for names in parts.values()]
    return {
        path: "/".join(names[-(depth if lasts.count(names[-1]) > 1 else 1) :])
        for path, names in parts.items()
    }
