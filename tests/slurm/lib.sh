# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/run and of whoever sources this
#
# What the Slurm tests share: a private cluster, waiting for jobs, looking at rows. A test sets
# `name` before it sources this, from the root of the sources.

. scripts/lib.sh
. tests/shell/lib.sh
export FB_CLUSTER=$FB_TMP/cluster FB_HOSTS=$FB_TMP/cluster/hosts
cluster=tests/slurm/cluster
submit=scripts/slurm/submit

skip() {
	echo "SKIP $name: $*"
	exit 0
}

# start_cluster NODES: or the test is skipped. Open MPI only: between name spaces MPICH's UCX hangs
# in MPI_Finalize.
start_cluster() {
	local tool

	[ "$(id -u)" -eq 0 ] || skip "needs root"
	for tool in srun sbatch slurmctld slurmd munged ip nsenter unshare setsid taskset; do
		PATH=$PATH:/usr/sbin:/sbin fb_have $tool || skip "no command $tool"
	done
	fb_mpi_tool mpirun openmpi >/dev/null || skip "no Open MPI"
	export MPI=openmpi
	build=$(dirname "$FB_BUILD")/openmpi
	[ -x "$build/bin/merge" ] || skip "$build/bin/merge has not been built (libcsv)"
	trap '$cluster down' EXIT
	trap 'exit 130' INT TERM
	$cluster up "$1" $$ 2>"$FB_TMP/why" || skip "$(tail -n 1 "$FB_TMP/why")"
	$cluster sh srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no PMIx"
	# MPI must not spin where a rank waits for another, nor leave the hosts' own network.
	export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp \
		OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
}

# on COMMAND...: on the login node, whatever happens within two minutes.
on() {
	timeout -k 5 $((120 * slow)) $cluster sh "$@"
}

# submit_job ARGUMENT...: submits; rc, and what it said in $FB_TMP/out and err.
submit_job() {
	on $submit "$@" >"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
}

# job_of TEXT: the number of the job that submit printed with that text.
job_of() {
	sed -n "s/^job \([0-9]*\): $1.*/\1/p" "$FB_TMP/out" | head -n 1
}

# until_true SECONDS COMMAND...: tries again until it succeeds; fails after that time.
until_true() {
	local end=$((SECONDS + $1 * slow))

	shift
	while ! "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

queue_is_empty() {
	local queue

	queue=$(on squeue -h -o %i) && [ -z "$queue" ]
}

# A job that was put back would wait two minutes, lest it start where it still ends. Three seconds
# are enough here; in the same second as it ended, Slurm refuses to start it. The time from which it
# may start is looked at, not when Slurm expects it to start: the latter stays two minutes away
# until the job runs, and a job that is put off again whenever its three seconds are over may never
# get its turn.
hurry() {
	local id

	for id in $(on env SLURM_TIME_FORMAT=%s squeue -h -r -t PD -O JobArrayID,EligibleTime |
		awk -v now="$(date +%s)" '$2 + 0 > now + 30 { print $1 }'); do
		on scontrol update jobid="$id" StartTime=now+3 2>/dev/null
	done
}

done_or_hurried() {
	hurry
	queue_is_empty
}

# await_end RESULTS: until no job is left; shows what they wrote where that takes too long.
await_end() {
	until_true "${limit_s:-240}" done_or_hurried && return
	fail "jobs are left after ${limit_s:-240} s"
	on squeue
	tail -n 5 "$1"/logs/*
	return 1
}

# rows FILE: "nodes ranks launch engine bytes status", a line for each row, sorted.
rows() {
	awk -F, '
		{ gsub(/"[^"]*"/, "text") }
		FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{
			print $column["nodes"], $column["ranks"], $column["launch_index"],
				$column["engine"], $column["bytes"], $column["status"]
		}' "$@" | sort
}
