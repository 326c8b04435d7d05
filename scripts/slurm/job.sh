# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # settings come before this part
#
# What all jobs share: settings above, the work of this kind of job below. Part of each batch
# script that scripts/slurm/submit writes, so that such a script can be read and changed by itself.
#
# A job may end at any moment, because rows are appended whole, and the next attempt goes on where
# this one ended. So on the signal that Slurm sends before the time limit, the job only ends what
# runs and puts itself back into the queue. It keeps its number, and jobs that depend on it go on
# waiting. A row that takes long ends with the samples that it has; half of the remaining time is
# reserved for that.

set -u
export LC_ALL=C MPI MPIRUN MPIRUN_FLAGS
job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
attempt=${SLURM_RESTART_COUNT:-0}
stop_reason=no children=()

say() {
	echo "$(date -u +%FT%TZ) job $job, attempt $attempt: $*"
}

die() {
	say "$*" >&2
	exit 3
}

# Ends what runs. The code that started it waits for its exit.
stop() {
	stop_reason=$1
	say "told to stop: $1"
	[ ${#children[@]} -gt 0 ] || return 0
	if [ "$1" = term ]; then
		kill -TERM "${children[@]}" 2>/dev/null
		return
	fi
	kill -USR1 "${children[@]}" 2>/dev/null
	# Ends with this script at the latest.
	{ sleep $((warning / 2)) && kill -TERM "${children[@]}" 2>/dev/null; } &
}

# waits for all children, through signals; sets worst to the greatest exit code.
await() {
	local child code

	worst=0
	for child in "${children[@]}"; do
		wait "$child"
		code=$?
		while kill -0 "$child" 2>/dev/null; do
			wait "$child"
			code=$?
		done
		[ "$code" -le "$worst" ] || worst=$code
	done
	children=()
}

# sweep FOLDER LAUNCHES: the launches of the plan in that folder, in the background.
sweep() {
	scripts/sweep --resume "$1" --launches "$2" </dev/null &
	children+=($!)
}

# Back into the queue, unless this was the last attempt.
again() {
	[ "$stop_reason" = limit ] || exit 5
	if [ $((attempt + 1)) -ge "$attempts" ]; then
		say "the time limit came before the end, and this was attempt $attempts of" \
			"$attempts: sbatch this script again to go on"
		exit 5
	fi
	say "not done at the time limit: back into the queue"
	# Not $SLURM_JOB_ID: that of an array's last task stands for the whole array.
	scontrol requeue "$job" || exit 5
	sleep 60 # Slurm ends this script
	exit 5
}

# The names of the job's nodes, one a line.
node_names() {
	scontrol show hostnames "$SLURM_JOB_NODELIST"
}

# note_nodes FOLDER NODE...: which nodes, at which switches, this attempt runs on. nodes.txt is
# there only as long as all rows of the folder come from the same nodes, in the same order.
note_nodes() {
	local folder=$1

	shift
	mkdir -p "$folder" || die "cannot write to $folder"
	if [ ! -e "$folder/allocation.txt" ]; then
		printf '%s\n' "$@" >"$folder/nodes.txt"
	elif ! printf '%s\n' "$@" | cmp -s - "$folder/nodes.txt"; then
		say "other nodes than before: $folder has rows of both"
		rm -f "$folder/nodes.txt"
	fi
	{
		echo "job $job attempt $attempt $(date -u +%FT%TZ)"
		echo "nodes $*"
		cat "$topology"
	} >>"$folder/allocation.txt"
}

# Writes the place of each node, which Slurm gives its tasks, and the switches to the file
# $topology.
look_at_topology() {
	topology=$(mktemp) || die "cannot write to ${TMPDIR:-/tmp}"
	# shellcheck disable=SC2016 # for the tasks' shell
	timeout 60 srun --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 sh -c \
		'echo "address $SLURMD_NODENAME ${SLURM_TOPOLOGY_ADDR-unknown}"' 2>/dev/null |
		sort >"$topology"
	scontrol show topology 2>/dev/null | sed 's/^/switch /' >>"$topology"
}

# check_ranks RANKS NODES: whether the launcher starts one job of that many ranks. The wrong one
# starts as many jobs of one rank each, which would measure nothing and say so nowhere.
check_ranks() {
	local out seen place

	# As sweep does for each launch.
	case "${MPIRUN%% *} $MPI" in
	srun*) place="--nodes=$2 --ntasks-per-node=$ranks_per_node" ;;
	*openmpi) place="--map-by ppr:$ranks_per_node:node" ;;
	*) place="-ppn $ranks_per_node" ;;
	esac
	# shellcheck disable=SC2086 # several words each
	out=$(timeout 120 $MPIRUN $MPIRUN_FLAGS $place -n "$1" "$build/bin/barrier" --engine=mpi \
		--max-samples=5 --min-samples=1 --max-time=100ms --quiet </dev/null 2>&1)
	seen=$(awk -F, '
		$1 == "schema" { jobs++; for (i = 1; i <= NF; i++) column[$i] = i; next }
		jobs && NF > 20 { last = $column["ranks"] " ranks on " $column["nodes"] " nodes" }
		END { print jobs ? jobs " of " last : "none that begins" }' <<<"$out")
	[ "$seen" != "1 of $1 ranks on $2 nodes" ] || return 0
	tail -n 5 <<<"$out" >&2
	die "'$MPIRUN' does not start one job of $1 ranks on $2 nodes, but $seen: it does not fit" \
		"the MPI library of $build (Open MPI: --mpi pmix; MPICH: --mpi pmi2; else" \
		"--launcher mpirun)"
}

cd "$sources" || exit 3
. scripts/lib.sh
fb_mpi_env "$MPI"
trap 'stop limit' USR1
trap 'stop term' TERM INT
