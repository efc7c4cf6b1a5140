"""What is imported when, and what is installed."""

import subprocess
import sys
from importlib.metadata import packages_distributions


def test_help_needs_neither_tensorflow_nor_beam():
    program = (
        "import sys; sys.argv = ['albert', '--help']\n"
        "from cli.main import cli\n"
        "try:\n"
        "    cli()\n"
        "except SystemExit as end:\n"
        "    heavy = {'apache_beam', 'keras', 'numpy', 'sentencepiece', 'tensorflow'}\n"
        "    print(end.code, sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_making_data_needs_neither_tensorflow_nor_keras():
    program = (
        "import sys, pipeline.make_data, pipeline.vocabulary\n"
        "print(sorted({'keras', 'tensorflow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_the_distribution_holds_exactly_four_packages():
    names = [
        package
        for package, owners in packages_distributions().items()
        if "albert-pretraining" in owners and not package.startswith("__")
    ]
    assert sorted(names) == ["albert_tf", "cli", "pipeline", "schemas"]
