#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
#
# The statistics of programs that are compared by turns (tests/lib_speed.sh), on known answers.

set -u
export LC_ALL=C
. tests/shell/lib.sh
. tests/lib_speed.sh

expect "median of four" "$(printf '%s\n' 4 1 3 2 | speed_median)" 2.5
expect "median of nothing" "$(speed_median </dev/null)" ''
verdict speed_median

# Four turns of 10 ms for each of two groups, 500 ms after the clock began. A processor is moved
# during the second one of group 2, and while nobody runs in the third.
cat >"$FB_TMP/turns" <<-END
	0 1 500000 510000 100 110
	0 2 510000 520000 110 100
	1 1 520000 530000 100 100
	1 2 530000 540000 100 400
	2 1 540000 550000 400 410
	2 2 550000 560000 100 110
	3 1 560000 570000 400 410
	3 2 570000 580000 410 400
END

# What group 1 noted down, by a clock of its own: before its first turn, the wait, and in each turn
# six too near to its begin, six of which one was disturbed, and one that was stopped.
awk 'BEGIN {
	print -30100, -30000, 99
	print -30000, 100, 99 # the wait, the longest one
	for (t = 0; t < 4; t++) {
		begin = 100 + t * 20000
		for (i = 0; i < 6; i++)
			print begin + 100 + i * 60, begin + 160 + i * 60, 77
		for (i = 0; i < 6; i++)
			print begin + 1000 + i * 1000, begin + 2000 + i * 1000, \
				10 * (t + 1) + (i == 5 ? 900 : 0)
		if (t < 3)
			print begin + 9600, begin + 20050, 88
	}
}' >"$FB_TMP/batches"
expect "medians of turns" \
	"$(speed_of_turns 1 "$FB_TMP/turns" <"$FB_TMP/batches" | tr '\n' ';')" \
	'0 10;1 20;2 30;3 40;'
# Two good samples of the first turn are left, and one of the second.
awk '!(($3 == 10 && ++a > 2) || ($3 == 20 && ++b > 1) || $3 == 910 || $3 == 920)' \
	"$FB_TMP/batches" >"$FB_TMP/some"
expect "medians of short turns" \
	"$(speed_of_turns 1 "$FB_TMP/turns" <"$FB_TMP/some" | tr '\n' ';')" '0 10;2 30;3 40;'
expect "medians without turns" "$(speed_of_turns 1 /dev/null <"$FB_TMP/batches")" ''
verdict speed_of_turns

# Of these turns the first and the last were at one distance: ratios of 2 and 5.
printf '%s\n' '0 10' '1 20' '2 30' '3 40' >"$FB_TMP/ours"
printf '%s\n' '0 5' '1 5' '2 5' '3 8' >"$FB_TMP/theirs"
pairs() { speed_of_pairs "$FB_TMP/turns" "$FB_TMP/ours" "$FB_TMP/theirs"; }
expect "what pairs say" "$(pairs)" '22.75 6.5'
expect "what all pairs say" \
	"$(speed_of_pairs "$FB_TMP/turns" "$FB_TMP/ours" "$FB_TMP/theirs" any)" '22.5 5'
sed -i '/^[03] /d' "$FB_TMP/ours"
expect "no pairs" "$(pairs)" ''
verdict speed_of_pairs

# Three looks at theirs around two of ours.
speed_ours() { echo 6; }
speed_theirs() { echo x >>"$FB_TMP/looks"; wc -l <"$FB_TMP/looks"; }
speed_turns "$FB_TMP/rounds" 2
expect "ours and the mean of theirs around it" "$(tr '\n' ';' <"$FB_TMP/rounds")" '6 1.5;6 2.5;'
verdict speed_turns
exit "$bad"
