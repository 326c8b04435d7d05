# SPDX-License-Identifier: BSD-3-Clause
#
# A heat map, for plots/matrix.gp (ranks by ranks) and plots/heat.gp (values of two keys, which have
# names: LABEL[], ROWLABEL[]).

load folder."lib/data.gp"
HEIGHT = 760
WIDTH = 860
load folder."lib/style.gp"
note = NOTE

# Cividis, which is the same for people who do not see all colours; upside down for times.
set palette defined (0 "#00204c", 0.13 "#00306f", 0.25 "#39486b", 0.38 "#575c6d", \
	0.5 "#707173", 0.63 "#8a8779", 0.75 "#a69d75", 0.88 "#c4b56c", 1 "#ffea46")
if (!MORE) set palette negative
# Tiles are square, unless a side has few of them.
shape = ROWS * 1. / COLUMNS
set size ratio (shape < 0.4 ? 0.4 : shape > 2 ? 2 : shape)
longest = 3
if (exists("VALUES")) {
	do for [i = 1 : ROWS] {
		if (strlen(ROWLABEL[i]) > longest) { longest = strlen(ROWLABEL[i]) }
	}
}
set lmargin at screen (46. + 8 * longest) / WIDTH
set rmargin at screen 1 - 130. / WIDTH
set border 0
unset grid
set style fill solid 1 noborder
unset key
set tics scale 0
set xrange [-0.5 : COLUMNS - 0.5]
set yrange [ROWS - 0.5 : -0.5]
step = (COLUMNS > ROWS ? COLUMNS : ROWS) / 16 + 1
if (exists("VALUES")) {
	set xtics () noenhanced
	set ytics () noenhanced
	do for [i = 1 : COLUMNS] {
		if ((i - 1) % step == 0) { set xtics add (LABEL[i] i - 1) }
	}
	do for [i = 1 : ROWS] {
		if ((i - 1) % step == 0) { set ytics add (ROWLABEL[i] i - 1) }
	}
} else {
	set xtics 0, step
	set ytics 0, step
}
set xlabel COLUMNNAME noenhanced
set ylabel ROWNAME noenhanced
set colorbox user origin screen 1 - 108. / WIDTH, screen up(150) \
	size screen 18. / WIDTH, screen 1 - 300. / HEIGHT
set cblabel UNIT textcolor rgb INK noenhanced
set cbtics textcolor rgb INK

stats [*:*] [*:*] $DATA using 3 name "V" nooutput
if (V_records == 0) exit status 3
if (V_min == V_max) set cbrange [V_min * 0.9 : V_max * 1.1]; else set cbrange [V_min : V_max]
middle = V_min + 0.6 * (V_max - V_min)
number(v) = sprintf(v < 9.995 ? "%.2f" : v < 99.95 ? "%.1f" : "%.0f", v)
letters = COLUMNS <= 8 ? 12 : COLUMNS <= 12 ? 10 : 8

# Boxes are sharp; of a large matrix they would make a file that nobody can open.
if (COLUMNS <= 40 && ROWS <= 40) {
	draw = "plot $DATA using ($3 == $3 ? $1 : NaN):2:(0.5):(0.5):3 with boxxyerror \
		linecolor palette"
} else {
	draw = "plot $DATA using 1:2:3 with image"
}
good(v) = (MORE ? v : V_max + V_min - v) >= middle
at(v, x, dark) = v == v && good(v) == dark ? x : NaN
if (COLUMNS <= 20) draw = draw.", $DATA using (at($3, $1, 1)):2:(number($3)) with labels \
		font sprintf(',%d', letters) textcolor rgb INK, \
	$DATA using (at($3, $1, 0)):2:(number($3)) with labels font sprintf(',%d', letters) \
		textcolor rgb 'white'"

load folder."lib/write.gp"
