# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Shared head of the tests of kvtransfer/, sourced after `program` is set to the program that a test
# runs. `small` has the options of every call; $tokens and $requests have those that a call may
# change for itself, as in `tokens=300 go ...`.

# shellcheck disable=SC2034 # used by the scripts that source this
set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
small=(--quiet --max-samples 4 --min-samples 2 --ci 100% --max-time 2ms
	--timeout "$((60 * slow))s" --run t)
runs=0

# go RANKS OPTION...: rows in $csv, the exit code in rc.
go() {
	local folder=$FB_TMP/$((++runs))

	# shellcheck disable=SC2154 # program: who sources this
	csv=$folder/$program.csv
	scripts/launch "$1" "${bin:-$FB_BUILD/bin/$program}" "${small[@]}" \
		${tokens:+--tokens "$tokens"} ${requests:+--requests "$requests"} \
		--csv "$folder" "${@:2}" >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null
	rc=$?
}

# rows PATTERN: how many match.
rows() {
	tail -n +2 "$csv" | grep -cE -- "$1"
}

# column NAME: its values.
column() {
	sed 's/"[^"]*"/-/g' "$csv" | awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) n = i; next } { print $n }'
}
