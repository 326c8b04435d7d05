/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the networks as keys of a row; see keys.h. */
#include "common/transport/keys.h"

#include <stdio.h>
#include <string.h>

#include "common/record/variant.h"

void fb_transport_keys(struct fb_case *c, const struct fb_settings *settings, bool gpu)
{
	struct fb_rdma_settings network = settings->rdma;
	bool rdma = strstr(c->transport, "rdma") != NULL;
	char added[2 * FB_VARIANT_CHARS] = "";

	if (fb_variant_has(c->variant, "rdma_wait"))
		network.waits = 0; /* an axis, whose key is there */
	if (rdma)
		fb_rdma_variant(&network, added, sizeof(added));
	else if (strstr(c->transport, "tcp"))
		fb_tcp_variant(&settings->tcp, added, sizeof(added));
	fb_variant_put(c, added);
	if (!rdma || !gpu || settings->gpu_direct == FB_GPU_DIRECT_AUTO)
		return;
	snprintf(added, sizeof(added), "gpu_direct=%s", fb_gpu_direct_names[settings->gpu_direct]);
	fb_variant_put(c, added);
}
