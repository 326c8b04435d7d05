#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
#
# A disk that is full, or that cannot be written to: the rows before are whole, one line says
# which file and why, the exit code is 5 (3 where nothing could be begun). The disk is a small
# tmpfs in a mount name space of its own.

set -u
export LC_ALL=C
. tests/faults/lib.sh

# on_small_disk SIZE ARGUMENT...: runs the program with --csv on a disk of that size, which holds
# nothing else; sets rc, leaves $dir/out and $dir/err, and what the disk had in $dir/disk.
on_small_disk() {
	local size=$1

	shift
	rm -rf "$dir/mount" "$dir/disk"
	mkdir -p "$dir/mount" "$dir/disk"
	export size dir program
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare -rm bash -c 'mount -t tmpfs -o "size=$size" none "$dir/mount" || exit 99
		scripts/launch 2 "$program" --csv "$dir/mount/csv" "$@"
		rc=$?
		cp -r "$dir/mount/." "$dir/disk"
		exit $rc' - "$@" </dev/null >"$dir/out" 2>"$dir/err"
	rc=$?
}

# said NAME FILE: whether exactly one line of the program's says that this file is full.
said() {
	holds "$1" "$dir/err" "^fabricbench: .*$2'?: No space left on device"
	expect "$1" "lines about it" "$(grep -c 'No space left' "$dir/err")" 1
}

options=(-q --engine host --algorithm ring --max-time 2ms --max-samples 20 --min-samples 5)

test_rows() {
	local csv=$dir/disk/csv/all_reduce.csv

	failures=0
	on_small_disk 32k "${options[@]}" --bytes 8:2K:+8
	expect "rows" "exit code" "$rc" 5
	said "rows" all_reduce.csv
	whole "rows" "$csv"
	at_most "rows" "fewest rows" 5 "$(rows "$csv" 'ok|few')"
	expect "rows" "wrong or faulty rows" "$(rows "$csv" 'wrong|fault')" 0
	verdict "faults/full disk, rows ($MPI)"
}

# With room again, the run goes on where the disk was full.
test_resume() {
	local csv=$dir/disk/csv before

	failures=0
	before=$(rows "$csv/all_reduce.csv" 'ok|few')
	run 2 --csv "$csv" --resume "${options[@]}" --bytes 8:512:+8
	expect "resume" "exit code" "$rc" 0
	whole "resume" "$csv/all_reduce.csv"
	expect "resume" "rows before" "$((before > 0))" 1
	expect "resume" "rows of the same key" \
		"$(awk -F, 'NR > 1 { print $9, $19 }' "$csv/all_reduce.csv" |
			sort | uniq -d | wc -l)" 0
	expect "resume" "sizes" \
		"$(awk -F, 'NR > 1 && $19 <= 512 { print $19 }' "$csv/all_reduce.csv" |
			sort -u | wc -l)" 64
	verdict "faults/full disk, resumed ($MPI)"
}

test_samples() {
	failures=0
	on_small_disk 48k "${options[@]}" --bytes 8:2K:+8 --raw
	expect "samples" "exit code" "$rc" 5
	expect "samples" "lines about it" "$(grep -c 'No space left' "$dir/err")" 1
	whole "samples" "$dir/disk/csv/samples.csv"
	# Where there was no room for samples, their row is there before them.
	"$csvcheck" "$dir/disk/csv/all_reduce.csv" >"$dir/check" 2>&1
	problems=$(grep -c "^fabricbench: .*samples.csv'" "$dir/err")
	expect "samples" "problems" "$(grep -c 'samples.csv has 0 of row' "$dir/check")" "$problems"
	expect "samples" "line" "$(grep -c ", $problems problems," "$dir/check")" 1
	verdict "faults/full disk, samples ($MPI)"
}

# Too full for the first files.
test_start() {
	failures=0
	on_small_disk 4k "${options[@]}" --bytes 8
	expect "start" "exit code" "$rc" 5
	expect "start" "lines about it" "$(grep -c 'No space left' "$dir/err")" 1
	verdict "faults/full disk from the start ($MPI)"
}

# Standard output is a disk too.
test_output() {
	failures=0
	scripts/launch 2 "$program" "${options[@]}" --bytes 8,16 </dev/null 2>"$dir/err" |
		head -n 1 >"$dir/out"
	holds "output" "$dir/out" '^schema,run,'
	# A launcher reads what ranks print; a single process writes to the device itself.
	"$program" "${options[@]}" --bytes 8,16 >/dev/full 2>"$dir/err"
	expect "/dev/full" "exit code" $? 5
	said "/dev/full" "standard output"
	verdict "faults/full disk, standard output ($MPI)"
}

for family in $FB_MPIS; do
	use "$family" all_reduce
	test_output
	if ! unshare -rm mount -t tmpfs -o size=24k none "$dir" 2>/dev/null; then
		echo "SKIP faults/full disk ($MPI): no mount name space of its own"
		continue
	fi
	test_rows
	test_resume
	test_samples
	test_start
done
exit $bad
