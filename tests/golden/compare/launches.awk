# SPDX-License-Identifier: BSD-3-Clause
#
# Makes result files with a known answer: times around given means, with given noise between
# launches, on two sides. Its random numbers are its own, so that every awk makes the same file.
#
# Input: lines `operation engine algorithm protocol transport bytes us noise ratio`; noise is the
# standard deviation of the logarithm, ratio what side b takes by what side a takes.
# Variables: side (a or b), launches, first (index of the first launch, 0), seed, day (1),
# copies (each line so many times, with growing bytes; 1), common (noise that all rows of a launch
# share; 0), drift (what the last launch takes by what the first takes; 1).

function uniform() {
	state = (state * 69069 + 1) % 4294967296
	return state / 4294967296
}

function normal(i, sum) {
	sum = -6
	for (i = 0; i < 12; i++) sum += uniform()
	return sum
}

{ line[NR] = $0 }

END {
	split("", f)
	if (copies == 0) copies = 1
	if (day == 0) day = 1
	if (drift == 0) drift = 1
	state = seed * 7919 + (side == "b" ? 104729 : 0)
	print "schema,run,launch_index,utc,program,operation,engine,algorithm,protocol," \
		"transport,memory,registration,launch,cadence,datatype,redop,root,in_place," \
		"bytes,ranks,nodes,variant,status,reason,median_us,busbw_GBps"
	for (l = 0; l < launches; l++) {
		shared = common * normal() + log(drift) * l / (launches - (launches > 1))
		for (r = 1; r <= NR; r++) {
			split(line[r], f, " ")
			for (c = 0; c < copies; c++) {
				us = f[7] * exp(f[8] * normal() + shared)
				if (side == "b") us *= f[9]
				bytes = f[6] * (1 + c)
				minute = 2 * l + (side == "b")
				printf "1,golden,%d,2026-03-%02dT%02d:%02d:00Z,", first + l, day,
					int(minute / 60), minute % 60
				printf "%s,%s,%s,%s,%s,%s,host,registered,blocking,", f[1], f[1],
					f[2], f[3], f[4], f[5]
				printf "isolated,f32,sum,-1,no,%d,4,1,,ok,,%.4f,%.6g\n", bytes, us,
					1.5 * bytes / us / 1000
			}
		}
	}
}
