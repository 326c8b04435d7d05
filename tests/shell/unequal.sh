#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
#
# all_gather_v and reduce_scatter_v with blocks of unequal size, empty ones among them: each
# algorithm of the host engine and the MPI library's own call, in place and not, every call checked.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
bin=$FB_BUILD/bin
echo "5,0,2" >"$FB_TMP/weights"

# runs PROGRAM VARIANT OPTION...: its rows are right, and all of this variant.
runs() {
	local program=$1 variant=$2 place want mpi

	shift 2
	scripts/launch 3 "$bin/$program" --quiet --min-samples 2 --max-samples 3 --max-time 20ms \
		--engine host,mpi --in-place both --verify each --bytes 24,300K "$@" \
		>"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null ||
		fail "$program $*: exit code $?: $(tail -n 3 "$FB_TMP/err")"
	expect "rows of $variant" "$(grep -cF ",$variant," "$FB_TMP/out")" \
		"$(tail -n +2 "$FB_TMP/out" | wc -l)"
	expect "wrong or failed rows" "$(grep -cE ',(wrong|fault),' "$FB_TMP/out")" 0
	for place in yes no; do
		# MPI_Reduce_scatter in place has the result elsewhere.
		want=ok
		[ "$program$place" = reduce_scatter_vyes ] && want=skipped
		mpi=$(awk -F, -v place="$place" '
			NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			$at["engine"] == "mpi" && $at["in_place"] == place {
				print $at["status"] }' "$FB_TMP/out" |
			sed 's/few/ok/' | sort | uniq -c | tr -s ' ')
		expect "rows of MPI, in place $place" "$mpi" " 2 $want"
	done
	[ "$(grep -cE ',host,.*,(ok|few),' "$FB_TMP/out")" -ge 12 ] ||
		fail "$program $*: few rows of the host engine were measured"
}

for program in all_gather_v reduce_scatter_v; do
	runs "$program" skew=1.5 --skew 1.5
	runs "$program" weights=weights --weights "$FB_TMP/weights"
	verdict "unequal_$program"
done

exit $bad
