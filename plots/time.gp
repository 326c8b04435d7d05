# SPDX-License-Identifier: BSD-3-Clause
#
# Median time against size: how long an operation takes with each algorithm, beside the
# library's own call and the least possible time. Bars are 95% intervals (see docs/measurement.md),
# bands behind them the least and greatest launch. How to call it: see lib/common.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("time.gp")]
load folder."lib/common.gp"

set ylabel "median time"
if (SIZES > 0) {
	set logscale y 10
	set ytics @timetics
} else {
	set ylabel "median time in us"
	set yrange [0 : *]
}

draw = "plot "
if (BANDS) draw = draw."for [i = 1 : OWN + LIBRARY] $DATA index i - 1 using (at($1, i)):11:12 \
	with filledcurves linestyle (i > OWN ? 30 : 20 + i) notitle, "
if (BOUND && SIZES > 0) draw = draw."$DATA index OWN + LIBRARY using (at($1, 0)):2 with lines \
	linestyle 11 title 'least possible', "
if (LIBRARY) draw = draw."$DATA index OWN using (at($1, OWN + 1)):2:3:4 with yerrorlines \
	linestyle 10 title LIBRARY_NAME, "
draw = draw."for [i = 1 : OWN] $DATA index i - 1 using (at($1, i)):2:3:4 with yerrorlines \
	linestyle i title NAME[i]"

load folder."lib/write.gp"
