# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # settings and functions come before this part
#
# After all other jobs, however they ended: one folder of all rows that there are (one for each side
# where the study has two), a table of them, and the slow nodes.

# merge_parts FOLDER PART...: of those parts that have rows.
merge_parts() {
	local out=$1 part csv parts=()

	shift
	for part; do
		for csv in "$part"/*.csv; do
			if [ "$(head -c 11 "$csv")" = schema,run, ]; then
				parts+=("$part")
				break
			fi
		done
	done
	[ ${#parts[@]} -gt 0 ] || return
	say "${#parts[@]} parts into $out"
	rm -rf "$out"
	"$build/bin/merge" --csv="$out" "${parts[@]}" &&
		"$build/bin/summary" "$out" >"$out/summary.txt"
	worsen $?
}

worsen() {
	[ "$1" -le "$worst" ] || worst=$1
}

shopt -s nullglob
worst=0
merge_parts "$results/merged" "$results"/n*/part-*
for side in a b; do
	merge_parts "$results/merged-$side" "$results"/n*/part-*/$side
done
if [ -n "$(compgen -G "$results/pairs/*/part-*/nodes.txt")" ]; then
	scripts/slurm/slow-node "$results/pairs" >"$results/slow-node.txt"
	worsen $?
	cat "$results/slow-node.txt"
fi
compgen -G "$results/merged*" >/dev/null || die "no job has written a row: see $results/logs"
exit "$worst"
