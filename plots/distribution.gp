# SPDX-License-Identifier: BSD-3-Clause
#
# The distribution of one size's repetitions: which share took no longer than a time. Needs
# samples.csv, which programs write with --raw; `csv` is the folder. Or of the spans of one row, a
# curve for each name. See lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("distribution.gp")]
load folder."lib/data.gp"
load folder."lib/style.gp"
note = NOTE

stats $DATA index 0 : SERIES - 1 using 1 name "X" nooutput
set logscale x 10
set xrange [X_min / 1.05 : X_max * 1.05]
set xtics @timetics
if (X_max / X_min < 300) {
	do for [k = -2 : 7] {
		set xtics add (timename(2 * 10. ** k) 2 * 10. ** k, \
			timename(5 * 10. ** k) 5 * 10. ** k)
	}
}
set xlabel exists("XLABEL") ? XLABEL : "time until the last rank is through"
set yrange [0 : 102]
set ytics 0, 10
set format y "%g%%"
set ylabel exists("YLABEL") ? YLABEL : "repetitions that took no longer"

before(i) = sum [k = 1 : i - 1] LIBRARY[k]
style(i) = LIBRARY[i] ? 10 : i - int(before(i))

draw = "plot for [i = 1 : SERIES] $DATA index i - 1 using 1:2 with steps linestyle style(i) \
		notitle, \
	for [i = 1 : SERIES] $DATA index SERIES + i - 1 using 1:2 with points linestyle style(i) \
		pointsize 1.3 notitle, \
	for [i = 1 : SERIES] NaN with linespoints linestyle style(i) title NAME[i]"

load folder."lib/write.gp"
