#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# Faults where the watchdog is not there yet or no longer, and faults that look like a good end: a
# rank that stops, hangs or ends before or in MPI_Init, or that stops in MPI_Finalize, ends the job
# and is named; a job whose ranks end with exit code 0 in the middle is no complete launch; ranks
# with different options, and the launcher of another MPI library, are refused.

set -u
export LC_ALL=C
. tests/faults/lib.sh

options=(--engine host --algorithm ring --protocol ll --bytes "8:64K:2" -q --min-samples 100
	--max-samples 100 --max-time 60s --timeout "$((4 * slow))s")
# Where nothing goes wrong, nobody should lose patience with a busy machine.
patient=("${options[@]}")
patient[-1]=$((60 * slow))s

# faulty WHAT WHERE RANK [argument...]: two ranks that write to $csv (to standard output where it is
# empty), one of which (or all) misbehaves.
faulty() {
	local log=$dir/$1-$2-$3

	FAULT=$1 FAULT_AT=$2 FAULT_RANK=$3 scripts/launch 2 env LD_PRELOAD="$preload" "$program" \
		${csv:+--csv "$csv"} "${options[@]}" "${@:4}" </dev/null >"$log.out" 2>"$log.err"
	echo $? >"$log.rc"
}

# says WHAT WHERE RANK LINE: how that job has ended.
says() {
	local log=$dir/$1-$2-$3 what="$MPI: $3 $1 $2"

	expect "$what" "exit code" "$(cat "$log.rc")" 5
	holds "$what" "$log.err" "$4"
}

# These wait most of the time, so they do it beside each other.
test_start() {
	failures=0
	csv=$dir/start
	faulty stop load 1 &
	faulty hang load 0 &
	faulty stop init 1 &
	faulty exit init 1 &
	faulty stop load all &
	wait
	says stop load 1 'has not started for [0-9]+ s on .*: rank 1 \(process [0-9]+\) is stopped'
	says hang load 0 \
		"started for [0-9]+ s on .*: rank 0 \(process [0-9]+\) still is in '.*' before"
	says stop init 1 'has not started for [0-9]+ s on .*: rank 1 \(process [0-9]+\) is stopped'
	# Launchers may find this out before the time is over.
	says exit init 1 'rank 1 has ended|exiting improperly|the launcher ended with'
	says stop load all 'fabricbench launch: rank 1 \(process [0-9]+\) on .* is stopped'
	says stop load all 'fabricbench launch: rank 0 \(process [0-9]+\) on .* is stopped'
	expect "$MPI" "ranks left" "$(ranks_of "$csv" | wc -l)" 0
	verdict "faults/ranks that stop, hang or end while the job starts ($MPI)"
}

test_finalize() {
	failures=0
	csv=$dir/finalize
	faulty stop finalize 1
	says stop finalize 1 'missing: rank 1 on .*MPI_Finalize, process [0-9]+ is stopped'
	verdict "faults/a rank that is stopped in MPI_Finalize ($MPI)"
}

# A rank that ends with 0 in the middle, and a launcher that ends with 0 with it.
test_closing() {
	local incomplete='launch 0 of all_reduce is incomplete, although the launcher ended well'

	failures=0
	csv=$dir/middle
	MPIRUN="$dir/kind" faulty exit middle 1
	says exit middle 1 "$incomplete"
	run 2 --csv "$csv" --resume "${patient[@]}"
	expect "$MPI, resumed" "exit code" "$rc" 0
	# What an earlier attempt has written does not count for a later one.
	MPIRUN="$dir/kind" faulty exit load all --resume
	says exit load all "$incomplete"
	# Rows on standard output: no file has a closing fact.
	csv=
	MPIRUN="$dir/kind" faulty exit middle 0
	says exit middle 0 "$incomplete.*: rank 0 did not come to its end"
	faulty exit middle 1
	says exit middle 1 'is incomplete|the launcher ended with'
	run 2 "${patient[@]}"
	expect "$MPI, rows on stdout" "exit code" "$rc" 0
	verdict "faults/launches without their closing fact ($MPI)"
}

# differ OPTION FIRST SECOND: rank 0 has FIRST for OPTION, rank 1 SECOND.
differ() {
	what="$MPI: $1"
	cat >"$dir/rank" <<-'END'
		#!/bin/sh
		first=$1 second=$2
		shift 2
		case ${OMPI_COMM_WORLD_RANK-}${PMI_RANK-} in
		0) exec "$@" "$first" ;;
		*) exec "$@" "$second" ;;
		esac
	END
	chmod +x "$dir/rank"
	scripts/launch 2 "$dir/rank" "$1=$2" "$1=$3" "$program" "${patient[@]}" "${@:4}" \
		</dev/null >"$dir/out" 2>"$dir/err"
	expect "$what" "exit code" $? 3
	expect "$what" "lines" "$(grep -c '^fabricbench: ' "$dir/err")" 1
	holds "$what" "$dir/err" \
		"^fabricbench: option $1: rank 0 has '$2', rank 1 on .* has '$3': expected the same"
}

test_options() {
	failures=0
	differ --seed 1 2
	differ --verify yes no
	differ --slots 4 8
	differ --raw-ranks no yes --csv "$dir/one"
	differ --csv "$dir/one" "$dir/two"
	expect "$what" "folders" "$(find "$dir/one" "$dir/two" 2>/dev/null)" ""
	differ --launch-index 3 4
	verdict "faults/ranks with different options ($MPI)"
}

# Each process is a job of its own, and would publish rows of one rank.
test_family() {
	local other=mpich

	failures=0
	[ "$MPI" = openmpi ] || other=openmpi
	other=$(fb_mpi_tool mpirun $other) || return
	for flags in '' '--csv '"$dir/alone"; do
		# shellcheck disable=SC2086 # several words
		(
			[ "$MPI" = openmpi ] || fb_mpi_env openmpi
			oversubscribe=
			[ "$MPI" = openmpi ] || oversubscribe=--oversubscribe
			timeout $((60 * slow)) "$other" $oversubscribe -n 2 "$program" \
				"${patient[@]}" $flags </dev/null >"$dir/out" 2>"$dir/err"
		)
		expect "$other" "rows" "$(grep -c '^all_reduce' "$dir/out")" 0
		expect "$other" "lines" "$(grep -c '^fabricbench: ' "$dir/err")" 1
		holds "$other" "$dir/err" \
			'^fabricbench: the launcher has started 2 ranks .*job of its own: expected'
	done
	expect "$other" "folder" "$(find "$dir/alone" 2>/dev/null)" ""
	verdict "faults/the launcher of the other MPI family ($MPI)"
}

for family in $FB_MPIS; do
	use "$family" all_reduce
	preload=${program%/bin/*}/tests/libfault.so
	cat >"$dir/kind" <<-END
		#!/bin/sh
		# A launcher that ends with 0 whatever happened.
		shift
		ranks=\$1
		shift
		MPIRUN= "$PWD/scripts/launch" "\$ranks" "\$@"
		exit 0
	END
	chmod +x "$dir/kind"
	test_start
	test_finalize
	test_closing
	test_options
	test_family
done
exit $bad
