#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# Movers nixl and nixl_gpu without NIXL, by a library that has its C interface between processes of
# one host (tests/fake/libfake_nixl.c): the conformance test of all movers, a program, and what the
# suite says where NIXL is absent, old, a stub, or fails.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
unset LD_LIBRARY_PATH FB_NIXL_BACKEND FB_NIXL_FILE_BACKEND NIXL_TELEMETRY_ENABLE

# A folder for each library, under the name by which NIXL's is found.
for library in nixl nixl_0_9; do
	mkdir -p "$FB_TMP/$library"
	ln -sf "$(realpath "$FB_BUILD/tests/libfake_$library.so")" \
		"$FB_TMP/$library/libnixl_capi.so"
done

# run LIBRARY RANKS PROGRAM OPTION...: the exit code in rc. `inside` are words before the command.
inside=()
run() {
	LD_LIBRARY_PATH=$FB_TMP/$1 "${inside[@]}" scripts/launch "$2" "${@:3}" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
}

for ranks in 2 3; do
	run nixl "$ranks" "$FB_BUILD/tests/test_mover" nixl
	expect "exit code of mover nixl on $ranks ranks" "$rc" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/out"
done
if [ -x "$FB_BUILD/tests/fake_gpu/test_mover" ]; then
	FB_FAKE_GPU_WORKS=right run nixl 2 "$FB_BUILD/tests/fake_gpu/test_mover" nixl_gpu
	expect "exit code of mover nixl_gpu" "$rc" 0
	[ "$rc" -eq 0 ] || said "$FB_TMP/out"
fi
verdict fake_nixl_mover

# handoff HOW LIBRARY OPTION...: rows in $csv. `patience` is the longest step in seconds, for which
# the other rank waits in vain where one has an error.
handoff() {
	local folder=$FB_TMP/csv-$((++runs))

	csv=$folder/handoff.csv
	FB_FAKE_NIXL=$1 run "$2" 2 "${programs-$FB_BUILD/bin}/handoff" \
		--engine "${engine-nixl}" --tokens 64 --quiet \
		--max-samples 3 --min-samples 2 --ci 100% --max-time 2ms \
		--timeout "$((${patience-30} * slow))s" --csv "$folder" "${@:3}"
}

# says PATTERN ROWS: so many rows match.
says() {
	expect "rows like '$1'" "$(grep -cE -- "$1" "$csv")" "$2"
}
runs=0
NIXL_TELEMETRY_ENABLE=1 handoff '' nixl --algorithm all --threads 4
expect "exit code of handoff" "$rc" 0
says ',nixl,(put|get),.*,(ok|few),' 2
says 'NIXL, UCX plugin \(0% of the payload over own TCP sockets; NIXL.s telemetry of ' 2
says 'nixl-on-tcp' 0
handoff tcp nixl
says 'nixl-on-tcp' 1
# Threads of a GPU's block are whole warps; NIXL's need not be.
engine=nixl,shm handoff '' nixl --threads 4
expect "exit code of 4 threads for all engines" "$rc" 3
holds "$FB_TMP/err" "--threads: '4' is not accepted"
if [ -x "$FB_BUILD/tests/fake_gpu/handoff" ]; then
	# NIXL's mover keeps its rows, though UCX's of GPUs comes behind it.
	engine=all programs=$FB_BUILD/tests/fake_gpu FB_FAKE_GPU_WORKS=right handoff '' nixl \
		--memory device --algorithm put
	says ',nixl_gpu,put,.*,(ok|few),' 1
	says ',ucx_gpu,put,.*,skipped,"?not beside NIXL, which has .*: name ucx_gpu alone' 1
fi
verdict fake_nixl_program

# offload HOW ENGINE OPTION...: as handoff, a program in the folder of $programs.
offload() {
	local folder=$FB_TMP/csv-$((++runs))

	csv=$folder/offload.csv
	FB_FAKE_NIXL=$1 run nixl 2 "$programs/offload" --engine "$2" --tokens "${tokens-256}" \
		--quiet --max-samples 3 --min-samples 2 --ci 100% --max-time 2ms \
		--timeout "$((30 * slow))s" --csv "$folder" "${@:3}"
}
programs=$FB_BUILD/bin
NIXL_TELEMETRY_ENABLE=1 offload '' nixl_file --tier-order all
expect "exit code of files by NIXL" "$rc" 0
says ',nixl_file,.*,(ok|few),.*"?NIXL, POSIX plugin \(NIXL.s telemetry of ' 6
FB_NIXL_FILE_BACKEND=UCX offload '' nixl_file --operation evict
holds "$FB_TMP/err" 'nixl: register_mem of a file: error -6'
FB_NIXL_FILE_BACKEND=HF3FS offload '' nixl_file --operation evict
says ",skipped,NIXL's plugin HF3FS: get_plugin_params: error -4," 1
offload lost nixl_file --operation evict
expect "exit code of a file's request that fails" "$rc" 5
# A read that is too short fails; where the plugin does not notice, the data are wrong.
offload short nixl_file --operation onboard
expect "exit code of a short read" "$rc" 5
says ',nixl_file,.*,fault,' 1
holds "$FB_TMP/err" 'error -6: a get of [0-9]+ bytes with a file failed in plugin POSIX'
offload cut nixl_file --operation onboard
says ',nixl_file,.*,wrong,' 1
# shellcheck disable=SC2016 # the inner shell expands it
inside=(unshare -rm bash -c 'mount -t tmpfs -o size=64k none "$FB_TMP/full" && exec "$@"' -)
mkdir "$FB_TMP/full"
export FB_TMP
if "${inside[@]}" true 2>/dev/null; then
	offload '' nixl_file --operation evict --folder "$FB_TMP/full"
	expect "exit code of a full disk" "$rc" 5
	says ',nixl_file,.*,fault,' 1
	holds "$FB_TMP/err" 'a file of [0-9]+ bytes in .*/full: No space left on device'
fi
inside=()
if [ -x "$FB_BUILD/tests/fake_gpu/offload" ]; then
	programs=$FB_BUILD/tests/fake_gpu
	tokens=2K FB_FAKE_GPU_WORKS=right offload '' nixl_gpu_file --block-tokens 256
	expect "exit code of GPUs' files by NIXL" "$rc" 0
	says ',nixl_gpu_file,.*,(ok|few),.*NIXL, GDS plugin' 3
fi
verdict fake_nixl_files

# What is not there costs the rows, with a reason; what fails ends the job, with a fault.
handoff '' nixl_0_9
says ',skipped,libnixl_capi.so has no nixl_capi_create_configured_agent,' 1
handoff stub nixl
says ',skipped,libnixl_capi.so is a stub without NIXL,' 1
handoff no-plugin nixl
says ",skipped,NIXL's plugin UCX: get_plugin_params: error -4," 1
FB_NIXL_BACKEND=GDS handoff '' nixl
says ",skipped,NIXL's plugin GDS: get_local_md: error -4," 1
handoff '' none
says ',skipped,libnixl_capi.so' 1
engine=mooncake handoff '' none
says ",mooncake,put,.*,skipped,\"?Mooncake's wheel has no C interface: use engine nixl" 1
handoff unregistered nixl
holds "$FB_TMP/err" 'nixl: register_mem: error -6'
says ',fault,' 1
patience=3 handoff lost nixl
expect "exit code of a request that fails" "$rc" 5
holds "$FB_TMP/err" 'nixl: get_xfer_status: error -6: a put of [0-9]+ bytes with rank 1'
handoff half-metadata nixl
expect "exit code of metadata that is cut" "$rc" 5
holds "$FB_TMP/err" 'load_remote_md: error -4: the metadata that rank [01] sent'
handoff other-metadata nixl
expect "exit code of foreign metadata" "$rc" 5
holds "$FB_TMP/err" "metadata that rank 1 sent are of agent 'xank1', not 'rank1'"
patience=3 handoff foreign nixl
expect "exit code of a foreign notification" "$rc" 5
holds "$FB_TMP/err" 'nixl: a notification of [0-9]+ bytes is none of ours'
verdict fake_nixl_faults
exit "$bad"
