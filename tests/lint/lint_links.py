#!/usr/bin/env python3
"""Every relative link of a Markdown page leads to a file or folder that is there.
usage: lint_links.py ROOT"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SKIPPED = {".deps", ".git", "demo-run"}


def pages_of(root):
    for path in root.glob("**/*.md"):
        top = path.relative_to(root).parts[0]
        if top not in SKIPPED and not top.startswith("build"):
            yield path


def main():
    root = Path(sys.argv[1])
    faults, seen = [], 0
    for page in pages_of(root):
        for target in LINK.findall(page.read_text()):
            if "://" in target:
                continue
            seen += 1
            if not (page.parent / target).exists():
                faults.append(f"{page.relative_to(root)}: no {target}")
    print("\n".join(faults) or f"{seen} links lead somewhere")
    return 1 if faults or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
