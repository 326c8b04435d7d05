# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the claims of this folder share. A claim is a sentence that people repeat; its script
# measures it here and prints the claim, the value with its 95% interval, and `holds`,
# `does not hold` or `cannot be tested here` with the reason. To be sourced.
#
#	scripts/studies/claims/bucket [RANKS [ENGINE]]      (2, host)
#
# Exit code: 0 with any of the three verdicts, 5 after a fault.

set -u
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
. "$here/scripts/lib.sh"
ranks=${1:-2} engine=${2:-host}
bin=${FB_BIN:-$here/build/$(fb_mpi_built "$here")/bin}
rows=$(mktemp) || exit 5
trap 'rm -f "$rows"' EXIT

claim() {
	why=""
	echo "claim:    $*"
}

# measure PROGRAM OPTION...: appends rows. More options for all programs are in CLAIM_OPTIONS.
measure() {
	# shellcheck disable=SC2086 # words
	"$here/scripts/launch" "$ranks" "$bin/$1" --quiet --engine "$engine" "${@:2}" \
		${CLAIM_OPTIONS-} >>"$rows" || exit 5
}

# value COLUMN OPERATION KEY...: of the row of the schedule whose variant has all keys; nothing
# without such a row, or where it was not measured.
value() {
	awk -v column="$1" -v operation="$2" -v keys="${*:3}" '
		function split_csv(line,   n, i, c, quoted, field) {
			n = 1; field = ""; delete cell
			for (i = 1; i <= length(line); i++) {
				c = substr(line, i, 1)
				if (c == "\"") quoted = !quoted
				else if (c == "," && !quoted) { cell[n++] = field; field = "" }
				else field = field c
			}
			cell[n] = field
		}
		/^schema,/ { split_csv($0); for (i in cell) at[cell[i]] = i; next }
		{
			split_csv($0)
			if (cell[at["operation"]] != operation) next
			if (cell[at["status"]] !~ /^(ok|few)$/) next
			n = split(keys, key, " ")
			for (i = 1; i <= n; i++)
				if (index(";" cell[at["variant"]] ";", ";" key[i] ";") == 0) next
			print cell[at[column]]
		}' "$rows" | tail -n 1
}

# Why a row of a schedule was not measured.
reason() {
	grep -m 1 -oE "$1,.*,(skipped|fault),(\"[^\"]*\"|[^,]*)" "$rows" | sed 's/.*,//; s/"//g'
}

# Prints "middle low high" of a over b, from the intervals of both medians.
ratio() {
	[ $# -eq 6 ] || return 0 # a median without an interval is one word
	awk -v am="$1" -v al="$2" -v ah="$3" -v bm="$4" -v bl="$5" -v bh="$6" 'BEGIN {
		if (bl <= 0) exit
		printf "%.4g %.4g %.4g\n", am / bm, al / bh, ah / bl }'
}

# interval OPERATION KEY...: median and its interval.
interval() {
	echo "$(value median_us "$@") $(value median_low_us "$@") $(value median_high_us "$@")"
}

# judge WHAT least|most BOUND [MIDDLE LOW HIGH]: the verdict; without an interval there is none.
judge() {
	if [ $# -lt 6 ]; then
		cannot "no interval: too few samples, or rows that were skipped${why:+: $why}"
		return
	fi
	echo "measured: $1 $4, 95% interval $5 to $6"
	awk -v side="$2" -v bound="$3" -v low="$5" -v high="$6" 'BEGIN {
		said = "cannot be tested here: the interval contains " bound
		if (side == "least" ? low >= bound : high <= bound) said = "holds"
		if (side == "least" ? high < bound : low > bound) said = "does not hold"
		print "verdict:  " said }'
}

cannot() {
	echo "verdict:  cannot be tested here: $*"
}
