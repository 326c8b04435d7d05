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
	int is, err = FB_OK;

	/* After an error UCX still uses the request, so it is not freed: the job ends. */
	while (!err && !(is = fb_ucx_complete(&e->ucx, &pending, call, peer)))
		err = fb_ucx_again(e, &spin);
	return err ? err : is < 0 ? is : FB_OK;
}
