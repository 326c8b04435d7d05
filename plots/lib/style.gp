# SPDX-License-Identifier: BSD-3-Clause
#
# How all figures look: colours, marks, sizes, the title and the line below it. Colours: Okabe and
# Ito, told apart by people who do not see all colours; each series has a mark of its own as well,
# and what has more kinds than colours has a number or a name beside the colour.
#
# Uses WIDTH and HEIGHT where the script has set them before (pixels of the SVG).

if (!exists("WIDTH")) WIDTH = 1000
if (!exists("HEIGHT")) HEIGHT = 560
set macros

array COLOUR[8]
COLOUR[1] = "#0072b2"; COLOUR[2] = "#e69f00"; COLOUR[3] = "#009e73"; COLOUR[4] = "#cc79a7"
COLOUR[5] = "#d55e00"; COLOUR[6] = "#56b4e9"; COLOUR[7] = "#7a5c99"; COLOUR[8] = "#b3b3b3"
array MARK[8]
MARK[1] = 7; MARK[2] = 5; MARK[3] = 9; MARK[4] = 11; MARK[5] = 13; MARK[6] = 6; MARK[7] = 4
MARK[8] = 2
do for [i = 1 : 8] {
	set style line i linecolor rgb COLOUR[i] linewidth 2 pointtype MARK[i] \
		pointsize (MARK[i] == 9 || MARK[i] == 11 ? 1.0 : 0.8)
	# The same for what lies behind a curve.
	set style line 20 + i linecolor rgb COLOUR[i] linewidth 1
}
INK = "#222222"; GREY = "#5a5a5a"; FAINT = "#e2e2e2"
set style line 10 linecolor rgb "#000000" linewidth 3 pointtype 4 pointsize 0.8
set style line 11 linecolor rgb "#555555" linewidth 2 dashtype 2
set style line 12 linecolor rgb FAINT linewidth 1
set style line 30 linecolor rgb "#000000" linewidth 1

# The colour of the n-th of many: the last one stands for all that have no colour of their own.
colour(n) = COLOUR[n < 8 ? n : 8]
rgb(n) = int(("0x".substr(colour(n), 2, 7)) + 0)

set border 3 linecolor rgb "#888888"
set tics nomirror out textcolor rgb INK
set grid xtics ytics linestyle 12
set key outside right top Left reverse spacing 1.3 samplen 2 noenhanced textcolor rgb INK
set xlabel textcolor rgb INK
set ylabel textcolor rgb INK
set style fill transparent solid 0.14 noborder

# A title that is too long for its line goes on in a smaller line below it, for which the picture
# grows. It is parted behind a comma or a semicolon. Letters of a title are about 9 pixels wide.
MORETITLE = ""
fits = int((WIDTH - 24) / 9.3)
if (strlen(TITLE) > fits) {
	do for [i = 2 : fits] {
		if (strstrt(",;", substr(TITLE, i, i))) {
			MORETITLE = substr(TITLE, i + 1, strlen(TITLE))
		}
	}
	TITLE = substr(TITLE, 1, strlen(TITLE) - strlen(MORETITLE))
	if (substr(MORETITLE, 1, 1) eq " ") { MORETITLE = substr(MORETITLE, 2, strlen(MORETITLE)) }
}
EXTRA = strlen(MORETITLE) ? 20 : 0
HEIGHT = HEIGHT + EXTRA

# Where text stands, whatever the size: so many pixels from an edge of the picture.
down(y) = 1 - (y + (y > 30 ? EXTRA : 0) + 0.) / HEIGHT
up(y) = (y + 0.) / HEIGHT
set tmargin at screen down(66)
# The labels of the heading; figures of several panels take them off after the first one.
heading = 'set label 2 TITLE at screen 12. / WIDTH, screen down(22) left font ",16" \
	textcolor rgb INK noenhanced; \
	set label 3 SUBTITLE at screen 12. / WIDTH, screen down(44) left font ",11" \
	textcolor rgb GREY noenhanced; \
	set label 6 MORETITLE at screen 12. / WIDTH, screen 1 - 42. / HEIGHT left \
	font (strlen(MORETITLE) * 6.2 < WIDTH - 24 ? ",12" : ",9") textcolor rgb INK noenhanced'
@heading
note = ""
note2 = ""
footnote = 'set label 1 note at screen 12. / WIDTH, screen up(strlen(note2) ? 30 : 14) left \
	font ",11" textcolor rgb GREY noenhanced; \
	set label 5 note2 at screen 12. / WIDTH, screen up(14) left font ",11" \
	textcolor rgb GREY noenhanced'
set bmargin at screen up(84)

# Ticks of a logarithmic axis of microseconds.
timetics = '("10 ns" .01, "100 ns" .1, "1 us" 1, "10 us" 10, "100 us" 100, "1 ms" 1e3, \
	"10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6, "10 s" 1e7, "100 s" 1e8)'

# The pixels that a key of these names takes beside a figure of several panels.
keywidth(names) = 68. + 8 * (strlen(names) > 17 ? strlen(names) : 17)

# 8, 64, 512, 4K, 32K: binary, as sizes are typed.
sizename(x) = x < 1024 ? sprintf("%d", x) : x < 1048576 ? sprintf("%gK", x / 1024.) : \
	x < 1073741824 ? sprintf("%gM", x / 1048576.) : sprintf("%gG", x / 1073741824.)

# 870 ns, 8.7 us, 1.2 ms: three digits.
timename(us) = us < 1 ? sprintf("%.3g ns", us * 1e3) : us < 999.5 ? sprintf("%.3g us", us) : \
	us < 999500 ? sprintf("%.3g ms", us / 1e3) : sprintf("%.3g s", us / 1e6)
