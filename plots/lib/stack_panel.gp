# SPDX-License-Identifier: BSD-3-Clause
#
# The bars of plots/stack.gp, the first one on top. Loaded once for each file that is written.

longest = 8
do for [i = 1 : BARS] { if (strlen(NAME[i]) > longest) { longest = strlen(NAME[i]) } }
longest = longest > 48 ? 48 : longest
set lmargin at screen (30. + 7.2 * longest) / WIDTH
set rmargin at screen 1 - 30. / WIDTH
set tmargin at screen down(114)
set bmargin at screen up(84)
set key at screen 1 - 30. / WIDTH, screen down(66) right top horizontal Left reverse
# Rows of handoff have stages instead of steps.
first = STAGES ? "making moves and messages" : "computing"
second = STAGES ? "moving" : "communication, exposed"
third = STAGES ? "making pages of messages" : "idle or lost"
below = STAGES ? "" : "communication, hidden"
stats [*:*] [*:*] $DATA using 4 name "E" nooutput
stats [*:*] [*:*] $DATA using ($5 + $6 + $7) name "S" nooutput
longest = E_max > S_max ? E_max : S_max
unit = longest < 1e4 ? 1 : longest < 1e7 ? 1e3 : 1e6
set xrange [0 : 1.05 * longest / unit]
set yrange [BARS + 0.6 : 0.4]
unset grid
set grid xtics linestyle 12
set xlabel "median time in ".(unit == 1 ? "us" : unit == 1e3 ? "ms" : "s")
set ytics () scale 0 noenhanced
do for [i = 1 : BARS] { set ytics add (substr(NAME[i], 1, 48) i) }
set style fill solid 0.85 noborder
set errorbars small
# Boxes as left end, right end, top and bottom, around the number of the bar.
at(x) = x / unit
plot $DATA using (at($2)):1:(0):(at($5)):($1 - 0.32):($1 + 0.14) with boxxyerror linestyle 1 \
		title first, \
	"" using (at($2)):1:(at($5)):(at($5 + $6)):($1 - 0.32):($1 + 0.14) with boxxyerror \
		linestyle 5 title second, \
	"" using (at($2)):1:(at($5 + $6)):(at($5 + $6 + $7)):($1 - 0.32):($1 + 0.14) \
		with boxxyerror linestyle 8 title third, \
	"" using (at($2)):1:($5 > $8 ? at($5 - $8) : 0):(at($5)):($1 + 0.18):($1 + 0.34) \
		with boxxyerror linestyle 6 title below, \
	"" using (at($2)):($1 - 0.09):(at($3)):(at($4)) with xerrorbars linestyle 30 pointtype 0 \
		notitle
set style fill transparent solid 0.14 noborder
