"""The image of the workers has the tested version of Beam."""

from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_image_has_the_tested_version_of_beam():
    beam = version("apache-beam")
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"ARG BEAM={beam}" in dockerfile
    assert f"apache-beam=={beam}" in constraints
