#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# Engines between GPUs where there is no GPU: which cases there are, and a row with a reason for
# each, never silence; what does not go together is refused. On a machine with GPUs tests/gpu/run
# measures them instead.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin

# list RANKS PROGRAM OPTION...: the cases, in FB_TMP/list.
list() {
	scripts/launch "$1" "$bin/$2" "${@:3}" --list >"$FB_TMP/list" 2>"$FB_TMP/err" </dev/null ||
		fail "$2 ${*:3}: $(cat "$FB_TMP/err")"
}

# count PATTERN: the listed cases that match.
count() {
	grep -cE -- "$1" "$FB_TMP/list"
}

list 2 latency --engine copy --bytes 8
reason=$(sed -n 's/.*skipped: //p' "$FB_TMP/list")
case $reason in
"no CUDA device"* | "built without CUDA") ;;
*)
	echo "SKIP p2p_gpu: here is a GPU"
	exit 0
	;;
esac

# 2 verbs one-sided and send, by the protocols that there are; windows have no lines with flags.
list 2 latency --engine copy,cuda,nccl --bytes 8 --algorithm all --launch stream,graph
expect "latency, copy" "$(count '^(ping_pong|one_way) copy')" 6
expect "latency, cuda" "$(count '^(ping_pong|one_way) cuda')" 8
expect "latency, nccl" "$(count '^ping_pong nccl send library library device')" 2
expect "reasons" "$(count "skipped: $reason\$")" 16
list 2 bandwidth --engine cuda --bytes 8 --memory device,vmm,fabric,pinned
expect "bandwidth, cuda" "$(count '^(one|two)_way cuda send direct')" 8
expect "pinned memory" "$(count ' shm pinned ')" 2
# Only with options that say so; and none of them where no engine is named.
list 2 bandwidth --engine cuda,copy --bytes 8 --channels 8 --threads 96
expect "channels" "$(count 'channels=8;dst=1;src=0;threads=96;window=64')" 4
list 2 latency --engine cuda --bytes 8 --rounds 7 --protocol ll
expect "rounds" "$(count 'dst=1;rounds=7;src=0;window=1')" 1
list 2 latency --bytes 8
expect "without a GPU" "$(count '(copy|cuda|nccl)')" 0
list 2 latency --engine host --bytes 8 --memory device --protocol simple
expect "host" "$(count "skipped: $reason\$")" 1
verdict p2p_gpu_cases

list 1 host_device --bytes 8,1M --memory all --launch all
expect "directions by copy" "$(count '^(h2d|d2h|h2d_d2h) copy')" $((3 * 8 * 2 * 2))
expect "directions by kernel" "$(count '^(h2d|d2h|h2d_d2h) cuda')" $((3 * 8 * 2 * 2))
expect "within the device" "$(count '^d2d (copy|cuda) - - - device')" $((2 * 2 * 2))
expect "messages" "$(count '^ping_pong cuda - - - pinned')" 2
expect "kernels and pageable memory" "$(count 'skipped: kernels do not reach')" $((3 * 5 * 2 * 2))
expect "all have a reason" "$(count 'skipped: ')" "$(count 'window=')"
verdict p2p_host_device_cases

for program in latency multi_pair steady host_device; do
	scripts/launch 2 "$bin/$program" --engine copy,cuda --bytes 64 --quiet \
		--csv "$FB_TMP/rows" </dev/null || fail "$program: skipped rows are no failure"
	"$bin/csvcheck" "$FB_TMP/rows/$program.csv" >"$FB_TMP/check" ||
		fail "$(cat "$FB_TMP/check")"
	rows=$(tail -n +2 "$FB_TMP/rows/$program.csv" | wc -l)
	[ "$rows" -gt 0 ] || fail "$program wrote no rows"
	expect "rows of $program" "$(grep -c ",skipped,$reason," "$FB_TMP/rows/$program.csv")" \
		"$rows"
done
verdict p2p_gpu_rows

# Copies of emulated GPUs from and to a mapped file bring the right bytes.
if [ -x "$FB_BUILD/tests/fake_gpu/host_device" ]; then
	FB_FAKE_GPU_WORKS=right scripts/launch 1 "$FB_BUILD/tests/fake_gpu/host_device" \
		--engine copy --bytes 1000 --memory file,pageable --max-time 50ms --quiet \
		--csv "$FB_TMP/file" </dev/null || fail "host_device: copies of a mapped file"
	expect "rows of a mapped file" \
		"$(grep -cE ',file,none,.*,(ok|few),' "$FB_TMP/file/host_device.csv")" 3
	expect "rows that are wrong" \
		"$(grep -cE ',(wrong|fault),' "$FB_TMP/file/host_device.csv")" 0
	verdict p2p_gpu_file
fi

# refused PATTERN PROGRAM OPTION...: exit code 3 and a line that matches.
refused() {
	scripts/launch 2 "$bin/$2" "${@:3}" --quiet --csv "$FB_TMP/none" >/dev/null \
		2>"$FB_TMP/err" </dev/null
	expect "exit code of $2 ${*:3}" "$?" 3
	holds "$FB_TMP/err" "$1"
}
refused '--rounds.*100000' latency --rounds 100001
refused 'no case is left' latency --engine copy --protocol ll
refused 'no case is left' bandwidth --engine nccl --algorithm put
refused '--memory.*pageable' host_device --memory device
verdict p2p_gpu_refused
exit "$bad"
