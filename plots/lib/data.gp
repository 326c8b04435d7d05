# SPDX-License-Identifier: BSD-3-Clause
#
# What figures of all other kinds share. The scripts that load it set `kind` and want `csv` (a file
# or folder; several as "'a' 'b'") and `out` (the figure's name without ending) from the caller:
#
#   gnuplot -e "csv='results/DIR'; out='map'" plots/map.gp
#
# `figure` (1) picks one of several that the input holds, `bytes` (0) a size where that has a
# meaning; `plotdata` is the tool that prepares the data (default: the newest one built). It
# defines TITLE, SUBTITLE, NOTE, $DATA and what each script says; see scripts/tools/plot/.

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='FILE'; out='PREFIX'\" plots/NAME.gp"
	exit status 3
}
if (!exists("figure")) figure = 1
if (!exists("bytes")) bytes = 0
if (!exists("plotdata")) plotdata = system("ls -t build/*/bin/plotdata 2>/dev/null | head -n 1")
if (strlen(plotdata) == 0) {
	print "plots: no plotdata tool in build/*/bin: needs libcsv, then make"
	exit status 3
}
load sprintf("< '%s' %s --figure %d --bytes %d %s", plotdata, kind, figure, bytes, \
	strstrt(csv, "'") ? csv : "'".csv."'")
if (!exists("TITLE")) exit status 3

# light(n): whether the n-th colour is light, so that letters on it have to be dark.
light(n) = n == 2 || n == 4 || n == 6 || n >= 8
