# SPDX-License-Identifier: BSD-3-Clause
#
# Ratios of two result sets with their intervals, one below the other, the worst first; or what
# values of variables change. `csv` is what `compare --forest` or `summary --crossings --forest`
# wrote (docs/plots.md). How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("forest.gp")]
load folder."lib/data.gp"
ROWHEIGHT = 20
HEIGHT = 66 + 90 + (ROWS < 8 ? 8 : ROWS) * ROWHEIGHT
load folder."lib/style.gp"
note = NOTE

longest = 8
do for [i = 1 : |$DATA|] {
	text = substr($DATA[i], strstrt($DATA[i], '"') + 1, strlen($DATA[i]) - 1)
	longest = strlen(text) > longest ? strlen(text) : longest
}
set lmargin at screen (24. + 6.9 * longest) / WIDTH
set rmargin at screen 1 - 150. / WIDTH
set border 1
set grid noytics
set yrange [-0.7 : ROWS - 0.3]
set ytics scale 0 font ",11" noenhanced

# Without ranges of its own, stats leaves out what is beyond those of the picture.
stats [*:*] [*:*] $DATA using 3 name "R" nooutput
stats [*:*] [*:*] $DATA using 4 name "L" nooutput
stats [*:*] [*:*] $DATA using 5 name "H" nooutput
# An interval may be endless; what lies beyond four times the ratios is cut off.
low = L_min < R_min / 4 ? R_min / 4 : L_min
high = H_max > R_max * 4 ? R_max * 4 : H_max
# The ratios themselves are never cut off, whatever their intervals are.
low = low > R_min ? R_min : low
high = high < R_max ? R_max : high
low = low > 0.95 ? 0.95 : low
high = high < 1.05 ? 1.05 : high
set logscale x 2
set xrange [low / 1.02 : high * 1.02]
set xtics ()
if (high / low < 1.5) {
	do for [k = 60 : 150 : (high / low < 1.15 ? 2 : 5)] {
		set xtics add (sprintf("%.2f", k / 100.) k / 100.)
	}
} else {
	do for [k = -20 : 20] { set xtics add (sprintf("%g", 2. ** k) 2. ** k) }
	if (high / low < 6) {
		do for [t in "0.3 0.4 0.6 0.7 0.8 0.9 1.1 1.2 1.4 1.6 1.8 2.5 3"] {
			set xtics add (t real(t))
		}
	}
}
set xlabel "ratio of times: above 1 ".(EFFECTS ? "this value" : "the new one")." is slower"
set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead linewidth 1.5 linecolor rgb "#444444" \
	back

# Marks differ as well as colours: filled down, filled up, open, small.
array VERDICT[5] = ["regressed", "improved", "unsure", "same", "no verdict"]
if (EFFECTS) { array VERDICT[5] = ["slower", "faster", "both ways", "not seen", "no verdict"] }
set style line 41 linecolor rgb "#d55e00" linewidth 2 pointtype 9 pointsize 1.1
set style line 42 linecolor rgb "#0072b2" linewidth 2 pointtype 11 pointsize 1.1
set style line 43 linecolor rgb "#cc79a7" linewidth 2 pointtype 6 pointsize 0.9
set style line 44 linecolor rgb "#777777" linewidth 2 pointtype 7 pointsize 0.6
set style line 45 linecolor rgb "#999999" linewidth 2 pointtype 2 pointsize 0.8

cut(x) = x < low / 1.02 ? low / 1.02 : x > high * 1.02 ? high * 1.02 : x
draw = "plot for [v = 1 : 5] $DATA using ($2 == v ? $3 : NaN):1:(cut($4)):(cut($5)):ytic(6) \
	with xerrorbars linestyle 40 + v title VERDICT[v]"

load folder."lib/write.gp"
