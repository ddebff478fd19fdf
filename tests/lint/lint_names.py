#!/usr/bin/env python3
"""File names are unique over the tree, so that a message that names a file is clear.
usage: lint_names.py ROOT"""
import sys
from collections import defaultdict
from pathlib import Path


def main():
    root = Path(sys.argv[1])
    places = defaultdict(list)
    for folder in ("src", "tests", "analysis", "tools"):
        for suffix in ("c", "h", "py", "sh"):
            for path in (root / folder).glob(f"**/*.{suffix}"):
                places[path.name].append(str(path.relative_to(root)))
    faults = [" and ".join(sorted(paths)) for paths in places.values() if len(paths) > 1]
    print("\n".join(f"same name: {fault}" for fault in faults) or f"{len(places)} names")
    return 1 if faults or not places else 0


if __name__ == "__main__":
    sys.exit(main())
