# SPDX-License-Identifier: BSD-3-Clause
#
# What all figures share: reading, colours, size, and the two files that are written. The scripts
# in this folder load it with `csv` (a result file or folder) and `out` (the figure's name without
# ending) set by the caller:
#
#   gnuplot -e "csv='results/DIR/all_reduce.csv'; out='all_reduce-time'" plots/time.gp
#
# `section` (1) picks one of several tables in the file; `summary` is the tool that joins the rows
# (default: the newest one built). It defines TITLE, HOST, SIZES, OWN, HIDDEN, LIBRARY, BOUND,
# NAME[] and $DATA; see scripts/tools/lib/report.h. Colours: Okabe and Ito, told apart by people
# who do not see all colours; each series has a mark of its own as well.

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

set style line 1 linecolor rgb "#0072b2" linewidth 2 pointtype 7 pointsize 0.8
set style line 2 linecolor rgb "#e69f00" linewidth 2 pointtype 5 pointsize 0.8
set style line 3 linecolor rgb "#009e73" linewidth 2 pointtype 9 pointsize 1.0
set style line 4 linecolor rgb "#cc79a7" linewidth 2 pointtype 11 pointsize 1.0
set style line 5 linecolor rgb "#d55e00" linewidth 2 pointtype 13 pointsize 1.0
set style line 6 linecolor rgb "#56b4e9" linewidth 2 pointtype 6 pointsize 0.8
set style line 10 linecolor rgb "#000000" linewidth 3 pointtype 4 pointsize 0.8
set style line 11 linecolor rgb "#555555" linewidth 2 dashtype 2
set style line 12 linecolor rgb "#dddddd" linewidth 1

set border 3
set tics nomirror out
set grid xtics ytics linestyle 12
set key outside right top Left reverse spacing 1.3 samplen 2 noenhanced
set title TITLE.(strlen(HOST) ? ", host ".HOST : "") noenhanced

note = "each algorithm with its quickest protocol".(SIZES > 0 ? " at each size" : "")
if (HIDDEN > 0) note = note.sprintf("; %d more algorithms are not shown", HIDDEN)
set bmargin 6
set label 1 note at screen 0.01, screen 0.03 left font ",9" textcolor rgb "#555555" noenhanced

# Ticks of a logarithmic axis of microseconds.
set macros
timetics = 'set ytics ("10 ns" .01, "100 ns" .1, "1 us" 1, "10 us" 10, "100 us" 100, \
	"1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6, "10 s" 1e7, "100 s" 1e8)'

# 8, 64, 512, 4K, 32K: binary, as sizes are typed.
sizename(x) = x < 1024 ? sprintf("%d", x) : x < 1048576 ? sprintf("%gK", x / 1024.) : \
	x < 1073741824 ? sprintf("%gM", x / 1048576.) : sprintf("%gG", x / 1073741824.)

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
	if (LIBRARY) { set xtics add ("MPI library" OWN) }
	unset key
}
at(bytes, i) = SIZES > 0 ? (bytes > 0 ? bytes : NaN) : i - 1
