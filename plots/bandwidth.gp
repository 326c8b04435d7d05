# SPDX-License-Identifier: BSD-3-Clause
#
# Bus bandwidth against size: what the busiest link carried, to be compared with the rate of that
# link. How to call it: see lib/common.gp. Draws nothing for operations that move nothing.

folder = ARG0[1 : strstrt(ARG0, "bandwidth.gp") - 1]
load folder."lib/common.gp"
if (SIZES == 0) exit

set ylabel "bus bandwidth in GB/s (1e9 bytes per second)"
set yrange [0 : *]
set key outside right top

# The bound is drawn where it is near enough not to flatten everything else.
stats $DATA index 0 : OWN + LIBRARY - 1 using 5 name "Y" nooutput
top = Y_max
if (BOUND) {
	stats $DATA index OWN + LIBRARY using ($1 == X_max ? $5 : NaN) name "B" nooutput
	if (B_max < 2 * Y_max) {
		top = B_max > Y_max ? B_max : Y_max
	} else {
		BOUND = 0
		set label 1 note.sprintf("; most possible at the largest size: %.3g GB/s", B_max)
	}
}
if (top > 0) set yrange [0 : top * 1.15]

draw = "plot for [i = 1 : OWN] $DATA index i - 1 using (at($1, i)):5 with linespoints \
	linestyle i title NAME[i]"
if (LIBRARY) draw = draw.", $DATA index OWN using (at($1, 0)):5 with linespoints \
	linestyle 10 title 'MPI library'"
if (BOUND) draw = draw.", $DATA index OWN + LIBRARY using (at($1, 0)):5 with lines \
	linestyle 11 title 'most possible'"

load folder."lib/write.gp"
