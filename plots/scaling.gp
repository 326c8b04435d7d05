# SPDX-License-Identifier: BSD-3-Clause
#
# Time and efficiency against the number of ranks, at the smallest and the largest size that all
# have. Each algorithm with its quickest protocol. How to call it, with the folders of several
# numbers of ranks: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("scaling.gp")]
load folder."lib/data.gp"
HEIGHT = 700
load folder."lib/style.gp"
note = NOTE
draw = "load '".folder."lib/scaling_panels.gp'"
load folder."lib/write.gp"
