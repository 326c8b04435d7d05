/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports that are down while somebody waits; see rdma_watch.h. */
#include "common/transport/rdma_watch.h"

#if FB_HAVE_VERBS

#include <math.h>

#include "common/base/error.h"

enum {
	NOTICED = 4,   /* a device may take so many timeouts to notice one */
	BETWEEN_S = 1, /* time between two queries of the port's state */
	SPARE_S = 5,
	FOR_EVER = 7,  /* with so many retries soft-RoCE never stops */
};

struct fb_rdma_watch fb_rdma_watch_begin(const struct fb_rdma_settings *settings)
{
	double due_s = ldexp(4.096e-6, settings->timeout);

	return (struct fb_rdma_watch){
		.patience_s = settings->retry == FOR_EVER
				      ? HUGE_VAL
				      : SPARE_S + NOTICED * due_s * (1 + settings->retry),
	};
}

int fb_rdma_watch(struct fb_rdma_watch *watch, const struct fb_rdma_rail *rail, double now_s)
{
	bool was_down = watch->down;

	if (!watch->waits) {
		watch->waits = true;
		watch->down = false;
		watch->asked_s = now_s;
		return FB_OK;
	}
	if (now_s - watch->asked_s < BETWEEN_S)
		return FB_OK;
	watch->asked_s = now_s;
	watch->down = fb_rdma_rail_is_down(rail);
	if (watch->down && !was_down)
		watch->down_s = now_s;
	if (!watch->down || now_s - watch->down_s < watch->patience_s)
		return FB_OK;
	return fb_error(FB_EPEER, "rdma: the own port %s:%d has been down for %.0f s, longer than "
			"all retries take, and no request is told to have failed (check the link "
			"and ibv_devinfo)", rail->name, rail->number, now_s - watch->down_s);
}

#endif
