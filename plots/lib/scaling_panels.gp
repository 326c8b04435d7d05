# SPDX-License-Identifier: BSD-3-Clause
#
# The panels of plots/scaling.gp: a column for each size, times above, efficiency below. Loaded
# once for each file that is written.

longest = LIBRARY_NAME
do for [i = 1 : OWN] { if (strlen(NAME[i]) > strlen(longest)) { longest = NAME[i] } }
RIGHT = keywidth(longest) / WIDTH
LEFT = 92. / WIDTH
GAP = 84. / WIDTH
WIDE = (1 - LEFT - RIGHT - (PANELS - 1) * GAP) / PANELS
SERIES = OWN + LIBRARY
style(i) = i > OWN ? 10 : i
stats [*:*] [*:*] $DATA using 1 name "R" nooutput
stats [*:*] [*:*] $DATA using 2 name "T" nooutput

set multiplot
set logscale x 2
set xrange [R_min / 1.2 : R_max * 1.2]
set xtics ()
do for [r = 1 : ROWS] { set xtics add (sprintf("%d", RANKS[r]) RANKS[r]) }
do for [p = 0 : PANELS - 1] {
	set lmargin at screen LEFT + p * (WIDE + GAP)
	set rmargin at screen LEFT + p * (WIDE + GAP) + WIDE
	first = p * SERIES

	set tmargin at screen down(92)
	set bmargin at screen 0.47
	set label 4 SIZE[p + 1]." bytes" at graph 0, screen down(78) left font ",13" \
		textcolor rgb INK
	set logscale y 10
	set ytics @timetics
	stats [*:*] [*:*] $DATA index first : first + SERIES - 1 using 2 name "T" nooutput
	set yrange [T_min / 1.4 : T_max * 1.4]
	# Where a decade has no tick the panel would have none: some more.
	if (T_max / T_min < 100) {
		do for [k = -2 : 7] {
			do for [t in (T_max / T_min < 5 ? "1.5 2 3 4 5 7" : "2 5")] {
				set ytics add (timename(t * 10. ** k) t * 10. ** k)
			}
		}
	}
	set ylabel (p == 0 ? "median time" : "")
	set xlabel ""
	set key at screen 1 - RIGHT + 16. / WIDTH, screen down(84) left top
	if (p > 0) { unset key }
	plot for [i = 1 : SERIES] $DATA index first + i - 1 using 1:2:3:4 with yerrorlines \
		linestyle style(i) title (i > OWN ? LIBRARY_NAME : NAME[i])
	unset key
	unset label 1
	unset label 2
	unset label 3
	unset label 4
	unset label 6

	set tmargin at screen 0.42
	set bmargin at screen up(84)
	unset logscale y
	if (EFFICIENCIES[p + 1] > 0) {
		stats [*:*] [*:*] $DATA index first : first + SERIES - 1 using (100 * $5) name "E" \
			nooutput
		set ytics autofreq
		set ytics format "%g%%"
		set yrange [0 : E_max > 0 ? E_max * 1.15 : 100]
		set ylabel (p == 0 ? "efficiency" : "")
		set xlabel "ranks"
		plot for [i = 1 : SERIES] $DATA index first + i - 1 using 1:(100 * $5) \
			with linespoints linestyle style(i)
	}
	set ytics format "% h"
}
unset multiplot
# The next file begins as this one did.
@footnote
@heading
