# SPDX-License-Identifier: BSD-3-Clause
#
# The two panels of plots/ranks.gp, one above the other; without a common clock only the second.
# Loaded once for each file written.

set multiplot
unset key
set lmargin at screen 84. / WIDTH
set rmargin at screen 1 - 24. / WIDTH
set xrange [-0.7 : RANKS - 0.3]
set xtics 0, RANKS / 24 + 1
set style fill solid 0.25 border
# Boxes of many ranks are lines; then the median alone has to be seen.
width = RANKS > 100 ? 0.9 : 0.6
do for [p = 0 : 1] {
	if (p == 1 || LATE) {
		c = 2 + 5 * p
		set tmargin at screen (p == 0 || !LATE ? down(66) : 0.48)
		set bmargin at screen (p == 0 ? 0.54 : up(84))
		set ylabel (p == 0 ? "late by, in us" : "time taken, in us")
		set xlabel (p == 0 ? "" : "rank")
		stats [*:*] [*:*] $DATA using c + 4 name "Y" nooutput
		set yrange [0 : Y_max > 0 ? Y_max * 1.1 : 1]
		colour = p == 0 ? 5 : 1
		plot $DATA using 1:(column(c + 1)):(column(c)):(column(c + 4)):(column(c + 3)) \
				:(width) with candlesticks linestyle colour linewidth 1 \
				whiskerbars 0.5, \
			$DATA using 1:(column(c + 2)) with points linestyle colour pointsize 0.7
		unset label 1
		unset label 2
		unset label 3
		unset label 6
	}
}
unset multiplot
set style fill transparent solid 0.14 noborder
@footnote
@heading
