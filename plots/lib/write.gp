# SPDX-License-Identifier: BSD-3-Clause
#
# Writes what `draw` draws as out.svg and out.png; with `pdf=1` as out.pdf too. The sizes of letters
# are those of the SVG, in pixels; the other two are scaled to look alike.

# A note that is too long for one line is parted where a sentence ends. Letters are about 6 pixels
# wide.
note2 = ""
longest = int((WIDTH - 24) / 6.)
if (strlen(note) > longest) {
	do for [i = 2 : longest] {
		if (substr(note, i - 1, i) eq "; ") { note2 = substr(note, i + 1, strlen(note)) }
	}
	note = substr(note, 1, strlen(note) - strlen(note2))
}
@footnote

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
