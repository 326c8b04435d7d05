#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# The column `path` between GPUs, with a runtime that has none (tests/fake/cudart.c) and an NVML
# that returns what the test sets (tests/fake/libfake_nvml.c): how GPUs reach each other, what their
# links carried, and bytes that took the wrong way.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/tests/fake_gpu
[ -x "$bin/bandwidth" ] || { echo "SKIP fake_nvml: built without CUDA"; exit 0; }
mkdir -p "$FB_TMP/lib"
ln -s "$(realpath "$FB_BUILD/tests/libfake_nvml.so")" "$FB_TMP/lib/libnvidia-ml.so.1" || exit 3
export LD_LIBRARY_PATH=$FB_TMP/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# path BYTES WANT [VARIABLE=VALUE]...: each row's path and flags match the expression WANT.
path() {
	local bytes=$1 want=$2

	env "${@:3}" scripts/launch 2 "$bin/bandwidth" --engine copy --bytes "$bytes" --quiet \
		--min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify no \
		--csv "$FB_TMP/rows" --run t >"$FB_TMP/out" 2>&1
	expect "exit code with ${*:3}" "$?" 0
	"$FB_BUILD/bin/query" --columns path,flags --csv "$FB_TMP/rows" 2>"$FB_TMP/err" |
		tail -n +2 >"$FB_TMP/paths" || fail "no rows: $(cat "$FB_TMP/err")"
	[ -s "$FB_TMP/paths" ] || fail "no rows with ${*:3}"
	if grep -vqE "$want" "$FB_TMP/paths"; then
		fail "with ${*:3}: want $want: $(grep -vE "$want" "$FB_TMP/paths" | head -n 1)"
	fi
	rm -rf "$FB_TMP/rows"
}

much=1000000000000
path 1M 'push, NVLink"?,' FAKE_NVML_LEVEL=30
path 1M 'push, PCIe PHB"?,' FAKE_NVML_P2P=3 FAKE_NVML_LEVEL=30
path 1M 'push, PCIe PIX"?,' FAKE_NVML_P2P=3 FAKE_NVML_LEVEL=10
path 1M 'push, PCIe SYS"?,' FAKE_NVML_P2P=3 FAKE_NVML_LEVEL=50
path 1M 'push, PCIe"?,' FAKE_NVML_P2P=3
path 1M 'NVLink \(NVLink [0-9]+\.[0-9]+\)' FAKE_NVML_NVLINK=$much
path 1M 'PCIe PXB \(PCIe [0-9.]+\)"?,[^,]*$' FAKE_NVML_P2P=3 FAKE_NVML_LEVEL=20 \
	FAKE_NVML_PCIE=$much
# NVLink was there, and the bytes passed PCIe.
path 1M 'NVLink \(PCIe [0-9.]+\).*stray-traffic' FAKE_NVML_PCIE=$much
# Both: what passes PCIe beside is not the row's. Small messages are not judged.
path 1M 'NVLink \(NVLink [0-9.]+, PCIe [0-9.]+\)' FAKE_NVML_PCIE=$much FAKE_NVML_NVLINK=$much
grep -q stray-traffic "$FB_TMP/paths" && fail "stray although NVLink carried all"
path 8 'NVLink \(PCIe' FAKE_NVML_PCIE=$much
grep -q stray-traffic "$FB_TMP/paths" && fail "a small message was judged"
verdict fake_nvml

# fact KEY WANT [VARIABLE=VALUE]...: what environment.csv says of the second GPU. One start for all
# facts with the same variables.
fact() {
	local rows="$FB_TMP/facts ${*:3}" version

	[ -d "$rows" ] || env "${@:3}" scripts/launch 2 "$bin/bandwidth" --engine copy --bytes 8 \
		--quiet --min-samples 1 --max-samples 2 --max-time 1ms --ci 100% --verify no \
		--csv "$rows" --run t >"$FB_TMP/out" 2>&1
	expect "exit code with ${*:3}" "$?" 0
	expect "$1 with ${*:3}" "$(sed -n "s/^run,,,gpu.0000:02:00.0.$1,//p" \
		"$rows/environment.csv")" "$2"
	for version in driver_version,13.0 runtime_version,12.8; do
		holds "$rows/environment.csv" "^run,,,cuda.$version\$"
	done
}

fact nvlinks '18 of 18'
fact nvlinks '17 of 18' FAKE_NVML_UP=17
fact nvlink_MBps 26562
fact nvlinks_to '0000:01:00.0 17' FAKE_NVML_UP=17
fact nvlinks_to '' FAKE_NVML_P2P=3
fact nvlinks_to '0000:01:00.0 4' FAKE_NVML_DIRECT=4
fact c2c_links ''
fact c2c_links '10 of 10' FAKE_NVML_C2C=10
fact c2c_link_MBps 44712 FAKE_NVML_C2C=10
fact c2c_link_MBps '"44712, least 22356"' FAKE_NVML_C2C=10 FAKE_NVML_C2C_SLOW=22356
fact c2c_links '9 of 10' FAKE_NVML_C2C=9
fact c2c_links '0 of 10' FAKE_NVML_C2C=0
fact c2c_link_MBps '' FAKE_NVML_C2C=0
fact fabric ''
fact fabric 'in progress' FAKE_NVML_FABRIC='2 7'
fact fabric completed FAKE_NVML_FABRIC='3 7'
fact fabric_clique 000000000000000000000000000000ab.7 FAKE_NVML_FABRIC='3 7'
fact ecc off
fact ecc on FAKE_NVML_ECC=0
fact ecc_errors ''
fact ecc_errors '"corrected 5, uncorrected 2"' FAKE_NVML_ECC=2
fact remapped_rows none
fact remapped_rows 'waiting for a reset' FAKE_NVML_ECC=2
# What the doctor says of these: a link that is down, or slow.
for case in 9:down '10 FAKE_NVML_C2C_SLOW=22356:slow' 10:; do
	"$FB_BUILD/bin/doctor" "$FB_TMP/facts FAKE_NVML_C2C=${case%:*}" >"$FB_TMP/out" 2>&1
	expect "doubts with $case" "$(grep -E '^(bad|doubt) .*C2C' "$FB_TMP/out" | sort | uniq -c |
		xargs)" "$(case $case in
		*:down) echo 2 bad NVLink-C2C to the processor is up ;;
		*:slow) echo 2 doubt NVLink-C2C carries its rate ;;
		esac)"
done
verdict fake_nvml_facts

# busy RANKS WANT [VARIABLE=VALUE]...: sm_busy, sm_occupancy and flags of a step.
busy() {
	env "${@:3}" FB_FAKE_GPU_EACH=1 scripts/launch "$1" "$bin/ddp" --engine cuda --quiet \
		--layers 1 --hidden 32 --tokens 16 --bytes 1000 --bucket 0 --schedule overlap \
		--cublas-library none --min-samples 2 --max-samples 3 --max-time 1s --ci 100% \
		--verify no --timeout "$((30 * slow))s" --csv "$FB_TMP/busy" --run t \
		>"$FB_TMP/out" 2>&1
	expect "exit code with ${*:3}" "$?" 0
	"$FB_BUILD/bin/query" --columns sm_busy,sm_occupancy,exposed_us,median_us,flags --csv \
		"$FB_TMP/busy" | tail -n +2 >"$FB_TMP/row"
	holds "$FB_TMP/row" "$2"
	rm -rf "$FB_TMP/busy"
}

busy 2 '^0\.84,0\.42,' FAKE_NVML_BUSY=84
grep -q processor-bound "$FB_TMP/row" && fail "busy multiprocessors are said to wait"
# Multiprocessors that do little: a step that hides its communication waits for the processor.
busy 1 '^0\.2,0\.1,' FAKE_NVML_BUSY=20
expect "flag of $(cat "$FB_TMP/row")" "$(grep -c processor-bound "$FB_TMP/row")" \
	"$(awk -F, '{ print $3 < 0.2 * $4 ? 1 : 0 }' "$FB_TMP/row")"
# Without GPM, as before Hopper.
busy 2 '^,,' FAKE_NVML_P2P=0
verdict fake_nvml_busy
exit $bad
