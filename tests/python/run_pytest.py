#!/usr/bin/env python3
"""Run one test file with pytest; exit 77 (skipped) when a module that analysis/ needs is missing."""

import importlib.util
import os
import sys

MODULES = ["pytest", "h5py", "numpy", "matplotlib", "pandas"]

missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
if missing:
    print("skipped: no Python module " + ", ".join(missing) + "; tools/setup.sh analysis")
    sys.exit(77)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
arguments = ["-q", "-p", "no:cacheprovider", *sys.argv[1:]]
os.execv(sys.executable, [sys.executable, "-B", "-m", "pytest", *arguments])
