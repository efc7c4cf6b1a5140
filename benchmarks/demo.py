"""The whole way on a small text: `python -m benchmarks.demo FOLDER`.

Makes a vocabulary, data and a model from the language reference inside Python, measures
the model against counting and asks it. All of it is commands that work on any text.
Half of the reference's topics are written out as a MediaWiki dump, escaped as an editor
would, and half as plain-text books, so that both readers work for real.
"""

import html
import pydoc_data.topics
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

# Characters that mean something in wikitext, or a line start that does.
_MARKUP = re.compile(r"[\[\]{}<>&|~_=]|''|^[*#:;! -]|https?:")

_LOOSE_STOP = re.compile(r" [.,](\s|$)")

_DUMP = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" \
xml:lang="en">
  <siteinfo>
    <sitename>Language reference</sitename>
    <dbname>referencewiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
{pages}</mediawiki>
"""

_PAGE = """\
  <page>
    <title>{title}</title>
    <ns>0</ns>
    <id>{number}</id>
    <revision>
      <model>wikitext</model>
      <text xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


VOCAB_SIZE = 2000

# What a text of 80,000 tokens can teach in minutes.
SMALLER = (
    "--set num_hidden_layers=2 --set hidden_size=128 "
    "--set num_attention_heads=2 --set intermediate_size=512 "
    "--set hidden_dropout_prob=0.1"
)

# What the model is asked: sentences as the reference has them, and none of its own.
QUESTIONS = (
    "If the [MASK] is not found, an exception is raised.",
    "A function definition is an executable [MASK].",
    "The value of the [MASK] is the result of the function.",
    "The list of arguments must not be [MASK].",
    "See section The standard [MASK] hierarchy.",
)

NEXT = """
Next, on your own text (a folder of plain text, or a Wikipedia dump):
  albert vocab     --text my-text/ --vocab-size auto --output vocab
  albert make-data --text my-text/ --vocab vocab --output data --max-seq-length 128 \\
                   --examples on-the-fly --eval-fraction 0.05
  albert pretrain  --data data --output run --budget 1h"""


def run(command: str) -> None:
    """Show a command and run it; its failure ends the demo."""
    print(f"\n$ {command}", flush=True)
    albert = Path(sys.executable).with_name("albert")
    done = subprocess.run([albert, *shlex.split(command)[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Run the demo in the folder given."""
    folder = Path(sys.argv[1])
    start = time.monotonic()
    dump, books = write_corpus(folder / "text")
    inputs = f"--wikipedia {dump} --books {books}"
    vocab, data, trained = folder / "vocab", folder / "data", folder / "run"
    run(f"albert vocab {inputs} --vocab-size {VOCAB_SIZE} --output {vocab}")
    run(
        f"albert make-data {inputs} --vocab {vocab} --max-seq-length 64 "
        f"--eval-fraction 0.2 --examples on-the-fly --output {data}"
    )
    run(
        f"albert pretrain --data {data} --output {trained} --model tiny {SMALLER} "
        "--recipe small-budget --batch-size 16 --learning-rate 0.002 --steps 2200 "
        "--eval-every 500"
    )
    run(f"albert evaluate {trained} --data {data}")
    questions = " ".join(map(shlex.quote, QUESTIONS))
    run(f"albert fill-mask {trained} {questions} --top 3")
    print(NEXT)
    print(f"\nThe demo took {time.monotonic() - start:.0f} s; it is all in {folder}/.")


def prose(topic: str) -> list[str]:
    r"""The paragraphs of a topic that are sentences, without headings, code and tables.

    >>> prose("Title\n*****\n\nOne plain sentence of\nprose, no code.\n\n   a = 1")
    ['One plain sentence of prose, no code.']
    """
    paragraphs = (" ".join(block.split()) for block in re.split(r"\n\s*\n", topic))
    return [
        paragraph
        for paragraph in paragraphs
        if paragraph.endswith((".", "!", "?"))
        and paragraph.count(" ") >= 5
        # A reader of wikitext takes a loose full stop for the trace of a template.
        and not _LOOSE_STOP.search(paragraph)
    ]


def topics() -> dict[str, list[str]]:
    """The paragraphs of every topic that has prose."""
    texts = {name: prose(text) for name, text in pydoc_data.topics.topics.items()}
    return {name: paragraphs for name, paragraphs in texts.items() if paragraphs}


def wikitext(paragraphs: list[str]) -> str:
    """Paragraphs as an editor would type them, so that no character acts as markup."""
    return "\n\n".join(
        f"<nowiki>{html.escape(p, quote=False)}</nowiki>" if _MARKUP.search(p) else p
        for p in paragraphs
    )


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """Write the dump and the books; returns where they are."""
    dump, books = folder / "reference.xml", folder / "books"
    books.mkdir(parents=True, exist_ok=True)
    pages = []
    for number, (name, paragraphs) in enumerate(sorted(topics().items())):
        if number % 2:
            (books / f"{name}.txt").write_text("\n\n".join(paragraphs) + "\n", "utf-8")
        else:
            text = html.escape(wikitext(paragraphs), quote=False)
            pages.append(_PAGE.format(title=html.escape(name), number=number, text=text))
    dump.write_text(_DUMP.format(pages="".join(pages)), "utf-8")
    return dump, books


if __name__ == "__main__":
    main()
