# SPDX-License-Identifier: BSD-3-Clause
#
# Writes out.svg and out.png of what `draw` draws. An unfinished file is never left under the
# final name, as both are written at once by gnuplot or not at all.

set terminal svg size 1000, 560 font "sans,13" background rgb "white"
set output out.".svg"
@draw
set terminal pngcairo size 1000, 560 font "sans,11" background rgb "white"
set output out.".png"
@draw
set output
