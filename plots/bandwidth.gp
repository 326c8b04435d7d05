# SPDX-License-Identifier: BSD-3-Clause
#
# Bus bandwidth against size: what the busiest link carried, to be compared with the rate of that
# link. Bars and bands as in time.gp. How to call it: see lib/common.gp. Draws nothing for
# operations that move nothing, or have no rate, and nothing for one rank.

folder = ARG0[1 : strlen(ARG0) - strlen("bandwidth.gp")]
load folder."lib/common.gp"
if (SIZES == 0 || RATES == 0) exit

set ylabel "bus bandwidth in GB/s (1e9 bytes per second)"

# The bound is drawn where it is near enough not to flatten everything else.
stats $DATA index 0 : OWN + LIBRARY - 1 using 5 name "Y" nooutput
top = Y_max
if (BOUND) {
	stats $DATA index OWN + LIBRARY using ($1 == X_max ? $5 : NaN) name "B" nooutput
	if (B_max < 2.5 * Y_max) {
		top = B_max > Y_max ? B_max : Y_max
	} else {
		BOUND = 0
		note = sprintf("most possible at the largest size: %.3g GB/s; ", B_max).note
	}
}
# One rank has no link that a collective could load.
if (!(top > 0)) exit
set yrange [0 : top * 1.15]

draw = "plot "
if (BANDS) draw = draw."for [i = 1 : OWN + LIBRARY] $DATA index i - 1 using \
	(at($1, i)):($5 * $2 / $12):($5 * $2 / $11) \
	with filledcurves linestyle (i > OWN ? 30 : 20 + i) notitle, "
if (BOUND) draw = draw."$DATA index OWN + LIBRARY using (at($1, 0)):5 with lines \
	linestyle 11 title 'most possible', "
if (LIBRARY) draw = draw."$DATA index OWN using (at($1, 0)):5:9:10 with yerrorlines \
	linestyle 10 title LIBRARY_NAME, "
draw = draw."for [i = 1 : OWN] $DATA index i - 1 using (at($1, i)):5:9:10 with yerrorlines \
	linestyle i title NAME[i]"

load folder."lib/write.gp"
