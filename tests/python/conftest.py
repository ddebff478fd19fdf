"""Common ground of the tests of analysis/: where it is, and a sweep that C code wrote."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))


@pytest.fixture(scope="session")
def sweep(tmp_path_factory):
    """4 cells on 2 nodes, 5 configs (1 fails to compile, 2 is an alias), 12 rounds after 2 warm-ups."""
    path = tmp_path_factory.mktemp("sweep") / "sweep.h5"
    subprocess.run([os.environ["TSW_MAKE_SWEEP"], str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def analysis():
    return ROOT / "analysis"
