/* SPDX-License-Identifier: BSD-3-Clause */
/* libibverbs, opened at run time; see rdma_verbs.h. */
#include "common/transport/rdma_verbs.h"

#if FB_HAVE_VERBS

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Where each symbol goes. */
static const struct symbol {
	const char *name;
	size_t offset;
	int optional;
} symbols[] = {
	{"ibv_get_device_list", offsetof(struct fb_verbs, get_device_list), 0},
	{"ibv_free_device_list", offsetof(struct fb_verbs, free_device_list), 0},
	{"ibv_get_device_name", offsetof(struct fb_verbs, get_device_name), 0},
	{"ibv_open_device", offsetof(struct fb_verbs, open_device), 0},
	{"ibv_close_device", offsetof(struct fb_verbs, close_device), 0},
	{"ibv_query_device", offsetof(struct fb_verbs, query_device), 0},
	{"ibv_query_port", offsetof(struct fb_verbs, query_port), 0},
	{"ibv_query_gid", offsetof(struct fb_verbs, query_gid), 0},
	{"ibv_alloc_pd", offsetof(struct fb_verbs, alloc_pd), 0},
	{"ibv_dealloc_pd", offsetof(struct fb_verbs, dealloc_pd), 0},
	{"ibv_reg_mr", offsetof(struct fb_verbs, reg_mr), 0},
	{"ibv_reg_mr_iova2", offsetof(struct fb_verbs, reg_mr_iova2), 1},
	{"ibv_reg_dmabuf_mr", offsetof(struct fb_verbs, reg_dmabuf_mr), 1},
	{"ibv_dereg_mr", offsetof(struct fb_verbs, dereg_mr), 0},
	{"ibv_create_cq", offsetof(struct fb_verbs, create_cq), 0},
	{"ibv_destroy_cq", offsetof(struct fb_verbs, destroy_cq), 0},
	{"ibv_create_qp", offsetof(struct fb_verbs, create_qp), 0},
	{"ibv_qp_to_qp_ex", offsetof(struct fb_verbs, qp_to_qp_ex), 1},
	{"ibv_modify_qp", offsetof(struct fb_verbs, modify_qp), 0},
	{"ibv_destroy_qp", offsetof(struct fb_verbs, destroy_qp), 0},
	{"ibv_wc_status_str", offsetof(struct fb_verbs, wc_status_str), 0},
};

int fb_verbs_open(struct fb_verbs *verbs, char *why, size_t n)
{
	/* For tests, and for people who keep several versions beside each other. */
	const char *name = getenv("FABRICBENCH_LIBIBVERBS");
	struct fb_verbs v = {.library = NULL};

	v.library = dlopen(name && *name ? name : "libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!v.library) {
		snprintf(why, n, "no libibverbs: %s", dlerror());
		return FB_EUNSUPPORTED;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(v.library, symbols[i].name);

		if (!found && !symbols[i].optional) {
			snprintf(why, n, "libibverbs has no %s", symbols[i].name);
			dlclose(v.library);
			return FB_EUNSUPPORTED;
		}
		memcpy((char *)&v + symbols[i].offset, &found, sizeof(found));
	}
	*verbs = v;
	return FB_OK;
}

void fb_verbs_close(struct fb_verbs *verbs)
{
	if (verbs->library)
		dlclose(verbs->library);
	*verbs = (struct fb_verbs){.library = NULL};
}

#else

/* ISO C wants something in every file. */
extern const int fb_verbs_missing;
const int fb_verbs_missing = 1;

#endif
