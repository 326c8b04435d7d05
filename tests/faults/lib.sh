# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that the shell tests of failures share: comparisons that count, programs in the
# background, and looking for the ranks of a job. Sourced from the root of the sources, after
# tests/run has set FB_TMP, FB_BUILD, FB_MPIS and MPI. A test sets `dir` (its folder) and `program`,
# begins each case with failures=0 and ends it with `verdict NAME`.

. scripts/lib.sh
. tests/said.sh
dir=$FB_TMP
slow=${FB_SLOW:-1} # all limits are multiplied by it
bad=0      # of the whole script; its exit code
failures=0 # of the case

# expect NAME WHAT GOT WANT: one comparison.
expect() {
	[ "$3" = "$4" ] && return
	echo "  $1: $2: got '$3', want '$4'"
	[ "$2" != "exit code" ] || said "$dir/err"
	failures=$((failures + 1))
}

# at_most NAME WHAT GOT MOST: the same for numbers that may be smaller, also 1.25.
at_most() {
	awk -v got="$3" -v most="$4" 'BEGIN { exit !(got <= most) }' && return
	echo "  $1: $2: got $3, want at most $4"
	failures=$((failures + 1))
}

# holds NAME FILE PATTERN: whether a file has a line like this.
holds() {
	grep -Eq -- "$3" "$2" 2>/dev/null && return
	echo "  $1: no line like '$3' in:"
	said "$2"
	failures=$((failures + 1))
}

# verdict NAME
verdict() {
	if [ "$failures" -eq 0 ]; then
		echo "PASS $1"
	else
		echo "FAIL $1"
		# shellcheck disable=SC2034 # the exit code of the script that sources this
		bad=1
	fi
}

# Names of shared memory, which no job may leave behind. Others' jobs may have left some before.
shm_names() {
	find /dev/shm -name 'fabricbench*' 2>/dev/null | sort
}
shm_before=$(shm_names)

# no_new_names NAME: none has come since the test began, and stays. Jobs of others have some for a
# moment.
no_new_names() {
	local i names

	for ((i = 0; i < 100 * slow; i++)); do
		names=$(comm -13 <(echo "$shm_before") <(shm_names))
		[ -n "$names" ] || break
		sleep 0.1
	done
	expect "$1" "names left" "$names" ""
}

# use FAMILY NAME: makes that MPI the one in use and $program the program (or test) NAME.
use() {
	local build=${FB_BUILD%/*}/$1

	MPI=$1
	dir=$FB_TMP/$1
	mkdir -p "$dir"
	program=$build/bin/$2
	[ -x "$program" ] || program=$build/tests/$2
	csvcheck=$build/bin/csvcheck
	export MPI
}

# start RANKS ARGUMENT...: starts the program in the background; sets job.
start() {
	local ranks=$1

	shift
	scripts/launch "$ranks" "$program" "$@" </dev/null >"$dir/out" 2>"$dir/err" &
	job=$!
}

# finish: waits for the job; sets rc.
finish() {
	wait "$job"
	# shellcheck disable=SC2034 # for whoever sources this
	rc=$?
}

# run RANKS ARGUMENT...: runs the program; sets rc, leaves $dir/out and $dir/err.
run() {
	start "$@"
	finish
}

# ranks_of CSV: process ids of the ranks that write to this folder, in the order of their start.
# mpirun's own command line begins with mpirun. A dead rank that nobody has waited for yet has
# none.
ranks_of() {
	pgrep -f "^$program .*--csv $1( |\$)"
}

# await_ranks CSV N: waits until that many ranks run, or the job has ended; sets pids. Between
# fork and exec a rank still has the launcher's command line.
await_ranks() {
	local i

	for ((i = 0; i < 500 * slow; i++)); do
		mapfile -t pids < <(ranks_of "$1")
		[ "${#pids[@]}" -ge "$2" ] && return
		sleep 0.02
	done
	return 1
}

# await_rows CSVFILE N: waits until the file has that many rows, for at most 20 s on an idle
# machine.
await_rows() {
	local i

	for ((i = 0; i < 1000 * slow; i++)); do
		[ -e "$1" ] && [ "$(wc -l <"$1")" -gt "$2" ] && return
		sleep 0.02
	done
	return 1
}

# await_row_under_way PATH: waits until the case after the rows of PATH.csv is under way in launch
# 0, or the job has ended.
await_row_under_way() {
	while kill -0 "$job" 2>/dev/null; do
		[ ! -s "$1.0.under_way" ] || return 0
		sleep 0.02
	done
	return 1
}

# seconds_until_gone CSV: how long ranks are still there, and kills them after 60 s (on an
# idle machine).
seconds_until_gone() {
	local since=$EPOCHREALTIME i

	for ((i = 0; i < 3000 * slow; i++)); do
		ranks_of "$1" >/dev/null || break
		sleep 0.02
	done
	awk -v a="$since" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
	ranks_of "$1" | xargs -r kill -KILL
}

# whole NAME FILE: whether every line of a result file is a whole row that the schema allows.
whole() {
	expect "$1" "last character" "$(tail -c 1 "$2" | od -An -c | tr -d ' ')" '\n'
	if ! "$csvcheck" "$2" >"$dir/check" 2>&1; then
		echo "  $1: $csvcheck $2:"
		head -n 5 "$dir/check" | sed 's/^/    /'
		failures=$((failures + 1))
	fi
}

# rows FILE STATUS: how many rows with that status (an extended regular expression) there are.
# Fields before it have no commas.
rows() {
	awk -F, -v status="^($2)\$" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "status") at = i; next }
		$at ~ status { n++ }
		END { print n + 0 }' "$1"
}
