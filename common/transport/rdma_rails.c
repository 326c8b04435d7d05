/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices and ports are the rails of a rank; see rdma_device.h. */
#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/pci.h"

/* Active ports of a machine that are looked at. */
enum { OFFERS = 256 };

struct survey {
	struct fb_rdma_rail_offer offer[OFFERS];
	struct ibv_device *device[OFFERS];
	int port[OFFERS], n;
};

/* How near the rail is to the GPU or, without one, to this process's processor. More is nearer. */
static int nearness(const struct fb_rdma_settings *s, const struct fb_rdma_rail *rail)
{
	char text[96], link[128], nic[PATH_MAX], gpu[PATH_MAX];
	unsigned cpu = 0, node = 0;

	if (s->near) {
		snprintf(text, sizeof(text), "/sys/bus/pci/devices/%s", s->near);
		for (char *at = text; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		snprintf(link, sizeof(link), FB_RDMA_DEVICES "/%s/device", rail->name);
		if (realpath(text, gpu) && realpath(link, nic))
			return fb_pci_shared_path(gpu, nic);
	}
	fb_rdma_fact(rail->name, "device/numa_node", text, sizeof(text));
	if (getcpu(&cpu, &node))
		node = 0;
	return text[0] && atoi(text) == (int)node;
}

/* The device whose name follows (mlx5_2 before mlx5_10); NULL after the last. */
static struct ibv_device *next_device(const struct fb_verbs *verbs, struct ibv_device **list,
				      const char *name)
{
	struct ibv_device *next = NULL;

	for (int i = 0; list[i]; i++) {
		const char *own = verbs->get_device_name(list[i]);

		if (strverscmp(own, name) > 0 &&
		    (!next || strverscmp(own, verbs->get_device_name(next)) < 0))
			next = list[i];
	}
	return next;
}

/* Lists all active ports by name. `why`: the reason of the last device that did not open. */
static void survey_ports(const struct fb_verbs *verbs, struct ibv_device **list,
			 const struct fb_rdma_settings *s, struct survey *survey, char *why,
			 size_t n)
{
	struct ibv_device *device = next_device(verbs, list, "");

	survey->n = 0;
	for (; device; device = next_device(verbs, list, verbs->get_device_name(device))) {
		struct fb_rdma_rail rail;

		if (!fb_rdma_rail_open(verbs, device, 0, &rail, why, n))
			continue;
		for (int p = 1; p <= rail.device.phys_port_cnt && survey->n < OFFERS; p++) {
			if (!fb_rdma_rail_query(&rail, p) || rail.port.state != IBV_PORT_ACTIVE)
				continue;
			survey->offer[survey->n] = (struct fb_rdma_rail_offer){
				.rate = fb_rdma_rail_rate(&rail), .nearness = nearness(s, &rail),
				.ethernet = rail.port.link_layer == IBV_LINK_LAYER_ETHERNET,
			};
			survey->device[survey->n] = device;
			survey->port[survey->n++] = p;
		}
		fb_rdma_rail_close(&rail);
	}
}

/* Opens the ports that "auto" stands for, at most `most`; skips ports without an address. */
static int open_nearest(const struct fb_verbs *verbs, struct ibv_device **list,
			const struct fb_rdma_settings *s, int most, struct fb_rdma_rail *rails,
			int *opened, char *why, size_t n)
{
	struct survey *survey = malloc(sizeof(*survey));
	int taken[OFFERS], count, err = survey ? FB_OK : FB_ENOMEM;

	*opened = 0;
	if (!survey)
		return err;
	survey_ports(verbs, list, s, survey, why, n);
	count = fb_rdma_choose_nearest(survey->offer, survey->n, taken);
	for (int i = 0; i < count && *opened < most && !err; i++) {
		struct fb_rdma_rail *rail = &rails[*opened];

		if (!fb_rdma_rail_open(verbs, survey->device[taken[i]], survey->port[taken[i]],
				       rail, why, n))
			continue;
		err = fb_rdma_rail_finish(s, rail, why, n);
		if (err)
			fb_rdma_rail_close(rail);
		else
			++*opened;
		if (err == FB_EUNSUPPORTED)
			err = FB_OK;
	}
	free(survey);
	return !err && !*opened ? FB_EUNSUPPORTED : err;
}

static int open_named(const struct fb_verbs *verbs, struct ibv_device **list,
		      const struct fb_rdma_settings *s, const struct fb_rdma_rail_name *name,
		      struct fb_rdma_rail *rail, char *why, size_t n)
{
	char names[128] = "";
	size_t used;

	for (int i = 0; list[i]; i++) {
		used = strlen(names);
		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			 verbs->get_device_name(list[i]));
		if (strcmp(verbs->get_device_name(list[i]), name->device))
			continue;
		if (!fb_rdma_rail_open(verbs, list[i], name->port, rail, why, n))
			return FB_EINPUT;
		return fb_rdma_rail_finish(s, rail, why, n);
	}
	snprintf(why, n, "option --rdma-device: '%s' is not accepted: there are %s", name->device,
		 names);
	return FB_EINPUT;
}

int fb_rdma_rails_open(const struct fb_verbs *verbs, const struct fb_rdma_settings *settings,
		       struct fb_rdma_rail rails[FB_RDMA_RAILS], int *n, char *why, size_t chars)
{
	struct fb_rdma_rail_name names[FB_RDMA_RAILS];
	struct ibv_device **list = verbs->get_device_list(NULL);
	int most = fb_rdma_parse_auto(settings->device), wanted, opened = 0, err = FB_OK;

	if (!list || !list[0]) {
		snprintf(why, chars, "no RDMA device%s", access(FB_RDMA_DEVICES, F_OK)
			 ? ": the kernel has none (check that the card's driver and module "
			   "ib_uverbs are loaded: ls /sys/class/infiniband)"
			 : ": libibverbs finds none (check ls /sys/class/infiniband "
			   "/dev/infiniband, module ib_uverbs, and the library's provider "
			   "packages)");
		err = FB_EUNSUPPORTED;
	} else if (most > 0) {
		err = open_nearest(verbs, list, settings, most, rails, &opened, why, chars);
	} else {
		wanted = fb_rdma_parse_rails(settings->device, names);
		for (; opened < wanted && !err; opened++)
			err = open_named(verbs, list, settings, &names[opened], &rails[opened],
					 why, chars);
	}
	if (list)
		verbs->free_device_list(list);
	if (err) {
		fb_rdma_rails_close(rails, opened);
		return err;
	}
	*n = opened;
	why[0] = '\0'; /* may have the reason of a device that was skipped */
	return FB_OK;
}

void fb_rdma_rails_text(const struct fb_rdma_rail *rails, unsigned which, char *text, size_t n)
{
	char rail[160];
	size_t used;

	text[0] = '\0';
	for (int r = 0; r < FB_RDMA_RAILS; r++) {
		if (!(which >> r & 1))
			continue;
		used = strlen(text);
		fb_rdma_rail_text(&rails[r], rail, sizeof(rail));
		snprintf(text + used, n - used, "%s%s", used ? "+" : "rdma ", rail);
	}
}

void fb_rdma_rails_close(struct fb_rdma_rail *rails, int n)
{
	for (int i = 0; i < n; i++)
		fb_rdma_rail_close(&rails[i]);
}

#endif
