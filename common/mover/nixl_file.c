/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers nixl_file and nixl_gpu_file: between memory and a file of each rank, by NIXL's plugins
 * POSIX and GDS, or what FB_NIXL_FILE_BACKEND names. As with mover store (store.h) the `remote`
 * places are places in the file: PUT writes it, GET reads it back. The agent is its own peer, and
 * plugins of files send no notifications: this mover counts notices when requests are done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/mover/nixl.h"
#include "common/mover/store.h"

static const char other_plugin[] = "FB_NIXL_FILE_BACKEND";

static int open_host(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return fb_nixl_open(mover, &fb_mover_nixl_file, "POSIX", other_plugin, session, group,
			    why);
}

static int open_gpu(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return fb_nixl_open(mover, &fb_mover_nixl_gpu_file, "GDS", other_plugin, session, group,
			    why);
}

static void drop(struct fb_nixl_mover *m, void *list)
{
	if (!list)
		return;
	m->api.deregister_mem(m->agent, list, m->args);
	m->api.destroy_reg_dlist(list);
}

static void remove_region(struct fb_region *region)
{
	struct fb_nixl_region *r = (struct fb_nixl_region *)region;
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)region->mover;

	/* After an error requests may still run, so the file stays open as well. */
	if (!m->failed) {
		drop(m, r->list);
		drop(m, r->file_list);
		if (r->fd >= 0)
			close(r->fd);
	}
	free(r);
}

/* Plugin GDS uses cuFile, which needs O_DIRECT and looks a file up by its name. */
static int open_region(struct fb_region *region)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)region->mover;
	struct fb_nixl_region *r = (struct fb_nixl_region *)region;
	const struct fb_segment *s = region->segment;
	char name[FB_STORE_NAME_CHARS];
	int err, status;

	r->fd = fb_store_make_file(m->mover.ops->device, name);
	if (r->fd < 0)
		return FB_ESYS;
	err = fb_store_reserve(r->fd, s->part_bytes);
	if (!err)
		err = fb_nixl_register(m, s, &r->list);
	status = err ? 0 : m->api.create_reg_dlist(FB_NIXL_FILE, &r->file_list, false);
	if (!err && !status)
		status = m->api.reg_dlist_add_desc(r->file_list, 0, s->part_bytes,
						   (uint64_t)r->fd, NULL, 0);
	if (!err && !status)
		status = fb_nixl_register_list(m, &r->file_list);
	unlink(name);
	return status ? fb_nixl_failed("register_mem of a file", status) : err;
}

static int add_region(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_nixl_region), open_region, region);
}

static int prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		   struct fb_move **move)
{
	int err = fb_store_check_peers(mover, given);

	return err ? err : fb_nixl_prepare(mover, given, form, move);
}

static void describe(struct fb_move *move, struct fb_traits *traits)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)move->mover;
	char telemetry[120];

	fb_nixl_telemetry_text(m, telemetry, sizeof(telemetry));
	snprintf(traits->path, sizeof(traits->path), "NIXL, %.40s plugin%s%s%s", m->plugin,
		 *telemetry ? " (" : "", *telemetry ? telemetry + strlen("; ") : "",
		 *telemetry ? ")" : "");
	traits->channels = 1;
}

#define REST                                                                                       \
	.transport = "file", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,                       \
	.close = fb_nixl_close, .add = add_region, .remove = remove_region, .prepare = prepare,    \
	.release = fb_nixl_release, .post = fb_nixl_post, .test = fb_nixl_test,                    \
	.arrived = fb_nixl_arrived, .describe = describe

const struct fb_mover_ops fb_mover_nixl_file = {
	.name = "nixl_file", .summary = "between memory and a file of each rank, by NIXL",
	.open = open_host, REST,
};

const struct fb_mover_ops fb_mover_nixl_gpu_file = {
	.name = "nixl_gpu_file", .summary = "between GPU memory and a file of each rank, by NIXL",
	.device = true, .open = open_gpu, REST,
};
