# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # variables of scripts/sweep
#
# Where the launches of a sweep write, that no two sweeps write there at once, and what is said of
# it all at the end. Sourced by scripts/sweep.

# Each launch has one folder: that of the part that it belongs to, or DIR.
find_homes() {
	local part list i

	for part in "$results"/part-*/launches; do
		[ -s "$part" ] || continue
		list=$(cat "$part")
		[ "$list" != "$launches" ] || continue
		select_launches "$list"
		for i in "${wanted[@]}"; do
			home_of[i]=${part%/launches}
		done
	done
	select_launches "$launches"
	if [ -n "$launches" ]; then
		make_part
	else
		for i in "${wanted[@]}"; do
			home_of[i]=${home_of[i]-$results}
		done
	fi
}

make_part() {
	local part=$results/part-$launches i

	for i in "${wanted[@]}"; do
		[ -z "${home_of[i]-}" ] || die "--launches '$launches': launch $i belongs to" \
			"${home_of[i]}; accepted are lists that share none, or none at all"
		home_of[i]=$part
	done
	mkdir -p "$part" && echo "$launches" >"$part/launches" || die "cannot write to $part"
}

# Two sweeps never write to one folder. The launcher inherits the lock, so that what a killed sweep
# left running is waited for.
take_locks() {
	local i lock rc
	local -A taken

	for i in "${wanted[@]}"; do
		[ -z "${taken[${home_of[i]}]-}" ] || continue
		taken[${home_of[i]}]=yes
		exec {lock}>>"${home_of[i]}/.lock" || die "cannot write to ${home_of[i]}"
		flock -n -E 99 "$lock" 2>/dev/null
		rc=$?
		[ "$rc" -eq 99 ] || continue # 0, or a file system without locks
		echo "${home_of[i]} is in use: waiting for up to ${LOCK_WAIT:-60} s" >&2
		flock -w "${LOCK_WAIT:-60}" "$lock" ||
			die "${home_of[i]}: another sweep is writing to it; accepted are" \
				"disjoint --launches, or another folder"
	done
}

# $1: folder of launches.csv files. How many launches ended how, and their flags.
count_launches() {
	local files

	mapfile -t files < <(find "$1" -maxdepth 2 -name launches.csv | sort)
	[ ${#files[@]} -gt 0 ] || return 0
	awk -F, '
		FNR == 1 { next }
		{
			key = FILENAME "," $1
			if (!(key in status)) launches++
			status[key] = $7; seconds += $11; attempts++
			n = split($14, flag, ";")
			for (i = 1; i <= n; i++) flags[flag[i]]++
		}
		END {
			printf "launches: %d in %d attempts, %d s", launches, attempts, seconds
			for (k in status) count[status[k]]++
			for (s in count) printf "; %d %s", count[s], s
			printf "\n"
			for (f in flags) printf "  %d flagged %s\n", flags[f], f
		}' "${files[@]}"
}

# The table of all rows, where they are in one folder and the tool for it has been built.
print_table() {
	local tool=${builds[0]}/bin/summary

	[ -x "$tool" ] && compgen -G "$1/*.csv" >/dev/null || return 0
	"$tool" "$1" 2>&1
}

# A part writes nothing outside of its folder. If there are two sides, the terminal gets no tables:
# what they are for is comparing.
summarise() {
	local folder=$results of

	[ -z "$launches" ] || folder=$results/part-$launches
	for of in "$folder/a" "$folder/b"; do
		[ ! -d "$of" ] || print_table "$of" >"$of/summary.txt"
	done
	{
		[ -d "$folder/a" ] || [ -d "$folder/b" ] || print_table "$folder"
		count_launches "$folder"
	} | tee "$folder/summary.txt"
	echo "results: $folder"
}
