# SPDX-License-Identifier: BSD-3-Clause
#
# Steps side by side as stacked bars: computing, exposed communication and what is lost beyond both;
# in the thin bar the communication that computing hides. How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("stack.gp")]
load folder."lib/data.gp"
HEIGHT = 220 + 34 * BARS
load folder."lib/style.gp"
note = NOTE
draw = "load '".folder."lib/stack_panel.gp'"
load folder."lib/write.gp"
