# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Functions that tests/netns/speed, tests/p2p/speed and tests/vm/speed share: where two processes
# run, turns, statistics of a column of numbers, and the verdict. Sourced by them, and by
# tests/vm/boot.

# The processors that may be used, a line each.
speed_processors() {
	taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
		awk -F- '{ for (i = $1; i <= $NF; i++) print i }'
}

# speed_pin FILE: writes a program that runs its arguments as a rank of its own processor, the
# first and the last of those that may be used. Sets speed_cpus to these.
speed_pin() {
	mapfile -t speed_cpus < <(speed_processors)
	speed_cpus=("${speed_cpus[0]}" "${speed_cpus[-1]}")
	cat >"$1" <<-END
		#!/bin/bash
		cpus=(${speed_cpus[*]})
		exec taskset -c \${cpus[\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}]} "\$@"
	END
	chmod +x "$1"
}

# The median, the mean of standard input.
speed_median() {
	sort -g | awk '{ v[NR] = $1 }
		END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

speed_mean() {
	awk '{ s += $1 } END { if (NR) print s / NR }'
}

# The 95 % interval of the median of standard input, by ranks: "LOW HIGH".
speed_interval() {
	sort -g | awk '{ v[NR] = $1 } END {
		k = int((NR - 1.96 * sqrt(NR)) / 2)
		if (k < 1)
			k = 1
		if (NR)
			print v[k], v[NR + 1 - k]
	}'
}

# speed_turns FILE ROUNDS: has the functions speed_ours and speed_theirs, which print a time each,
# take turns, and writes lines "OURS THEIRS" into FILE. Each of ours is between two of theirs, and
# THEIRS their mean, as a processor's speed may change from second to second. A round without three
# times is done again, up to four times as many in all.
speed_turns() {
	local before own after i

	: >"$1"
	after=$(speed_theirs)
	for ((i = 0; i < 4 * $2; i++)); do
		before=$after own=$(speed_ours)
		after=$(speed_theirs)
		echo "$own $before $after" | awk 'NF == 3 && $1 > 0 && $2 > 0 && $3 > 0 {
			print $1, ($2 + $3) / 2
		}' >>"$1"
		[ "$(wc -l <"$1")" -lt "$2" ] || break
	done
}

# speed_two NAME [PID...]: waits for two processes of the name beside those, for 10 s at most; sets
# speed_pids. Returns whether there are two.
speed_two() {
	local i pid

	for ((i = 0; i < 200; i++)); do
		speed_pids=()
		for pid in $(pgrep -x "$1"); do
			[[ " ${*:2} " == *" $pid "* ]] || speed_pids+=("$pid")
		done
		[ ${#speed_pids[@]} -ne 2 ] || return 0
		sleep 0.05
	done
	echo "no two processes $1" >&2
	return 1
}

# speed_own_batches DIRECTORY PROGRAM OPERATION: of results with --raw --raw-ranks the batches of
# the operation's row, as lines "BEGIN_US END_US US": a batch ends where the next one begins; US is
# a message's time.
speed_own_batches() {
	local row

	# bandwidth has a row of two_way as well, before or after.
	row=$(tail -n +2 "$1/$2.csv" | cut -d, -f6 | grep -nx "$3" | cut -d: -f1)
	awk -F, -v row="$((row - 1))" '
		$4 != row { next }
		FNR == NR { begin[$5] = $7; next }
		$5 + 1 in begin { print begin[$5], begin[$5 + 1], $6 }' \
		"$1/ranks.csv" "$1/samples.csv"
}

# speed_of_turns GROUP TURNS: of batches, lines "BEGIN_US END_US US" on a clock of their own, those
# that lie within a turn of the group (1, 2), as "TURN MEDIAN_US"; TURNS is what take_turns printed.
# The longest batch is the one in which the group waited for its first turn, which gives the clock.
# Half a millisecond at either end of a turn is left out, while processes are stopped one by one.
# Two batches are enough: of large messages a turn has no more on a slow day.
speed_of_turns() {
	awk -v group="$1" -v edge=500 '
		FNR == NR {
			if ($2 == group) {
				turn[++turns] = $1
				from[turns] = $3 + edge
				to[turns] = $4 - edge
			}
			next
		}
		{
			begin[++batches] = $1
			end[batches] = $2
			us[batches] = $3
			if ($2 - $1 > longest) {
				longest = $2 - $1
				first = batches
			}
		}
		END {
			offset = from[1] - edge - end[first]
			w = 1
			for (i = first + 1; i <= batches; i++) {
				while (w <= turns && begin[i] + offset >= to[w])
					w++
				if (begin[i] + offset >= from[w] && end[i] + offset <= to[w])
					print turn[w], us[i]
			}
		}' "$2" - | sort -k1,1n -k2,2g | awk '
		function close_turn() {
			if (n > 1)
				print turn, (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
			n = 0
		}
		$1 != turn { close_turn() }
		{ turn = $1; v[++n] = $2 }
		END { close_turn() }'
}

# speed_of_pairs TURNS OURS THEIRS [any]: of the files that speed_of_turns made of group 1 and of
# group 2 the turns of which both found the processors at one distance, before and after, or, with
# "any", all; prints "OURS THEIRS": the median of theirs, and that times the median of the pairs'
# ratios. Nothing where there are no such turns.
speed_of_pairs() {
	awk -v any="${4-}" '
		FILENAME == ARGV[1] {
			for (i = 5; i <= 6; i++) {
				if (!($1 in least) || $i < least[$1])
					least[$1] = $i
				if ($i > most[$1])
					most[$1] = $i
			}
			next
		}
		FILENAME == ARGV[2] { ours[$1] = $2; next }
		$1 in ours && (any != "" || most[$1] <= 1.5 * least[$1]) {
			print ours[$1] / $2, $2
		}' "${@:1:3}" >"$1.pairs"
	[ ! -s "$1.pairs" ] || echo "$(cut -d' ' -f1 "$1.pairs" | speed_median)" \
		"$(cut -d' ' -f2 "$1.pairs" | speed_median)" | awk '{ print $1 * $2, $2 }'
}

# speed_pieces BYTES: options of handoff for a KV cache of 32 pieces of so many bytes, which are a
# multiple of 2048.
speed_pieces() {
	echo --layers 1 --kv-heads 8 --head-dim 128 --block-tokens $(($1 / 2048)) \
		--tokens $(($1 / 128)) --page-run 1
}

# speed_of_pieces DIRECTORY BYTES: what a piece took in each request of handoff with --raw,
# in us; nothing where pieces have another size. Quoted fields can hold commas.
speed_of_pieces() {
	sed 's/"[^"]*"/-/g' "$1/handoff.csv" | awk -F, -v bytes="$2" '
		FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		FNR == NR {
			equal = int($column["piece_bytes"] / bytes + 0.5) == 1
			pieces = equal ? $column["pieces"] : 0
			next
		}
		pieces { print $6 / pieces }' - "$1/samples.csv"
}

speed_bad=() speed_good=0

# speed_within VALUE most|least LIMIT: whether it is; a VALUE that is no number is not.
speed_within() {
	awk -v v="$1" -v l="$3" -v s="$2" \
		'BEGIN { exit !(v ~ /^[0-9.e+-]+$/ && (s == "most" ? v <= l : v >= l)) }'
}

# speed_limit WHAT VALUE most|least LIMIT: counts it, and keeps what is beyond the limit.
speed_limit() {
	if speed_within "${@:2}"; then
		speed_good=$((speed_good + 1))
	else
		speed_bad+=("$1 ${2:-unknown}, at $3 $4")
	fi
}

# speed_head THEIRS COUNTED, speed_row NAME BYTES THEIRS_US OURS_US RATIOS: a table of times and of
# the median and its interval of a file of ratios, each at most FB_LIMIT.
speed_head() {
	printf '%-11s %9s %12s %12s %8s %8s %8s %6s\n' what bytes "$1 us" "ours us" ratio low high \
		"$2"
}

speed_row() {
	local ratio low high verdict=PASS

	ratio=$(speed_median <"$5")
	read -r low high <<<"$(speed_interval <"$5")"
	speed_within "$ratio" most "$FB_LIMIT" || verdict=FAIL
	printf '%-11s %9d %12.2f %12.2f %8.3f %8.3f %8.3f %6d  %s\n' "${@:1:4}" "${ratio:-0}" \
		"${low:-0}" "${high:-0}" "$(wc -l <"$5")" "$verdict"
	speed_limit "$1 of $2 bytes" "$ratio" most "$FB_LIMIT"
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
