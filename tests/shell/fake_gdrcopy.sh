#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# The processor's own copies to and from a GPU, with a runtime that has none (tests/fake/cudart.c)
# and a GDRCopy whose mapping is that runtime's memory itself (tests/fake/libfake_gdrapi.c), or one
# that is missing or fails. What kernels should have filled is not there, so nothing is verified.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/host_device" ] || { echo "SKIP fake_gdrcopy: built without CUDA"; exit 0; }
fast=(--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify no)

# runs RANKS PROGRAM OPTION...: ends well, some rows measured, none a fault.
runs() {
	scripts/launch "$1" "$bin/$2" "${fast[@]}" "${@:3}" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of $*" "$?" 0
	[ "$(grep -cE ',(ok|few),' "$FB_TMP/out")" -gt 0 ] || fail "$*: nothing was measured"
	expect "faults of $*" "$(grep -c ',fault,' "$FB_TMP/out")" 0
}

gdr=$FB_BUILD/tests/libfake_gdrapi.so
runs 2 host_device --engine gdrcopy --gdrcopy-library "$gdr" --bytes 1,1000,300K,1M \
	--memory pinned,registered,pageable,managed,hugepage
expect "rows by GDRCopy" \
	"$(grep -cE ',(h2d|d2h),gdrcopy,.*,blocking,.*,(ok|few),.*"processor, GDRCopy 2.99' \
		"$FB_TMP/out")" $((2 * 5 * 4))
runs 1 host_device --engine gdrcopy,copy --gdrcopy-library "$gdr" --bytes 64 --numa any,0,63 \
	--memory pageable --launch all
if grep -q 'pages on' "$FB_TMP/out"; then
	holds "$FB_TMP/out" ',gdrcopy,.*,numa=0:0;.*\(threads on 0, pages on 0\)'
fi
holds "$FB_TMP/out" ',gdrcopy,.*,numa=63:63;.*,skipped,'
runs 1 host_device --engine gdrcopy,copy --gdrcopy-library libno.so.1 --bytes 64
expect "rows without GDRCopy" "$(grep -c ',gdrcopy,.*,skipped,libno.so.1 not found' \
	"$FB_TMP/out")" 2
export FAKE_GDR_FAIL=map
runs 2 host_device --engine gdrcopy,copy --gdrcopy-library "$gdr" --bytes 64
expect "rows that cannot be mapped" "$(grep -c ',gdrcopy,.*,skipped,' "$FB_TMP/out")" 2
unset FAKE_GDR_FAIL
verdict fake_gdrcopy
exit $bad
