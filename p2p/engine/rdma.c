/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma engine: messages as raw verbs, each a work request or a few, straight from and into the
 * ranks' buffers. How it works inside is in rdma.h.
 *
 * It has loops of its own beside engine mover-rdma (over.c), because it measures verbs as such:
 * SEND, atomics, polling of memory. The mover sends a notice behind each message. On soft-RoCE in a
 * virtual machine, half a round trip of 8 bytes takes 10.3 us by WRITE here, and 16.7 us by the
 * mover in its fastest form, chained. Each figure is the median of the medians of eight starts,
 * taken in turn.
 */
#include "p2p/engine/rdma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/keys.h"
#include "p2p/program.h"

static const char transport[] = "rdma";

static bool is_on_device(const struct fb_case *c)
{
	return !strcmp(c->memory, fb_memory_kinds[FB_MEMORY_DEVICE].name);
}

/* fb_p2p_engine_ops.adjust: needs no device, so that rows are the same everywhere. */
static bool rdma_adjust(const struct fb_settings *settings, struct fb_case *c)
{
	enum fb_raw_verb verb = fb_raw_verb_of(c->protocol);
	enum fb_pattern pattern = FB_PATTERNS;
	enum fb_verb algorithm = FB_VERBS;

	for (int i = 0; i < FB_PATTERNS; i++)
		if (!strcmp(fb_patterns[i], c->operation))
			pattern = (enum fb_pattern)i;
	for (int i = 0; i < FB_VERBS; i++)
		if (!strcmp(fb_verbs[i], c->algorithm))
			algorithm = (enum fb_verb)i;
	if (!fb_raw_verb_fits(verb, algorithm, pattern) ||
	    (strcmp(settings->transport, "auto") && strcmp(c->transport, transport)))
		return false;
	c->transport = transport;
	if (fb_raw_is_atomic(verb))
		c->bytes = FB_RAW_ATOMIC_BYTES; /* there is no other size */
	fb_transport_keys(c, settings, is_on_device(c));
	return true;
}

#if FB_HAVE_VERBS

static void rdma_close(struct fb_p2p_engine *engine)
{
	struct fb_raw_engine *e = (struct fb_raw_engine *)engine;

	fb_raw_close_links(e);
	fb_rdma_cm_close(e->cm);
	if (e->cache.rails)
		fb_rdma_cache_close(&e->cache);
	for (int r = 0; r < e->opened; r++)
		fb_rdma_completions_close(&e->completions[r]);
	fb_rdma_rails_close(e->rails, e->opened);
	fb_verbs_close(&e->verbs);
	free(e->cells);
	free(e->far_cells);
	free(e->links);
	free(e->hosts);
	if (e->has_gpu)
		fb_gpu_view_close(&e->gpu);
}

static int open_rails(struct fb_raw_engine *e)
{
	int err = fb_verbs_open(&e->verbs, e->reason, sizeof(e->reason));

	if (!err)
		err = fb_rdma_cm_open(&e->cm, e->settings, e->reason, sizeof(e->reason));
	if (!err)
		err = fb_rdma_rails_open(&e->verbs, e->settings, e->rails, &e->opened, e->reason,
					 sizeof(e->reason));
	return err ? err : fb_raw_open_completions(e);
}

/* What all ranks have, by the least of each number. */
static void agree_on_facts(struct fb_raw_engine *e)
{
	uint64_t least[4] = {(uint64_t)e->opened, UINT64_MAX, 1, e->settings->depth};

	for (int r = 0; r < e->opened; r++) {
		const struct fb_rdma_rail *rail = &e->rails[r];
		uint64_t depth = (uint64_t)rail->device.max_qp_wr;

		least[1] = rail->max_message < least[1] ? rail->max_message : least[1];
		least[2] &= rail->device.atomic_cap != IBV_ATOMIC_NONE;
		least[3] = depth < least[3] ? depth : least[3];
	}
	MPI_Allreduce(MPI_IN_PLACE, least, 4, MPI_UINT64_T, MPI_MIN, e->world->comm);
	e->nrails = (int)least[0];
	e->max_message = least[1];
	e->atomics = least[2];
	e->deepest = (uint32_t)least[3];
}

/*
 * The engine opens also if a rank has no device, so that its rows are skipped with a reason: that
 * of the first rank without a device.
 */
static int agree_on_reason(struct fb_raw_engine *e, int err)
{
	int who = err ? e->world->rank : e->world->nranks, worst = fb_group_agree(e->world, err);

	if (!worst)
		return FB_OK;
	MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, e->world->comm);
	MPI_Bcast(e->reason, sizeof(e->reason), MPI_CHAR, who, e->world->comm);
	if (worst == FB_EUNSUPPORTED)
		return FB_OK;
	if (e->world->rank == 0 && e->reason[0])
		fb_error(worst, "%s", e->reason);
	return worst;
}

/* For whoever looks for the adapter of a slow rank. */
static void note_devices(const struct fb_raw_engine *e)
{
	char text[128] = "";
	size_t used = 0;

	for (int i = 0; i < e->nrails && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%d", i ? "+" : "",
					 e->rails[i].name, e->rails[i].number);
	if (*text)
		fb_launch_fact(e->engine.session, "rank.rdma", "%s", text);
}

static int rdma_open(struct fb_p2p_engine *engine)
{
	struct fb_raw_engine *e = (struct fb_raw_engine *)engine;
	int err;

	e->world = engine->group;
	err = fb_raw_gpu_open(e, engine->session->settings);
	if (!err)
		err = agree_on_reason(e, open_rails(e));
	if (!err && !e->reason[0]) {
		agree_on_facts(e);
		fb_rdma_cache_open(&e->cache, e->rails, e->nrails, fb_rdma_access(e->settings));
		fb_raw_gpu_choose(e, engine->session->settings->gpu_direct);
		err = fb_raw_open_cells(e);
	}
	if (!err)
		note_devices(e);
	return err;
}

static bool marks_packets(const struct fb_job *job)
{
	const struct fb_job_class *marks = job->class_of_packets;

	return marks && (marks->service_level >= 0 || marks->traffic_class >= 0);
}

static bool rdma_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	const struct fb_raw_engine *e = (const struct fb_raw_engine *)engine;
	enum fb_raw_verb verb = fb_raw_verb_of(c->protocol);

	if (e->reason[0])
		snprintf(reason, FB_REASON_CHARS, "%s", e->reason);
	else if (job->bytes > e->max_message)
		snprintf(reason, FB_REASON_CHARS, "the device takes at most %llu bytes in a "
			 "request", (unsigned long long)e->max_message);
	else if (e->cm && marks_packets(job))
		snprintf(reason, FB_REASON_CHARS, "the connection manager gives all packets the "
			 "same mark: not possible with --rdma-connect "
			 "cm");
	else if (fb_raw_is_atomic(verb) && !e->atomics)
		snprintf(reason, FB_REASON_CHARS, "the device has no atomic operations");
	else if (is_on_device(c) && e->how == FB_RDMA_HOST)
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_direct);
	else if (is_on_device(c) && verb == FB_RAW_WRITE && job->verb == FB_SEND)
		snprintf(reason, FB_REASON_CHARS, "a processor does not see what is written into "
			 "a GPU's memory: write_imm tells it");
	else if (verb == FB_RAW_WRITE && job->verb == FB_SEND && e->settings->relaxed_ordering)
		snprintf(reason, FB_REASON_CHARS, "a rank that polls memory needs ordered writes: "
			 "not possible with --rdma-relaxed-ordering");
	else if (verb == FB_RAW_WRITE && job->verb == FB_SEND &&
		 job->wait != FB_RDMA_WAIT_POLL)
		snprintf(reason, FB_REASON_CHARS, "no completion event signals that a WRITE has "
			 "arrived: the receiver has to poll memory");
	else
		return true;
	return false;
}

static void rdma_describe(struct fb_p2p_request *request, struct fb_traits *traits)
{
	struct fb_raw_request *r = (struct fb_raw_request *)request;
	size_t at;

	fb_rdma_rails_text(r->engine->rails, r->rails, traits->path, sizeof(traits->path));
	at = strlen(traits->path);
	if (r->device)
		snprintf(traits->path + at, sizeof(traits->path) - at, ", GPUDirect %s",
			 fb_rdma_how_names[r->engine->how]);
	traits->channels = r->each;
}

/* Collective. A failure is printed and then ignored: what it broke ends the job later. */
static void rdma_release(struct fb_p2p_request *request)
{
	struct fb_raw_request *r = (struct fb_raw_request *)request;

	fb_raw_drain(r);
	/* Peers may still write numbers: they are done when all have drained. */
	MPI_Barrier(r->engine->world->comm);
	fb_raw_free(r);
}

#else

static int rdma_open(struct fb_p2p_engine *engine)
{
	(void)engine;
	return FB_OK;
}

static void rdma_close(struct fb_p2p_engine *engine)
{
	(void)engine;
}

static bool rdma_can(const struct fb_p2p_engine *engine, const struct fb_case *c,
		     const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	(void)engine;
	(void)c;
	(void)job;
	snprintf(reason, FB_REASON_CHARS, "%s", fb_p2p_rdma.missing(engine));
	return false;
}

#endif

static const char *rdma_missing(const struct fb_p2p_engine *engine)
{
#if FB_HAVE_VERBS
	const struct fb_raw_engine *e = (const struct fb_raw_engine *)engine;

	return e->reason[0] ? e->reason : NULL;
#else
	(void)engine;
	return "built without libibverbs headers";
#endif
}

const struct fb_p2p_engine_ops fb_p2p_rdma = {
	.name = "rdma",
	.own = true,
	.gpu_memory = 1 << FB_GPU_DEVICE | 1 << FB_GPU_PINNED,
	.sleeps = true,
	.protocols = fb_raw_verbs,
	.adjust = rdma_adjust,
	.missing = rdma_missing,
#if FB_HAVE_VERBS
	.bytes = sizeof(struct fb_raw_engine),
#else
	.bytes = sizeof(struct fb_p2p_engine),
#endif
	.open = rdma_open,
	.close = rdma_close,
	.can = rdma_can,
#if FB_HAVE_VERBS
	.prepare = fb_raw_prepare,
	.ready = fb_raw_ready,
	.run = fb_raw_run,
	.settle = fb_raw_settle,
	.describe = rdma_describe,
	.release = rdma_release,
#endif
};
