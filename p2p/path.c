/* SPDX-License-Identifier: BSD-3-Clause */
/* The column `path` of the point-to-point programs; see program.h. */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "p2p/carrier.h"
#include "p2p/program.h"

int fb_p2p_path_open(struct fb_p2p_path *path, const struct fb_p2p_state *state,
		     const struct fb_case *c, const struct fb_job *job, const char *of_engine)
{
	int err = fb_p2p_where(state, c, job, path->where);

	if (err)
		return err;
	/* Rank 0 writes the row, and may have no part in the job. */
	snprintf(path->carrier, sizeof(path->carrier), "%s", of_engine);
	MPI_Bcast(path->carrier, sizeof(path->carrier), MPI_CHAR, job->flows[0].src,
		  state->world->comm);
	MPI_Bcast(path->where, sizeof(path->where), MPI_CHAR, job->flows[0].src,
		  state->world->comm);
	if (state->world->rank != 0)
		return FB_OK;
	fb_audit_read(&path->before, "");
	path->device = fb_p2p_engines[fb_p2p_engine_index(c->engine)]->device;
	if (path->device)
		fb_gpu_links_read(&state->gpu, &path->links);
	return FB_OK;
}

/* The part of the bytes that pass rank 0. */
static double passed(const struct fb_job *job, double moved)
{
	int n = 0;

	for (int f = 0; f < job->nflows; f++)
		n += job->flows[f].src == 0 || job->flows[f].dst == 0;
	return moved * n / job->nflows;
}

void fb_p2p_path_describe(const struct fb_p2p_path *path, const struct fb_p2p_state *state,
			  const struct fb_job *job, double moved, bool alone,
			  struct fb_traits *traits)
{
	char carried[FB_PATH_CHARS / 2] = "", links[32] = "", known[FB_PATH_CHARS - 4] = "";
	struct fb_audit after;

	fb_p2p_add(known, sizeof(known), path->where);
	if (state->world->rank == 0 && alone) {
		if (path->device)
			fb_gpu_links_text(&state->gpu, &path->links, passed(job, moved), links,
					  sizeof(links));
		fb_p2p_add(known, sizeof(known), links);
		fb_audit_read(&after, "");
		if (fb_audit_text(&path->before, &after, moved, carried, sizeof(carried)))
			fb_p2p_add(known, sizeof(known), carried);
		if (*carried && !strcmp(path->carrier, "shm"))
			snprintf(traits->flags, sizeof(traits->flags), "stray-traffic");
	}
	fb_p2p_path_text(path->carrier, known, traits->path);
}
