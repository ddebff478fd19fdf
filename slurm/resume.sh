#!/bin/bash
# Submits once more what stopped: a job of sweep.sbatch or hetero.sbatch as a whole, of array.sbatch
# the parts that are not done. On as many nodes and GPUs, in the partition of before, unless options say
# otherwise; options of a heterogeneous job are not kept, nor is the time.
#   slurm/resume.sh RUN [OPTION of sbatch]..
set -eu
[ $# -ge 1 ] || { echo "usage: resume.sh RUN [OPTION of sbatch].." >&2; exit 2; }
# shellcheck source=slurm/launch.sh
. "$(dirname "$(readlink -f "$0")")/launch.sh"
run=${1%/}
shift
[ -e "$run.slurm" ] || { echo "$run.slurm is not there: was $run begun by sbatch?" >&2; exit 2; }
folder='' script='' arguments=() options=()
# shellcheck source=/dev/null
. "$(readlink -f "$run.slurm")" # sets these, and TSW_..
if [ -n "${TSW_PARTS:-}" ]; then
    open=$(tsw_open_parts "$run")
    options+=("--array=$open")
else
    [ "$(tsw_state "$run")" = "done" ] || open=1
fi
[ -n "${open:-}" ] || { echo "$run is done" >&2; exit 0; }
export TSW_RESUME=1
cd "$folder"
exec sbatch "${options[@]}" "$@" "$script" "${arguments[@]}"
