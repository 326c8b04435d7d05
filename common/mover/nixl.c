/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover nixl: NIXL's agent with one of its plugins that move memory between agents, UCX or what
 * FB_NIXL_BACKEND names, by its C interface found at run time (nixl.h). Plugins for files are in
 * nixl_file.c. PUT is NIXL's WRITE, GET its READ; a transfer is one request with a descriptor for
 * each piece, made when the move is prepared and posted again and again.
 *
 * Order. NIXL notifies the peer when a request is complete there, but requests complete in any
 * order. So notifications are numbered in the order of posting, and the peer counts a notice only
 * when all earlier ones have come: k notices stand for the first k transfers.
 *
 * NIXL does not report what the plugin really used. The process's own TCP sockets are counted
 * (TCP_INFO): where they have carried half of the payload or more, the row is flagged nixl-on-tcp.
 * UCX's version and transports below the plugin are found by nixl_ucx.c.
 */
#include "common/mover/nixl.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/library/library.h"
#include "common/library/ucx.h" /* fb_ucx_gather */
#include "common/mover/mover.h"

static const char usual_plugin[] = "UCX", other_plugin[] = "FB_NIXL_BACKEND";

/* Bytes that this process's TCP sockets have sent and received so far. */
static double tcp_bytes(void)
{
	double sum = 0;

	for (int fd = 0; fd < FB_NIXL_FILES; fd++) {
		struct tcp_info info = {.tcpi_state = 0};
		socklen_t n = sizeof(info);

		if (!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n))
			sum += (double)info.tcpi_bytes_acked + (double)info.tcpi_bytes_received;
	}
	return sum;
}

/* --- opening ---------------------------------------------------------------------------------- */

#define FUNCTION(name_) {"nixl_capi_" #name_, offsetof(struct fb_nixl, name_), false}

/* A wheel has its plugins beside its library, where NIXL does not look for them by default. */
static void find_plugins(void *library)
{
	const char *file = fb_library_file(library), *slash = file ? strrchr(file, '/') : NULL;
	char folder[1024];

	if (!slash || getenv("NIXL_PLUGIN_DIR"))
		return;
	snprintf(folder, sizeof(folder), "%.*s/plugins", (int)(slash - file), file);
	if (!access(folder, R_OK))
		setenv("NIXL_PLUGIN_DIR", folder, 0);
}

/*
 * Ends the process without unloading libraries: the wheel's own libnl then calls the system's libnl
 * instead, and crashes. No needed action is skipped.
 */
static void leave(int code, void *arg)
{
	(void)arg;
	fflush(NULL);
	_exit(code);
}

static int load(struct fb_nixl *api, char why[FB_REASON_CHARS])
{
	static const struct fb_library_symbol table[] = {
		FUNCTION(create_configured_agent), FUNCTION(destroy_agent),
		FUNCTION(get_plugin_params),
		FUNCTION(create_backend), FUNCTION(create_opt_args), FUNCTION(destroy_opt_args),
		FUNCTION(opt_args_add_backend), FUNCTION(opt_args_set_notif_msg),
		FUNCTION(opt_args_set_has_notif), FUNCTION(create_reg_dlist),
		FUNCTION(destroy_reg_dlist), FUNCTION(reg_dlist_add_desc), FUNCTION(register_mem),
		FUNCTION(deregister_mem), FUNCTION(get_local_md), FUNCTION(load_remote_md),
		FUNCTION(agent_make_connection), FUNCTION(create_xfer_dlist),
		FUNCTION(destroy_xfer_dlist), FUNCTION(xfer_dlist_add_desc),
		FUNCTION(create_xfer_req), FUNCTION(post_xfer_req), FUNCTION(get_xfer_status),
		FUNCTION(release_xfer_req), FUNCTION(destroy_xfer_req), FUNCTION(gen_notif),
		FUNCTION(create_notif_map), FUNCTION(destroy_notif_map), FUNCTION(get_notifs),
		FUNCTION(notif_map_size), FUNCTION(notif_map_get_agent_at),
		FUNCTION(notif_map_get_notifs_size), FUNCTION(notif_map_get_notif),
		FUNCTION(notif_map_clear),
		{"nixl_capi_params_add", offsetof(struct fb_nixl, params_add), true},
		{"nixl_capi_is_stub", offsetof(struct fb_nixl, is_stub), true},
		{"nixl_capi_get_xfer_telemetry", offsetof(struct fb_nixl, get_xfer_telemetry),
		 true},
	};
	static bool leaves;
	const char *missing;

	api->library = fb_library_open("libnixl_capi.so", NULL, 0, why, FB_REASON_CHARS);
	if (!api->library)
		return FB_EUNSUPPORTED;
	missing = fb_library_functions(api->library, table, sizeof(table) / sizeof(table[0]), api);
	if (missing)
		snprintf(why, FB_REASON_CHARS, "libnixl_capi.so has no %s", missing);
	else if (api->is_stub && api->is_stub())
		snprintf(why, FB_REASON_CHARS, "libnixl_capi.so is a stub without NIXL");
	else
		find_plugins(api->library);
	if (!*why && !leaves)
		leaves = !on_exit(leave, NULL);
	return *why ? FB_EUNSUPPORTED : FB_OK;
}

static int open_agent(struct fb_nixl_mover *m, char why[FB_REASON_CHARS])
{
	void *memories = NULL, *params = NULL, *metadata = NULL;
	size_t bytes = 0;
	char name[FB_NIXL_NAME_CHARS];
	const struct fb_nixl_config alone = {.listen_delay_us = 100000,
					     .telemetry = m->telemetry};
	const char *call = "create_agent";
	char threads[16];
	int status;

	fb_nixl_name(m->mover.group->rank, name);
	fb_nixl_ucx_begin(m);
	/* No progress thread: it and this thread would compete for a lock in every post. */
	status = m->api.create_configured_agent(name, &alone, &m->agent);
	if (!status) {
		call = "get_plugin_params";
		status = m->api.get_plugin_params(m->agent, m->plugin, &memories, &params);
	}
	fb_nixl_ucx_loaded(m);
	snprintf(threads, sizeof(threads), "%u", (unsigned)m->mover.session->settings->threads);
	if (!status && m->api.params_add && !strcmp(m->plugin, usual_plugin))
		status = m->api.params_add(params, "num_threads", threads);
	if (!status) {
		call = "create_backend";
		status = m->api.create_backend(m->agent, m->plugin, params, &m->backend);
	}
	fb_nixl_ucx_begun(m);
	/* With plugins for files and objects agents do not communicate. */
	if (!status && !m->files) {
		call = "get_local_md";
		status = m->api.get_local_md(m->agent, &metadata, &bytes);
		free(metadata);
	}
	if (!status)
		status = m->api.create_opt_args(&m->args);
	if (!status)
		status = m->api.opt_args_add_backend(m->args, m->backend);
	if (!status)
		status = m->api.create_notif_map(&m->map);
	if (status)
		snprintf(why, FB_REASON_CHARS, "NIXL's plugin %.40s: %s: error %d", m->plugin, call,
			 status);
	return status ? FB_EUNSUPPORTED : FB_OK;
}

static void progress(struct fb_mover *mover)
{
	uint64_t ignored;

	if (((struct fb_nixl_mover *)mover)->map)
		(void)fb_nixl_arrived(mover, mover->group->rank, 1, &ignored);
}

int fb_nixl_settled(struct fb_nixl_mover *m)
{
	int err = fb_mover_barrier(&m->mover, progress, "waiting for all ranks' NIXL");

	return err ? err : m->failed;
}

void fb_nixl_close(struct fb_mover *mover)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)mover;

	if (fb_nixl_settled(m)) {
		free(fb_nixl_ucx_pass_on(m));
		return;
	}
	if (m->map)
		m->api.destroy_notif_map(m->map);
	if (m->args)
		m->api.destroy_opt_args(m->args);
	if (m->agent)
		m->api.destroy_agent(m->agent);
	fb_nixl_ucx_end(m);
	for (int r = 0; r < mover->group->nranks && m->counter; r++)
		for (int n = 0; n <= FB_NOTICES; n++)
			free(m->counter[r][n].early);
	free(m->counter);
	free(m->device);
	fb_gpu_view_close(&m->gpu);
	fb_mover_free(mover);
}

int fb_nixl_open(struct fb_mover **mover, const struct fb_mover_ops *ops, const char *plugin,
		 const char *variable, const struct fb_session *session, const struct fb_group *g,
		 char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, ops, sizeof(struct fb_nixl_mover), session, g);
	const char *other = getenv(variable);
	const char *telemetry = getenv("NIXL_TELEMETRY_ENABLE");
	struct fb_nixl_mover *m;
	uint64_t device = 0;

	if (err)
		return err;
	m = (struct fb_nixl_mover *)*mover;
	*why = '\0';
	m->memory = ops->device ? FB_NIXL_VRAM : FB_NIXL_DRAM;
	m->plugin = other && *other ? other : plugin;
	m->files = !strcmp(ops->transport, "file");
	/* NIXL's own variable; with it each request reports its times. */
	m->telemetry = telemetry && (!strcmp(telemetry, "1") || !strncmp(telemetry, "y", 1));
	m->counter = calloc((size_t)g->nranks, sizeof(*m->counter));
	m->device = calloc((size_t)g->nranks, sizeof(*m->device));
	err = fb_group_agree(g, m->counter && m->device ? FB_OK : FB_ENOMEM);
	if (!err && ops->device) {
		err = fb_gpu_view_open(&m->gpu, session, g, why);
		device = (uint64_t)m->gpu.device;
	}
	if (!err)
		MPI_Allgather(&device, 1, MPI_UINT64_T, m->device, 1, MPI_UINT64_T, g->comm);
	if (!err)
		err = fb_group_agree_why(g, load(&m->api, why), why, FB_REASON_CHARS);
	if (!err)
		err = fb_group_agree_why(g, open_agent(m, why), why, FB_REASON_CHARS);
	m->tcp_before = tcp_bytes();
	if (err)
		fb_nixl_close(*mover);
	return err;
}

static int nixl_open(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *g, char why[FB_REASON_CHARS])
{
	return fb_nixl_open(mover, &fb_mover_nixl, usual_plugin, other_plugin, session, g, why);
}

static int gpu_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *g, char why[FB_REASON_CHARS])
{
	return fb_nixl_open(mover, &fb_mover_nixl_gpu, usual_plugin, other_plugin, session, g,
			    why);
}

/* --- regions ---------------------------------------------------------------------------------- */

static void nixl_remove(struct fb_region *region)
{
	struct fb_nixl_region *r = (struct fb_nixl_region *)region;
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)region->mover;

	if (!fb_nixl_settled(m) && r->list) {
		m->api.deregister_mem(m->agent, r->list, m->args);
		m->api.destroy_reg_dlist(r->list);
	}
	free(r->base);
	free(r);
}

int fb_nixl_register_list(struct fb_nixl_mover *m, void **list)
{
	int status = m->api.register_mem(m->agent, *list, m->args);

	if (status) {
		m->api.destroy_reg_dlist(*list);
		*list = NULL;
	}
	return status;
}

int fb_nixl_register(struct fb_nixl_mover *m, const struct fb_segment *s, void **list)
{
	uintptr_t at = (uintptr_t)fb_segment_part(s, m->mover.group->rank);
	int status = m->api.create_reg_dlist(m->memory, list, false);

	if (!status)
		status = m->api.reg_dlist_add_desc(*list, at, s->part_bytes,
						   m->device[m->mover.group->rank], NULL, 0);
	if (!status)
		status = fb_nixl_register_list(m, list);
	return status ? fb_nixl_failed("register_mem", status) : FB_OK;
}

static int register_part(struct fb_region *region)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)region->mover;
	struct fb_nixl_region *r = (struct fb_nixl_region *)region;

	r->base = calloc((size_t)m->mover.group->nranks, sizeof(*r->base));
	return r->base ? fb_nixl_register(m, region->segment, &r->list) : FB_ENOMEM;
}

/* Every rank's agent gets the metadata of all other ranks' memory. */
static int nixl_add(struct fb_mover *mover, const struct fb_segment *segment,
		    struct fb_region **region)
{
	int err = fb_region_new(mover, segment, sizeof(struct fb_nixl_region), register_part,
				region), status, *at = NULL;
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)mover;
	const struct fb_group *g = mover->group;
	uint64_t own = (uintptr_t)fb_segment_part(segment, g->rank);
	void *data = NULL;
	char *all = NULL;
	size_t n = 0;

	if (err)
		return err;
	status = m->api.get_local_md(m->agent, &data, &n);
	err = fb_group_agree(g, status ? fb_nixl_failed("get_local_md", status) : FB_OK);
	if (!err)
		err = fb_ucx_gather(g, data, n, &all, &at);
	for (int i = 0; i < g->nranks && !err; i++)
		if (i != g->rank)
			err = fb_nixl_load_metadata(m, i, all + at[i], (size_t)(at[i + 1] - at[i]));
	free(data);
	free(all);
	free(at);
	err = fb_group_agree(g, err);
	if (err)
		nixl_remove(*region);
	else
		MPI_Allgather(&own, 1, MPI_UINT64_T, ((struct fb_nixl_region *)*region)->base, 1,
			      MPI_UINT64_T, g->comm);
	return err;
}

/* --- the rest --------------------------------------------------------------------------------- */

static int nixl_connect(struct fb_mover *mover, const int *peers, int n)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)mover;
	char name[FB_NIXL_NAME_CHARS];
	int status = 0;

	for (int i = 0; i < n && status >= 0; i++) {
		fb_nixl_name(peers[i], name);
		if (peers[i] != mover->group->rank)
			status = m->api.agent_make_connection(m->agent, name, m->args);
	}
	return fb_group_agree(mover->group,
			      status < 0 ? fb_nixl_failed("agent_make_connection", status) : FB_OK);
}

void fb_nixl_telemetry_text(struct fb_nixl_mover *m, char *text, size_t chars)
{
	text[0] = '\0';
	if (m->measured)
		snprintf(text, chars, "; NIXL's telemetry of %llu requests: post %.4g us, transfer "
			 "%.4g us", (unsigned long long)m->measured,
			 m->post_us / (double)m->measured, m->transfer_us / (double)m->measured);
	m->post_us = m->transfer_us = 0;
	m->measured = 0;
}

static void nixl_describe(struct fb_move *move, struct fb_traits *traits)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)move->mover;
	double tcp = tcp_bytes() - m->tcp_before;
	int on_tcp = m->payload > 0 && tcp > m->payload / 2;
	char telemetry[120], ucx[200];

	fb_nixl_telemetry_text(m, telemetry, sizeof(telemetry));
	fb_nixl_ucx_path(m, move, ucx, sizeof(ucx));
	/* Figures differ each time, so they are in parentheses, which `compare` ignores. */
	snprintf(traits->path, sizeof(traits->path),
		 "NIXL, %.40s plugin%s%s%s (%.0f%% of the payload over own TCP sockets%s)",
		 m->plugin, getenv("NIXL_UCX_SGL_ENABLE") ? " with lists" : "",
		 on_tcp ? " over TCP" : "", ucx, m->payload > 0 ? tcp / m->payload * 100 : 0,
		 telemetry);
	if (on_tcp)
		fb_traits_flag(traits, "nixl-on-tcp");
	traits->channels = 1;
}

#define REST                                                                                       \
	.transport = "nixl", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,                       \
	.close = fb_nixl_close, .add = nixl_add, .remove = nixl_remove, .connect = nixl_connect,   \
	.prepare = fb_nixl_prepare, .release = fb_nixl_release, .post = fb_nixl_post,              \
	.test = fb_nixl_test, .arrived = fb_nixl_arrived, .describe = nixl_describe

const struct fb_mover_ops fb_mover_nixl = {
	.name = "nixl", .summary = "NIXL's write and read by one of its plugins",
	.open = nixl_open, .lands = true, REST,
};

/* The processor posts and waits: NIXL has no calls on streams. */
const struct fb_mover_ops fb_mover_nixl_gpu = {
	.name = "nixl_gpu", .summary = "NIXL's write and read of GPU memory by a plugin",
	.device = true, .open = gpu_open, REST,
};
