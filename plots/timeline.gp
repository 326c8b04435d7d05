# SPDX-License-Identifier: BSD-3-Clause
#
# Spans on lanes over time: what overlaps with what, and what waits. `csv` is a file of spans or a
# Chrome trace (docs/plots.md). A strip below a span marks the part of it that is exposed
# communication. How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("timeline.gp")]
load folder."lib/data.gp"
KEYROWS = NAMES < 8 ? NAMES : 8
ROWHEIGHT = ROWS > 40 ? 16 : ROWS > 16 ? 22 : 32
HEIGHT = 156 + (ROWS * ROWHEIGHT > KEYROWS * 21 ? ROWS * ROWHEIGHT : KEYROWS * 21)
load folder."lib/style.gp"
note = NOTE

longest = 4
do for [i = 1 : LANES] { longest = strlen(LANE[i]) > longest ? strlen(LANE[i]) : longest }
longest = longest > 28 ? 28 : longest
set lmargin at screen (30. + 7.4 * longest) / WIDTH
set rmargin at screen 1 - 190. / WIDTH
set bmargin at screen down(66 + ROWS * ROWHEIGHT)
unset key
set border 1
set grid noytics
set yrange [ROWS - 0.5 : -0.5]
set ytics () scale 0
do for [i = 1 : LANES] { set ytics add (substr(LANE[i], 1, 28) (FIRST[i] + LAST[i]) / 2.) }
set ytics noenhanced
do for [i = 2 : LANES] {
	set arrow 10 + i from graph 0, first FIRST[i] - 0.5 to graph 1, first FIRST[i] - 0.5 \
		nohead linestyle 12 back
}
scale = LENGTH > 2e6 ? 1e-6 : LENGTH > 2e3 ? 1e-3 : 1
# Which row the lanes below are of, in a line without spans; when its last span ends; and how much
# of its communication no computing hides.
EXPOSED = "#b00020"
MARKED = 0
exposed(i) = sprintf("exposed: %s of %s of communication, rank %d", timename(PANEL_EXPOSED[i]), \
	timename(PANEL_SENT[i]), PANEL_RANK[i])
do for [i = 1 : PANELS] {
	set arrow 200 + i from graph 0, first PANEL_AT[i] - 0.5 \
		to graph 1, first PANEL_AT[i] - 0.5 nohead linestyle 12 back
	shown = substr(PANEL[i], 1, PANEL_SENT[i] > 0 ? 56 : 110)
	set label 200 + i shown.": ".timename(PANEL_END[i]) at graph 0, \
		first PANEL_AT[i] left offset 0.5, 0 font ",12" noenhanced textcolor rgb INK
	bottom = (i < PANELS ? PANEL_AT[i + 1] : ROWS) - 0.5
	set arrow 300 + i from first PANEL_END[i] * scale, first PANEL_AT[i] + 0.5 \
		to first PANEL_END[i] * scale, first bottom nohead linestyle 11 back
	if (PANEL_SENT[i] > 0) {
		MARKED = 1
		set label 300 + i exposed(i) at graph 1, first PANEL_AT[i] right offset -0.5, 0 \
			font ",12" noenhanced textcolor rgb EXPOSED
	}
}
set xrange [0 : LENGTH > 0 ? LENGTH * scale : 1]
set xlabel "time in ".(scale == 1 ? "us" : scale == 1e-3 ? "ms" : "s")

do for [i = 1 : KEYROWS] {
	set object 100 + i rectangle center screen 1 - 166. / WIDTH, screen down(66 + 21 * i - 8) \
		size screen 20. / WIDTH, screen up(14) fillcolor rgb colour(i) \
		fillstyle solid 1 noborder front
	entry = i == 8 && NAMES > 8 ? sprintf("%d others", NAMES - 7) : substr(NAME[i], 1, 20)
	set label 100 + i entry at screen 1 - 150. / WIDTH, screen down(66 + 21 * i - 8) left \
		font ",12" noenhanced textcolor rgb INK
}

# Below the names, what the strips are.
if (MARKED) {
	set object 120 rectangle center screen 1 - 166. / WIDTH, \
		screen down(66 + 21 * (KEYROWS + 1) - 8) size screen 20. / WIDTH, screen up(6) \
		fillcolor rgb EXPOSED fillstyle solid 1 noborder front
	set label 120 "exposed" at screen 1 - 150. / WIDTH, \
		screen down(66 + 21 * (KEYROWS + 1) - 8) left font ",12" textcolor rgb INK
}

# A span's name where it fits: letters are about 7 pixels wide.
pixels = (WIDTH - 220. - 7.4 * longest) / (LENGTH > 0 ? LENGTH : 1)
name(b, e, n, text) = ROWHEIGHT > 20 && strlen(text) * 7 < (e - b) * pixels - 4 ? text : ""

draw = "plot $DATA using ($4 > 0 ? $1 * scale : NaN):3:($1 * scale):($2 * scale): \
		($3 - 0.42):($3 + 0.42):(rgb($4 > 0 ? $4 : 1)) with boxxyerror \
		fillstyle solid 1 border rgb 'white' linecolor rgb variable, \
	$DATA using ($4 > 0 ? NaN : $1 * scale):3:($1 * scale):($2 * scale): \
		($3 + 0.26):($3 + 0.42) with boxxyerror \
		fillstyle solid 1 noborder linecolor rgb EXPOSED, \
	$DATA using (($1 + $2) / 2 * scale):3:(light($4) ? name($1, $2, $4, strcol(5)) : '') \
		with labels center font ',10' noenhanced textcolor rgb INK, \
	$DATA using (($1 + $2) / 2 * scale):3:(light($4) ? '' : name($1, $2, $4, strcol(5))) \
		with labels center font ',10' noenhanced textcolor rgb 'white'"

load folder."lib/write.gp"
