/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and notifications of the NIXL in libfake_nixl.c, which includes this. */
#include "tests/fake/nixl.h"

static int through_tcp(const struct agent *a, size_t bytes)
{
	static char chunk[CHUNK];

	for (size_t n, done = 0; done < bytes; done += n) {
		n = bytes - done < CHUNK ? bytes - done : CHUNK;
		if (send(a->tcp[0], chunk, n, 0) != (ssize_t)n ||
		    recv(a->tcp[1], chunk, n, MSG_WAITALL) != (ssize_t)n)
			return BACKEND;
	}
	return 0;
}

static bool is_registered(const struct metadata *of, const struct list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct area *a = &l->area[i];
		uint32_t k = 0;

		while (k < of->areas && (of->area[k].kind != a->kind ||
					 of->area[k].device != a->device ||
					 a->at < of->area[k].at ||
					 a->at + a->bytes > of->area[k].at + of->area[k].bytes))
			k++;
		if (k == of->areas)
			return false;
	}
	return true;
}

/* --- requests --------------------------------------------------------------------------------- */

static int copy_list(struct list *to, const struct list *from)
{
	*to = *from;
	to->area = calloc(from->n + 1, sizeof(*to->area));
	if (to->area && from->n)
		memcpy(to->area, from->area, from->n * sizeof(*to->area));
	return to->area ? 0 : BACKEND;
}

CALL(create_xfer_req, void *agent, int operation, void *local, void *remote, const char *peer,
     void **request, void *args)
{
	const struct agent *a = agent;
	const struct metadata *to = find(a, peer);
	const struct list *here = local, *there = remote;
	struct request *r;

	(void)args;
	if (!to || here->n != there->n || !is_registered(&a->own, here) ||
	    !is_registered(to, there))
		return NOT_FOUND;
	r = calloc(1, sizeof(*r));
	if (!r || copy_list(&r->local, here) || copy_list(&r->remote, there))
		return BACKEND;
	snprintf(r->peer, NAME, "%s", peer);
	r->operation = operation;
	*request = r;
	return 0;
}

CALL(release_xfer_req, void *agent, void *request)
{
	return agent && request ? 0 : NOT_FOUND;
}

CALL(destroy_xfer_req, void *request)
{
	struct request *r = request;

	free(r->local.area);
	free(r->remote.area);
	free(r);
	return 0;
}

/* Carried out by get_xfer_status. */
CALL(post_xfer_req, void *agent, void *request, void *args)
{
	struct request *r = request;

	(void)agent;
	r->args = *(struct args *)args;
	return FB_NIXL_BUSY;
}

static int tell(const struct agent *a, const struct metadata *to, const void *data, size_t bytes)
{
	struct note note = {.bytes = is("foreign") ? bytes / 2 : bytes};
	struct sockaddr_un at;
	socklen_t n = address_of(to, &at);

	snprintf(note.from, NAME, "%s", a->own.name);
	memcpy(note.data, data, bytes);
	/* A peer whose queue is full takes the notification later. */
	return sendto(a->socket, &note, sizeof(note), 0, (struct sockaddr *)&at, n) < 0
		       ? FB_NIXL_BUSY
		       : 0;
}

/* Returns how many bytes; a plugin may take no notice of too few. */
static ssize_t carry_file(const struct area *memory, const struct area *file, int operation)
{
	void *at = (void *)(uintptr_t)memory->at;
	size_t bytes = memory->bytes - (is("short") || is("cut"));
	ssize_t done;

	if (operation == FB_NIXL_WRITE)
		return pwrite((int)file->device, at, memory->bytes, (off_t)file->at);
	done = pread((int)file->device, at, bytes, (off_t)file->at);
	return is("cut") ? (ssize_t)memory->bytes : done;
}

static int carry(const struct agent *a, const struct metadata *to, const struct request *r)
{
	for (size_t i = 0; i < r->local.n; i++) {
		const struct area *l = &r->local.area[i], *p = &r->remote.area[i];
		struct iovec here = {(void *)(uintptr_t)l->at, l->bytes};
		struct iovec there = {(void *)(uintptr_t)p->at, p->bytes};
		ssize_t done;

		if (l->bytes != p->bytes)
			return BACKEND;
		if (p->kind == FB_NIXL_FILE)
			done = carry_file(l, p, r->operation);
		else if (r->operation == FB_NIXL_WRITE)
			done = process_vm_writev(to->pid, &here, 1, &there, 1, 0);
		else
			done = process_vm_readv(to->pid, &here, 1, &there, 1, 0);
		if (done != (ssize_t)l->bytes || (a->tcp[0] >= 0 && through_tcp(a, l->bytes)))
			return BACKEND;
	}
	return 0;
}

CALL(get_xfer_status, void *agent, void *request)
{
	const struct agent *a = agent;
	struct request *r = request;
	const struct metadata *to = find(a, r->peer);
	int status = !to || is("lost") ? BACKEND : carry(a, to, r);

	return status || !r->args.has ? status : tell(a, to, r->args.note, r->args.bytes);
}

CALL(get_xfer_telemetry, void *agent, void *request, struct fb_nixl_telemetry *telemetry)
{
	const struct request *r = request;

	(void)agent;
	*telemetry = (struct fb_nixl_telemetry){.post_us = 1, .transfer_us = 2,
						.descriptors = r->local.n};
	return 0;
}

/* --- notifications ---------------------------------------------------------------------------- */

/* Takes what has come, so that who waits for room at a peer does not keep that one waiting. */
static int receive(struct agent *a)
{
	struct note note, *more;

	while (recv(a->socket, &note, sizeof(note), 0) == (ssize_t)sizeof(note)) {
		more = realloc(a->come.note, (a->come.n + 1) * sizeof(*more));
		if (!more)
			return BACKEND;
		a->come.note = more;
		a->come.note[a->come.n++] = note;
	}
	return 0;
}

CALL(gen_notif, void *agent, const char *peer, const void *data, size_t n, void *args)
{
	const struct metadata *to = find(agent, peer);
	int status = to && n <= NOTE ? FB_NIXL_BUSY : NOT_FOUND;

	(void)args;
	while (status == FB_NIXL_BUSY && (status = tell(agent, to, data, n)))
		status = receive(agent) ? BACKEND : status;
	return status;
}

CALL(create_notif_map, void **map)
{
	*map = calloc(1, sizeof(struct map));
	return *map ? 0 : BACKEND;
}

CALL(notif_map_clear, void *map)
{
	struct map *m = map;

	free(m->note);
	*m = (struct map){NULL, 0};
	return 0;
}

CALL(destroy_notif_map, void *map)
{
	(void)nixl_capi_notif_map_clear(map);
	free(map);
	return 0;
}

/* The map of the mover is empty: it clears what it has taken. */
CALL(get_notifs, void *agent, void *map, void *args)
{
	struct agent *a = agent;
	struct map *m = map;
	int status = receive(a);

	(void)args;
	if (m->n)
		return NOT_FOUND;
	*m = a->come;
	a->come = (struct map){NULL, 0};
	return status;
}

/* Whether a note is the first one of its sender. */
static bool is_first(const struct map *m, size_t k)
{
	size_t i = 0;

	while (strcmp(m->note[i].from, m->note[k].from))
		i++;
	return i == k;
}

CALL(notif_map_size, void *map, size_t *n)
{
	const struct map *m = map;

	*n = 0;
	for (size_t k = 0; k < m->n; k++)
		*n += is_first(m, k);
	return 0;
}

CALL(notif_map_get_agent_at, void *map, size_t i, const char **name)
{
	const struct map *m = map;

	for (size_t k = 0; k < m->n; k++)
		if (is_first(m, k) && i-- == 0) {
			*name = m->note[k].from;
			return 0;
		}
	return NOT_FOUND;
}

CALL(notif_map_get_notifs_size, void *map, const char *name, size_t *n)
{
	const struct map *m = map;

	*n = 0;
	for (size_t k = 0; k < m->n; k++)
		*n += !strcmp(m->note[k].from, name);
	return 0;
}

CALL(notif_map_get_notif, void *map, const char *name, size_t i, const void **data, size_t *n)
{
	const struct map *m = map;

	for (size_t k = 0; k < m->n; k++)
		if (!strcmp(m->note[k].from, name) && i-- == 0) {
			*data = m->note[k].data;
			*n = m->note[k].bytes;
			return 0;
		}
	return NOT_FOUND;
}
