/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's calls for each collective. Where a version has no function for one, or where it is told
 * to, sends and receives in a group do it, as NCCL's own manual describes.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_CALLS_H
#define FB_COLLECTIVES_ENGINE_NCCL_CALLS_H

#include "collectives/engine/engine.h"
#include "common/library/nccl/api.h"
#include "common/library/nccl/comm.h"
#include "common/library/nccl/force.h"

/* A call as one rank makes it. */
struct fb_nccl_call {
	const struct fb_nccl *nccl;
	fb_nccl_comm comm;
	const struct fb_operation *op;
	int rank, nranks;
	bool configured;        /* by `config`, from NCCL 2.31 on */
	struct fb_nccl_call_config config;
	char selection[FB_NCCL_SELECTION_CHARS]; /* config.selection points here */
	bool grouped;           /* sends and receives, though there is a function */
	uint64_t *first_in;     /* [nranks + 1]: first element of each block of the input */
	uint64_t *first_out;    /* [nranks + 1]: the same of the output */
};

/*
 * Fills *call from its arguments; fb_nccl_call_close frees it. `comm` may be set later. 0 or
 * FB_ENOMEM (printed).
 */
int fb_nccl_call_open(struct fb_nccl_call *call, const struct fb_nccl *nccl,
		      const struct fb_operation *op, int rank, int nranks, bool grouped);
void fb_nccl_call_close(struct fb_nccl_call *call);

/* Pure: whether NCCL does the operation at all, of whatever algorithm. */
bool fb_nccl_call_can(const struct fb_nccl *nccl, const struct fb_operation *op, bool grouped,
		      char *reason, size_t n);

/* Whether GPUs of that compute capability, or newer ones, can do it: NCCL finds out in the call. */
bool fb_nccl_call_can_on(const struct fb_operation *op, int least_major, char *reason, size_t n);

/* Pure: whether a call of it can be given a configuration. Writes the reason otherwise. */
bool fb_nccl_call_can_configure(const struct fb_nccl *nccl, const struct fb_operation *op,
				bool grouped, char *reason, size_t n);

/*
 * Configures the call: it then carries the algorithm, the protocol and the operation's `ctas`.
 * `channels` is the least and most number of CTAs unless `ctas` has these; 0: NCCL chooses.
 */
void fb_nccl_call_configure(struct fb_nccl_call *call, const struct fb_nccl_algo_proto *choice,
			    int channels);

/*
 * Whether copy engines may do the call, if they can do its collective: on windows with the policy
 * of zero CTAs. `settings` of fb_nccl_setup may have it, or NCCL_CTA_POLICY in the environment.
 */
bool fb_nccl_call_may_copy(const struct fb_nccl_call *call, enum fb_nccl_registration how,
			   const char *settings);

/*
 * Whether NCCL makes the call of sends and receives only. The functions of all_to_all, gather and
 * scatter have others for windows: copy engines (2.28), and perhaps kernels after 2.30.
 */
bool fb_nccl_call_sends(const struct fb_nccl_call *call, enum fb_nccl_registration how,
			const char *settings);

/* Pure: whether this NCCL accepts these settings of CTAs. Writes the reason otherwise. */
bool fb_nccl_ctas_can(const struct fb_nccl *nccl, const struct fb_nccl_ctas *ctas, char *reason,
		      size_t n);

/* Enqueues it on a cudaStream_t. 0 or an error as of fb_nccl_error (printed). */
int fb_nccl_call_enqueue(const struct fb_nccl_call *call, void *stream);

/* "ncclAllReduce", or "ncclSend and ncclRecv". */
const char *fb_nccl_call_name(const struct fb_nccl *nccl, const struct fb_operation *op,
			      bool grouped);

#endif
