# SPDX-License-Identifier: BSD-3-Clause
#
# How late each rank begins and how long it takes, as boxes. `csv` is a ranks.csv (docs/plots.md).
# How to call it: see lib/data.gp.

folder = ARG0[1 : strlen(ARG0) - strlen("ranks.gp")]
load folder."lib/data.gp"
HEIGHT = 640
load folder."lib/style.gp"
note = NOTE
draw = "load '".folder."lib/ranks_panels.gp'"
load folder."lib/write.gp"
