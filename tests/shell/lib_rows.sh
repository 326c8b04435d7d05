# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Result files that tests make up, row by row. To be sourced; `usual` is what rows have unless they
# say something else, and tests may add to it.

usual=(schema=2 run=x utc=2026-01-01T00:00:00Z program=all_reduce operation=all_reduce engine=host
	nodes=1 algorithm=auto protocol=auto transport=auto memory=host registration=none
	launch=blocking cadence=isolated datatype=f32 redop=sum root=-1 in_place=no bytes=8
	ranks=2 samples=9 outliers=0 errors=0 launch_index=0 channels=0 status=ok)

# rows_to FILE [COLUMN,COLUMN...]: begins a result file, with a program's own columns.
rows_to() {
	rows_file=$1
	rows_header=$(head -n 1 results/reference/h100x2/all_reduce.csv | cut -d, -f1-50)
	rows_header+=${2:+,$2}
	echo "$rows_header" >"$rows_file"
}

# row COLUMN=VALUE...: appends a row.
row() {
	printf '%s\n' "${usual[@]}" "$@" | awk -v header="$rows_header" '
		{ at = index($0, "="); value[substr($0, 1, at - 1)] = substr($0, at + 1) }
		END {
			n = split(header, name, ",")
			for (i = 1; i <= n; i++) {
				field = value[name[i]]
				if (field ~ /,/)
					field = "\"" field "\""
				printf "%s%s", field, i < n ? "," : "\n"
			}
		}' >>"$rows_file"
}
