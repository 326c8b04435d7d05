/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One measurement: first call, verification, warm-up, repetitions, verification again.
 *
 * A sample is the time of one repetition. If all ranks read one clock, it lasts from the begin of
 * the first rank to the end of the last one; otherwise it is the maximum of the ranks' own times.
 * The two differ if a rank that only receives begins late: its data has already arrived, and its
 * own time is short. The row's time is the median of the samples. Only the operation runs between
 * the two readings of the clock. Rank 0 decides how often to run and broadcasts it, so all ranks do
 * the same. The last repetition runs on freshly written data, and the final check reads its
 * results, so the code that was timed is the code that was checked.
 */
#ifndef FB_COMMON_RUN_MEASURE_H
#define FB_COMMON_RUN_MEASURE_H

#include "common/measure/barrier.h"
#include "common/measure/clock.h"
#include "common/measure/cpu_time.h"
#include "common/measure/rank_times.h"
#include "common/measure/sampler.h"
#include "common/measure/watchdog.h"
#include "common/run/program.h"

/*
 * Times of one repetition in us: maximum, minimum and sum of the ranks' times per call, how many
 * ranks there are, when the last and the first of them began, and when the last one ended. Ranks
 * whose times do not count are left out. For one rank, maximum, minimum and sum are its time.
 */
struct fb_times {
	double max, min, sum, ranks;
	double last_start, first_start, last_end; /* since the meter's epoch */
};

enum { FB_METER_BLOCK = 128 }; /* most repetitions between two reductions */

/* State that all measurements of a run share. */
struct fb_meter {
	const struct fb_group *world;
	const struct fb_clock *clock;
	struct fb_barrier *barrier;
	struct fb_watchdog *watchdog;
	const struct fb_settings *settings;
	double timer_us, step_us; /* reading the clock twice, and its step; from the self test */
	bool one_clock;		  /* all ranks read the same clock: rows measure their skew */
	double skew_us;		  /* where not: the self test's median of it */
	double late_us;		  /* 0; in tests: how late after the barrier this rank begins */

	/* Below: filled in by fb_meter_open. */
	MPI_Datatype times_type;	  /* struct fb_times */
	MPI_Op times_op;		  /* over ranks, as its members say */
	struct fb_times *block, *reduced; /* one block's repetitions: own, over ranks */
	uint64_t epoch;			  /* ticks; same on all ranks if one_clock */
	struct fb_sampler sampler;	  /* filled on rank 0 */
	struct fb_rank_times ranks; /* with --raw-ranks; the last ones are the samples */
	struct fb_cpu_time cpu;	    /* of this rank, in calls of the warm-up */
	bool reads_cpu;		    /* calls from now on are added to `cpu` */
	bool cut;		    /* rank 0: the row under way ends with what it has */
	double calls;		    /* of the case under way so far */
	double work_s;		    /* spent in operations, barriers before them and verification */
};

enum {
	FB_FLAG_CUT = 64,	  /* ended early, because the job is to end */
	FB_FLAG_DRIFT = 1,	  /* samples still move after a third was dropped */
	FB_FLAG_DROPPED = 2,	  /* the first third was dropped */
	FB_FLAG_FEW = 4,	  /* fewer than min_samples */
	FB_FLAG_SINGLE_CHECK = 8, /* checked after a separate call, not after a timed batch */
	FB_FLAG_SKEW = 16,	  /* ranks begin more than 10% of the median apart, in median */
	/* between nodes, although every rank has an active RDMA port */
	FB_FLAG_TCP_THOUGH_RDMA = 1 << 16,
	FB_FLAG_TIMER = 32,	  /* the clock costs more than 5% of the median */
};

/* The result. Times are valid on rank 0 only; status, errors and reason on all ranks. */
struct fb_measurement {
	enum fb_status status; /* OK, WRONG or FEW */
	char reason[FB_REASON_CHARS];
	uint64_t errors;
	double first_us;
	bool timed;		   /* false: wrong before timing, nothing below is valid */
	int calls;		   /* in a sample (1 unless streaming) */
	struct fb_summary summary; /* us; samples themselves: meter->sampler.max_us */
	double rank_mean_us, rank_min_us, skew_us;
	double cpu_s; /* of a call: processor time of all ranks; from the warm-up, as reading
			 it costs more than short calls */
	enum fb_stop stop;
	unsigned flags; /* FB_FLAG_* */
};

/*
 * Collective. The caller fills the first part of *meter before. Returns the same value on all
 * ranks: 0 or FB_ENOMEM (printed).
 */
int fb_meter_open(struct fb_meter *meter);
void fb_meter_close(struct fb_meter *meter);

/* A repetition of so many calls as a sample, from the times of all ranks. */
struct fb_sample fb_meter_sample(const struct fb_meter *m, const struct fb_times *all, int calls);

/*
 * Rank 0, between two blocks of repetitions: whether the row under way ends now with the samples
 * that it has, as if --max-time were over. It does if the job is about to end (fb_launcher_ends)
 * and the row has taken so long already that it should not be measured again.
 */
bool fb_meter_cuts(struct fb_meter *meter, double elapsed_s);

/*
 * Collective. Measures an instance that the program has set up. Where the program's functions
 * fail the job ends (fb_watchdog_fail), since other ranks may be inside of the operation.
 */
void fb_measure(struct fb_meter *meter, const struct fb_program *program, void *instance,
		const struct fb_case *c, struct fb_measurement *out);

/* Whether bytes of a row go over TCP, by its transport or by what a library says (its path). */
bool fb_measure_over_tcp(const char *transport, const char *path);

/* Writes the flags' names, sorted, with ';' between them, merged with the program's own. */
void fb_measure_flags(unsigned flags, const char *own, char *text, size_t n);

#endif
