/* SPDX-License-Identifier: BSD-3-Clause */
/* The ucx engine's waits: all of them progress its worker; see ucx.h. */
#include "p2p/engine/ucx.h"

#include "common/base/error.h"

int fb_ucx_again(struct fb_ucx_engine *e, struct fb_spin *spin)
{
	if (e->ucx.worker_progress(e->worker)) {
		spin->looks = 0;
		return e->failed ? fb_ucx_error(&e->ucx, e->failed, "am_recv_data_nbx", -1)
				 : FB_OK;
	}
	return fb_spin_again(spin) ? fb_alive(e->engine.session, "waiting for UCX") : FB_OK;
}

int fb_ucx_wait(struct fb_ucx_engine *e, fb_ucx_pending pending, const char *call, int peer)
{
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	fb_ucx_status status = fb_ucx_pending_error(pending);
	int err = FB_OK;

	if (status)
		return fb_ucx_error(&e->ucx, status, call, peer);
	if (!pending)
		return FB_OK;
	while (!err) {
		status = e->ucx.request_check_status(pending);
		if (status != FB_UCX_IN_PROGRESS)
			break;
		err = fb_ucx_again(e, &spin);
	}
	/* After an error it is still UCX's: the job ends. */
	if (err)
		return err;
	e->ucx.request_free(pending);
	return status ? fb_ucx_error(&e->ucx, status, call, peer) : FB_OK;
}
