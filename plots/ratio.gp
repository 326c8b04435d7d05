# SPDX-License-Identifier: BSD-3-Clause
#
# Time of the library (MPI, NCCL) by the time of each algorithm: above 1 the algorithm is quicker.
# Bars follow from the 95% intervals of both. How to call it: see lib/common.gp. Draws nothing
# where the library was not measured.

folder = ARG0[1 : strlen(ARG0) - strlen("ratio.gp")]
load folder."lib/common.gp"
if (!LIBRARY || OWN == 0) exit

if (SIZES == 0) set xrange [-0.6 : OWN - 0.4]
note = "above 1 the algorithm is quicker; ".note
set ylabel "time of ".LIBRARY_NAME." / own time"
set logscale y 2
set format y "%g"
stats $DATA index 0 : OWN - 1 using 6 name "R" nooutput
low = R_min < 0.5 ? R_min / 1.3 : 0.5
high = R_max > 2 ? R_max * 1.3 : 2
set yrange [low : high]

draw = "plot 1 with lines linestyle 10 title 'as quick as '.LIBRARY_NAME, \
	for [i = 1 : OWN] $DATA index i - 1 using (at($1, i)):6:7:8 with yerrorlines \
	linestyle i title NAME[i]"

load folder."lib/write.gp"
