# SPDX-License-Identifier: BSD-3-Clause
#
# The best time at each pair of values of two keys: the figure of plots/matrix.gp with the values'
# own names on its sides. How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("heat.gp")]
load folder."lib/matrix_panel.gp"
