# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# What tests of engine nccl without a GPU share: a library that only writes down how it is called
# (tests/fake/libfake_nccl.c), and a runtime without a GPU. Sourced behind lib.sh.

bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/all_reduce" ] || { echo "SKIP $(basename "$0" .sh): built without CUDA"; exit 0; }
export FB_FAKE_GPU_EACH=1
library=$FB_BUILD/tests/libfake_nccl.so
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify first
	--timeout "$((30 * slow))s" --engine nccl)

# runs PROGRAM OPTION...
runs() {
	scripts/launch 2 "$bin/$1" "${fast[@]}" --nccl-library "$library" "${@:2}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" || said "$FB_TMP/err"
}

# values COLUMN ROWS: of the column in rows that match.
values() {
	awk -F, -v name="$1" -v rows="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		$0 ~ rows { print $at }' "$FB_TMP/out" | sort -u | tr '\n' ' '
}

# told N OPTION...: N ranks' communicators are told to do without multicast.
told() {
	rm -f "$FB_TMP"/told.*
	FB_FAKE_NCCL_LOG=$FB_TMP/told runs "${@:2}" --bytes 64
	expect "told by ${*:2}" "$(cat "$FB_TMP"/told.* | grep -c '^no-multicast')" "$1"
}
