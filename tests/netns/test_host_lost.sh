#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A whole host is lost within a row, that of rank 0 or another one: the row of the fault names its
# case, written by who is left. Launcher and results are on another host, as with a shared file
# system. Open MPI only, as in test_tcp_hosts.sh.
# timeout: 300

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/faults/lib.sh

name=netns/test_host_lost
. tests/netns/lib.sh
use openmpi all_reduce
need_hosts "$program"
FB_HOSTS=$dir/hosts
export FB_HOSTS
mkdir "$FB_HOSTS"
trap '"$hosts" down' EXIT
trap 'exit 130' INT TERM
"$hosts" up 3 2>"$FB_HOSTS/why" || skip "$(tail -n 1 "$FB_HOSTS/why")"

fb_mpi_env openmpi
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$FB_HOSTS/rsh OMPI_MCA_mpi_yield_when_idle=1 \
	OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 \
	OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0

# lose NAME LOST HOST COMMAND...: what is run on HOST loses the host LOST in its second row; h0 has
# ranks 0 and 1.
lose() {
	local what=$1 csv=$dir/$1 lost=$2 host=$3 holder space process

	shift 3
	failures=0
	"$hosts" sh "$host" timeout -k 5 $((60 * slow)) "$@" "$program" --csv "$csv" \
		"${options[@]}" </dev/null >"$dir/out" 2>"$dir/err" &
	job=$!
	await_rows "$csv/all_reduce.csv" 1 || expect "$what" "rows" fewer 1
	await_row_under_way "$csv/all_reduce"
	holder=$(cat "$FB_HOSTS/$lost.pid")
	space=$(readlink "/proc/$holder/ns/net")
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/net" 2>/dev/null)" = "$space" ] &&
			[ "${process#/proc/}" != "$holder" ] && kill -KILL "${process#/proc/}"
	done
	finish
}

# there NAME: the row of the fault is, once, beside the good row.
there() {
	local csv=$dir/$1

	whole "$1" "$csv/all_reduce.csv"
	expect "$1" "rows of the fault" "$(rows "$csv/all_reduce.csv" fault)" 1
	expect "$1" "wrong rows" "$(rows "$csv/all_reduce.csv" wrong)" 0
	expect "$1" "rows under way" "$(find "$csv" -name '*.under_way' | wc -l)" 0
}

options=(--engine host --transport auto --algorithm ring --protocol simple --bytes "8,64" -q
	--min-samples 1000000 --max-samples 1000000 --max-time "$((2 * slow))s"
	--timeout "$((10 * slow))s")
export MPIRUN="$mpirun --bind-to none -host h0:2,h1:2"
for lost in h0 h1; do
	lose $lost $lost h2 scripts/launch 4
	expect $lost "exit code" "$rc" 5
	there $lost
	expect $lost "good rows" "$(rows "$dir/$lost/all_reduce.csv" 'ok|few')" 1
	verdict "$name-$lost"
done

# The launcher is lost with the host. Who is left may be killed before it can write the row; then
# the next start of the launch does.
# shellcheck disable=SC2086 # several words
lose launcher h0 h0 $MPIRUN -n 4
while pgrep -f "^$program .*--csv $dir/launcher" >/dev/null; do
	sleep 0.1
done
# shellcheck disable=SC2086
"$hosts" sh h2 timeout -k 5 $((60 * slow)) $MPIRUN -n 4 "$program" --csv "$dir/launcher" \
	"${options[@]}" --resume >"$dir/out" 2>"$dir/err"
expect launcher "exit code" $? 0
there launcher
expect launcher "good rows" "$(rows "$dir/launcher/all_reduce.csv" 'ok|few')" 2
verdict "$name-launcher"
exit $bad
