# SPDX-License-Identifier: BSD-3-Clause
#
# What figures over sizes share. The scripts that load it want `csv` (a result file or folder) and
# `out` (the figure's name without ending) from the caller:
#
#   gnuplot -e "csv='results/DIR/all_reduce.csv'; out='all_reduce-time'" plots/time.gp
#
# `section` (1) picks one of several tables in the file; `summary` is the tool that joins the rows
# (default: the newest one built). It defines TITLE, SUBTITLE, SIZES, RATES, OWN, HIDDEN, LIBRARY,
# LIBRARY_NAME, BOUND, LAUNCHES, NAME[] and $DATA; see scripts/tools/lib/report.h.

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='FILE'; out='PREFIX'\" plots/NAME.gp"
	exit status 3
}
if (!exists("section")) section = 1
if (!exists("summary")) summary = system("ls -t build/*/bin/summary 2>/dev/null | head -n 1")
if (strlen(summary) == 0) {
	print "plots: no summary tool in build/*/bin: needs libcsv, then make"
	exit status 3
}
load sprintf("< '%s' --plot --section %d '%s'", summary, section, csv)
if (!exists("OWN")) exit status 3
load folder."lib/style.gp"

note = "each algorithm with its quickest protocol".(SIZES > 0 ? " at each size" : "")
if (HIDDEN > 0) note = note.sprintf("; %d more algorithms are not shown", HIDDEN)
note = note.(LAUNCHES == 1 ? "; bars: 95% interval of the median within the launch" : \
	LAUNCHES < 6 ? sprintf("; bars: least and greatest of %d launches", LAUNCHES) : \
	sprintf("; bars: 95%% interval over %d launches, faint: least and greatest", LAUNCHES))

if (SIZES > 0) {
	stats $DATA using ($1 > 0 ? $1 : NaN) name "X" nooutput
	set logscale x 2
	set xrange [X_min / 1.5 : X_max * 1.5]
	set xlabel "size in bytes"
	set xtics ()
	# At most about ten labels, at powers of two.
	step = int(ceil((log(X_max) - log(X_min)) / log(2) / 9.))
	step = step < 1 ? 1 : step
	x = 2. ** int(ceil(log(X_min) / log(2) - 1e-9))
	while (x <= X_max * 1.0001) {
		set xtics add (sizename(x) x)
		x = x * 2. ** step
	}
} else {
	# Nothing is moved: a mark for each algorithm, side by side.
	set xrange [-0.6 : OWN + LIBRARY - 0.4]
	set xtics () rotate by -25 noenhanced
	do for [i = 1 : OWN] { set xtics add (NAME[i] i - 1) }
	if (LIBRARY) { set xtics add (LIBRARY_NAME OWN) }
	unset key
	set bmargin at screen up(110)
}
at(bytes, i) = SIZES > 0 ? (bytes > 0 ? bytes : NaN) : i - 1
BANDS = SIZES > 0 && LAUNCHES >= 6
