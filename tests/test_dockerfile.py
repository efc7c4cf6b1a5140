"""The image of the workers has what the pipeline imports, and no more."""

import ast
import re
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
OUR_OWN = {"cli", "pipeline", "albert_tf", "schemas"}
# Modules that Beam's image has; `google` is that of protobuf.
OF_THE_IMAGE = {"apache_beam", "google", "grpc"}
# What fsspec imports for the storage of clouds.
CLIENTS = {"adlfs", "gcsfs", "s3fs"}


def imported_packages():
    """The distributions that a worker's modules import."""
    names = set()
    for folder in ("pipeline", "schemas"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    names.add((node.module or "").split(".")[0])
    known = packages_distributions()
    names -= OUR_OWN | OF_THE_IMAGE | set(sys.stdlib_module_names)
    return {known[name][0] for name in names}


def test_the_image_installs_what_the_pipeline_imports():
    installed = re.search(r"constraints\.txt \\\n +([a-z0-9 -]+) \\", DOCKERFILE)
    assert set(installed[1].split()) == imported_packages() | CLIENTS


def test_the_image_has_the_tested_version_of_beam():
    beam = re.search(r"^ARG BEAM=(.+)$", DOCKERFILE, re.MULTILINE)[1]
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert f"apache-beam=={beam}\n" in constraints
    assert version("apache-beam") == beam
