/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers of a job: nobody's overlap, and a wrong byte anywhere is found. */
#include "p2p/job.h"

#include <stdlib.h>

#include "common/base/error.h"
#include "tests/unit/check.h"

enum { RANKS = 4, FLOWS = 6 };

static int part_of[RANKS] = {0, 1, 2, 3};
static const struct fb_data data = {.seed = 3, .type = FB_U8, .op = FB_SUM, .nranks = RANKS};

/* A star around rank 0 and a pair in both directions, in a segment of its own. */
static int open_job_of(struct fb_job *job, struct fb_flow *flows, struct fb_segment *segment,
		       uint64_t bytes, int window, size_t span)
{
	static const int ends[FLOWS][2] = {{1, 0}, {2, 0}, {3, 0}, {0, 1}, {2, 3}, {3, 2}};

	*job = (struct fb_job){.pattern = FB_ONE_WAY, .verb = FB_SEND, .flows = flows,
			       .nflows = FLOWS, .window = window, .bytes = bytes,
			       .span = span, .base = FB_JOB_HEADER, .segment = segment};
	for (int f = 0; f < FLOWS; f++)
		flows[f] = (struct fb_flow){.src = ends[f][0], .dst = ends[f][1]};
	*segment = (struct fb_segment){.nparts = RANKS, .part_of = part_of,
				       .ops = &fb_memory_host};
	segment->part_bytes = fb_job_layout(job);
	segment->base = calloc(RANKS, segment->part_bytes);
	return CHECK(segment->base) ? 0 : -1;
}

static int open_job(struct fb_job *job, struct fb_flow *flows, struct fb_segment *segment,
		    uint64_t bytes, int window)
{
	return open_job_of(job, flows, segment, bytes, window, 0);
}

/* What a correct transport does. */
static void deliver(const struct fb_job *job)
{
	for (int f = 0; f < job->nflows; f++)
		for (uint64_t k = 0; k < (uint64_t)job->window; k++)
			memcpy(fb_job_target(job, &job->flows[f], k),
			       fb_job_source(job, &job->flows[f], k), (size_t)job->bytes);
}

static uint64_t errors_of(const struct fb_job *job)
{
	struct fb_mismatch bad = {0};

	for (int rank = 0; rank < RANKS; rank++)
		CHECK_INT(fb_job_check(job, &data, rank, &bad), FB_OK);
	return bad.errors;
}

static void test_delivery(uint64_t bytes, int window)
{
	struct fb_flow flows[FLOWS];
	struct fb_segment segment;
	struct fb_job job;

	if (open_job(&job, flows, &segment, bytes, window))
		return;
	job.data = &data;
	for (int rank = 0; rank < RANKS; rank++)
		CHECK_INT(fb_job_prime(&job, &data, rank), FB_OK);
	for (int f = 0; f < FLOWS; f++)
		for (int k = 0; k < job.regions; k++)
			CHECK_INT(fb_job_byte(&job, f, k, bytes - 1),
				  (unsigned char)fb_job_source(&job, &flows[f],
							       (uint64_t)k)[bytes - 1]);
	/* A byte may be right by chance, but not all of them. */
	CHECK(errors_of(&job) > 0);
	deliver(&job);
	CHECK_INT(errors_of(&job), 0);

	/* A byte of the last message of each flow, the byte behind it, and a message astray. */
	for (int f = 0; f < FLOWS; f++) {
		char *last = fb_job_target(&job, &flows[f], (uint64_t)job.regions - 1);

		last[bytes - 1] ^= 1;
		CHECK_INT(errors_of(&job), 1);
		last[bytes - 1] ^= 1;
		last[bytes] ^= 1;
		CHECK_INT(errors_of(&job), 1);
		last[bytes] ^= 1;
	}
	if (bytes >= 64) {
		memcpy(fb_job_target(&job, &flows[0], 0), fb_job_source(&job, &flows[1], 0),
		       (size_t)bytes);
		CHECK(errors_of(&job) > bytes / 2);
	}
	free(segment.base);
}

static void test_layout(void)
{
	struct fb_flow flows[FLOWS];
	struct fb_segment segment;
	struct fb_job job;

	if (open_job(&job, flows, &segment, 1 << 20, 64))
		return;
	CHECK_INT(job.regions, 3); /* 4 MiB hold three messages with their guards */
	free(segment.base);
	if (open_job(&job, flows, &segment, 8 << 20, 64))
		return;
	CHECK_INT(job.regions, 1);
	free(segment.base);
	if (open_job(&job, flows, &segment, 8, 4))
		return;
	CHECK_INT(job.regions, 4);
	/* Rank 0 has the first four flows, one after the other. */
	CHECK_INT(flows[0].receive_offset, FB_JOB_HEADER);
	CHECK_INT(flows[1].receive_offset, FB_JOB_HEADER + 4 * 4096);
	CHECK_INT(flows[3].send_offset, FB_JOB_HEADER + 3 * 4 * 4096);
	CHECK_INT(flows[3].receive_offset, FB_JOB_HEADER + 4 * 4096);
	free(segment.base);
}

/* Regions of messages of 8 bytes, a page each, in a window of 64. */
static void test_span(void)
{
	static const size_t spans[][2] = {{1, 1},      {4096, 1},	{8191, 1},
					  {8192, 2},   {64 * 4096, 64}, {1 << 30, 64},
					  {0, 64},     {63 * 4096, 63}};
	struct fb_flow flows[FLOWS];
	struct fb_segment segment;
	struct fb_job job;

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		size_t regions = spans[i][1];

		if (open_job_of(&job, flows, &segment, 8, 64, spans[i][0]))
			return;
		CHECK_INT(job.regions, (int)regions);
		CHECK_INT(flows[1].receive_offset, FB_JOB_HEADER + regions * 4096);
		free(segment.base);
	}
}

/* Which ranks' times count, as bits. */
static unsigned counting(const struct fb_job *job, bool on_gpus)
{
	unsigned ranks = 0;

	for (int rank = 0; rank < RANKS; rank++)
		ranks |= (unsigned)fb_job_counts(job, rank, on_gpus) << rank;
	return ranks;
}

static void test_counts(void)
{
	/* There and back: 2 begins. */
	struct fb_flow flows[] = {{.src = 2, .dst = 1}, {.src = 1, .dst = 2}};
	struct fb_job job = {.pattern = FB_PING_PONG, .verb = FB_SEND, .flows = flows,
			     .nflows = 2};

	CHECK_INT(counting(&job, false), 1 << 2);
	CHECK_INT(counting(&job, true), 1 << 2);
	job.pattern = FB_ONE_WAY;
	job.nflows = 1;
	CHECK_INT(counting(&job, false), 1 << 2 | 1 << 1);
	job.verb = FB_PUT;
	CHECK_INT(counting(&job, false), 1 << 2);
	CHECK_INT(counting(&job, true), 1 << 2 | 1 << 1);
	job.verb = FB_GET;
	CHECK_INT(counting(&job, false), 1 << 1);
	/* One operation, which nobody answers. */
	job.pattern = FB_PING_PONG;
	CHECK_INT(counting(&job, false), 1 << 1);
	CHECK_INT(counting(&job, true), 1 << 2 | 1 << 1);
	/* Two pairs at once. */
	{
		struct fb_flow four[] = {{.src = 0, .dst = 1}, {.src = 1, .dst = 0},
					 {.src = 3, .dst = 2}, {.src = 2, .dst = 3}};

		job = (struct fb_job){.pattern = FB_PING_PONG, .verb = FB_SEND, .flows = four,
				      .nflows = 4};
		CHECK_INT(counting(&job, false), 1 << 0 | 1 << 3);
	}
}

int main(void)
{
	test_counts();
	test_layout();
	test_span();
	test_delivery(1, 1);
	test_delivery(8, 5);
	test_delivery(4096, 64);
	test_delivery(100001, 7);
	return check_done("job");
}
