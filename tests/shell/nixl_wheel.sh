#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 400
#
# Movers nixl and nixl_file with NIXL itself, between processes of this host: the conformance test
# of all movers, programs that compare each element, and what UCX used below NIXL. The wheel is that
# of the python3 in PATH (pip install nixl-cu12), or FB_NIXL_LIBRARIES is its folder of libraries.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
unset FB_NIXL_BACKEND FB_NIXL_FILE_BACKEND NIXL_TELEMETRY_ENABLE UCX_TLS

# The folder of libnixl_capi.so.
wheel() {
	python3 - <<-'EOF'
		import importlib.util, os
		for name in "nixl_cu13", "nixl_cu12":
		    spec = importlib.util.find_spec(name)
		    if spec and spec.origin:
		        top = os.path.dirname(os.path.dirname(spec.origin))
		        print(os.path.join(top, "." + name + ".mesonpy.libs"))
		        break
	EOF
}
libraries=${FB_NIXL_LIBRARIES-$(wheel 2>/dev/null)}
if ! [ -e "$libraries/libnixl_capi.so" ]; then
	echo "SKIP nixl_wheel: no package nixl-cu12 or nixl-cu13 in the python3 of PATH"
	exit 0
fi
export LD_LIBRARY_PATH=$libraries

for ranks in 1 2; do
	scripts/launch "$ranks" "$FB_BUILD/tests/test_mover" nixl >"$FB_TMP/out" 2>&1 </dev/null
	rc=$?
	expect "exit code of mover nixl on $ranks ranks" "$rc" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/out"
done
verdict nixl_wheel_mover

# go PROGRAM OPTION...: rows in $csv.
go() {
	local folder=$FB_TMP/csv-$((++runs))

	csv=$folder/$1.csv
	scripts/launch 2 "$FB_BUILD/bin/$1" --tokens 64 --quiet --max-samples 3 --min-samples 2 \
		--ci 100% --max-time 2ms --timeout "$((60 * slow))s" --csv "$folder" "${@:2}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
}

# says PATTERN ROWS: so many rows match.
says() {
	expect "rows like '$1'" "$(grep -cE -- "$1" "$csv")" "$2"
}
runs=0
NIXL_TELEMETRY_ENABLE=1 go handoff --engine nixl --algorithm all
expect "exit code of handoff" "$rc" 0
says ',nixl,(put|get),.*,(ok|few),.*UCX plugin( over TCP)?, UCX [0-9.]+ [a-z_0-9]+/' 2
expect "UCX's version" "$(grep -cE ',library.nixl.libucp.version,[0-9.]+$' \
	"${csv%/*}/environment.csv")" 1
UCX_TLS=tcp go handoff --engine nixl
expect "exit code of handoff over TCP" "$rc" 0
says 'UCX plugin over TCP, UCX [0-9.]+ tcp/.*,"?nixl-on-tcp' 1
# UCX's own messages are still seen.
UCX_LOG_LEVEL=info go handoff --engine nixl
holds "$FB_TMP/err" 'UCX +INFO'
if grep -qE 'Description +\|' "$FB_TMP/err"; then
	fail "UCX's tables are on the screen"
fi
# A UCX that was loaded before has its log already: no tables on stdout, and no path by them.
ucs=("$libraries"/../*.libs/libucs-*)
LD_PRELOAD=${ucs[0]} go handoff --engine nixl
expect "exit code with a UCX loaded before" "$rc" 0
says 'UCX plugin, UCX [0-9.]+ \(' 1
if grep -qE 'Description +\|' "$FB_TMP/out" "$FB_TMP/err"; then
	fail "tables of a UCX loaded before"
fi
FB_NIXL_BACKEND=POSIX go handoff --engine nixl
says ",skipped,NIXL's plugin POSIX: get_local_md: error" 1
verdict nixl_wheel_handoff

go offload --engine nixl_file --operation evict,onboard --tier-order all \
	--model tiny,deepseek-v3.2-fp8
expect "exit code of files" "$rc" 0
says ',nixl_file,.*,(ok|few),.*NIXL, POSIX plugin' 8
verdict nixl_wheel_files
exit "$bad"
