# SPDX-License-Identifier: BSD-3-Clause
#
# A value for each pair of ranks as a heat map, light where it is good: a slow rank is a dark row
# and a dark column. How to call it, also with a text of nvbandwidth: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("matrix.gp")]
load folder."lib/matrix_panel.gp"
