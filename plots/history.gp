# SPDX-License-Identifier: BSD-3-Clause
#
# A metric over many runs with the points at which it changed. `csv` has the columns run, utc,
# value, low, high, change (docs/plots.md). How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("history.gp")]
load folder."lib/data.gp"
load folder."lib/style.gp"
note = NOTE

stats $DATA index 0 using 4 name "H" nooutput
stats $DATA index 0 using 3 name "L" nooutput
set timefmt "%s"
set xdata time
low = L_min - 0.15 * (H_max - L_min)
high = H_max + 0.25 * (H_max - L_min)
if (low == high) { low = low - 1; high = high + 1 }
# A scale that begins at 0 where that costs little.
if (low < 0.4 * high && L_min >= 0) low = 0
set yrange [low : high]
set format x "%Y-%m-%d"
set xtics rotate by -30
set bmargin at screen up(110)
set rmargin at screen 1 - 30. / WIDTH
set ylabel "value, as in the file's name"
set xlabel ""
unset key
set offsets graph 0.02, graph 0.02, 0, 0

draw = "plot $DATA index 0 using 1:2:3:4 with yerrorbars linestyle 1 linewidth 1 pointsize 0.6, \
	$DATA index 1 using 1:2 with lines linestyle 2 linewidth 3"
if (CHANGES) draw = draw.", $DATA index 2 using 1:(high):(0):(low - high) with vectors nohead \
		linewidth 1.5 dashtype 2 linecolor rgb COLOUR[5], \
	$DATA index 2 using 1:(high - 0.04 * (high - low)):(' '.strcol(3).'  '.strcol(4)) \
		with labels left font ',11' noenhanced textcolor rgb COLOUR[5]"

load folder."lib/write.gp"
