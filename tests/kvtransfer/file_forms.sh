#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 200
#
# A KV cache handed over through files by every form of mover file, with all verbs; a disk without
# room, and a file that somebody else cuts off, end the job with a clear message.

program=handoff
. tests/kvtransfer/lib.sh
# Files of others, who run beside this, do not count.
export TMPDIR=$FB_TMP/files
mkdir "$TMPDIR"

# Pages are cut between the two ranks of the decode group, into pieces of less than a page.
go 3 --engine file --form all --algorithm all --operation reshard --tokens 20 --layout nhd \
	--decode 2
expect "exit code of all forms" "$rc" 0
expect "wrong rows" "$(rows ',(wrong|fault),')" 0
# Of 3 verbs; where a machine has neither io_uring nor O_DIRECT, rows say so.
expect "rows of the usual form" "$(rows 'decode=2;grain.*,(ok|few),.*page cache, preadv')" 3
expect "rows of buffered" "$(rows 'form=buffered.*,(ok|few),.*page cache, preadv')" 3
expect "rows of direct" "$(rows 'form=direct.*,((ok|few),.*O_DIRECT, preadv|skipped,.*O_DIRECT)')" 3
expect "rows of uring" "$(rows 'form=uring;.*,((ok|few),.*page cache, io_ur|skipped,.*io_ur)')" 3
expect "rows of uring_direct" \
	"$(rows 'form=uring_direct.*,((ok|few),.*O_DIRECT, io_uring|skipped,.*(O_DIR|io_ur))')" 3
verdict file_forms

# Without io_uring its forms are skipped, and the others work.
LD_PRELOAD=$FB_BUILD/tests/libno_uring.so go 2 --engine file --form all --algorithm all
expect "exit code without io_uring" "$rc" 0
expect "rows without io_uring" "$(rows ',(ok|few),.*page cache, preadv')" 6
expect "rows of io_uring, which is missing" \
	"$(rows 'form=uring.*,skipped,.*io_uring: Operation not permitted')" 6
expect "wrong rows without io_uring" "$(rows ',(wrong|fault),')" 0
verdict file_forms_no_uring

# A disk without room for the messages. MPI has its own files elsewhere.
mkdir "$FB_TMP/full"
if unshare -m mount -t tmpfs -o size=256k none "$FB_TMP/full" 2>/dev/null; then
	printf '#!/bin/sh\nTMPDIR=%s exec %s "$@"\n' "$FB_TMP/full" \
		"$(realpath "$FB_BUILD/bin/$program")" >"$FB_TMP/on_full_disk"
	chmod +x "$FB_TMP/on_full_disk"
	export -f go
	export FB_TMP FB_BUILD slow runs program tokens=1K bin=$FB_TMP/on_full_disk
	# The rank that has the error ends the job only when the other one has waited in vain.
	for form in buffered uring; do
		unshare -m bash -c '
			small=(--quiet --run t --timeout "$((5 * slow))s")
			mount -t tmpfs -o size=256k none "$FB_TMP/full" && cd "$0" || exit 1
			go 2 --engine file --form "$1"
			echo "$rc $csv" >"$FB_TMP/end"' "$PWD" $form
		read -r rc csv <"$FB_TMP/end"
		runs=$((runs + 1)) # that shell's
		[ "$(rows ',skipped,.*io_uring')" -eq 0 ] || continue
		expect "exit code of a full disk, $form" "$rc" 5
		holds "$FB_TMP/err" \
			'writing [0-9]+ bytes at [0-9]+ of a file: No space left on device'
	done
	verdict file_forms_full_disk
else
	echo "SKIP file_forms_full_disk: no file system can be mounted here"
fi

# cut_off FORM: a job of many repetitions, whose files lose all they have until it ends; sets rc.
# Data are not compared: a file that is cut off between two writes has a hole, which reads as zeros.
cut_off() {
	local folder=$FB_TMP/$((++runs)) job fd

	csv=$folder/$program.csv
	scripts/launch 2 "$bin" --quiet --run t --timeout "$((20 * slow))s" --csv "$folder" \
		--engine file --form "$1" --tokens 1K --min-samples 1000000 --verify no \
		--max-samples 1000000 --max-time 60s >"$FB_TMP/out" 2>"$FB_TMP/err" </dev/null &
	job=$!
	while kill -0 $job 2>/dev/null; do
		sleep 0.2
		grep -q '^[^#]' "$folder"/*.under_way 2>/dev/null || continue
		while read -r fd; do
			truncate -s 0 "$fd" 2>/dev/null
		done < <(find /proc/[0-9]*/fd -lname "$TMPDIR/fabricbench-*" 2>/dev/null)
	done
	wait $job
	rc=$?
}
bin=$FB_BUILD/bin/$program
for form in buffered uring_direct; do
	cut_off $form
	[ "$(rows ',skipped,')" -eq 0 ] || continue
	expect "exit code of a short read, $form" "$rc" 5
	holds "$FB_TMP/err" 'bytes at [0-9]+ of a file: it is too short|a file has lost what rank'
done
expect "files left" "$(find "$TMPDIR" -name 'fabricbench-*' | wc -l)" 0
verdict file_forms_short_read
