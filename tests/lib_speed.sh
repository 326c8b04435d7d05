# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What tests/netns/speed and tests/p2p/speed share: where two processes run, statistics of a column
# of numbers, and the verdict. Sourced by them.

# speed_pin FILE: writes a program that runs its arguments as a rank of its own processor, the
# first and the last of those that may be used. Sets speed_cpus to these.
speed_pin() {
	mapfile -t speed_cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
	speed_cpus=("${speed_cpus[0]}" "${speed_cpus[-1]}")
	cat >"$1" <<-END
		#!/bin/bash
		cpus=(${speed_cpus[*]})
		exec taskset -c \${cpus[\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}]} "\$@"
	END
	chmod +x "$1"
}

# The 5th percentile, the median, the mean of standard input.
speed_low() {
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 19) / 20)] }'
}

speed_median() {
	sort -g | awk '{ v[NR] = $1 }
		END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

speed_mean() {
	awk '{ s += $1 } END { if (NR) print s / NR }'
}

speed_bad=() speed_good=0

# speed_limit WHAT VALUE most|least LIMIT: counts it, and keeps what is beyond the limit.
speed_limit() {
	if awk -v v="$2" -v l="$4" -v s="$3" \
		'BEGIN { exit !(v ~ /^[0-9.e+-]+$/ && (s == "most" ? v <= l : v >= l)) }'; then
		speed_good=$((speed_good + 1))
	else
		speed_bad+=("$1 ${2:-unknown}, at $3 $4")
	fi
}

# speed_verdict NAME: the last line. Returns whether all was within limits.
speed_verdict() {
	local bad

	if [ ${#speed_bad[@]} -eq 0 ] && [ $speed_good -gt 0 ]; then
		echo "PASS $1: all $speed_good within their limits"
		return 0
	fi
	for bad in "${speed_bad[@]}"; do
		echo "$1: $bad"
	done
	echo "FAIL $1: ${#speed_bad[@]} of $((speed_good + ${#speed_bad[@]})) beyond their limits"
	return 1
}
