# SPDX-License-Identifier: BSD-3-Clause
#
# Median time over any key, and below it another column of the same rows, as how long communication
# is exposed. Each engine with its quickest protocol. How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("axis.gp")]
load folder."lib/data.gp"
HEIGHT = strlen(PANEL) ? 720 : 480
load folder."lib/style.gp"
note = NOTE
draw = "load '".folder."lib/axis_panels.gp'"
load folder."lib/write.gp"
