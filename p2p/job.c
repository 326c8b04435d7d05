/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers of a job; see job.h. */
#include "p2p/job.h"

#include <string.h>

#include "common/base/error.h"

enum {
	ALIGN = 4096,
	GUARD = 64, /* bytes after a region that nobody may write to */
	GUARD_BYTE = 0xc7,
	ELEMENT = 16, /* bytes, at most */
};

const char *const fb_patterns[] = {
	[FB_PING_PONG] = "ping_pong", [FB_ONE_WAY] = "one_way", [FB_TWO_WAY] = "two_way",
	[FB_FAN_IN] = "fan_in",	      [FB_FAN_OUT] = "fan_out", [FB_PATTERNS] = NULL,
};

const char *const fb_verbs[] = {
	[FB_SEND] = "send", [FB_PUT] = "put", [FB_GET] = "get", [FB_VERBS] = NULL,
};

bool fb_job_counts(const struct fb_job *job, int rank, bool on_gpus)
{
	bool both = job->verb == FB_SEND || on_gpus;

	for (int f = 0; f < job->nflows; f++) {
		const struct fb_flow *flow = &job->flows[f];

		/* Flows of a ping-pong are in pairs, there and back. */
		if (job->verb == FB_SEND && job->pattern == FB_PING_PONG) {
			if (f % 2 == 0 && flow->src == rank)
				return true;
		} else if (both ? flow->src == rank || flow->dst == rank
				: fb_job_origin(job, flow) == rank) {
			return true;
		}
	}
	return false;
}

/* Returns the offset behind the buffers that the flows before `upto` have on `rank`. */
static size_t used_by(const struct fb_job *job, int rank, int upto)
{
	size_t used = job->base, flow_bytes = job->stride * (size_t)job->regions;

	for (int f = 0; f < upto; f++)
		if (job->flows[f].src == rank || job->flows[f].dst == rank)
			used += flow_bytes;
	return used;
}

size_t fb_job_layout(struct fb_job *job)
{
	size_t most = job->base, span = job->span ? job->span : FB_JOB_SPAN, regions;

	job->stride = ((size_t)job->bytes + GUARD + FB_JOB_HEADROOM + ALIGN - 1) / ALIGN * ALIGN;
	regions = job->stride < span ? span / job->stride : 1;
	job->regions = regions < (size_t)job->window ? (int)regions : job->window;
	for (int f = 0; f < job->nflows; f++) {
		struct fb_flow *flow = &job->flows[f];
		size_t flow_bytes = job->stride * (size_t)job->regions;

		flow->send_offset = used_by(job, flow->src, f);
		flow->receive_offset = used_by(job, flow->dst, f);
		if (flow->send_offset + flow_bytes > most)
			most = flow->send_offset + flow_bytes;
		if (flow->receive_offset + flow_bytes > most)
			most = flow->receive_offset + flow_bytes;
	}
	return most;
}

static char *region(const struct fb_job *job, int rank, size_t offset, uint64_t k)
{
	char *part = fb_segment_part(job->segment, rank);

	/* There is usually one region, and then small messages should not wait for a division. */
	if (part && job->regions > 1)
		offset += k % (uint64_t)job->regions * job->stride;
	return part ? part + offset : NULL;
}

char *fb_job_source(const struct fb_job *job, const struct fb_flow *flow, uint64_t k)
{
	return region(job, flow->src, flow->send_offset, k);
}

char *fb_job_target(const struct fb_job *job, const struct fb_flow *flow, uint64_t k)
{
	return region(job, flow->dst, flow->receive_offset, k);
}

/* Index of message k's first element in its sender's data; messages have no element in common. */
static uint64_t first_of(const struct fb_job *job, int f, int k, uint64_t elements)
{
	return ((uint64_t)f * (uint64_t)job->regions + (uint64_t)k) * elements;
}

unsigned char fb_job_byte(const struct fb_job *job, int f, int k, size_t at)
{
	size_t size = fb_datatype_size(job->data->type);
	unsigned char element[ELEMENT];

	fb_data_fill(job->data, job->flows[f].src,
		     first_of(job, f, k, (uint64_t)job->bytes / size) + at / size, element, 1);
	return element[at % size];
}

/* What one flow sends and receives at `rank`, region k. */
static int prime_region(const struct fb_job *job, const struct fb_data *data, int rank, int f,
			int k)
{
	const struct fb_memory_ops *memory = job->segment->ops;
	const struct fb_flow *flow = &job->flows[f];
	size_t elements = (size_t)job->bytes / fb_datatype_size(data->type);
	int err = FB_OK;

	if (flow->src == rank)
		err = memory->fill(data, rank, first_of(job, f, k, elements),
				   fb_job_source(job, flow, (uint64_t)k), elements);
	if (flow->dst == rank && !err) {
		char *target = fb_job_target(job, flow, (uint64_t)k);

		err = memory->set(target, fb_data_poison_byte((unsigned)rank),
				  (size_t)job->bytes);
		if (!err)
			err = memory->set(target + job->bytes, GUARD_BYTE, GUARD);
	}
	return err;
}

int fb_job_prime(const struct fb_job *job, const struct fb_data *data, int rank)
{
	int err = FB_OK;

	for (int f = 0; f < job->nflows; f++)
		for (int k = 0; k < job->regions && !err; k++)
			err = prime_region(job, data, rank, f, k);
	return err;
}

static int check_guard(const struct fb_memory_ops *memory, const char *where, uint64_t index,
		       struct fb_mismatch *bad)
{
	char guard[GUARD];
	int err = memory->get(guard, where, GUARD);

	for (int i = 0; i < GUARD && !err; i++) {
		if ((unsigned char)guard[i] == GUARD_BYTE)
			continue;
		if (bad->errors++ == 0) {
			bad->index = index;
			strcpy(bad->got, "overwritten");
			strcpy(bad->expected, "memory behind the message");
		}
		break;
	}
	return err;
}

int fb_job_check(const struct fb_job *job, const struct fb_data *data, int rank,
		 struct fb_mismatch *bad)
{
	const struct fb_memory_ops *memory = job->segment->ops;
	size_t elements = (size_t)job->bytes / fb_datatype_size(data->type);
	int err = FB_OK;

	for (int f = 0; f < job->nflows; f++)
		for (int k = 0; k < job->regions && !err; k++) {
			const struct fb_flow *flow = &job->flows[f];
			const char *target;

			if (flow->dst != rank)
				continue;
			target = fb_job_target(job, flow, (uint64_t)k);
			err = memory->check(data, flow->src, first_of(job, f, k, elements),
					    target, elements, bad);
			if (!err)
				err = check_guard(memory, target + job->bytes, elements, bad);
		}
	return err;
}
