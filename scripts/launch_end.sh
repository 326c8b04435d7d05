# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # end_cause is scripts/launch's
#
# The end of a launch: no process of the job may be left on this host, also if a rank is stopped and
# never ends by itself. POSIX sh, sourced by scripts/launch.
#
# The job's processes are recognised by FABRICBENCH_LAUNCH in their environment, because processes
# whose launcher has died have another parent.

# job_processes ID: prints the numbers of the job's processes, launcher and all.
job_processes() {
	grep -lsazxF "FABRICBENCH_LAUNCH=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3
}

# end_ranks ID SECONDS: waits, after the launcher has ended, until no process of the job is left.
# Kills those that are left after SECONDS.
end_ranks() {
	tries=$(($2 * 10))
	while left=$(job_processes "$1") && [ -n "$left" ]; do
		if [ "$tries" -le 0 ]; then
			echo "fabricbench launch: the launcher has ended; what is left of" \
				"the job is killed: $(echo "$left" | tr '\n' ' ')" >&2
			# shellcheck disable=SC2086 # several numbers
			kill -KILL $left 2>/dev/null
			return
		fi
		tries=$((tries - 1))
		sleep 0.1
	done
}

# state_of PID: sets state to the first letter of the process's state, empty where there is none.
state_of() {
	state=
	{ read -r state <"/proc/$1/stat"; } 2>/dev/null
	state=${state##*) }
	state=${state%% *}
}

# end_watcher PID: ends watch_stopped. A signal that comes before the new process has set its trap
# is lost, and a watcher that lives on keeps open the pipe that the launch's caller reads.
end_watcher() {
	while state_of "$1" && [ -n "$state" ] && [ "$state" != Z ]; do
		kill -TERM "$1" 2>/dev/null
		sleep 0.01
	done
}

# end_launcher PID ID: SIGTERM to the launcher, which is a child, and SIGKILL to all of the job that
# is there 15 s later.
end_launcher() {
	# A terminal and a batch system send a signal to the whole group, and mpirun must not get it
	# twice. So mpirun gets it here only if it has not got it yet.
	[ "$end_cause" = stopped ] || sleep 1
	kill -TERM "$1" 2>/dev/null
	tries=150
	while state_of "$1" && [ -n "$state" ] && [ "$state" != Z ]; do
		tries=$((tries - 1))
		if [ "$tries" -eq 0 ]; then
			echo "fabricbench launch: the launcher has not ended 15 s after SIGTERM:" \
				"it is killed" >&2
			kill -KILL "$1" 2>/dev/null
		fi
		sleep 0.1
	done
	wait "$1"
	end_ranks "$2" 2
}

# find_stopped PID: sets stopped to the processes below PID that are stopped. Builtins alone: it is
# called while the program measures.
find_stopped() {
	stopped='' parents=$1
	while [ -n "$parents" ]; do
		next=
		for parent in $parents; do
			state_of "$parent"
			case $state in
			T | t) stopped="$stopped$parent " ;;
			esac
			for file in "/proc/$parent/task"/*/children; do
				children=
				{ read -r children <"$file"; } 2>/dev/null
				next="$next$children "
			done
		done
		# shellcheck disable=SC2086 # several numbers
		set -- $next
		parents=$*
	done
}

# rank_of PID: prints "rank N (process PID)", or the process alone.
rank_of() {
	rank=$(tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null |
		sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\|PMIX_RANK\|SLURM_PROCID\)=//p' |
		head -n 1)
	if [ -n "$rank" ]; then
		echo "rank $rank (process $1)"
	else
		echo "process $1"
	fi
}

# watch_stopped PID SECONDS SCRIPT: sends SIGALRM to SCRIPT when a process below the launcher PID
# has been stopped for that long. Where another rank of the host runs, it has ended the job before
# that; where none does, nobody else would.
watch_stopped() {
	trap 'kill "$sleeper" 2>/dev/null; exit' TERM
	every=$(($2 / 4))
	[ "$every" -ge 1 ] || every=1
	seen='' times=0
	while :; do
		sleep "$every" >/dev/null 2>&1 &
		sleeper=$!
		wait "$sleeper"
		find_stopped "$1"
		[ -n "$stopped" ] && [ "$stopped" = "$seen" ] || times=0
		seen=$stopped
		[ -n "$stopped" ] || continue
		times=$((times + 1))
		[ $((times * every)) -gt "$2" ] || continue
		for process in $stopped; do
			echo "fabricbench launch: $(rank_of "$process") on $(uname -n) is" \
				"stopped: the job is ended" >&2
		done
		kill -ALRM "$3"
		return
	done
}
