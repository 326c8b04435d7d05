/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs through the connection manager; see rdma_cm.h. */
#include "common/transport/rdma_cm_internal.h"

#if FB_HAVE_VERBS

#include <stdio.h>

#include "common/base/error.h"

#endif

#if FB_HAVE_RDMACM

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/library/library.h"

enum { BACKLOG = 4096 };

#define NEEDED(member) { "rdma_" #member, offsetof(struct fb_rdma_cm_calls, member), false }

static const struct fb_library_symbol symbols[] = {
	NEEDED(create_event_channel),
	NEEDED(destroy_event_channel),
	NEEDED(create_id),
	NEEDED(destroy_id),
	NEEDED(bind_addr),
	NEEDED(resolve_addr),
	NEEDED(resolve_route),
	NEEDED(listen),
	NEEDED(connect),
	NEEDED(accept),
	NEEDED(establish),
	NEEDED(init_qp_attr),
	NEEDED(get_cm_event),
	NEEDED(ack_cm_event),
	NEEDED(event_str),
	NEEDED(get_src_port),
};

/* The library, or FB_EUNSUPPORTED with the reason. */
static int load(struct fb_rdma_cm *cm, char *why, size_t n)
{
	const char *name = getenv("FABRICBENCH_LIBRDMACM"), *lacks;

	cm->library = fb_library_open(name && *name ? name : "librdmacm.so.1", NULL, 0, why, n);
	if (!cm->library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(cm->library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &cm->c);
	if (!lacks)
		return FB_OK;
	snprintf(why, n, "librdmacm has no %s", lacks);
	return FB_EUNSUPPORTED;
}

int fb_rdma_cm_open(struct fb_rdma_cm **cm, const struct fb_rdma_settings *settings, char *why,
		    size_t n)
{
	struct fb_rdma_cm *made;
	int err;

	*cm = NULL;
	if (settings->connect != FB_RDMA_CONNECT_CM)
		return FB_OK;
	made = calloc(1, sizeof(*made));
	if (!made)
		return FB_ENOMEM;
	err = load(made, why, n);
	if (!err) {
		made->channel = made->c.create_event_channel();
		if (!made->channel) {
			snprintf(why, n, "no connection manager: %s (module rdma_ucm?)",
				 strerror(errno));
			err = FB_EUNSUPPORTED;
		}
	}
	if (err) {
		fb_rdma_cm_close(made);
		return err;
	}
	*cm = made;
	return FB_OK;
}

void fb_rdma_cm_close(struct fb_rdma_cm *cm)
{
	if (!cm)
		return;
	for (int i = 0; i < cm->nids; i++)
		cm->c.destroy_id(cm->ids[i]);
	for (int i = 0; i < cm->nlisteners; i++)
		cm->c.destroy_id(cm->listeners[i]);
	if (cm->channel)
		cm->c.destroy_event_channel(cm->channel);
	fb_library_close(cm->library);
	free(cm->ids);
	free(cm->all);
	free(cm);
}

int fb_rdma_cm_keep(struct fb_rdma_cm *cm, struct rdma_cm_id *id)
{
	struct rdma_cm_id **more;
	int room = cm->room ? 2 * cm->room : 64;

	if (cm->nids == cm->room) {
		more = realloc(cm->ids, (size_t)room * sizeof(struct rdma_cm_id *));
		if (!more) {
			cm->c.destroy_id(id);
			return fb_error(FB_ENOMEM, "rdma: out of memory for %d connections", room);
		}
		cm->ids = more;
		cm->room = room;
	}
	cm->ids[cm->nids++] = id;
	return FB_OK;
}

static int listen_on(struct fb_rdma_cm *cm, const struct fb_rdma_rail *rail, union fb_rdma_ip *ip)
{
	struct rdma_cm_id *id = NULL;

	if (fb_rdma_rail_ip(rail, ip))
		return fb_error(FB_EINPUT, "option --rdma-connect: 'cm' is not accepted: port "
				"%s:%d has no IP address", rail->name, rail->number);
	if (!cm->c.create_id(cm->channel, &id, NULL, RDMA_PS_TCP)) {
		cm->listeners[cm->nlisteners++] = id;
		if (!cm->c.bind_addr(id, &ip->any) && !cm->c.listen(id, BACKLOG)) {
			ip->v4.sin_port = cm->c.get_src_port(id); /* at the same place in both */
			return FB_OK;
		}
	}
	return fb_error(FB_ESYS, "rdma: %s:%d: nobody can listen there: %s", rail->name,
			rail->number, strerror(errno));
}

int fb_rdma_cm_listen(struct fb_rdma_cm *cm, const struct fb_rdma_exchange *m)
{
	size_t nranks = (size_t)m->world->nranks;
	union fb_rdma_ip own[FB_RDMA_RAILS];
	int err = FB_OK;

	if (cm->all)
		return FB_OK;
	memset(own, 0, sizeof(own));
	for (int r = 0; r < m->nrails && !err; r++)
		err = listen_on(cm, &m->rails[r], &own[r]);
	cm->all = calloc(nranks, sizeof(own));
	if (!cm->all)
		err = FB_ENOMEM;
	err = fb_group_agree(m->world, err);
	if (err || !cm->all)
		return err;
	MPI_Allgather(own, (int)sizeof(own), MPI_BYTE, cm->all, (int)sizeof(own), MPI_BYTE,
		      m->world->comm);
	return FB_OK;
}

#elif FB_HAVE_VERBS

int fb_rdma_cm_open(struct fb_rdma_cm **cm, const struct fb_rdma_settings *settings, char *why,
		    size_t n)
{
	*cm = NULL;
	if (settings->connect != FB_RDMA_CONNECT_CM)
		return FB_OK;
	snprintf(why, n, "built without librdmacm headers");
	return FB_EUNSUPPORTED;
}

void fb_rdma_cm_close(struct fb_rdma_cm *cm)
{
	(void)cm;
}

#endif
