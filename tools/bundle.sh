#!/bin/bash
# Packs all that compute nodes without a network, and without anything of ours installed, need: tool,
# libraries, MPI, kernels, jobs, slurm/, and the CUDA Tile toolchain. It may be unpacked anywhere.
#   tools/bundle.sh BUILD_FOLDER ARCHIVE.tar[.gz|.xz|.zst]
# TSW_BUNDLE_TOOLCHAIN: another toolchain than that of .deps. The nodes' glibc must not be older than
# this machine's.
set -euo pipefail
[ $# = 2 ] || { echo "usage: tools/bundle.sh BUILD_FOLDER ARCHIVE.tar[.gz|.xz|.zst]" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
archive=$2
toolchain=${TSW_BUNDLE_TOOLCHAIN:-${TSW_DEPS_DIR:-$root/.deps}/toolchain/nvidia/cu13}
command -v patchelf >/dev/null || { echo "bundle: patchelf is missing: tools/setup.sh" >&2; exit 3; }
[ -x "$toolchain/bin/tileiras" ] || { echo "bundle: no toolchain in $toolchain: tools/setup.sh" >&2; exit 3; }

stage=$(mktemp -d "${TMPDIR:-/tmp}/tilesweep-bundle.XXXXXX")
trap 'rm -rf "$stage"' EXIT
name=$(basename "$archive")
top=$stage/${name%%.tar*}
cmake --install "$build" --prefix "$top" >/dev/null
cp -r "$root/slurm" "$root/LICENSE" "$root/README.md" "$top"

# What a program or library needs, but not what comes with glibc.
needs() {
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
        grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|ld-linux[^/]*)\.so' || :
}
take() { # FOLDER FILE..: the files that links lead to, by the names of the links; none twice
    local folder=$1 file
    shift
    mkdir -p "$folder"
    for file; do
        [ -e "$top/lib/${file##*/}" ] || [ -e "$top/lib/mpi/${file##*/}" ] || cp -L "$file" "$folder"
    done
}

program=$top/bin/tilesweep
mapfile -t libraries < <(needs "$program")
# MPI apart, so that `rm -r lib/mpi` leaves that to the cluster.
mapfile -t mpi < <(printf '%s\n' "${libraries[@]}" | grep -E '/(libmpi|libopen-rte|libopen-pal)\.so' || :)
if [ ${#mpi[@]} -gt 0 ]; then
    plugins=$(ompi_info --path pkglibdir --parsable | cut -d : -f 3)
    take "$top/lib/mpi" "${mpi[@]}"
    mkdir -p "$top/lib/mpi/etc"
    cp -rL "$plugins" "$top/lib/mpi/plugins"
    cp -rL "$(ompi_info --path pkgdatadir --parsable | cut -d : -f 3)" "$top/lib/mpi/share"
    cp -L "$(ompi_info --path sysconfdir --parsable | cut -d : -f 3)"/openmpi-mca-params.conf "$top/lib/mpi/etc" || :
    mapfile -t more < <(needs "$plugins"/*.so "${mpi[@]}")
    take "$top/lib/mpi" "${more[@]}"
    for library in "${more[@]}"; do # PMIx has plugins of its own
        case $library in */libpmix.so*) pmix=$(dirname "$(readlink -f "$library")")/pmix ;; esac
    done
    if [ -d "${pmix:-}" ]; then
        cp -rL "$pmix" "$top/lib/mpi/pmix"
        mapfile -t more < <(needs "$pmix"/*.so)
        take "$top/lib/mpi" "${more[@]}"
    fi
fi
take "$top/lib" "${libraries[@]}"

# All find each other wherever the bundle is; LD_LIBRARY_PATH still comes first.
relocate() { # RUNPATH FILE..
    local path=$1 file
    shift
    for file; do [ ! -f "$file" ] || patchelf --set-rpath "$path" "$file"; done
}
chmod -R u+w "$top/lib"
# shellcheck disable=SC2016  # $ORIGIN is the loader's
{
    relocate '$ORIGIN/../lib:$ORIGIN/../lib/mpi' "$program"
    relocate '$ORIGIN:$ORIGIN/mpi' "$top"/lib/*.so*
    relocate '$ORIGIN:$ORIGIN/..' "$top"/lib/mpi/*.so*
    relocate '$ORIGIN/..:$ORIGIN/../..' "$top"/lib/mpi/{plugins,pmix}/*.so
}

# The part of the toolchain that builds kernels, where the program looks for it.
cu=$top/.deps/toolchain/nvidia/cu13
mkdir -p "$cu/bin" "$cu/lib"
cp -L "$toolchain"/bin/{tileiras,ptxas} "$cu/bin"
cp -L "$toolchain"/lib/libnvrtc* "$cu/lib"
[ ! -e "$toolchain/lib/libnvvm.so.4" ] || cp -L "$toolchain"/lib/libnvvm* "$cu/lib"
cp -rL "$toolchain/include" "$cu"

tar -C "$stage" -caf "$archive" "$(basename "$top")"
echo "$archive: $(du -h "$archive" | cut -f 1), unpacked $(du -sh "$top" | cut -f 1)"
