/* SPDX-License-Identifier: BSD-3-Clause */
/* libibverbs, opened at run time; see rdma_verbs.h. */
#include "common/transport/rdma_verbs.h"

#if FB_HAVE_VERBS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

/* The place of each symbol. */
static const struct fb_library_symbol symbols[] = {
	{"ibv_get_device_list", offsetof(struct fb_verbs, get_device_list), false},
	{"ibv_free_device_list", offsetof(struct fb_verbs, free_device_list), false},
	{"ibv_get_device_name", offsetof(struct fb_verbs, get_device_name), false},
	{"ibv_open_device", offsetof(struct fb_verbs, open_device), false},
	{"ibv_close_device", offsetof(struct fb_verbs, close_device), false},
	{"ibv_query_device", offsetof(struct fb_verbs, query_device), false},
	{"ibv_query_port", offsetof(struct fb_verbs, query_port), false},
	{"ibv_query_gid", offsetof(struct fb_verbs, query_gid), false},
	{"ibv_query_pkey", offsetof(struct fb_verbs, query_pkey), false},
	{"ibv_alloc_pd", offsetof(struct fb_verbs, alloc_pd), false},
	{"ibv_dealloc_pd", offsetof(struct fb_verbs, dealloc_pd), false},
	{"ibv_reg_mr", offsetof(struct fb_verbs, reg_mr), false},
	{"ibv_reg_mr_iova2", offsetof(struct fb_verbs, reg_mr_iova2), true},
	{"ibv_reg_dmabuf_mr", offsetof(struct fb_verbs, reg_dmabuf_mr), true},
	{"ibv_dereg_mr", offsetof(struct fb_verbs, dereg_mr), false},
	{"ibv_create_cq", offsetof(struct fb_verbs, create_cq), false},
	{"ibv_destroy_cq", offsetof(struct fb_verbs, destroy_cq), false},
	{"ibv_create_comp_channel", offsetof(struct fb_verbs, create_comp_channel), false},
	{"ibv_destroy_comp_channel", offsetof(struct fb_verbs, destroy_comp_channel), false},
	{"ibv_get_cq_event", offsetof(struct fb_verbs, get_cq_event), false},
	{"ibv_ack_cq_events", offsetof(struct fb_verbs, ack_cq_events), false},
	{"ibv_create_qp", offsetof(struct fb_verbs, create_qp), false},
	{"ibv_qp_to_qp_ex", offsetof(struct fb_verbs, qp_to_qp_ex), true},
	{"ibv_modify_qp", offsetof(struct fb_verbs, modify_qp), false},
	{"ibv_destroy_qp", offsetof(struct fb_verbs, destroy_qp), false},
	{"ibv_wc_status_str", offsetof(struct fb_verbs, wc_status_str), false},
};

int fb_verbs_open(struct fb_verbs *verbs, char *why, size_t n)
{
	/* For tests, and for users with several versions of the library. */
	const char *name = getenv("FABRICBENCH_LIBIBVERBS");
	struct fb_verbs v = {.library = NULL};
	const char *lacks;

	v.library = fb_library_open(name && *name ? name : "libibverbs.so.1", NULL, 0, why, n);
	if (!v.library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(v.library, symbols, sizeof(symbols) / sizeof(symbols[0]), &v);
	if (lacks) {
		snprintf(why, n, "libibverbs has no %s", lacks);
		fb_library_close(v.library);
		return FB_EUNSUPPORTED;
	}
	*verbs = v;
	return FB_OK;
}

void fb_verbs_close(struct fb_verbs *verbs)
{
	fb_library_close(verbs->library);
	*verbs = (struct fb_verbs){.library = NULL};
}

#endif
