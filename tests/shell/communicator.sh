#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# The program communicator: rows of MPI and of own engines on host ranks, every life of NCCL's with
# a library that writes down its calls, jobs that are wrong, and ports that run out.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
fast=(--quiet --min-samples 2 --max-samples 3 --max-time 1ms --ci 100% --timeout "$((30 * slow))s")

# runs RANKS PROGRAM OPTION...: ends well, without a fault.
runs() {
	local rc

	scripts/launch "$1" "$2" "${fast[@]}" "${@:3}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
	expect "exit code of $*" "$rc" 0
	expect "faults of $*" "$(grep -cE ',(fault|wrong),' "$FB_TMP/out")" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/err"
}

# values COLUMN PATTERN: that column of the rows that match and were measured.
values() {
	grep -E ',(ok|few),|^schema' "$FB_TMP/out" | python3 -c '
import csv, re, sys
for row in csv.DictReader(sys.stdin):
    if re.search(sys.argv[2], ",".join(row.values())):
        print(row[sys.argv[1]])' "$1" "$2"
}

# all_set COLUMN PATTERN N: so many rows match, and have a number there.
all_set() {
	expect "rows with $1 of $2" "$(values "$1" "$2" | grep -cE '^-?[0-9.]+$')" "$3"
}

program=$FB_BUILD/bin/communicator
runs 3 "$program" --engine host,mpi --communicators 1,5
all_set create_us ',(dup|split|create_group),mpi,' 6
all_set destroy_us ',(dup|split|create_group),mpi,' 6
all_set call_us ',(reuse),' 4
expect "reuse creates nothing" "$(values create_us ',reuse,' | grep -c .)" 0
all_set host_bytes ',open,host,' 2
runs 2 "$program" --engine host --transport tcp --operation open --communicators 3
[ "$(values sockets ',open,')" -ge 3 ] || fail "three of tcp hold $(values sockets ,open,) sockets"
runs 4 "$program" --engine host,mpi --communicators 2 --grid 2x2x1,4x1x1 --algorithm ring
all_set call_us 'communicators=2;grid=(2x2x1|4x1x1)' 12
runs 2 "$program" --engine mpi --operation dup --grid 2x2x1 --communicators 1,2,4
expect "a grid of others" "$(grep -c 'grid 2x2x1 needs 4 ranks, not 2' "$FB_TMP/out")" 3
# refused TEXT OPTION...: exit code 3, and an error line with that text.
refused() {
	"$program" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of ${*:2}" "$?" 3
	holds "$FB_TMP/err" "$1"
}
refused "'divorce' is not accepted" --operation divorce
refused "'mpii' is not accepted" --engine mpii
refused "expected one that an engine of --engine has" --engine host --operation split
# What is made anew each time is warm after the first repetition, if that takes long.
runs 2 "$program" --engine host --operation open,reuse --communicators 8
expect "warm-ups of what is made anew" "$(values cpu_s ',open,' | grep -c .)" 0
expect "warm-ups of what is kept" "$(values cpu_s ',reuse,' | grep -c .)" 1
verdict communicator_host

# wrong MISUSE OPERATION ENGINE FAULT OPTION...: the fault names what the others wait in.
wrong() {
	local rc

	scripts/launch 2 "$program" --quiet --engine "$3" --operation "$2" --communicators 2 \
		--misuse "$1" --timeout "$((4 * slow))s" "${@:5}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	rc=$?
	[ "$rc" -ne 0 ] || fail "--misuse $1 of $2 ended well"
	holds "$FB_TMP/err" "$4"
}
wrong create split mpi 'creating communicators'
wrong create open host 'creating communicators'
wrong buffer dup mpi '(first call on communicators|[Ss]egmentation|gone|missing: rank)'
# The library is called with the addresses that the memory had, and not with some near NULL.
if grep -E 'address:? (\(nil\)|0x0*[0-9a-f]{1,3})( |$)' "$FB_TMP/err" >"$FB_TMP/null"; then
	fail "no call with freed memory: $(cat "$FB_TMP/null")"
fi
# One rank ends none: that nobody waits for, so the rows are as usual.
runs 2 "$program" --engine host,mpi --operation open,dup,split --communicators 2 --misuse destroy
all_set create_us ',(open|dup|split),' 3
verdict communicator_misuse

program=$FB_BUILD/tests/fake_gpu/communicator
if [ -x "$program" ]; then
	export FB_FAKE_GPU_EACH=1
	nccl=(--engine nccl --nccl-library "$FB_BUILD/tests/libfake_nccl.so")
	made='init|init_config|init_nonblocking|init_grouped|init_scalable|finalize|abort|revoke'
	for ranks in 2 3; do
		runs "$ranks" "$program" "${nccl[@]}" --communicators 1,4
		all_set create_us ",($made|split|shrink)," 20
		all_set destroy_us ",($made|split|shrink)," 20
		all_set device_bytes ",($made|split|shrink)," 20
		all_set create_us ',(capture|fragment|register),' 6
		expect "versions" "$(grep -c 'has no ncclCommGrow (2.29 has)' "$FB_TMP/out")" 2
		expect "versions" "$(grep -c 'has no ncclCommSuspend (2.29.7 has)' "$FB_TMP/out")" 2
	done
	scripts/launch 2 "$program" "${nccl[@]}" --quiet --operation fragment --communicators 4 \
		--min-samples 9 --max-samples 9 >"$FB_TMP/out" 2>"$FB_TMP/err" ||
		fail "fragment: $(cat "$FB_TMP/err")"
	for column in {device,host}_{early,late}_bytes create_{early,late}_us; do
		all_set "$column" ',fragment,' 1
	done
	runs 1 "$program" "${nccl[@]}" --operation shrink --communicators 1,2,4
	expect "one rank" "$(grep -c 'one rank less needs at least two ranks' "$FB_TMP/out")" 3
	runs 2 "$program" "${nccl[@]}" --operation init --nccl-force ring,ring:ll,tree \
		--communicators 1
	all_set call_us ',init,nccl,(ring|tree),(library|ll),' 3
	runs 2 "$program" "${nccl[@]}" --operation reuse,register --communicators 2 \
		--registration none,registered,window,window-copy --bytes 64K
	all_set call_us ',reuse,nccl,.*,(none|registered|window),' 3
	all_set create_us ',register,nccl,.*,(registered|window),' 2
	# It says that it ran something else: both names stand in the row.
	runs 2 "${program%/*}/all_reduce" "${nccl[@]}" --nccl-force tree --bytes 64
	holds "$FB_TMP/out" ',skipped,NCCL ran ring:ll128 where tree:library was forced'
	runs 4 "$program" "${nccl[@]}" --operation split,init --grid 2x1x2 --communicators 2
	all_set call_us ',(split|init),nccl,' 2
	# The library waits for all ranks where one makes or ends none, as NCCL does.
	for misuse in create destroy buffer; do
		export FB_FAKE_NCCL_MEET=$FB_TMP/meet.$misuse
		mkdir "$FB_FAKE_NCCL_MEET"
		case $misuse in
		create) fault='creating communicators' ;;
		destroy) fault='destroying communicators' ;;
		*) fault='rank 1 on .*ncclAllReduce: some error' ;;
		esac
		FB_FAKE_NCCL_LOG=$FB_TMP/$misuse wrong "$misuse" init nccl "$fault" "${nccl[@]:2}"
	done
	expect "calls with freed memory" "$(cat "$FB_TMP"/buffer.* | grep '^freed')" 'freed 1/2 -1'
	# A window is made by all ranks; only the call shows that the last one's begins elsewhere.
	export FB_FAKE_NCCL_MEET=$FB_TMP/meet.register FB_FAKE_NCCL_LOG=$FB_TMP/windows
	mkdir "$FB_FAKE_NCCL_MEET"
	wrong register register nccl 'creating communicators' "${nccl[@]:2}" \
		--registration window
	unset FB_FAKE_NCCL_MEET
	rm "$FB_TMP"/windows.*
	runs 2 "$program" "${nccl[@]}" --operation register,init --misuse offset \
		--registration window
	expect "offsets" "$(cat "$FB_TMP"/windows.* | awk '/^window/ { print $1, $2 }' | sort -u |
		tr '\n' ' ')" 'window=2093056 1/2 window=2097152 0/2 '
	holds "$FB_TMP/out" ',init,nccl,.*,skipped,"?nothing is registered in this case'
	unset FB_FAKE_NCCL_LOG
	verdict communicator_nccl_misuse
	several=("${nccl[@]:2}" --engine nccl-process)
	export FB_FAKE_GPUS=4 FB_FAKE_NCCL_LOG=$FB_TMP/calls
	runs 1 "$program" "${several[@]}" --communicators 1,32 --gpus-per-process 3
	all_set create_us ',(init_all|threads|group),nccl-process,.*gpus_per_process=3' 6
	all_set call_us ',(init_all|threads|group),nccl-process,' 6
	all_set destroy_us ',(init_all|threads|group),nccl-process,' 6
	expect "ranks" "$(sort -u "$FB_TMP"/calls.* | grep -c '/3 [01]$')" 6
	runs 2 "$program" "${several[@]}" --communicators 1,32
	expect "rows" "$(grep -c 'NCCL 2.28.9, 2 GPUs a process' "$FB_TMP/out")" 4
	expect "ranks" "$(sort -u "$FB_TMP"/calls.* | grep -c '/4 [01]$')" 8
	holds "$FB_TMP/out" "ncclCommInitAll is one process's"
	unset FB_FAKE_GPUS FB_FAKE_NCCL_LOG
	nccl=(--engine nccl --nccl-library "$FB_BUILD/tests/libfake_nccl_2_18.so")
	runs 2 "$program" "${nccl[@]}" --communicators 1
	holds "$FB_TMP/out" 'NCCL 2.18.5 has no ncclCommRevoke \(2.28.7 has\)'
	all_set create_us ',(init|split|finalize),' 3
	verdict communicator_nccl
else
	echo "SKIP communicator_nccl: built without CUDA"
fi

# These ports are fewer than the sockets of 32 communicators.
narrow() {
	# shellcheck disable=SC2016
	unshare -n -- bash -c 'ip link set lo up &&
		echo 40000 40031 >/proc/sys/net/ipv4/ip_local_port_range && exec "$@"' - "$@"
}
program=$FB_BUILD/bin/communicator
if [ "$(id -u)" -eq 0 ] && narrow true 2>/dev/null; then
	narrow scripts/launch 2 "$program" --quiet --engine host --transport tcp --operation open \
		--communicators 32 --timeout "$((30 * slow))s" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code without ports" "$?" 5
	holds "$FB_TMP/err" '([Aa]ddress|port)'
	verdict communicator_ports
else
	echo "SKIP communicator_ports: no network name space here"
fi
exit $bad
