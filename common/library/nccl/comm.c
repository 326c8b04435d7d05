/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, keeping and ending communicators; see comm.h. */
#include "common/library/nccl/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/nccl/dump.h"

/*
 * For --nodes-as: NCCL takes ranks with the same NCCL_HOSTID for ranks of one host, and reads it
 * once. So its rings, trees and sockets between nodes run on one host. A user's value stays.
 */
static void name_host(const struct fb_session *session)
{
	char name[96];

	if (session->settings->nodes_as <= 0)
		return;
	snprintf(name, sizeof(name), "%.63s-node%d", session->world->host, session->world->node);
	(void)setenv("NCCL_HOSTID", name, 0);
}

static int open_once(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	struct fb_nccl *nccl = thing;
	char version[FB_NCCL_NAME_CHARS];
	int err;

	name_host(session);
	if (session->settings->csv)
		fb_nccl_dump_to(session->settings->csv, session->world->nranks);
	err = fb_nccl_open(nccl, session->settings->nccl_library, why, FB_REASON_CHARS);

	/* Only the version: the facts have the paths of all loaded libraries. */
	if (!err)
		fb_fact(session, "library.libnccl.version", "%s",
			fb_nccl_version_text(nccl, version));
	return err;
}

/* It stays loaded: it has threads. */
static void close_once(void *thing)
{
	(void)thing;
}

static const struct fb_once once = {
	.bytes = sizeof(struct fb_nccl), .open = open_once, .close = close_once};

int fb_nccl_find(struct fb_nccl *nccl, const struct fb_session *session,
		 const struct fb_group *group, bool shared, char why[FB_REASON_CHARS])
{
	char version[FB_NCCL_NAME_CHARS] = "";
	const char *missing;
	void *found;
	int err;

	*nccl = (struct fb_nccl){.handle = NULL};
	if (shared) {
		snprintf(why, FB_REASON_CHARS, "NCCL refuses ranks that share a GPU");
		return FB_EUNSUPPORTED;
	}
	err = fb_session_once(session, &once, &found, &missing);
	if (err)
		snprintf(why, FB_REASON_CHARS, "%s", missing);
	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	if (err)
		return err;
	*nccl = *(const struct fb_nccl *)found;
	nccl->multicast = session->settings->multicast == FB_MULTICAST_ALLOW;
	if (fb_group_same(group, fb_nccl_version_text(nccl, version), sizeof(version)))
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "ranks found NCCL of different versions");
	*nccl = (struct fb_nccl){.handle = NULL};
	return FB_EUNSUPPORTED;
}

const char *const fb_nccl_registrations[] = {
	[FB_NCCL_NONE] = "none", [FB_NCCL_REGISTERED] = "registered", [FB_NCCL_WINDOW] = "window",
	[FB_NCCL_WINDOW_COPY] = "window-copy", [FB_NCCL_REGISTRATIONS] = NULL,
};

enum fb_nccl_registration fb_nccl_registration_of(const char *name)
{
	int i = 0;

	while (fb_nccl_registrations[i] && strcmp(fb_nccl_registrations[i], name))
		i++;
	return (enum fb_nccl_registration)i;
}

bool fb_nccl_can_register(const struct fb_nccl *nccl, enum fb_nccl_registration how,
			  const char *memory, char reason[FB_REASON_CHARS])
{
	static const enum fb_nccl_feature features[FB_NCCL_REGISTRATIONS] = {
		[FB_NCCL_REGISTERED] = FB_NCCL_REGISTRATION, [FB_NCCL_WINDOW] = FB_NCCL_WINDOWS,
		[FB_NCCL_WINDOW_COPY] = FB_NCCL_COPY_ENGINES,
	};
	const char *const usable[] = {"nccl", "vmm", "fabric"};

	if (how == FB_NCCL_NONE)
		return true;
	if (!fb_nccl_has(nccl, features[how], reason, FB_REASON_CHARS))
		return false;
	for (size_t i = 0; i < sizeof(usable) / sizeof(usable[0]); i++)
		if (!strcmp(memory, usable[i]))
			return true;
	snprintf(reason, FB_REASON_CHARS, "registration %s does not take memory %s",
		 fb_nccl_registrations[how], memory);
	return false;
}

/*
 * Segments are compared by their numbers, which are equal on all ranks, and not by address: on some
 * ranks a new segment may have a freed one's address. These would keep the communicator while the
 * others make a new one, and the job would hang.
 */
static bool is_for(const struct fb_nccl_group *g, const struct fb_nccl_need *need)
{
	return g->comm && g->need.registration == need->registration &&
	       g->need.channels == need->channels &&
	       !memcmp(&g->need.ctas, &need->ctas, sizeof(need->ctas)) &&
	       !strcmp(g->need.choice.algorithm, need->choice.algorithm) &&
	       !strcmp(g->need.choice.protocol, need->choice.protocol) &&
	       (need->registration == FB_NCCL_NONE || g->memory == need->segment->number);
}

struct fb_nccl_config fb_nccl_config_plain(const struct fb_nccl *nccl)
{
	const int unset = FB_NCCL_UNDEFINED_INT;
	bool whole = nccl->version >= FB_NCCL_CONFIG_NVLS_VERSION;

	return (struct fb_nccl_config){
		.size = whole ? sizeof(struct fb_nccl_config)
			      : offsetof(struct fb_nccl_config, channels_per_peer),
		.magic = FB_NCCL_CONFIG_MAGIC,
		.version = whole ? FB_NCCL_CONFIG_NVLS_VERSION : FB_NCCL_CONFIG_VERSION,
		.blocking = 1, .cga_cluster_size = unset, .min_ctas = unset, .max_ctas = unset,
		.net_name = NULL, .split_share = unset, .traffic_class = unset, .comm_name = NULL,
		.collnet_enable = unset, .cta_policy = unset, .shrink_share = unset,
		.nvls_ctas = unset, .channels_per_peer = unset, .nvlink_centric = unset,
		.graph_usage = unset, .rma_contexts = unset, .most_peers = unset,
		.graph_order = unset, .launch_order = unset, .rma_signals = unset,
		.rma_eager = unset, .host_cft = unset,
		.nvls_host = nccl->multicast ? unset : FB_NCCL_NVLS_HOST_OFF,
	};
}

int fb_nccl_init_rank(const struct fb_nccl *nccl, fb_nccl_comm *comm, int nranks,
		      struct fb_nccl_id id, int rank, struct fb_nccl_config *config)
{
	return nccl->CommInitRankConfig ? nccl->CommInitRankConfig(comm, nranks, id, rank, config)
					: nccl->CommInitRank(comm, nranks, id, rank);
}

/*
 * NCCL 2.17 to 2.30 compares the limits of CTAs before it replaces an unset one, so it refuses a
 * minimum without a maximum. So the maximum is set to NCCL's default, its number of channels.
 */
static void complete(struct fb_nccl_config *config, int version)
{
	int all = version >= FB_NCCL_64_CHANNELS_VERSION ? 64 : 32;

	if (config->max_ctas == FB_NCCL_UNDEFINED_INT && config->min_ctas > config->max_ctas)
		config->max_ctas = config->min_ctas > all ? config->min_ctas : all;
}

static int init(const struct fb_nccl *nccl, const struct fb_group *w, struct fb_nccl_id id,
		struct fb_nccl_group *g)
{
	struct fb_nccl_config config = fb_nccl_config_plain(nccl);
	const struct fb_nccl_ctas *ctas = &g->need.ctas;

	if (g->need.channels)
		config.min_ctas = config.max_ctas = g->need.channels;
	if (ctas->min)
		config.min_ctas = ctas->min;
	if (ctas->max)
		config.max_ctas = ctas->max;
	complete(&config, nccl->version);
	config.cta_policy = fb_nccl_policy_number(ctas);
	config.cga_cluster_size = fb_nccl_cluster_number(ctas);
	if (g->need.registration == FB_NCCL_WINDOW_COPY)
		config.cta_policy = FB_NCCL_CTA_POLICY_ZERO;
	return fb_nccl_error(nccl, NULL,
			     fb_nccl_init_rank(nccl, &g->comm, w->nranks, id, w->rank, &config),
			     "CommInitRankConfig");
}

/*
 * Registers the whole part, because in it buffers have the same offsets on all ranks, which
 * symmetric windows require.
 */
int fb_nccl_register(const struct fb_nccl *nccl, fb_nccl_comm comm, enum fb_nccl_registration how,
		     const struct fb_segment *segment, int rank, void **registered)
{
	char *part = how == FB_NCCL_NONE ? NULL : fb_segment_part(segment, rank);

	if (how == FB_NCCL_REGISTERED)
		return fb_nccl_error(nccl, comm,
				     nccl->CommRegister(comm, part, segment->part_bytes,
							registered), "CommRegister");
	if (how != FB_NCCL_NONE)
		return fb_nccl_error(nccl, comm,
				     nccl->CommWindowRegister(comm, part, segment->part_bytes,
							      registered,
							      FB_NCCL_WINDOW_SYMMETRIC),
				     "CommWindowRegister");
	return FB_OK;
}

void fb_nccl_deregister(const struct fb_nccl *nccl, fb_nccl_comm comm,
			enum fb_nccl_registration how, void *registered)
{
	if (!comm || !registered)
		return;
	if (how == FB_NCCL_REGISTERED)
		(void)nccl->CommDeregister(comm, registered);
	else
		(void)nccl->CommWindowDeregister(comm, registered);
}

/* Collective: makes the communicator while NCCL_ALGO and NCCL_PROTO are set for it. */
static int make(const struct fb_nccl *nccl, const struct fb_group *w, struct fb_nccl_group *g)
{
	struct fb_nccl_saved saved;
	struct fb_nccl_id id;
	int err = FB_OK;

	memset(&id, 0, sizeof(id));
	if (w->rank == 0)
		err = fb_nccl_error(nccl, NULL, nccl->GetUniqueId(&id), "GetUniqueId");
	err = fb_group_agree(w, err);
	if (err)
		return err;
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, w->comm);
	err = fb_nccl_force_begin(&g->need.choice, &saved);
	err = fb_group_agree(w, err);
	fb_nccl_dump_begin(w);
	if (!err)
		err = fb_group_agree(w, init(nccl, w, id, g));
	fb_nccl_dump_end();
	fb_nccl_force_end(&saved);
	if (!err)
		err = fb_nccl_register(nccl, g->comm, g->need.registration, g->need.segment,
				       w->rank, &g->registered);
	return fb_group_agree(w, err);
}

int fb_nccl_group_get(struct fb_nccl_group **list, const struct fb_nccl *nccl,
		      const struct fb_group *world, const struct fb_nccl_need *need,
		      struct fb_nccl_group **group)
{
	struct fb_nccl_group *g = *list;
	int err;

	while (g && !is_for(g, need))
		g = g->next;
	if (g) {
		*group = g;
		return FB_OK;
	}
	g = calloc(1, sizeof(*g));
	err = fb_group_agree(world, g ? FB_OK : FB_ENOMEM);
	if (err || !g) {
		free(g);
		return fb_error(err, "out of memory for a communicator");
	}
	g->need = *need;
	g->memory = need->registration == FB_NCCL_NONE ? 0 : need->segment->number;
	err = make(nccl, world, g);
	if (err) {
		if (g->comm)
			(void)nccl->CommAbort(g->comm);
		free(g);
		return err;
	}
	g->next = *list;
	*list = g;
	*group = g;
	return FB_OK;
}

int fb_nccl_group_poll(const struct fb_nccl *nccl, struct fb_nccl_group *group)
{
	int code = FB_NCCL_SUCCESS, asked, err;

	if (!group->comm)
		return FB_EPEER;
	asked = nccl->CommGetAsyncError(group->comm, &code);
	err = fb_nccl_error(nccl, group->comm, asked ? asked : code, "CommGetAsyncError");
	if (!err)
		return FB_OK;
	(void)nccl->CommAbort(group->comm);
	group->comm = NULL;
	return err == FB_EUNSUPPORTED ? FB_ESYS : err;
}

void fb_nccl_group_drop(struct fb_nccl_group **list, const struct fb_nccl *nccl,
			struct fb_nccl_group *group)
{
	while (*list && *list != group)
		list = &(*list)->next;
	if (*list)
		*list = group->next;
	if (group->comm)
		(void)nccl->CommAbort(group->comm);
	free(group);
}

void fb_nccl_group_close(struct fb_nccl_group **list, const struct fb_nccl *nccl)
{
	while (*list) {
		struct fb_nccl_group *g = *list;

		*list = g->next;
		fb_nccl_deregister(nccl, g->comm, g->need.registration, g->registered);
		if (g->comm)
			(void)nccl->CommDestroy(g->comm);
		free(g);
	}
}
