#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 420
#
# Ranks that are stopped, or killed within a stream, and jobs that are told to end: the watchdog
# names the rank that is stopped and bounds the time; SIGTERM to a rank, to mpirun, to the script
# around it or, as a time limit does it, to everything at once leaves whole rows that --resume goes
# on from. SIGUSR1 ends a long row in time.

set -u
export LC_ALL=C
. tests/faults/lib.sh

timeout_s=$((4 * slow))
# Rows of the same length each, on any machine: they never have enough samples.
options=(--engine host --algorithm ring --bytes 8:128:2 -q --min-samples 1000000
	--max-samples 1000000 --max-time $((100 * slow))ms --timeout "${timeout_s}s")
cases=20

# Streams whose messages have no frames (tests/unit/test_tcp_run.c), so that nothing but the missing
# bytes tells the other rank.
stream_options=(--engine host --transport tcp --protocol direct --bytes 16K:1M:4 -q
	--min-samples 1000000 --max-samples 1000000 --max-time $((300 * slow))ms
	--timeout "${timeout_s}s")

# signal SIGNAL RANK: that rank of the job in $csv, in the middle, after two rows.
signal() {
	local victim

	await_ranks "$csv" "$ranks" || expect "$what" ranks "${#pids[@]}" "$ranks"
	await_rows "$table" 2 || expect "$what" "rows in time" "fewer than 2" 2
	for victim in "${pids[@]}"; do
		[ "$(rank_of "$victim")" = "$2" ] && break
	done
	kill "-$1" "$victim"
}

# stop RANK RANKS [OPTION...]: the job with that rank stopped in the middle.
stop() {
	local name=${program##*/} what="$MPI: rank $1 of $2 stopped" ranks=$2 since
	local csv=$dir/stopped-$name-$1-$2
	local table=$csv/$name.csv

	start "$2" --csv "$csv" "${@:3}"
	signal STOP "$1"
	since=$EPOCHREALTIME
	finish
	# Looking every tenth of the timeout, two seconds of grace for rank 0, mpirun's second; on
	# a busy machine each of them is longer.
	at_most "$what" seconds "$(awk "BEGIN { print $EPOCHREALTIME - $since }")" \
		$((timeout_s + 30 * slow))
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" "^fabricbench: .*missing: rank $1 on .*is stopped"
	expect "$what" "reports" "$(grep -c 'missing: rank' "$dir/err")" 1
	expect "$what" "ranks left" "$(ranks_of "$csv" | wc -l)" 0
	whole "$what" "$table"
	# Rank 0 writes the row of the fault; if it is the one that is stopped, then only if mpirun
	# wakes it up before it kills it.
	[ "$1" -eq 0 ] || expect "$what" "rows of the fault" "$(rows "$table" fault)" 1
}

# rank_of PID: from what the launcher told it.
rank_of() {
	tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' |
		head -n 1
}

test_stopped() {
	failures=0
	stop 1 2 "${options[@]}"
	stop 0 2 "${options[@]}"
	stop 2 3 "${options[@]}"
	verdict "faults/SIGSTOP of a rank ($MPI)"
}

# lose RANK: a rank of two, whose streams are cut in the middle of a message, killed.
lose() {
	local csv=$dir/lost-$1 what="$MPI: rank $1 of a stream killed" ranks=2 table

	table=$csv/bandwidth.csv
	start 2 --csv "$csv" "${stream_options[@]}"
	signal KILL "$1"
	at_most "$what" "seconds until all ranks are gone" "$(seconds_until_gone "$csv")" \
		$((timeout_s + 30 * slow))
	finish
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" '^fabricbench: .*has died|the launcher ended with [0-9]+'
	whole "$what" "$table"
	expect "$what" "wrong rows" "$(rows "$table" wrong)" 0
}

test_streams() {
	failures=0
	use "$MPI" bandwidth
	stop 1 2 "${stream_options[@]}"
	stop 0 2 "${stream_options[@]}"
	lose 0
	lose 1
	verdict "faults/SIGSTOP and SIGKILL of a rank in a stream ($MPI)"
}

# ended NAME CSV: what holds of every job that was told to end, and of its continuation.
ended() {
	expect "$1" "ranks left" "$(seconds_until_gone "$2" >/dev/null; ranks_of "$2" | wc -l)" 0
	whole "$1" "$2/all_reduce.csv"
	expect "$1" "rows of a fault" "$(rows "$2/all_reduce.csv" fault)" 0
	run 2 --csv "$2" --resume "${options[@]}"
	expect "$1, resumed" "exit code" "$rc" 0
	whole "$1, resumed" "$2/all_reduce.csv"
	expect "$1, resumed" rows "$(rows "$2/all_reduce.csv" 'ok|few')" $cases
}

# tell WHOM SIGNAL: rank, mpirun or script.
tell() {
	local csv=$dir/$1-$2 what="$MPI: $2 to $1" pid

	start 2 --csv "$csv" "${options[@]}"
	await_rows "$csv/all_reduce.csv" 2 || expect "$what" "rows in time" "fewer than 2" 2
	case $1 in
	rank) pid=$(ranks_of "$csv" | tail -n 1) ;;
	mpirun) pid=$(pgrep -P "$job" -f '^[^ ]*(mpirun|mpiexec|orterun)') ;;
	script) pid=$job ;;
	esac
	kill "-$2" "$pid"
	finish
	holds "$what" "$dir/err" 'told to end by SIG'
	# MPICH's mpirun, when it is told itself, may end with 0 whatever its ranks ended with.
	[ "$MPI $1 $rc" = "mpich mpirun 0" ] || expect "$what" "exit code" "$rc" 5
	ended "$what" "$csv"
}

# The way of a batch system: SIGTERM to all processes at once.
test_limit() {
	local csv=$dir/limit

	failures=0
	setsid scripts/launch 2 "$program" --csv "$csv" "${options[@]}" </dev/null \
		>"$dir/out" 2>"$dir/err" &
	job=$!
	await_rows "$csv/all_reduce.csv" 2 ||
		expect "$MPI: limit" "rows in time" "fewer than 2" 2
	kill -TERM -- "-$job"
	finish
	holds "$MPI: limit" "$dir/err" 'told to end by SIGTERM'
	expect "$MPI: limit" "exit code" "$rc" 5
	ended "$MPI: limit" "$csv"
	verdict "faults/a time limit ($MPI)"
}

test_told() {
	failures=0
	tell rank TERM
	tell mpirun TERM
	tell script TERM
	verdict "faults/SIGTERM to a rank, mpirun, the launcher ($MPI)"
}

# The announcement of a batch system: a row of an hour ends with the samples that it has, and the
# one behind it is left to --resume.
test_announced() {
	local csv=$dir/announced what="$MPI: SIGUSR1 to the launcher"

	failures=0
	start 2 --csv "$csv" --algorithm slow --bytes 8,16 --max-time 60min --min-samples 100000 \
		--max-samples 100000
	await_row_under_way "$csv/dummy"
	kill -USR1 "$job"
	finish
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" 'told to end by SIGUSR1'
	whole "$what" "$csv/dummy.csv"
	expect "$what" rows "$(rows "$csv/dummy.csv" '.*')" 1
	expect "$what" "rows with samples" "$(rows "$csv/dummy.csv" 'ok|few')" 1
	holds "$what" "$csv/dummy.csv" ',slow,.*,cut;dummy;few;own,'
	verdict "faults/SIGUSR1 ends a long row ($MPI)"
}

for family in $FB_MPIS; do
	use "$family" dummy
	test_announced
	use "$family" all_reduce
	cases=$("$program" --dry-run "${options[@]}" | grep -c ' B$')
	test_stopped
	test_told
	test_limit
	test_streams
done
exit $bad
