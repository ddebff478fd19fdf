# Sourced by the batch scripts of this folder: runs one `tilesweep run` as a step of a Slurm job, and
# decides what follows when it ends. README.md explains the environment variables.

tsw_restarts=${SLURM_RESTART_COUNT:-0} # unset in the first run

tsw_say() { echo "slurm job ${SLURM_JOB_ID:-?}, start $((tsw_restarts + 1)): $*" >&2; }

# The program: of a bundle or an installation, of a checkout, or from PATH.
tsw_find() {
    local place
    for place in "${TSW_BIN:-}" "$1/bin/tilesweep" "$1/build/bin/tilesweep" "$(command -v tilesweep)"; do
        [ ! -x "$place" ] || { echo "$place"; return; }
    done
    tsw_say "no program tilesweep in $1 nor on PATH: set TSW_BIN"
    return 3
}

# Only ever one word: "running", "draining", "stopped", "done", "failed", or nothing.
tsw_state() { sed -n 's/^ *"state": "\([a-z]*\)".*/\1/p' "$1/status.json" 2>/dev/null || :; }

# The numbers of the parts of an array's run that are not done: "2,5".
tsw_open_parts() {
    local run=$1 count part open=
    count=$(find "$run" -maxdepth 1 -name 'part-*-of-*' -print -quit | sed 's/.*-of-//')
    count=${TSW_PARTS:-${count:-1}}
    for ((part = 1; part <= count; part++)); do
        [ "$(tsw_state "$run/part-$part-of-$count")" = "done" ] || open+=${open:+,}$part
    done
    echo "$open"
}

# For resume.sh: what to submit once more.
tsw_remember() {
    local script=$1 run=$2 file
    shift 2
    file=$run.slurm
    mkdir -p "$(dirname "$file")"
    {
        echo "# How to go on with $run: slurm/resume.sh $run"
        # shellcheck disable=SC2153  # of the user, not tsw_restarts
        declare -p TSW_LAUNCHER TSW_REQUEUE TSW_RESTARTS TSW_PARTS TSW_BIN 2>/dev/null
        printf 'folder=%q\nscript=%q\n' "$PWD" "$script"
        printf 'arguments=('; printf ' %q' "$@"; echo ' )'
        printf 'options=('
        if [ -z "${SLURM_HET_SIZE:-}" ]; then
            printf ' %q' "--partition=$SLURM_JOB_PARTITION" "--nodes=$SLURM_JOB_NUM_NODES"
            [ -z "${SLURM_GPUS_PER_NODE:-}" ] || printf ' %q' "--gpus-per-node=$SLURM_GPUS_PER_NODE"
        fi
        echo ' )'
    } >"$file.$SLURM_JOB_ID" && mv "$file.$SLURM_JOB_ID" "$file" # tasks of an array write it at once
}

# The words before the program: one rank per GPU. Sets the array launcher.
tsw_choose_launcher() {
    local ranks=${SLURM_NTASKS_PER_NODE:-${SLURM_GPUS_ON_NODE:-1}} size=${SLURM_HET_SIZE:-1}
    case ${TSW_LAUNCHER:-srun} in
    srun)
        # Without kill-on-bad-exit the death of a rank leaves the others waiting until the time limit.
        launcher=(srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=none)
        [ -z "${SLURM_GPUS_ON_NODE:-}" ] || launcher+=(--gpu-bind=single:1)
        if [ "$size" -gt 1 ]; then # one MPI job over all groups, each as its part of the job says
            launcher+=("--het-group=$(seq -s, 0 $((size - 1)))")
        else
            launcher+=("--nodes=$SLURM_JOB_NUM_NODES" "--ntasks-per-node=$ranks")
        fi
        ;;
    mpirun)
        [ "$size" = 1 ] || { tsw_say "mpirun sees the first group only: use srun"; return 2; }
        # Its slots are Slurm's tasks, of which there may be one per node.
        launcher=(mpirun --bind-to none --oversubscribe --map-by "ppr:$ranks:node"
            -n $((ranks * SLURM_JOB_NUM_NODES)))
        [ "$(id -u)" != 0 ] || launcher+=(--allow-run-as-root)
        ;;
    *) tsw_say "TSW_LAUNCHER is '$TSW_LAUNCHER', not srun or mpirun"; return 2 ;;
    esac
}

# A bundle's MPI looks for its plugins where it was built, unless told otherwise. An mpirun is the
# cluster's, and so must be the libraries then: rm -r lib/mpi.
tsw_use_bundled_mpi() {
    local mpi=$1/lib/mpi
    [ -d "$mpi/plugins" ] && [ "$TSW_LAUNCHER" = srun ] || return 0
    export OPAL_PKGLIBDIR=$mpi/plugins OPAL_PKGDATADIR=$mpi/share OPAL_SYSCONFDIR=$mpi/etc
    export PMIX_PKGLIBDIR=$mpi/pmix
}

# Waits for the step through any number of signals, which end a wait early. Sets code.
tsw_wait() {
    code=0
    while :; do
        wait "$step" && code=0 || code=$?
        kill -0 "$step" 2>/dev/null || break
    done
    wait "$step" && code=0 || code=$? # the loop may have ended on a signal's code
}

# A step that was killed from outside leaves the launcher's code; what the run wrote last says more.
tsw_judge() {
    local run=$1 attempt=$2 state
    case $code in [0-4] | 70) return ;; esac
    state=$(tsw_state "$run")
    tsw_say "$TSW_LAUNCHER ended with $code, the run says: ${state:-nothing}"
    [ "$state" != stopped ] || [ "$(tsw_attempts "$run")" = "$attempt" ] || code=4
}

tsw_attempts() { find "$1/attempts" -mindepth 1 2>/dev/null | wc -l; }

# Back into the queue when time ran out, or when a rank or a node died. Returns when that is not
# wanted or not possible; what Slurm requeues by itself (preemption, node failure) never comes here.
tsw_requeue() {
    local run=$1
    case $code in
    [0-3] | 70) return ;;
    4) [ "$signal" = USR1 ] || return 0 ;; # else a budget, or scancel
    esac
    [ "$signal" != TERM ] && [ "${TSW_REQUEUE:-1}" = 1 ] || return 0
    if [ "$tsw_restarts" -ge "${TSW_RESTARTS:-20}" ]; then
        tsw_say "restarted $tsw_restarts times: enough. slurm/resume.sh $run goes on"
        return
    fi
    tsw_say "not done: back into the queue"
    ! scontrol requeue "$SLURM_JOB_ID" || sleep 60 # Slurm ends this script meanwhile
}

# tsw_sweep HOME SCRIPT JOB RUN [OPTION of tilesweep run]..
tsw_sweep() {
    local home=$1 script=$2 job=$3 run=$4 program signal='' code step launcher attempt resume=()
    shift 4
    program=$(tsw_find "$home") || exit
    export TSW_LAUNCHER=${TSW_LAUNCHER:-srun}
    # Slurm 22.05's default lets ranks out of MPI_Init too early: they die of SIGSEGV now and then.
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
    tsw_choose_launcher || exit
    tsw_use_bundled_mpi "$home"
    if [ "$tsw_restarts" -gt 0 ] || [ "${TSW_RESUME:-0}" = 1 ]; then
        resume=(--resume)
    fi
    attempt=$(tsw_attempts "$run")
    tsw_say "${launcher[*]} $program run $job -o $run $* ${resume[*]}"
    "${launcher[@]}" "$program" run "$job" -o "$run" "$@" "${resume[@]}" &
    step=$!
    # The launcher passes USR1 on to every rank; on TERM mpirun would leave them one second.
    trap 'signal=USR1; kill -USR1 "$step" 2>/dev/null || :' USR1
    trap 'signal=TERM; kill -USR1 "$step" 2>/dev/null || :' TERM
    tsw_wait
    tsw_judge "$run" "$attempt"
    tsw_requeue "$run"
    tsw_say "exit code $code"
    exit "$code"
}
