# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of tests/run
#
# What the tests of compare share. tests/golden/compare/study/ holds two sides of eight launches
# whose answers are known (rows.txt says by how much side b is slower), with a row that lacks a
# launch, one whose first attempt failed, one that only one side has, one that only one side could
# run, one with few samples, and one whose change is below the resolution of the clock.

. tests/shell/lib.sh
golden=$PWD/tests/golden/compare
study=$golden/study
compare=$FB_BUILD/bin/compare
# shellcheck disable=SC2034 # of refuses
tool=$compare

# run CODE ARGUMENT...: output in out and err; the exit code must be CODE and stderr empty.
run() {
	local want=$1

	shift
	"$compare" "$@" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of $*" $? "$want"
	expect "stderr of $*" "$(cat "$FB_TMP/err")" ''
	[ "$(wc -L <"$FB_TMP/out")" -le 100 ] || fail "output of $* is wider than 100 columns"
}

# make_side FOLDER SIDE LAUNCHES SEED [VARIABLE=VALUE...] <rows: one side as launches.awk makes it
make_side() {
	local folder=$1 side=$2 launches=$3 seed=$4 word assign=()

	shift 4
	for word in "$@"; do assign+=(-v "$word"); done
	mkdir -p "$folder"
	awk -v side="$side" -v launches="$launches" -v seed="$seed" "${assign[@]}" \
		-f "$golden/launches.awk" >"$folder/results.csv"
}

# copy NAME: a copy of the golden study to change, in $FB_TMP/NAME.
copy() {
	rm -rf "${FB_TMP:?}/$1"
	cp -r "$study" "$FB_TMP/$1"
}

# verdict_of PATTERN FILE: the verdicts of the rows of a --csv file whose line matches.
verdict_of() {
	awk -F, -v p="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "verdict") v = i }
		NR > 1 && $0 ~ p { print $v }' "$2" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

