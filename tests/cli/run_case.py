#!/usr/bin/env python3
"""Runs one CLI case (README.md beside this file).
usage: run_case.py [--update] CASE BIN_DIR SOURCE_DIR"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77
TIMEOUT_S = 280


def read_case(path):
    """The sections of a case, in order."""
    sections, name = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith("--- "):
            name = line[4:].strip()
            sections[name] = []
        else:
            sections.setdefault(name, []).append(line)
    return sections


def line_matches(pattern, line):
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch(".*".join(parts), line) is not None


def lines_match(patterns, lines):
    """'...' stands for any number of lines."""
    if not patterns:
        return not lines
    if patterns[0] == "...":
        return any(lines_match(patterns[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and line_matches(patterns[0], lines[0]) and lines_match(patterns[1:], lines[1:])


def environment(bin_dir, source_dir, home):
    """A fixed environment: nothing of the caller's settings leaks in."""
    env = {"PATH": f"{bin_dir}:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home), "LC_ALL": "C",
           "TSW_CACHE": str(home / "cache"), "SOURCE": str(source_dir), "BUILD": str(bin_dir.parent),
           "FAKE_TOOLCHAIN": str(bin_dir.parent / "fake-toolchain")}
    # As root, and with more ranks than cores, mpirun wants to be told so.
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def run(sections, bin_dir, source_dir):
    home = Path(tempfile.mkdtemp(prefix="tilesweep-cli-"))
    work = home / "work"
    work.mkdir()
    for name, lines in sections.items():
        if name not in ("", "cmd", "exit", "stdout", "stderr"):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text("\n".join(lines) + "\n")
    env = environment(bin_dir, source_dir, home)
    script = "\n".join(sections["cmd"])
    child = subprocess.Popen(["sh", "-c", script], cwd=work, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        stdout, stderr = child.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGTERM)  # mpirun passes it on
        stdout, stderr = child.communicate()
        stderr += f"run_case.py: stopped after {TIMEOUT_S} s\n"
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return subprocess.CompletedProcess(script, child.returncode, stdout, stderr)


def trimmed(lines):
    """Without empty lines at the end (a case file has one between sections)."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def compare(sections, done):
    faults = []
    wanted = int("".join(sections.get("exit", ["0"])))
    if done.returncode != wanted:
        faults.append(f"exit code {done.returncode}, expected {wanted}")
    for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        if name in sections and not lines_match(trimmed(sections[name]), trimmed(text.splitlines())):
            faults.append(f"{name} differs; expected:\n" + "\n".join(trimmed(sections[name])))
    return faults


def update(path, sections, done):
    sections.pop("exit", None)
    if done.returncode != 0:
        sections["exit"] = [str(done.returncode)]
    for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        if name in sections:
            sections[name] = text.splitlines()
    blocks = []
    for name, lines in sections.items():
        blocks += ([f"--- {name}"] if name else []) + trimmed(lines)
    path.write_text("\n".join(blocks) + "\n")


def main():
    words = [word for word in sys.argv[1:] if word != "--update"]
    path, bin_dir, source_dir = Path(words[0]), Path(words[1]).resolve(), Path(words[2]).resolve()
    sections = read_case(path)
    print(f"by hand: {' '.join([sys.executable, __file__, *words])}")
    print("\n".join(f"$ {line}" for line in sections["cmd"]))
    done = run(sections, bin_dir, source_dir)
    if done.returncode == SKIP:
        print(done.stdout, done.stderr)
        return SKIP
    if "--update" in sys.argv:
        update(path, sections, done)
        return 0
    faults = compare(sections, done)
    if faults:
        print("\n".join(faults))
        print(f"got exit code {done.returncode}, stdout:\n{done.stdout}stderr:\n{done.stderr}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
