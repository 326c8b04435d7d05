# SPDX-License-Identifier: BSD-3-Clause
#
# The panels of plots/axis.gp, one above the other. Loaded once for each file that is written.

set multiplot
stats [*:*] [*:*] $DATA using 1 name "A" nooutput
room = A_max > A_min ? 0.05 * (A_max - A_min) : 1
set xrange [A_min - room : A_max + room]
set lmargin at screen 100. / WIDTH
set rmargin at screen 1 - 210. / WIDTH
set xtics ()
do for [i = 1 : VALUES] {
	if ((i - 1) % (VALUES / 16 + 1) == 0) { set xtics add (LABEL[i] X[i]) }
}
do for [p = 0 : (strlen(PANEL) ? 1 : 0)] {
	last = p == 1 || !strlen(PANEL)
	set tmargin at screen (p == 0 ? down(66) : 0.48)
	set bmargin at screen (last ? up(84) : 0.54)
	set xlabel (last ? AXIS : "") noenhanced
	set ylabel (p == 0 ? "median time in us" : PANEL) noenhanced
	stats [*:*] [*:*] $DATA using (p == 0 ? $4 : $5) name "Y" nooutput
	set yrange [(Y_min < 0 ? 1.1 * Y_min : 0) : (Y_max > 0 ? 1.1 * Y_max : 1)]
	# Longer numbers would leave no room for the name.
	set format y (Y_max >= 1e6 ? "%.1s%c" : "%h")
	if (p == 0) {
		set key at screen 1 - 194. / WIDTH, screen down(66) left top
	} else {
		unset key
	}
	if (p == 0) {
		plot for [i = 1 : SERIES] $DATA index i - 1 using 1:2:3:4 with yerrorlines \
			linestyle i title NAME[i]
	} else {
		plot for [i = 1 : SERIES] $DATA index i - 1 using 1:5 with linespoints linestyle i \
			notitle
	}
	unset label 1
	unset label 2
	unset label 3
}
unset multiplot
set format y "%h"
@footnote
set label 2 TITLE at screen 12. / WIDTH, screen down(22) left font ",16" textcolor rgb INK \
	noenhanced
set label 3 SUBTITLE at screen 12. / WIDTH, screen down(44) left font ",11" textcolor rgb GREY \
	noenhanced
