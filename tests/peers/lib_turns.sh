# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Ours beside a peer's, by turns; sourced by tests/peers/mpi and tests/peers/nccl, which set work (a
# folder) and rounds, and have functions `ours` and `theirs` that print lines "bytes us".
# shellcheck disable=SC2154

# Lines "bytes ours theirs", one of each round; prints the table.
quotients() {
	sort -n | awk '
		function middle(v, n,   i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
					t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
				}
			return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		# The interval of the median by ranks: as far from the ends as 2.5% each allow.
		function put(   k, p, term, q, a, b) {
			a = middle(us, n); b = middle(peer, n); q = middle(ratio, n)
			k = 0; term = p = 0.5 ^ n
			while (p <= 0.025 && k < n) { k++; term *= (n - k + 1) / k; p += term }
			printf "%10d %10.3f %10.3f %8.3f", size, a, b, q
			if (k > 0) printf "  %.3f..%.3f\n", ratio[k], ratio[n - k + 1]
			else print "  too few rounds"
		}
		$1 != size && n { put(); n = 0 }
		{ size = $1; us[++n] = $2; peer[n] = $3; ratio[n] = $2 / $3 }
		END { if (n) put() }'
}

# turn NUMBER FILE OURS... -- THEIRS...: a round, whose lines are appended to FILE. Theirs begins
# each second one.
turn() {
	local number=$1 file=$2
	local -a mine

	shift 2
	while [ "$1" != -- ]; do
		mine+=("$1")
		shift
	done
	shift
	if [ $((number % 2)) -eq 0 ]; then
		ours "${mine[@]}" >"$work/ours" && theirs "$@" >"$work/theirs" || return 1
	else
		theirs "$@" >"$work/theirs" && ours "${mine[@]}" >"$work/ours" || return 1
	fi
	awk 'NR == FNR { peer[$1] = $2; next } $1 in peer { print $1, $2, peer[$1] }' \
		"$work/theirs" "$work/ours" >>"$file"
}

# table TITLE FILE
table() {
	printf '%s\n%10s %10s %10s %8s  %s\n' "$1" bytes "ours us" "theirs us" quotient \
		"95% interval"
	quotients <"$2"
}

# beside TITLE OURS... -- THEIRS...: all rounds.
beside() {
	local title=$1 i

	shift
	: >"$work/rounds"
	for ((i = 0; i < rounds; i++)); do
		turn "$i" "$work/rounds" "$@" || exit 1
	done
	table "$title" "$work/rounds"
}
