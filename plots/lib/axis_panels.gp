# SPDX-License-Identifier: BSD-3-Clause
#
# The panels of plots/axis.gp, one above the other. Loaded once for each file that is written.

set multiplot
stats [*:*] [*:*] $DATA using 1 name "A" nooutput
room = A_max > A_min ? 0.05 * (A_max - A_min) : 1
set xrange [A_min - room : A_max + room]
set lmargin at screen 100. / WIDTH
longest = ""
do for [i = 1 : SERIES] { if (strlen(NAME[i]) > strlen(longest)) { longest = NAME[i] } }
RIGHT = keywidth(longest) / WIDTH
set rmargin at screen 1 - RIGHT
set xtics ()
do for [i = 1 : VALUES] {
	if ((i - 1) % (VALUES / 16 + 1) == 0) { set xtics add (LABEL[i] X[i]) }
}
# Buckets of 25 MiB are what PyTorch's DistributedDataParallel has where nobody says otherwise.
do for [i = 1 : VALUES] {
	if (AXIS eq "bucket" && LABEL[i] eq "25M") {
		set arrow 1 from X[i], graph 0 to X[i], graph 1 nohead back \
			linestyle 11 linewidth 1 dashtype 3
		set label 9 "PyTorch's default" at X[i], graph 1 left offset 0.5, -0.8
	}
}
do for [p = 0 : (strlen(PANEL) ? 1 : 0)] {
	last = p == 1 || !strlen(PANEL)
	set tmargin at screen (p == 0 ? down(66) : 0.48)
	set bmargin at screen (last ? up(84) : 0.54)
	set xlabel (last ? AXIS : "") noenhanced
	set ylabel (p == 0 ? "median time" : PANEL) noenhanced
	stats [*:*] [*:*] $DATA using (column(p == 0 ? 4 : 5)) name "Y" nooutput
	low = Y_min; high = Y_max
	if (strlen(DASHED[p + 1])) {
		stats [*:*] [*:*] $DATA using 6 + p name "Y" nooutput
		low = Y_min < low ? Y_min : low
		high = Y_max > high ? Y_max : high
	}
	unset logscale y
	set ytics autofreq
	# Longer numbers would leave no room for the name.
	set format y (high >= 1e6 ? "%.1s%c" : "%h")
	set key at screen 1 - RIGHT + 16. / WIDTH, screen (p == 0 ? down(66) : 0.48) left top
	unit = 1
	is_time = p == 0 || PANEL[strlen(PANEL) - 2 : strlen(PANEL)] eq "_us"
	if (is_time) {
		highest = high > -low ? high : -low
		unit = highest < 1e4 ? 1 : highest < 1e7 ? 1e3 : 1e6
		set ylabel (p == 0 ? "median time" : PANEL[1 : strlen(PANEL) - 3])." in ".\
			(unit == 1 ? "us" : unit == 1e3 ? "ms" : "s") noenhanced
		set format y "%h"
	}
	set yrange [(low < 0 ? 1.1 * low / unit : 0) : (high > 0 ? 1.1 * high / unit : 1)]
	curve = "1:($5 / unit) with linespoints"
	if (p == 0) {
		curve = "1:($2 / unit):($3 / unit):($4 / unit) with yerrorlines"
		# On a logarithmic axis the short ones can be told apart, too.
		stats [*:*] [*:*] $DATA using 3 name "L" nooutput
		if (L_min > 0 && high > 100 * L_min) {
			set logscale y 10
			low = low > 0 && low < L_min ? low : L_min
			set yrange [low / 1.5 / unit : 1.5 * high / unit]
		}
	}
	picture = "plot for [i = 1 : SERIES] $DATA index i - 1 using ".curve." \
		linestyle i title (p == 0 ? NAME[i] : '')"
	# One dashed line where all curves are compared with the same, else one in each colour.
	if (strlen(DASHED[p + 1])) {
		picture = picture.", for [i = 1 : SERIES] $DATA index i - 1 \
			using 1:(column(6 + p) / unit) with lines \
			linestyle (ONE_LINE[p + 1] ? 11 : i) linewidth 1.5 dashtype 2 notitle, \
			NaN with lines linestyle 11 linewidth 1.5 title DASHED[p + 1]"
	}
	eval picture
	unset label 1
	unset label 2
	unset label 3
	unset label 6
	unset label 9
}
unset arrow 1
unset multiplot
unset logscale y
set format y "%h"
@footnote
@heading
