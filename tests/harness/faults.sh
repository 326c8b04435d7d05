#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# The harness from outside: exit codes, what is written, what is said, and what is left when
# ranks fail, hang or are stopped. Runs tests/mpi/dummy.c, whose "algorithms" misbehave. What comes
# from outside, signals and full disks, is in tests/faults, with a real program.

set -u
export LC_ALL=C
. tests/faults/lib.sh
statuses='ok|wrong|skipped|few|fault'

# column NAME of a result file, without the header; text fields with commas come last in `reason`.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print $at }' "$2"
}

test_about() {
	failures=0
	for option in --help --version --man; do
		"$program" $option >"$dir/out" 2>"$dir/err"
		expect "$option" "exit code" $? 0
		holds "$option" "$dir/out" dummy
		expect "$option" "bytes on stderr" "$(wc -c <"$dir/err")" 0
		cp "$dir/out" "$dir/alone"
		run 2 $option
		expect "$option, 2 ranks" "exit code" "$rc" 0
		expect "$option, 2 ranks" "difference" "$(cmp "$dir/alone" "$dir/out" 2>&1)" ""
	done
	verdict "harness/about ($MPI)"
}

test_bad_input() {
	failures=0
	while read -r option value; do
		run 2 --csv "$dir/none" "$option" "$value"
		expect "$option $value" "exit code" "$rc" 3
		expect "$option $value" "lines" "$(grep -c '^fabricbench: ' "$dir/err")" 1
		holds "$option $value" "$dir/err" "^fabricbench: .*$option"
		[ -e "$dir/none" ] && expect "$option $value" "folder" made none
	done <<-'END'
		--bytes 8:x
		--engine nowhere
		--algorithm copy,copy
		--datatype f33
		--root -1
		--in-place maybe
		--cadence often
		--ci 0
		--max-samples 10
		--timeout never
		--nodes-as 3
		--nonsense 1
	END
	# Of mpirun, too, there is no word: one line is all.
	run 2 --nonsense 1
	expect "--nonsense" "lines of all that was said" "$(wc -l <"$dir/err")" 1
	run 2 --raw
	expect "--raw" "exit code" "$rc" 3
	run 2 --raw-ranks
	expect "--raw-ranks" "exit code" "$rc" 3
	run 2 --csv /proc/none
	expect "--csv /proc/none" "exit code" "$rc" 3
	verdict "harness/bad input ($MPI)"
}

test_statuses() {
	local csv=$dir/statuses

	failures=0
	run 2 --csv "$csv" --bytes 8 --algorithm copy,skip,unsupported
	expect good "exit code" "$rc" 0
	run 2 --csv "$csv" --bytes 8 --algorithm wrong,stale,copy --resume
	expect wrong "exit code" "$rc" 2
	run 2 --csv "$csv" --bytes 8 --algorithm broken,wrong --resume
	expect fault "exit code" "$rc" 5
	whole statuses "$csv/dummy.csv"
	while read -r algorithm status; do
		expect "$algorithm" status "$(grep ",dummy,$algorithm," "$csv/dummy.csv" |
			grep -Eo ",($statuses)," | tail -n 1 | tr -d ,)" "$status"
	done <<-'END'
		copy ok
		skip skipped
		unsupported skipped
		wrong wrong
		stale wrong
		broken fault
	END
	holds wrong "$csv/dummy.csv" '1 wrong elements; first: rank 1 element 1 is'
	expect rows number "$(tail -n +2 "$csv/dummy.csv" | wc -l)" 6
	holds environment "$csv/environment.csv" '^run,,,program.dummy.0.harness_share,'
	holds environment "$csv/environment.csv" '^run,,,program.dummy.0.selftest.timer_median_ns,'
	# What the host was like at one launch is there after the next one, too, once for all ranks.
	run 2 --csv "$csv" --bytes 8 --algorithm copy --launch-index 1
	for launch in 0 1; do
		holds "launch $launch" "$csv/environment.csv" \
			"^run,,,program.dummy.$launch.host.load_average,"
	done
	run 2 --csv "$csv" --bytes 8 --algorithm copy
	expect "again without --resume" "exit code" "$rc" 3
	verdict "harness/statuses ($MPI)"
}

# Samples belong to the launch's rows in the order of the file, however often it was resumed.
test_raw() {
	local csv=$dir/raw

	failures=0
	run 4 --csv "$csv" --raw --raw-ranks --bytes 8,16 --algorithm copy,skip
	expect first "exit code" "$rc" 0
	run 4 --csv "$csv" --raw --raw-ranks --bytes 8,16,24 --algorithm copy,skip --resume
	expect resumed "exit code" "$rc" 0
	expect "samples.csv" "samples of each row" \
		"$(cut -d, -f4 "$csv/samples.csv" | tail -n +2 | uniq -c |
			awk '{ print $2, $1 }')" \
		"$(column samples "$csv/dummy.csv" | awk '$1 + 0 { print NR - 1, $1 }')"
	expect "samples.csv" "rows with samples" \
		"$(tail -n +2 "$csv/samples.csv" | cut -d, -f4 | sort -u | wc -l)" 3
	# On one clock a repetition lasts from the first of its four ranks' begins to the last one's
	# end, to the last digit written.
	expect "ranks.csv" "lines of each repetition" "$(tail -n +2 "$csv/ranks.csv" |
		cut -d, -f4,5 | uniq -c | awk '{ print $1 }' | sort -u)" 4
	expect "ranks.csv" "repetitions that differ" "$(awk -F, '
		FNR == 1 { next }
		NF == 6 { sample[$4, $5] = $6; n++; next }
		{
			i = $4 SUBSEP $5
			if (!(i in end) || $8 > end[i]) end[i] = $8
			if (!(i in begin) || $7 < begin[i]) begin[i] = $7
		}
		END {
			for (i in sample) {
				apart = sample[i] - (end[i] - begin[i])
				if (apart < 0.001 && apart > -0.001) n--
			}
			print n
		}' "$csv/samples.csv" "$csv/ranks.csv")" 0
	verdict "harness/samples and resume ($MPI)"
}

test_order() {
	failures=0
	run 2 --dry-run --seed 5
	cp "$dir/out" "$dir/first"
	run 2 --dry-run --seed 5
	expect "same seed" difference "$(cmp "$dir/first" "$dir/out" 2>&1)" ""
	run 2 --dry-run --seed 5 --launch-index 1
	cmp -s "$dir/first" "$dir/out" && expect "other launch" order same other
	expect "other launch" cases "$(grep -c ' B ' "$dir/out")" "$(grep -c ' B ' "$dir/first")"
	run 2 --list --algorithm copy,skip
	holds list "$dir/out" 'skip .*skipped: asked to be skipped'
	run 2 --check-plan --bytes 8 --algorithm copy,wrong
	expect check-plan "exit code" "$rc" 5
	holds check-plan "$dir/err" 'reads what nobody wrote'
	verdict "harness/order and lists ($MPI)"
}

# A rank misbehaves in the case after a good one: exit 5, a row that says so, the good row kept. It
# does at its 30th call, which every case reaches, however long a call takes.
test_faults() {
	failures=0
	while read -r algorithm timeout_s text; do
		local csv=$dir/$algorithm

		run 2 --csv "$csv" --bytes 8 --algorithm "copy,$algorithm" \
			--timeout "$((timeout_s * slow))s" \
			--min-samples 50 --max-samples 50 --max-time 60s
		expect "$algorithm" "exit code" "$rc" 5
		holds "$algorithm" "$dir/err" "$text"
		whole "$algorithm" "$csv/dummy.csv"
		holds "$algorithm" "$csv/dummy.csv" ",$algorithm,.*,fault,"
		holds "$algorithm" "$dir/err" 'rows are safe in'
	done <<-'END'
		lopsided 60 rank 1 on .*: setup failed: a system call failed
		unmet 3 rank 1: failed: a system call failed
		failing 60 rank 1 on .*: the operation failed
		hanging 3 missing: rank 1 on .*of case
		stopped 3 missing: rank 1 on .* is stopped
	END
	# Ranks whose setup gives up because the job ends write no row: the watchdog does it.
	run 2 --csv "$dir/told" --bytes 8 --algorithm told
	expect told "exit code" "$rc" 5
	holds told "$dir/err" 'rank 1 on .* was told to end by SIGTERM'
	expect told "rows of a fault" "$(grep -c ',fault,' "$dir/told/dummy.csv")" 0
	verdict "harness/faults ($MPI)"
}

for family in $FB_MPIS; do
	use "$family" dummy
	test_about
	test_bad_input
	test_statuses
	test_raw
	test_order
	test_faults
done
failures=0
no_new_names "shared memory"
verdict "harness/nothing left behind"
exit $bad
