#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# kill -9 of one rank in the middle of GPU collectives: whatever links are made of, the job ends as
# a fault within the timeout, names the rank, leaves no process behind, and every row that was
# written is whole, that of the fault too, which names the rank. The kernels of the other ranks wait
# for ever at that time; only the end of their processes ends them. Afterwards the GPUs work as
# before.
#
# Needs two GPUs. tests/gpu/run starts it; it can be run alone, too. RANKS, TIMES, SEED and, to try
# the test itself without GPUs, ENGINE=host and TRANSPORTS="shm" change it.

set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 3
. scripts/lib.sh

engine=${ENGINE:-cuda}
if [ "$engine" = cuda ]; then
	gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
	if [ "$gpus" -lt 2 ]; then
		echo "SKIP gpu/killed: $gpus GPUs"
		exit 0
	fi
fi
MPI=${MPI:-$(fb_mpi_default)}
FB_BUILD=${FB_BUILD:-$PWD/build/$MPI}
FB_TMP=${FB_TMP:-$(mktemp -d)}
export MPI FB_BUILD FB_TMP
. tests/faults/lib.sh

ranks=${RANKS:-2}
times=${TIMES:-3}
RANDOM=${SEED:-1}
timeout_s=5
grace_s=3 # a process that leaves gives back its GPU first

# rank_of PID: the number that the launcher gave to the process.
rank_of() {
	tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null |
		sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' | head -n 1
}

# options of all runs: rows that never have enough samples, so the kill falls into one.
options=(--engine "$engine" --min-samples 1000000 --max-samples 1000000 --max-time 60s -q
	--timeout "${timeout_s}s")

# killed NAME OPTION...: one job, one rank of it killed while it measures.
killed() {
	local csv=$dir/$1 what=$1 victim rank seconds

	shift
	rm -rf "$csv"
	start "$ranks" --csv "$csv" "${options[@]}" "$@"
	await_ranks "$csv" "$ranks" || expect "$what" ranks "${#pids[@]}" "$ranks"
	# The header comes before the first row, whose preparation takes some seconds on a GPU.
	await_rows "$csv/all_reduce.csv" 0 || expect "$what" "result file" missing there
	sleep "$((5 + RANDOM % 2)).$((RANDOM % 10))"
	victim=${pids[RANDOM % ranks]}
	rank=$(rank_of "$victim")
	kill -KILL "$victim" 2>/dev/null || expect "$what" "rank to kill" gone there
	seconds=$(seconds_until_gone "$csv")
	finish
	at_most "$what" "seconds until all ranks are gone" "$seconds" $((timeout_s + grace_s))
	expect "$what" "exit code" "$rc" 5
	holds "$what" "$dir/err" "^fabricbench: .*rank $rank "
	whole "$what" "$csv/all_reduce.csv"
	expect "$what" "wrong rows" "$(rows "$csv/all_reduce.csv" wrong)" 0
	expect "$what" "rows of the fault" "$(rows "$csv/all_reduce.csv" fault)" 1
	holds "$what" "$csv/all_reduce.csv" ",fault,.*rank $rank "
}

# works NAME: the same GPUs give right results.
works() {
	run "$ranks" --engine "$engine" --bytes 1M --min-samples 1 --max-samples 2 -q \
		--max-time 100ms --ci 100% --algorithm ring --protocol simple
	expect "$1" "exit code afterwards" "$rc" 0
	expect "$1" "good rows afterwards" "$(rows "$dir/out" 'ok|few')" 1
}

use "$MPI" all_reduce
for transport in ${TRANSPORTS:-p2p shm tcp}; do
	failures=0
	for ((i = 0; i < times; i++)); do
		case $i in
		0) kind=(--algorithm ring --protocol simple --bytes 64M) ;;
		1) kind=(--algorithm one_shot --protocol ll --bytes 64K) ;;
		*) kind=(--algorithm two_shot --protocol direct --bytes 16M) ;;
		esac
		# Over tcp, and in pinned memory, there is simple only, or no direct.
		[ "$transport" = p2p ] ||
			kind=(--algorithm ring --protocol simple --bytes $((i + 1))M)
		if [ "$engine" = cuda ] && [ $((i % 2)) -eq 1 ]; then
			kind+=(--launch graph --cadence streaming)
		fi
		killed "$transport-$i" --transport "$transport" "${kind[@]}"
	done
	works "$transport"
	verdict "gpu/kill -9 of a rank, transport $transport"
done
exit $bad
