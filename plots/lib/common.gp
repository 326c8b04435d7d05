# SPDX-License-Identifier: BSD-3-Clause
#
# What figures over sizes share. `data` (default: the file data) is what
#
#   summary --plot --section N FILE
#
# printed, where the tool has joined the rows: TITLE, SUBTITLE, SIZES, RATES, OWN, HIDDEN, LIBRARY,
# LIBRARY_NAME, BOUND, LAUNCHES, NAME[] and $DATA; see scripts/tools/lib/report.h. `out` (default:
# figure) is the figure's name without its ending. No name of a user's file or folder comes here:
# gnuplot runs what stands in a string after `load`, `set output` or `system` as a command.

if (!exists("data")) data = "data"
if (!exists("out")) out = "figure"
load data
if (!exists("OWN")) exit status 3
# Rows that were all skipped leave nothing to draw.
if (OWN + LIBRARY == 0) exit status 0
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
