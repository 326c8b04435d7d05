/* SPDX-License-Identifier: BSD-3-Clause */
/* Mover nixl: requests and notices; see nixl.c. */
#include <stdlib.h>
#include <string.h>

#include "common/mover/nixl.h"

/* Frees nothing of a move with requests under way, which may use it; the job ends then. */
void fb_nixl_release(struct fb_move *move)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)move->mover;
	struct fb_nixl_move *n = (struct fb_nixl_move *)move;

	if (n->listed)
		return;
	for (uint32_t i = 0; i < move->transfers; i++) {
		if (n->part[i].request) {
			m->api.release_xfer_req(m->agent, n->part[i].request);
			m->api.destroy_xfer_req(n->part[i].request);
		}
		if (n->part[i].args)
			m->api.destroy_opt_args(n->part[i].args);
	}
	fb_move_free(move);
}

static int make_request(struct fb_nixl_mover *m, const struct fb_transfer *t,
			struct fb_nixl_part *part)
{
	uint64_t local = (uintptr_t)fb_transfer_local(t, m->mover.group->rank), a, b, bytes;
	const struct fb_nixl_region *region = (const struct fb_nixl_region *)t->remote;
	/* NIXL names a place in a file by its offset, and the file by the device number. */
	uint64_t remote = m->files ? 0 : region->base[t->peer];
	uint64_t device = m->files ? (uint64_t)region->fd : m->device[t->peer];
	struct fb_runs runs = {.walk = {.transfer = t}};
	void *here = NULL, *there = NULL;
	char peer[FB_NIXL_NAME_CHARS];
	int status = m->api.create_xfer_dlist(m->memory, &here, false);

	fb_nixl_name(t->peer, peer);
	if (!status)
		status = m->api.create_xfer_dlist(m->files ? FB_NIXL_FILE : m->memory, &there,
						  false);
	while (!status && (bytes = fb_runs_next(&runs, &a, &b))) {
		status = m->api.xfer_dlist_add_desc(here, (uintptr_t)(local + a), bytes,
						    m->device[m->mover.group->rank]);
		if (!status)
			status = m->api.xfer_dlist_add_desc(there, (uintptr_t)(remote + b), bytes,
							    device);
	}
	if (!status)
		status = m->api.create_xfer_req(m->agent, t->verb == FB_MOVE_PUT ? FB_NIXL_WRITE
										  : FB_NIXL_READ,
						here, there, peer, &part->request, m->args);
	if (here)
		m->api.destroy_xfer_dlist(here);
	if (there)
		m->api.destroy_xfer_dlist(there);
	return status ? fb_nixl_failed("create_xfer_req", status) : FB_OK;
}

int fb_nixl_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)mover;
	int err = fb_move_new(mover, given, sizeof(struct fb_nixl_move) +
			      given->transfers * sizeof(struct fb_nixl_part), move);
	struct fb_nixl_move *n;

	(void)form;
	if (err)
		return err;
	n = (struct fb_nixl_move *)*move;
	for (uint32_t i = 0; i < given->transfers && !err; i++) {
		const struct fb_transfer *t = &n->move.transfer[i];
		int status = m->api.create_opt_args(&n->part[i].args);

		if (!status)
			status = m->api.opt_args_add_backend(n->part[i].args, m->backend);
		if (status)
			err = fb_nixl_failed("create_opt_args", status);
		else if ((t->peer != mover->group->rank || m->files || m->memory == FB_NIXL_VRAM) &&
			 fb_transfer_bytes(t))
			err = make_request(m, t, &n->part[i]);
	}
	if (err)
		fb_nixl_release(*move);
	return err;
}

/* Counts a notice; if an earlier one is missing, it is kept until that has come. */
static int count(struct fb_nixl_counter *c, uint64_t number)
{
	if (number != c->count + 1) {
		if (c->n == c->room) {
			size_t room = c->room ? 2 * c->room : 16;
			uint64_t *more = realloc(c->early, room * sizeof(*more));

			if (!more)
				return fb_error(FB_ENOMEM, "mover nixl: out of memory");
			c->early = more;
			c->room = room;
		}
		c->early[c->n++] = number;
		return FB_OK;
	}
	c->count++;
	for (size_t i = 0; i < c->n; i++)
		if (c->early[i] == c->count + 1) {
			c->count++;
			c->early[i] = c->early[--c->n];
			i = (size_t)-1;
		}
	return FB_OK;
}

/* A request is done: adds NIXL's measurements, and counts the notice of a file's request. */
static int end_request(struct fb_nixl_mover *m, const struct fb_transfer *transfer,
		       const struct fb_nixl_part *part)
{
	struct fb_nixl_telemetry t;

	if (m->telemetry && m->api.get_xfer_telemetry &&
	    !m->api.get_xfer_telemetry(m->agent, part->request, &t)) {
		m->post_us += (double)t.post_us;
		m->transfer_us += (double)t.transfer_us;
		m->measured++;
	}
	return part->number ? count(&m->counter[transfer->peer][transfer->notice], part->number)
			    : FB_OK;
}

static int post_part(struct fb_nixl_mover *m, const struct fb_transfer *t,
		     struct fb_nixl_part *part)
{
	const struct fb_group *g = m->mover.group;
	struct fb_nixl_message message = {(uint32_t)g->rank, (uint32_t)t->notice, 0};
	char peer[FB_NIXL_NAME_CHARS];
	int status = 0;

	if (t->notice)
		message.number = ++m->mover.counts[t->peer][t->notice];
	/* The processor copies a rank's transfer with itself, except in GPU memory and files. */
	if (t->peer == g->rank && !part->request) {
		if (m->memory == FB_NIXL_DRAM && !m->files)
			fb_transfer_copy(t, g->rank);
		return t->notice ? count(&m->counter[g->rank][t->notice], message.number) : FB_OK;
	}
	fb_nixl_name(t->peer, peer);
	if (!part->request) {
		if (t->notice)
			status = m->api.gen_notif(m->agent, peer, &message, sizeof(message), NULL);
		return status < 0 ? fb_nixl_failed("gen_notif", status) : FB_OK;
	}
	part->number = m->files ? message.number : 0;
	if (t->notice && !m->files) {
		status = m->api.opt_args_set_notif_msg(part->args, &message, sizeof(message));
		if (!status)
			status = m->api.opt_args_set_has_notif(part->args, true);
	}
	if (!status)
		status = m->api.post_xfer_req(m->agent, part->request, part->args);
	m->payload += (double)fb_transfer_bytes(t);
	part->busy = status == FB_NIXL_BUSY;
	if (status == FB_NIXL_DONE)
		return end_request(m, t, part);
	return status < 0 ? fb_nixl_failed("post_xfer_req", status) : FB_OK;
}

static int request_failed(struct fb_nixl_mover *m, const struct fb_transfer *t, int status)
{
	char with[32] = "a file";

	/* The job ends without closing the mover, and UCX's log may have the reason. */
	free(fb_nixl_ucx_pass_on(m));
	if (!m->files)
		snprintf(with, sizeof(with), "rank %d", t->peer);
	return fb_error(FB_ESYS, "nixl: get_xfer_status: error %d: a %s of %llu bytes with %s "
			"failed in plugin %s", status, fb_move_verbs[t->verb],
			(unsigned long long)fb_transfer_bytes(t), with, m->plugin);
}

/* NIXL completes requests and notifies peers only in calls that ask for a request's state. */
static int complete_requests(struct fb_nixl_mover *m)
{
	struct fb_nixl_move **at = &m->first;

	while (*at) {
		struct fb_nixl_move *n = *at;
		bool busy = false;

		for (uint32_t i = 0; i < n->move.transfers; i++) {
			struct fb_nixl_part *part = &n->part[i];
			int status, err = FB_OK;

			if (!part->busy)
				continue;
			status = m->api.get_xfer_status(m->agent, part->request);
			if (status < 0)
				return request_failed(m, &n->move.transfer[i], status);
			part->busy = status == FB_NIXL_BUSY;
			busy |= part->busy;
			if (!part->busy)
				err = end_request(m, &n->move.transfer[i], part);
			if (err)
				return err;
		}
		if (busy) {
			at = &n->next;
			continue;
		}
		n->listed = false;
		*at = n->next;
	}
	return FB_OK;
}

/* After an error nothing moves any more: the job ends. */
static int progress(struct fb_nixl_mover *m)
{
	if (!m->failed)
		m->failed = complete_requests(m);
	return m->failed;
}

int fb_nixl_post(struct fb_move *move)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)move->mover;
	struct fb_nixl_move *n = (struct fb_nixl_move *)move;
	int err = m->failed;

	if (err)
		return err;
	for (uint32_t i = 0; i < move->transfers && !err; i++)
		err = post_part(m, &move->transfer[i], &n->part[i]);
	n->next = m->first;
	n->listed = true;
	m->first = n;
	m->failed = err;
	return err;
}

static int take(struct fb_nixl_mover *m, const void *data, size_t bytes)
{
	struct fb_nixl_message message = {UINT32_MAX, 0, 0};

	if (bytes == sizeof(message))
		memcpy(&message, data, sizeof(message));
	if (message.from >= (uint32_t)m->mover.group->nranks || !message.notice ||
	    message.notice > FB_NOTICES)
		return fb_error(FB_EPEER, "nixl: a notification of %zu bytes is none of ours",
				bytes);
	return count(&m->counter[message.from][message.notice], message.number);
}

/* Takes all notifications that have come. */
static int take_all(struct fb_nixl_mover *m)
{
	size_t agents = 0, n = 0, bytes;
	int status = m->files ? 0 : m->api.get_notifs(m->agent, m->map, NULL), err = FB_OK;
	const void *data;
	const char *name;

	if (status < 0)
		return fb_nixl_failed("get_notifs", status);
	m->api.notif_map_size(m->map, &agents);
	for (size_t a = 0; a < agents && !err; a++) {
		if (m->api.notif_map_get_agent_at(m->map, a, &name) ||
		    m->api.notif_map_get_notifs_size(m->map, name, &n))
			return fb_nixl_failed("notif_map", -1);
		for (size_t i = 0; i < n && !err; i++)
			if (!m->api.notif_map_get_notif(m->map, name, i, &data, &bytes))
				err = take(m, data, bytes);
	}
	if (agents)
		m->api.notif_map_clear(m->map);
	return err;
}

int fb_nixl_test(struct fb_move *move, bool *done)
{
	int err = progress((struct fb_nixl_mover *)move->mover);

	*done = !err && !((struct fb_nixl_move *)move)->listed;
	return err;
}

int fb_nixl_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count_)
{
	struct fb_nixl_mover *m = (struct fb_nixl_mover *)mover;

	if (!progress(m))
		m->failed = take_all(m);
	*count_ = m->counter[from][notice].count;
	return m->failed;
}

/* Without this check wrong metadata would be found at the first request, or not at all. */
int fb_nixl_load_metadata(struct fb_nixl_mover *m, int rank, const char *data, size_t n)
{
	char expected[FB_NIXL_NAME_CHARS], *name = NULL;
	int status = m->api.load_remote_md(m->agent, data, n, &name), err = FB_OK;

	fb_nixl_name(rank, expected);
	if (status || !name || strcmp(name, expected))
		err = fb_error(FB_EPEER, "nixl: load_remote_md: error %d: the metadata that rank "
			       "%d sent are of agent '%s', not '%s'", status, rank,
			       name ? name : "none", expected);
	free(name);
	return err;
}
