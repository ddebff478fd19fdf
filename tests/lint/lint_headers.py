#!/usr/bin/env python3
"""Each header of src/ and tests/support/ compiles alone, twice in a row.
usage: lint_headers.py ROOT COMPILER FLAG.."""
import subprocess
import sys
from pathlib import Path


def main():
    root, command = Path(sys.argv[1]), sys.argv[2:]
    headers = sorted([*(root / "src").glob("*/*.h"), *(root / "tests/support").glob("*.h")])
    failed = 0
    for header in headers:
        # An include alone leaves an empty translation unit, which pedantic C forbids.
        source = f'#include "{header}"\n#include "{header}"\nextern int tsw_lint_unused;\n'
        run = subprocess.run([*command, "-xc", "-"], input=source, text=True)
        if run.returncode != 0:
            print(f"{header.relative_to(root)}: does not compile alone")
            failed += 1
    print(f"{len(headers)} headers, {failed} failed")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
