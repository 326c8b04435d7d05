/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libfabric and choosing a provider; see libfabric.h. */
#include "common/library/libfabric.h"

#if FB_HAVE_LIBFABRIC

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

#define NEEDED(member) { "fi_" #member, offsetof(struct fb_ofi, member), false }

static const struct fb_library_symbol symbols[] = {
	NEEDED(version), NEEDED(getinfo), NEEDED(freeinfo),
	NEEDED(dupinfo), NEEDED(fabric),  NEEDED(strerror),
};

static const char file[] = "libfabric.so.1";

static int open_library(struct fb_ofi *ofi, char why[FB_REASON_CHARS])
{
	void *handle = fb_library_open(file, NULL, 0, why, FB_REASON_CHARS);
	const char *lacks;

	if (!handle)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(handle, symbols, sizeof(symbols) / sizeof(symbols[0]), ofi);
	if (!lacks && ofi->version() >= FI_VERSION(1, 14))
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "%s is no libfabric of 1.14 or later", file);
	return FB_EUNSUPPORTED;
}

/* --- choosing an endpoint --------------------------------------------------------------------- */

/* What mover libfabric requires of a provider, and which demands of a provider it can meet. */
static void ask(struct fi_info *hints, const struct fb_group *g, bool gpu)
{
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	/*
	 * FI_REMOTE_COMM excludes shared memory and the loopback interface, which reach no other
	 * host. Peers on the same host then need FI_LOCAL_COMM; in GPU memory the rank itself is
	 * such a peer. On one host neither is asked for: provider shm (1.17) would refuse it.
	 */
	if (!fb_group_one_host(g)) {
		hints->caps |= FI_REMOTE_COMM;
		if (g->nranks > g->nnodes || gpu)
			hints->caps |= FI_LOCAL_COMM;
	}
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	/* FI_MR_RAW is not supported; it is here so that the reason can name it. */
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RAW;
	if (gpu) {
		hints->caps |= FI_HMEM;
		hints->domain_attr->mr_mode |= FI_MR_HMEM;
	}
}

static bool is_raw(const struct fi_info *i)
{
	return i->domain_attr->mr_mode & FI_MR_RAW;
}

/* Whether `i` is a PCI card of the provider of `first` that is not earlier in the list. */
static bool is_new_card(const struct fi_info *first, const struct fi_info *i)
{
	if (is_raw(i) || !i->nic || !i->nic->bus_attr ||
	    i->nic->bus_attr->bus_type != FI_BUS_PCI ||
	    strcmp(i->fabric_attr->prov_name, first->fabric_attr->prov_name) != 0)
		return false;
	for (const struct fi_info *before = first; before != i; before = before->next)
		if (!strcmp(before->domain_attr->name, i->domain_attr->name))
			return false;
	return true;
}

/*
 * The list begins with libfabric's best choice. If this provider has several cards, the ranks of a
 * host share them in order, as GPUs are numbered. Not run on hardware.
 */
static const struct fi_info *choose(const struct fi_info *list, const struct fb_group *g)
{
	int cards = 0, at;

	while (list && is_raw(list))
		list = list->next;
	for (const struct fi_info *i = list; i; i = i->next)
		cards += is_new_card(list, i);
	at = g->local_rank * cards / g->local_ranks;
	for (const struct fi_info *i = list; cards > 1 && i; i = i->next)
		if (is_new_card(list, i) && at-- == 0)
			return i;
	return list;
}

static int find_endpoint(const struct fb_ofi *ofi, const struct fb_group *g, bool gpu,
			 struct fi_info **info, char why[FB_REASON_CHARS])
{
	const char *named = getenv("FI_PROVIDER");
	struct fi_info *hints = ofi->dupinfo(NULL), *list = NULL;
	const struct fi_info *best = NULL;
	int status = -FI_ENOMEM;

	if (hints) {
		ask(hints, g, gpu);
		status = ofi->getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &list);
		ofi->freeinfo(hints);
	}
	if (!status)
		best = choose(list, g);
	*info = best ? ofi->dupinfo(best) : NULL;
	if (list && !best)
		snprintf(why, FB_REASON_CHARS, "provider %.60s has raw keys (FI_MR_RAW), which "
			 "mover libfabric does not exchange", list->fabric_attr->prov_name);
	else if (!*info)
		snprintf(why, FB_REASON_CHARS, "libfabric has no provider with messages, RMA and "
			 "completion on delivery%s for these ranks: fi_getinfo: %.40s%s%.40s",
			 gpu ? " in GPU memory" : "", ofi->strerror(-status),
			 named ? "; FI_PROVIDER=" : "", named ? named : "");
	ofi->freeinfo(list);
	/* Delivery completion was a requirement: the mover sets the flag for each operation. */
	if (*info)
		(*info)->tx_attr->op_flags = 0;
	return *info ? FB_OK : FB_EUNSUPPORTED;
}

static void version_text(const struct fb_ofi *ofi, char *text, size_t n)
{
	uint32_t version = ofi->version();

	snprintf(text, n, "%u.%u", FI_MAJOR(version), FI_MINOR(version));
}

int fb_ofi_load(struct fb_ofi_end *end, const struct fb_session *session, const struct fb_group *g,
		bool gpu, char why[FB_REASON_CHARS])
{
	int err = open_library(&end->ofi, why);
	char both[192] = "", version[16];

	if (!err)
		err = find_endpoint(&end->ofi, g, gpu, &end->info, why);
	err = fb_group_agree_why(g, err, why, FB_REASON_CHARS);
	if (err || !end->info)
		return err;
	version_text(&end->ofi, version, sizeof(version));
	snprintf(both, sizeof(both), "%s %s", version, end->info->fabric_attr->prov_name);
	if (!fb_group_same(g, both, sizeof(both))) {
		snprintf(why, FB_REASON_CHARS, "ranks found libfabric of different versions, or "
			 "different providers: set FI_PROVIDER");
		return FB_EUNSUPPORTED;
	}
	fb_fact(session, "library.libfabric.version", "%s", version);
	fb_fact(session, gpu ? "library.libfabric_gpu.provider" : "library.libfabric.provider",
		"%s", end->info->fabric_attr->prov_name);
	return FB_OK;
}

void fb_ofi_path(const struct fb_ofi_end *end, char *path, size_t n)
{
	char version[16];

	version_text(&end->ofi, version, sizeof(version));
	snprintf(path, n, "libfabric %s %.80s/%.80s", version, end->info->fabric_attr->prov_name,
		 end->info->domain_attr->name);
}

#endif
