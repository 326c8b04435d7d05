# SPDX-License-Identifier: BSD-3-Clause
#
# Which algorithm is the quickest at which size and number of ranks. A tile's colour and number are
# the algorithm's. How to call it, with as many folders as there are numbers of ranks: see
# lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("map.gp")]
load folder."lib/data.gp"
ROWHEIGHT = ROWS > 12 ? 36 : 58
KEYROWS = WINNERS < 30 ? WINNERS : 30
HEIGHT = 160 + (ROWS * ROWHEIGHT > KEYROWS * 21 ? ROWS * ROWHEIGHT : KEYROWS * 21)
load folder."lib/style.gp"
note = NOTE

set lmargin at screen 84. / WIDTH
set rmargin at screen 1 - 232. / WIDTH
set bmargin at screen down(66 + ROWS * ROWHEIGHT)
set border 0
unset grid
unset key
set tics scale 0
set xrange [-0.5 : COLUMNS - 0.5]
set yrange [-0.5 : ROWS - 0.5]
set xlabel (COLUMNS > 1 || SIZE[1] ne "0" ? "size in bytes" : "")
set ylabel "ranks"
set xtics ()
set ytics ()
do for [i = 1 : COLUMNS] {
	if ((i - 1) % (COLUMNS / 20 + 1) == 0) { set xtics add (SIZE[i] i - 1) }
}
do for [i = 1 : ROWS] { set ytics add (RANKS[i] i - 1) }

# The key: numbered, because there may be more algorithms than colours.
do for [i = 1 : KEYROWS] {
	set object 100 + i rectangle center screen 1 - 208. / WIDTH, screen down(66 + 21 * i - 8) \
		size screen 24. / WIDTH, screen up(16) fillcolor rgb colour(i) \
		fillstyle solid 1 noborder front
	set label 100 + i sprintf("%d", i) at screen 1 - 208. / WIDTH, \
		screen down(66 + 21 * i - 8) center font ",11" front \
		textcolor rgb (light(i) ? INK : "white")
	set label 200 + i NAME[i] at screen 1 - 188. / WIDTH, screen down(66 + 21 * i - 8) left \
		font ",12" noenhanced textcolor rgb INK
}

# What fits into a tile of this width; letters are about 6 pixels wide.
tile = (WIDTH - 316.) / COLUMNS
protocol(p) = tile > 56 && strlen(p) * 7 < tile - 14 ? p : ""
ratio(r) = r > 0 ? sprintf(r < 9.95 ? "%.1fx" : "%.0fx", r) : ""
first(n, p) = strlen(protocol(p)) ? sprintf("%d %s", n, p) : tile > 16 ? sprintf("%d", n) : ""
second(us, r) = tile > 72 ? timename(us) : ""
third(r) = ROWHEIGHT > 40 && tile > 40 ? ratio(r) : ""
above = 0.5 * ((tile > 72) + (ROWHEIGHT > 40 && tile > 40))
lines(n, p, us, r) = first(n, p).(strlen(second(us, r)) ? "\n".second(us, r) : "").\
	(strlen(third(r)) ? "\n".third(r) : "")

draw = "plot $DATA using 1:2:(0.485):(0.47):(rgb($3)) with boxxyerror fillstyle solid 1 noborder \
		linecolor rgb variable, \
	$DATA using 1:2:(light($3) ? lines($3, strcol(4), $5, $6) : '') with labels center \
		offset 0, above font ',10' noenhanced textcolor rgb INK, \
	$DATA using 1:2:(light($3) ? '' : lines($3, strcol(4), $5, $6)) with labels center \
		offset 0, above font ',10' noenhanced textcolor rgb 'white'"

load folder."lib/write.gp"
