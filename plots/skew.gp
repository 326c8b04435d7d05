# SPDX-License-Identifier: BSD-3-Clause
#
# How far ranks are apart, against size: slowest, mean and quickest rank, and how far apart they
# began. How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("skew.gp")]
load folder."lib/data.gp"
load folder."lib/style.gp"
note = NOTE

stats $DATA index 0 : 1 using 1 name "X" nooutput
set logscale x 2
set xrange [X_min / 1.5 : X_max * 1.5]
set xlabel "size in bytes"
set xtics ()
step = int(ceil((log(X_max) - log(X_min)) / log(2) / 9.))
step = step < 1 ? 1 : step
x = 2. ** int(ceil(log(X_min) / log(2) - 1e-9))
while (x <= X_max * 1.0001) {
	set xtics add (sizename(x) x)
	x = x * 2. ** step
}
set logscale y 10
set ytics @timetics
set ylabel "median time"

draw = "plot $DATA index 0 using 1:2:4 with filledcurves linestyle 21 notitle, \
	$DATA index 0 using 1:2 with linespoints linestyle 1 title 'last rank', \
	$DATA index 0 using 1:3 with linespoints linestyle 3 title 'mean of ranks', \
	$DATA index 0 using 1:4 with linespoints linestyle 6 title 'quickest rank', \
	$DATA index 0 using 1:5 with linespoints linestyle 5 dashtype 2 \
		title 'ranks begin apart by'"
if (LIBRARY) draw = draw.", $DATA index 1 using 1:2 with linespoints linestyle 10 \
	title 'library, slowest', $DATA index 1 using 1:4 with lines linestyle 11 \
	title 'library, quickest'"

load folder."lib/write.gp"
