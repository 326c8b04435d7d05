/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover nvshmem: regions are in NVSHMEM's symmetric memory (ops->segment), and the host library's
 * calls on streams move the bytes. A run of neighbours is one putmem or getmem; after all runs of a
 * move comes a quiet, then each transfer's notice, which sets a word in the peer's symmetric
 * memory. In form put-signal the put itself carries the notice (putmem_signal), if all transfers
 * with notices are PUTs of one run; in form put it never does. The code that needs CUDA's headers
 * is in gpu/nvshmem_move.c.
 *
 * For these calls NVSHMEM uses copy engines between GPUs that reach each other. Mover
 * nvshmem_device has the same regions and notices, and moves bytes by kernels that call NVSHMEM's
 * device functions. They are in a separate library (nvshmem/kernels.h), which exists if NVSHMEM's
 * headers were there when the project was built.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/cuda/symmetric.h"
#include "common/library/library.h"
#include "common/mover/gpu.h"
#include "common/mover/gpu_build.h"

static int open_segment(struct fb_segment *segment, const struct fb_session *session,
			const struct fb_group *group, size_t part_bytes)
{
	char why[FB_REASON_CHARS];
	struct fb_nvshmem *nvshmem;
	int err = fb_nvshmem_find(&nvshmem, session, group, false, why);

	if (err)
		return fb_error(err, "%s", why);
	return fb_symmetric_open(segment, nvshmem, group, part_bytes);
}

#define FUNCTION(member)                                                                           \
	{ "fb_nvshmem_device_" #member, offsetof(struct fb_nvshmem_kernels, member), false }

/* Local: FB_NVSHMEM_KERNELS names the library; else it lies beside the programs' folder. */
static int open_kernels(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	static const struct fb_library_symbol table[] = {
		FUNCTION(version), FUNCTION(start), FUNCTION(launch)};
	static const char name[] = "libfabricbench-nvshmem.so";
	void *library = fb_library_open_beside("FB_NVSHMEM_KERNELS", name, why, FB_REASON_CHARS);
	const char *lacks;

	(void)session;
	if (!library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(library, table, sizeof(table) / sizeof(table[0]), thing);
	if (lacks)
		snprintf(why, FB_REASON_CHARS, "%s has no %s", name, lacks);
	return lacks ? FB_EUNSUPPORTED : FB_OK;
}

/* It stays loaded: NVSHMEM knows its kernels. */
static void close_kernels(void *thing)
{
	(void)thing;
}

static const struct fb_once kernels_once = {.bytes = sizeof(struct fb_nvshmem_kernels),
					    .open = open_kernels, .close = close_kernels};

/* Collective: checks that all ranks have the kernels, in versions that fit the host library's. */
static int find_kernels(struct fb_gpu_mover *m, char why[FB_REASON_CHARS])
{
	void *found = NULL;
	const char *missing = "";
	int err = fb_session_once(m->mover.session, &kernels_once, &found, &missing);

	if (err)
		snprintf(why, FB_REASON_CHARS, "%s", missing);
	err = fb_group_agree_why(m->mover.group, err, why, FB_REASON_CHARS);
	if (err)
		return err;
	m->kernels = found;
	err = m->kernels->start(&m->nvshmem->init) ? FB_EUNSUPPORTED : FB_OK;
	if (err)
		snprintf(why, FB_REASON_CHARS, "NVSHMEM does not take kernels that were built with "
			 "%d.%d", m->kernels->version() / 1000, m->kernels->version() % 1000);
	return fb_group_agree_why(m->mover.group, err, why, FB_REASON_CHARS);
}

int fb_nvshmem_mover_find(struct fb_gpu_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_group *group = m->mover.group;
	int err = fb_nvshmem_find(&m->nvshmem, m->mover.session, group, m->gpu.shared, why);

	if (!err && m->mover.ops == &fb_mover_nvshmem_device)
		err = find_kernels(m, why);
	return err ? err : fb_symmetric_open(&m->flags, m->nvshmem, group,
					     fb_move_flags_bytes(group));
}

static int open_mover(struct fb_mover **mover, const struct fb_mover_ops *ops,
		      const struct fb_session *session, const struct fb_group *group,
		      char why[FB_REASON_CHARS])
{
	int err = fb_gpu_mover_open(mover, ops, session, group, why);

	if (err)
		return err;
	err = fb_group_agree(group, fb_nvshmem_mover_load((struct fb_gpu_mover *)*mover));
	if (err)
		fb_gpu_mover_close(*mover);
	return err;
}

static int open_host(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_mover(mover, &fb_mover_nvshmem, session, group, why);
}

static int open_device(struct fb_mover **mover, const struct fb_session *session,
		       const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_mover(mover, &fb_mover_nvshmem_device, session, group, why);
}

/* Refuses other memory, such as cudaMalloc's, which peers cannot name. */
static int nvshmem_add(struct fb_mover *mover, const struct fb_segment *segment,
		       struct fb_region **region)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)mover;
	const struct fb_nvshmem *nvshmem = m->nvshmem;
	const char *part = fb_segment_part(segment, mover->group->rank);
	int err = FB_OK;

	if (!nvshmem->ptr(part, nvshmem->my_pe()))
		err = fb_error(FB_EINPUT, "mover nvshmem: the region is not in symmetric memory");
	err = fb_group_agree(mover->group, err);
	return err ? err : fb_region_add(mover, segment, region);
}

/* The connection between this rank's GPU and the peer's; `text` is room for it. */
static const char *link_to(const struct fb_gpu_mover *m, const struct fb_transfer *t,
			   char text[96])
{
	/* A transfer that is a notice alone has no region. */
	const struct fb_region *region = t->local ? t->local : t->remote;
	const char *remote = m->nvshmem->remote;
	int rank = m->mover.group->rank;

	if (!region || m->nvshmem->ptr(fb_segment_part(region->segment, rank), t->peer))
		return fb_gpu_link_to(&m->gpu, t->peer);
	snprintf(text, 96, "remote transport %s%s", *remote ? remote : "unknown",
		 strstr(remote, "ibgda") ? ", posted by the GPU" : "");
	return text;
}

static void nvshmem_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)move->mover;
	const char *link = "device memory", *how = "put";
	char version[FB_NVSHMEM_VERSION_CHARS], by[32], remote[96];

	for (uint32_t i = 0; i < move->transfers; i++) {
		how = move->transfer[i].verb == FB_MOVE_GET ? "get" : how;
		if (move->transfer[i].peer != move->mover->group->rank)
			link = link_to(m, &move->transfer[i], remote);
	}
	fb_nvshmem_form(move, by, sizeof(by));
	snprintf(traits->path, sizeof(traits->path), "NVSHMEM %s %s %s, %s",
		 fb_nvshmem_version(m->nvshmem, version), how, by, link);
}

static const char *const host_forms[] = {"put-signal", "put", NULL};
static const char *const device_forms[] = {"block", "warp", "thread", "block-tma", NULL};

/* Members that both movers have. */
#define SHARED                                                                                     \
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .device = true, .streams = true,           \
	.close = fb_gpu_mover_close, .add = nvshmem_add, .remove = fb_region_remove,               \
	.prepare = fb_nvshmem_prepare, .release = fb_nvshmem_release, .post = fb_gpu_move_post,    \
	.test = fb_gpu_move_test, .arrived = fb_nvshmem_arrived,                                   \
	.enqueue_behind = fb_nvshmem_enqueue_behind, .describe = nvshmem_describe,                 \
	.segment = open_segment

const struct fb_mover_ops fb_mover_nvshmem = {
	.name = "nvshmem",
	.summary = "NVIDIA's NVSHMEM: put, put with signal and get on streams",
	.transport = "library",
	.forms = host_forms,
	.open = open_host,
	SHARED,
};

const struct fb_mover_ops fb_mover_nvshmem_device = {
	.name = "nvshmem_device",
	.summary = "NVIDIA's NVSHMEM: put, put with signal and get by kernels",
	.transport = "library",
	.forms = device_forms,
	.open = open_device,
	SHARED,
};
