/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens UCX on all ranks of a group in the same version; see ucx.h. */
#include "common/library/ucx.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_ucx_load(struct fb_ucx *ucx, const struct fb_session *session, const struct fb_group *group,
		const char *file, char why[FB_REASON_CHARS])
{
	int err = fb_ucx_open(ucx, file, why, FB_REASON_CHARS);
	char version[32] = "";

	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	if (err)
		return err;
	snprintf(version, sizeof(version), "%s", ucx->version);
	if (!fb_group_same(group, version, sizeof(version))) {
		snprintf(why, FB_REASON_CHARS, "ranks found UCX of different versions");
		return FB_EUNSUPPORTED;
	}
	fb_fact(session, "library.libucp.version", "%s", version);
	return FB_OK;
}

int fb_ucx_gather(const struct fb_group *w, const void *own, size_t bytes, char **all, int **at)
{
	int *starts = calloc((size_t)w->nranks + 1, sizeof(*starts));
	int *lengths = calloc((size_t)w->nranks + 1, sizeof(*lengths));
	int length = (int)bytes, err = starts && lengths ? FB_OK : FB_ENOMEM;
	char *text = NULL;

	err = fb_group_agree(w, err);
	if (!err && starts && lengths) {
		MPI_Allgather(&length, 1, MPI_INT, lengths, 1, MPI_INT, w->comm);
		for (int r = 0; r < w->nranks; r++)
			starts[r + 1] = starts[r] + lengths[r];
		text = malloc((size_t)starts[w->nranks] + 1);
		err = fb_group_agree(w, text ? FB_OK : FB_ENOMEM);
	}
	if (!err)
		MPI_Allgatherv(own, length, MPI_BYTE, text, lengths, starts, MPI_BYTE, w->comm);
	free(lengths);
	if (err) {
		free(starts);
		free(text);
		return fb_error(err, "ucx: out of memory for %d ranks", w->nranks);
	}
	*all = text;
	*at = starts;
	return FB_OK;
}
