#!/bin/sh
# Sets up what building, testing and running need; does nothing where all is there.
#   tools/setup.sh [all | system | toolchain | analysis | slurm]
#     system     Debian or Ubuntu packages of tools/packages.txt (root or sudo only when one is missing)
#     toolchain  the CUDA Tile wheels of tools/toolchain.txt, into .deps/toolchain
#     analysis   a Python environment from analysis/requirements.txt, in .deps/analysis
#     slurm      not part of all: the packages for tests/slurm
# TSW_DEPS_DIR puts .deps elsewhere. pip's own settings (PIP_NO_INDEX, PIP_FIND_LINKS, ...) apply.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
deps=${TSW_DEPS_DIR:-$root/.deps}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

list() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$1"; }

# The packages of a section "[name]" of tools/packages.txt; those before any section have no name.
packages() { list "$root/tools/packages.txt" | awk -v want="$1" '/^\[/ {section = $1; next} section == want'; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Of the section $1.
setup_system() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "no Debian or Ubuntu here; install by hand what tools/packages.txt names"
        return 0
    fi
    missing=
    for package in $(packages "$1"); do
        installed "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    say "missing packages:$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root="sudo -n"
        $as_root true 2>/dev/null || die "not root; run: apt-get install$missing"
    fi
    # An old index may name files that are gone, so refresh it; offline it may still be good.
    $as_root apt-get -q update >&2 || say "apt-get update failed; trying with the index as it is"
    # shellcheck disable=SC2086  # words on purpose
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install $missing >&2 ||
        die "apt-get failed; without a network, install these packages another way:$missing"
}

# A folder of .deps is good when its stamp holds the hash of the list that it was made from.
wanted_stamp() { sha256sum <"$1" | cut -d ' ' -f 1; }
is_current() { [ "$(cat "$1/.stamp" 2>/dev/null)" = "$(wanted_stamp "$2")" ]; }

# Put a finished folder in place of an old one.
replace() {
    rm -rf "$2.old"
    [ ! -e "$2" ] || mv "$2" "$2.old"
    mv "$1" "$2"
    rm -rf "$2.old"
}

# pip of a private environment: Debian's and Ubuntu's own Python refuses to be installed into.
make_venv() {
    python3 -m venv "$1" >&2 || die "python3 -m venv failed; the package python3-venv is needed"
}

offline_hint() {
    die "pip could not get the wheels of $1. Without a network: copy .deps from a machine that has" \
        "it, or put the wheels into a folder and set PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER"
}

setup_toolchain() {
    list=$root/tools/toolchain.txt
    is_current "$deps/toolchain" "$list" && return 0
    [ "$(uname -m)" = x86_64 ] || die "the toolchain's wheels are for x86_64, not $(uname -m)"
    say "installing the CUDA Tile toolchain into $deps/toolchain"
    make_venv "$deps/tmp/pip"
    "$deps/tmp/pip/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes --no-compile --target "$deps/tmp/toolchain" -r "$list" >&2 ||
        offline_hint tools/toolchain.txt
    [ -x "$deps/tmp/toolchain/nvidia/cu13/bin/tileiras" ] ||
        die "the wheels hold no nvidia/cu13/bin/tileiras"
    wanted_stamp "$list" >"$deps/tmp/toolchain/.stamp"
    replace "$deps/tmp/toolchain" "$deps/toolchain"
}

setup_analysis() {
    list=$root/analysis/requirements.txt
    [ -f "$list" ] || return 0
    is_current "$deps/analysis" "$list" && return 0
    say "installing the Python packages of analysis/ into $deps/analysis"
    # Paths are written into an environment, so it is made in place; the stamp comes last.
    rm -rf "$deps/analysis"
    make_venv "$deps/analysis"
    "$deps/analysis/bin/pip" install -q --disable-pip-version-check --only-binary :all: \
        -r "$list" >&2 || offline_hint analysis/requirements.txt
    wanted_stamp "$list" >"$deps/analysis/.stamp"
}

what=${1:-all}
case $what in
all | system | toolchain | analysis | slurm) ;;
*) say "unknown part '$what': all, system, toolchain, analysis or slurm"; exit 2 ;;
esac

case $what in
all) setup_system "" ;;
system) setup_system ""; exit ;;
slurm) setup_system "[slurm]"; exit ;;
esac

mkdir -p "$deps"
exec 9>"$deps/.lock"
flock 9 # several at once wait for each other
rm -rf "$deps/tmp"
mkdir "$deps/tmp"
case $what in all | toolchain) setup_toolchain ;; esac
case $what in all | analysis) setup_analysis ;; esac
rm -rf "$deps/tmp"
