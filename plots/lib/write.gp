# SPDX-License-Identifier: BSD-3-Clause
#
# Writes what `draw` draws as out.svg and out.png; with `pdf=1` as out.pdf too. The sizes of letters
# are those of the SVG, in pixels; the other two are scaled to look alike.

set label 1 note at screen 12. / WIDTH, screen up(14) left font ",11" textcolor rgb GREY noenhanced

set terminal svg size WIDTH, HEIGHT font "sans,13" background rgb "white"
set output out.".svg"
@draw
set terminal pngcairo size WIDTH, HEIGHT font "sans,13" fontscale 0.78 background rgb "white"
set output out.".png"
@draw
if (exists("pdf")) {
	set terminal pdfcairo size WIDTH / 100., HEIGHT / 100. font "sans,13" fontscale 0.72 \
		background rgb "white"
	set output out.".pdf"
	@draw
}
set output
