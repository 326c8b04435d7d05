/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job: which ranks send how many messages to which, and where these lie. It is what a case of
 * a point-to-point program comes down to, whatever carries it out.
 *
 * A flow is a sender and a receiver. In a call every flow carries `window` messages; message k goes
 * from region k % regions of the sender's to that of the receiver's buffer. Every flow has buffers
 * of its own, so that each byte that arrives differs from all others.
 */
#ifndef FB_P2P_JOB_H
#define FB_P2P_JOB_H

#include <stdatomic.h>

#include "common/base/data.h"
#include "common/memory/segment.h"
#include "common/option/rdma_options.h"

enum fb_pattern {
	FB_PING_PONG, /* flow 0, and when its message is there flow 1, back */
	FB_ONE_WAY,   /* all flows at once */
	FB_TWO_WAY,   /* the same, with a flow in each direction */
	FB_FAN_IN,    /* many senders, one receiver */
	FB_FAN_OUT,   /* one sender, many receivers */
	FB_PATTERNS,
};

/* Which end acts. Bytes always move from the flow's sender to its receiver. */
enum fb_verb {
	FB_SEND, /* both ends take part */
	FB_PUT,  /* the sender writes to the receiver's memory */
	FB_GET,  /* the receiver reads from the sender's memory */
	FB_VERBS,
};

/* "ping_pong", ...; "send", ...; both end in NULL. */
extern const char *const fb_patterns[], *const fb_verbs[];

struct fb_flow {
	int src, dst; /* ranks, never equal */
	size_t send_offset, receive_offset; /* of region 0 in the rank's part of the segment */
};

/* How packets are marked, so that switches can treat them apart; -1: as the options say. */
struct fb_job_class {
	int service_level, traffic_class;
};

/* All members are equal on all ranks, but for the segment's addresses. */
struct fb_job {
	enum fb_pattern pattern;
	enum fb_verb verb;
	struct fb_flow *flows; /* [nflows], owned */
	int nflows;
	int window, regions;
	int rounds;	 /* round trips in a call of ping_pong: 1 but on GPUs; 0 is as 1 */
	uint64_t bytes;  /* of a message, at least 1 */
	size_t span;     /* bytes of a flow's regions at each end, one at least; 0: FB_JOB_SPAN */
	size_t stride;   /* from one region to the next */
	size_t base;	 /* of each part, that is not this job's; at least FB_JOB_HEADER */
	const struct fb_job_class *class_of_packets; /* borrowed; NULL: as the options say */
	enum fb_rdma_wait wait;     /* of engines that have several ways (--rdma-wait) */
	const struct fb_segment *segment;
	const struct fb_data *data; /* what the buffers are filled with */
};

/* Bytes before the buffers of each rank's part, for signals of one-sided operations. */
enum { FB_JOB_HEADER = 4096 };

enum { FB_JOB_SPAN = 4 << 20 };

/* Bytes in front of each message that nothing else lies in: an engine may put its header there. */
enum { FB_JOB_HEADROOM = 64 };

/*
 * The counter of flows that are complete of which `rank` is the passive end, over all calls since
 * the engine set it to 0. Active ends add to it with release order. NULL if the rank is on another
 * host.
 */
static inline _Atomic uint64_t *fb_job_completed(const struct fb_job *job, int rank)
{
	return (_Atomic uint64_t *)(void *)fb_segment_part(job->segment, rank);
}

/* The end of a flow that carries a one-sided operation out, and the passive one. */
static inline int fb_job_origin(const struct fb_job *job, const struct fb_flow *flow)
{
	return job->verb == FB_PUT ? flow->src : flow->dst;
}

static inline int fb_job_passive(const struct fb_job *job, const struct fb_flow *flow)
{
	return job->verb == FB_PUT ? flow->dst : flow->src;
}

/*
 * Whether the rank's times count. Those of idle ranks do not, nor do, except on GPUs, those of the
 * passive ends of puts and gets, which only wait for a notice. In a ping-pong only the rank that
 * begins it counts, because it is over when this rank has the answer. The other end's last send
 * returns later, and over the kernel's sockets that would add most of a message to each batch.
 */
bool fb_job_counts(const struct fb_job *job, int rank, bool on_gpus);

/*
 * Gives the flows their buffers and sets regions and stride; flows (src and dst), nflows, window,
 * bytes, span and base are set. Pure. Returns the bytes that a part of the segment has to have.
 */
size_t fb_job_layout(struct fb_job *job);

/* First byte of message k at its sender or receiver; NULL where the rank is on another host. */
char *fb_job_source(const struct fb_job *job, const struct fb_flow *flow, uint64_t k);
char *fb_job_target(const struct fb_job *job, const struct fb_flow *flow, uint64_t k);

/* Byte `at` of message k of flow f, as its sender has it; needs `data` and no buffer. */
unsigned char fb_job_byte(const struct fb_job *job, int f, int k, size_t at);

/*
 * Local: fills what `rank` sends, and poisons where it receives. 0, or FB_ESYS (printed) where
 * the memory is a device's that failed.
 */
int fb_job_prime(const struct fb_job *job, const struct fb_data *data, int rank);

/* Local: checks every element that `rank` has received. Errors as above; what is wrong is none. */
int fb_job_check(const struct fb_job *job, const struct fb_data *data, int rank,
		 struct fb_mismatch *bad);

#endif
