/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock synchronisation between ranks; see clocksync.h for the method. */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/clocksync.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 2, CHECK_EXCHANGES = 50 };

/* An offset takes at most this long, however slowly messages travel (ranks without processors). */
static const double longest_offset_s = 0.05;

double fb_clocksync_now(void *clock)
{
	return fb_clock_now(clock);
}

/*
 * How wide a point's bounds may be to be believed. Wide ones had a preemption or a queue in every
 * one of their exchanges; the tightest quarter at least is kept.
 */
static double width_limit(const struct fb_clock_offset *point, size_t n)
{
	double limit = HUGE_VAL;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		limit = fmin(limit, point[i].high - point[i].low);
	for (limit = fmax(limit, 1e-9); kept < (n + 3) / 4; limit *= 2) {
		kept = 0;
		for (size_t i = 0; i < n; i++)
			kept += point[i].high - point[i].low <= 2 * limit ? 1 : 0;
	}
	return limit;
}

struct fb_clock_line fb_clocksync_fit(const struct fb_clock_offset *point, size_t n)
{
	struct fb_clock_line line = {0, 0, 0};
	double limit, mean_t = 0, mean_offset = 0, tt = 0, to = 0;
	size_t kept = 0;

	if (n == 0)
		return line;
	limit = width_limit(point, n);
	for (size_t i = 0; i < n; i++) {
		if (point[i].high - point[i].low > limit)
			continue;
		mean_t += point[i].t - point[0].t;
		mean_offset -= (point[i].low + point[i].high) / 2;
		kept++;
	}
	mean_t /= (double)kept;
	mean_offset /= (double)kept;
	for (size_t i = 0; i < n; i++) {
		double t = point[i].t - point[0].t - mean_t;

		if (point[i].high - point[i].low > limit)
			continue;
		tt += t * t;
		to += t * (-(point[i].low + point[i].high) / 2 - mean_offset);
	}
	/* The epoch is the centre: there the line's error is smallest, and no digits are lost. */
	line.epoch = point[0].t + mean_t;
	line.intercept = mean_offset;
	line.slope = tt > 0 ? to / tt : 0;
	return line;
}

double fb_clocksync_to_global(const struct fb_clock_line *line, double t)
{
	return t - (line->intercept + line->slope * (t - line->epoch));
}

/* The parent's side: stamps with its corrected clock until the child has enough (tag of 0). */
static void serve(MPI_Comm comm, int child, const struct fb_time_source *source,
		  const struct fb_clock_line *line)
{
	for (;;) {
		int more;
		double stamp;

		MPI_Recv(&more, 1, MPI_INT, child, TAG, comm, MPI_STATUS_IGNORE);
		if (!more)
			return;
		stamp = fb_clocksync_to_global(line, source->now(source->arg));
		MPI_Send(&stamp, 1, MPI_DOUBLE, child, TAG, comm);
	}
}

/*
 * The child's side of one offset. The parent's stamp was taken after this rank sent and before
 * it received; every exchange narrows the bounds. `line` corrects this rank's own clock.
 */
static struct fb_clock_offset exchange(MPI_Comm comm, int parent,
				       const struct fb_time_source *source,
				       const struct fb_clock_line *line, unsigned exchanges)
{
	struct fb_clock_offset offset = {.low = -HUGE_VAL, .high = HUGE_VAL};
	double first = source->now(source->arg), received = first;
	const int more = 1;

	for (unsigned i = 0; i < exchanges; i++) {
		double stamp, sent = source->now(source->arg);

		MPI_Send(&more, 1, MPI_INT, parent, TAG, comm);
		MPI_Recv(&stamp, 1, MPI_DOUBLE, parent, TAG, comm, MPI_STATUS_IGNORE);
		received = source->now(source->arg);
		offset.low = fmax(offset.low, stamp - fb_clocksync_to_global(line, received));
		offset.high = fmin(offset.high, stamp - fb_clocksync_to_global(line, sent));
		if (received - first > longest_offset_s)
			break;
	}
	offset.t = (first + received) / 2;
	return offset;
}

static void stop_serving(MPI_Comm comm, int parent)
{
	const int more = 0;

	MPI_Send(&more, 1, MPI_INT, parent, TAG, comm);
}

/* The child's side of one line: points spread evenly over the span. */
static int learn(MPI_Comm comm, int parent, const struct fb_time_source *source,
		 const struct fb_clocksync_config *config, struct fb_clock_line *line)
{
	const struct fb_clock_line own = {0, 0, 0};
	const double gap = config->span_s / config->points;
	struct timespec pause = {.tv_sec = (time_t)gap};
	struct fb_clock_offset *point = calloc(config->points, sizeof(*point));

	if (!point) {
		stop_serving(comm, parent);
		return fb_error(FB_ENOMEM, "out of memory for %u clock offsets", config->points);
	}
	pause.tv_nsec = (long)((gap - floor(gap)) * 1e9);
	for (unsigned i = 0; i < config->points; i++) {
		point[i] = exchange(comm, parent, source, &own, config->exchanges);
		if (gap > 0 && i + 1 < config->points)
			nanosleep(&pause, NULL);
	}
	stop_serving(comm, parent);
	*line = fb_clocksync_fit(point, config->points);
	free(point);
	return FB_OK;
}

/*
 * Ranks 0 .. 2^i - 1 know the time before round i and teach one other rank each; in the last
 * round only those that have a rank 2^i further on.
 */
static int build_tree(MPI_Comm comm, const struct fb_time_source *source,
		      const struct fb_clocksync_config *config, struct fb_clock_line *line)
{
	int rank, nranks, err = FB_OK;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &nranks);
	for (int distance = 1; distance < nranks; distance *= 2) {
		if (rank < distance && rank + distance < nranks)
			serve(comm, rank + distance, source, line);
		else if (rank >= distance && rank < 2 * distance)
			err = learn(comm, rank - distance, source, config, line);
	}
	return err;
}

/* Every rank in turn against rank 0: what is left, and how well it is known. */
static void check_all(MPI_Comm comm, const struct fb_time_source *source,
		      const struct fb_clock_line *line, struct fb_clocksync *sync)
{
	double worst[3] = {0, 0, 0}; /* bound, residual, disagreement */
	int rank, nranks;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &nranks);
	for (int r = 1; r < nranks; r++) {
		if (rank == 0)
			serve(comm, r, source, line);
		if (rank == r) {
			struct fb_clock_offset o = exchange(comm, 0, source, line, CHECK_EXCHANGES);

			stop_serving(comm, 0);
			worst[0] = fmax(fabs(o.low), fabs(o.high));
			worst[1] = fabs(o.low + o.high) / 2;
			worst[2] = o.low <= 0 && o.high >= 0 ? 0 : 1;
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, comm);
	sync->bound_us = worst[0] * 1e6;
	sync->residual_us = worst[1] * 1e6;
	sync->agrees = worst[2] == 0.0;
}

int fb_clocksync_run(const struct fb_group *world, const struct fb_time_source *source,
		     const struct fb_clocksync_config *config, struct fb_clocksync *sync)
{
	struct fb_clocksync result = {.line = {0, 0, 0}};
	bool split = !config->each_rank && !config->keep_zero;
	MPI_Comm comm = world->comm;
	int local = 0, err = FB_OK;

	if (split) {
		/* One rank a host learns, the others of the host read the same clock. */
		MPI_Comm_rank(world->node_comm, &local);
		MPI_Comm_split(world->comm, local == 0 ? 0 : 1, world->rank, &comm);
	}
	if (!config->keep_zero && local == 0)
		err = build_tree(comm, source, config, &result.line);
	err = fb_group_agree(world, err);
	if (!err && local == 0)
		check_all(comm, source, &result.line, &result);
	if (split)
		MPI_Comm_free(&comm);
	if (err)
		return err;
	if (split) {
		double shared[6] = {result.line.epoch,	result.line.intercept,
				    result.line.slope,	result.bound_us,
				    result.residual_us, result.agrees ? 1 : 0};

		MPI_Bcast(shared, 6, MPI_DOUBLE, 0, world->node_comm);
		result = (struct fb_clocksync){
			.line = {shared[0], shared[1], shared[2]},
			.bound_us = shared[3],
			.residual_us = shared[4],
			.agrees = shared[5] != 0.0,
		};
	}
	*sync = result;
	return FB_OK;
}
