/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives active messages of the ucx engine. The header of each names the flow and the message, so
 * the data goes directly to its final place. Small messages are copied from UCX's buffer. For large
 * messages only the header arrives, and this code then fetches the data.
 */
#include "p2p/engine/ucx.h"

#include <string.h>

static struct fb_ucx_end *end_of(struct fb_ucx_engine *e, const struct fb_ucx_header *header)
{
	struct fb_ucx_request *r = NULL;

	for (int i = 0; i < FB_UCX_REQUESTS; i++)
		if (e->live[i] && e->live[i]->serial == header->serial)
			r = e->live[i];
	for (int i = 0; r && i < r->nends; i++)
		if (r->ends[i].index == header->flow && r->ends[i].role == FB_UCX_ARRIVES)
			return &r->ends[i];
	return NULL;
}

/* UCX calls it when the data of a large message has been fetched. */
static void fetched(void *request, fb_ucx_status status, size_t bytes, void *user)
{
	struct fb_ucx_end *end = user;
	struct fb_ucx_engine *e = end->request->engine;

	(void)bytes;
	if (status)
		e->failed = status;
	end->done++;
	e->ucx.request_free(request);
}

static fb_ucx_status fetch(struct fb_ucx_end *end, void *notice, char *to, size_t bytes)
{
	const struct fb_ucx_op op = {
		.mask = FB_UCX_OP_CALLBACK | FB_UCX_OP_USER, .received = fetched, .user = end,
	};
	struct fb_ucx_engine *e = end->request->engine;
	fb_ucx_pending pending = e->ucx.am_recv_data_nbx(e->worker, notice, to, bytes, &op);

	if (fb_ucx_pending_error(pending))
		e->failed = fb_ucx_pending_error(pending);
	else if (!pending)
		end->done++;
	return FB_UCX_IN_PROGRESS;
}

/* UCX calls it while the worker is progressed. */
static fb_ucx_status arrived(void *arg, const void *bytes_of_header, size_t header_bytes,
			     void *data, size_t bytes, const struct fb_ucx_am_info *info)
{
	struct fb_ucx_engine *e = arg;
	struct fb_ucx_header header = {0};
	struct fb_ucx_end *end = NULL;
	const struct fb_job *job;
	char *to;

	if (header_bytes == sizeof(header)) {
		memcpy(&header, bytes_of_header, sizeof(header));
		end = end_of(e, &header);
	}
	/* No end waits for it. That does not happen, because ranks begin and end jobs together. */
	if (!end || bytes != end->request->job->bytes) {
		e->failed = FB_UCX_LAST_ERROR;
		return FB_UCX_OK;
	}
	job = end->request->job;
	to = end->local + header.message % (uint64_t)job->regions * job->stride;
	if (info->attributes & FB_UCX_AM_RENDEZVOUS)
		return fetch(end, data, to, bytes);
	memcpy(to, data, bytes);
	end->done++;
	return FB_UCX_OK;
}

int fb_ucx_am_listen(struct fb_ucx_engine *e)
{
	const struct fb_ucx_am_handler handler = {
		.mask = FB_UCX_HANDLER_ID | FB_UCX_HANDLER_FLAGS | FB_UCX_HANDLER_CALLBACK |
			FB_UCX_HANDLER_ARG,
		.id = FB_UCX_AM_ID, .flags = FB_UCX_AM_WHOLE, .arrived = arrived, .arg = e,
	};
	fb_ucx_status status = e->ucx.worker_set_am_recv_handler(e->worker, &handler);

	return status ? fb_ucx_error(&e->ucx, status, "worker_set_am_recv_handler", -1) : 0;
}
