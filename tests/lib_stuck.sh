# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of tests/run
#
# The part of tests/run that ends tests which have reached their limits, or the limit of the run,
# and says where their processes are. Sourced by it; uses its variables running, queue and logs.

# family_of PROCESS: it and its descendants. Launchers give ranks process groups of their own.
family_of() {
	ps -e -o pid= -o ppid= | awk -v root="$1" '
		{ parent[$1] = $2 }
		END {
			for (p in parent) {
				for (a = p; a in parent && a != root; a = parent[a])
					;
				if (a == root) print p
			}
		}' | sort -n
}

# calls_of PROCESS: the functions that its main thread is in, innermost first, if gdb finds them.
calls_of() {
	timeout -k 5 10 gdb -nx -batch -iex 'set debuginfod enabled off' -p "$1" -ex 'thread 1' \
		-ex 'bt -15' </dev/null 2>/dev/null |
		sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([^ ]+) .*/\2/p' | paste -sd '<' |
		sed 's/</ < /g'
}

# stacks_of PROCESS: a line for each process of a test: number, state, seconds of processors, name
# and, of the first eight programs that were built here, what they are in.
stacks_of() {
	local process left=8 state seconds name

	echo "processes at the limit:"
	for process in $(family_of "$1"); do
		read -r state seconds name < <(ps -o stat= -o cputimes= -o args= -p "$process") ||
			continue
		name=${name:0:100}
		if [[ $(readlink "/proc/$process/exe") = "$(pwd -P)"/build/* ]] &&
			[ $((left--)) -gt 0 ]
		then
			name+=": $(calls_of "$process")"
		fi
		echo "  $process $state $seconds s $name"
	done
}

# Ends the tests that have reached their limits, as timeout's own alarm does, which comes later in
# case this does not.
stop_stuck() {
	local process limit start folder

	for process in "${!running[@]}"; do
		read -r _ _ limit start folder _ <<<"${running[$process]}"
		[ $((${EPOCHREALTIME%.*} - ${start%.*})) -ge "$limit" ] || continue
		[ ! -e "$folder.stuck" ] || continue
		stacks_of "$process" >"$folder.stuck"
		kill -ALRM "$process" 2>/dev/null
	done
}

# Ends the tests that run, with their process groups.
stop_running() {
	local process folder

	for process in "${!running[@]}"; do
		kill "$process" 2>/dev/null
	done
	for process in "${!running[@]}"; do
		wait "$process"
		kill -KILL -- "-$process" 2>/dev/null
		read -r _ _ _ _ folder _ <<<"${running[$process]}"
		rm -rf "$folder" "$folder".{cpu,stuck}
	done
}

# The run has used its time: names what was still running and what had not begun, and ends.
out_of_time() {
	local process name log began=$SECONDS
	local -a stacks=()

	# All stacks together may take a minute, so that the list below comes soon.
	for process in "${!running[@]}"; do
		[ $((SECONDS - began)) -ge 60 ] || stacks[process]=$(stacks_of "$process")
	done
	stop_running
	for process in "${!running[@]}"; do
		read -r _ _ _ _ _ name <<<"${running[$process]}"
		log=$logs/${name//\//.}.log
		echo "${stacks[process]-}" >>"$log"
		count FAIL "$name" "still running after the run's limit of $run_limit min"
		show_failure
	done
	for process in "${queue[@]}"; do
		IFS=$'\x1f' read -r _ _ _ name _ <<<"$process"
		count FAIL "$name" "not begun within the run's limit of $run_limit min"
	done
	finish
	exit 1
}
