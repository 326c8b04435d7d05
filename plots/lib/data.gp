# SPDX-License-Identifier: BSD-3-Clause
#
# What figures of all other kinds share. `data` (default: the file data) is what
#
#   plotdata KIND --figure N FILE|FOLDER...
#
# printed: TITLE, SUBTITLE, NOTE, $DATA and what each script says; see scripts/tools/plot/. `out`
# and names of files: see common.gp.

if (!exists("data")) data = "data"
if (!exists("out")) out = "figure"
load data
if (!exists("TITLE")) exit status 3

# light(n): whether the n-th colour is light, so that letters on it have to be dark.
light(n) = n == 2 || n == 4 || n == 6 || n >= 8
