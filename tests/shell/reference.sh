#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
#
# scripts/reference --list: the commands of all parts, of some, and of those that variables leave.
# Their studies exist, and the programs accept the options that they are given.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
unset PARTS CHOSEN PYTHON NCCL
export MPI

# list NAME: what is printed, in $FB_TMP/out
list() {
	scripts/reference --list "$1" >"$FB_TMP/out" 2>"$FB_TMP/err"
}

list h200x4
expect "exit code" "$?" 0
for command in tests/gpu/run STUDY=gpu-reference bin/ddp 'bin/kv_reshard .*--decode-tp 1,2,4' \
	STUDY=auto-regret-gpu STUDY=auto-gpu STUDY=few-channels-gpu STUDY=gpu-overlap \
	tests/peers/{ddp,tensor,pipeline,moe}_torch '--prefill 2 --decode 2' \
	'--prefill 1 --decode 3' '--prefill 3 --decode 1' '--prefill-tp 4 --decode-tp 4' \
	'sweep communicator' 'sweep nccl-map' scripts/doctor 'scripts/tune '; do
	holds "$FB_TMP/out" "$command"
done
while read -r study; do
	[ -f "scripts/studies/$study.study" ] || fail "there is no study $study"
done < <(grep -oE '(STUDY=|scripts/sweep )[^ ]+' "$FB_TMP/out" | sed 's/.*[= ]//')
verdict reference_all

while read -r _ _ program options; do
	# shellcheck disable=SC2086 # options are words
	"$FB_BUILD/bin/${program##*/}" $options --describe-nothing >"$FB_TMP/said" 2>&1
	expect "exit code of ${program##*/} $options" "$?" 3
	holds "$FB_TMP/said" describe-nothing
done < <(grep '^scripts/launch' "$FB_TMP/out")
verdict reference_options

PARTS="torch doctor" list h100x2
expect "commands of two parts" "$(wc -l <"$FB_TMP/out")" 5
TESTS=no CHOSEN=auto STEPS=no list h100x2
expect "commands that variables leave out" \
	"$(grep -cE 'gpu/run|auto-regret|few-channels|overlap' "$FB_TMP/out")" 0
holds "$FB_TMP/out" STUDY=auto-gpu
PARTS=none list h100x2
expect "exit code of an unknown part" "$?" 3
holds "$FB_TMP/err" "'none': accepted are"
verdict reference_parts
exit "$bad"
