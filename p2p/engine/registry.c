/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. Movers come by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/mover.h"
#include "p2p/engine/engine.h"

#ifndef FB_HAVE_CUDA

#include "p2p/engine/device.h"

/* Engines of a build without CUDA: rows that say so. */
static int open_absent(struct fb_p2p_engine *engine)
{
	return fb_p2p_device_open((struct fb_p2p_device *)engine);
}

static void close_absent(struct fb_p2p_engine *engine)
{
	fb_p2p_device_close((struct fb_p2p_device *)engine);
}

static bool can_absent(const struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, char reason[FB_REASON_CHARS])
{
	(void)job;
	return fb_p2p_device_can((const struct fb_p2p_device *)engine, c, reason);
}

static const char *const copy_protocols[] = {"direct", NULL};
static const char *const protocols[] = {"direct", "ll", NULL};

const struct fb_p2p_engine_ops fb_p2p_copy = {
	.name = "copy", .own = true, .device = true, .gpu_memory = FB_P2P_MAPPED_MEMORY,
	.protocols = copy_protocols,
	.one_sided = true, .rounds = 20, .open = open_absent,
	.bytes = sizeof(struct fb_p2p_device), .close = close_absent,
	.can = can_absent,
};

const struct fb_p2p_engine_ops fb_p2p_cuda = {
	.name = "cuda", .own = true, .device = true, .gpu_memory = FB_P2P_MAPPED_MEMORY,
	.protocols = protocols,
	.one_sided = true, .rounds = 500, .open = open_absent,
	.bytes = sizeof(struct fb_p2p_device), .close = close_absent,
	.can = can_absent,
};

#endif

enum { OWN = 7, MOVERS = 24, NAME = 32 };

const struct fb_p2p_engine_ops *fb_p2p_engines[OWN + MOVERS + 1] = {
	&fb_p2p_host, &fb_p2p_mpi,  &fb_p2p_rdma, &fb_p2p_ucx,
	&fb_p2p_copy, &fb_p2p_cuda, &fb_p2p_nccl,
};

int fb_p2p_engine_open(struct fb_p2p_engine **engine, const struct fb_p2p_engine_ops *ops,
		       const struct fb_session *session, const struct fb_group *group)
{
	struct fb_p2p_engine *e = calloc(1, ops->bytes);
	int err = fb_group_agree(group, e ? FB_OK : FB_ENOMEM);

	if (err || !e) {
		free(e);
		return fb_error(err, "out of memory for engine %s", ops->name);
	}
	*e = (struct fb_p2p_engine){ops, session, group};
	err = ops->open(e);
	if (err)
		fb_p2p_engine_close(e);
	else
		*engine = e;
	return err;
}

void fb_p2p_engine_close(struct fb_p2p_engine *engine)
{
	engine->ops->close(engine);
	free(engine);
}

int fb_p2p_add_movers(void)
{
	static struct fb_p2p_engine_ops over[MOVERS];
	static char name[MOVERS][NAME];
	int err = fb_movers_load();

	for (int i = 0; i < MOVERS && fb_movers[i] && !err; i++) {
		snprintf(name[i], NAME, "%s%s", FB_P2P_OVER, fb_movers[i]->name);
		over[i] = fb_p2p_over(fb_movers[i], name[i]);
		fb_p2p_engines[OWN + i] = &over[i];
	}
	return err;
}

void fb_p2p_engine_list(const char *asked, char *list, size_t chars)
{
	bool movers = !strcmp(asked, "movers");
	size_t used = 0;

	snprintf(list, chars, "%s", asked);
	for (int i = 0; fb_p2p_engines[i] && (movers || !strcmp(asked, "all")); i++)
		if (!fb_p2p_engines[i]->mover == !movers && used < chars)
			used += (size_t)snprintf(list + used, chars - used, "%s%s", used ? "," : "",
						 fb_p2p_engines[i]->name);
}
