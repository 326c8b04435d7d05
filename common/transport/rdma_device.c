/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices and ports; see rdma_device.h. */
#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"

enum { GIDS = 256 };

void fb_rdma_fact(const char *device, const char *file, char *text, int n)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), FB_RDMA_DEVICES "/%s/%s", device, file);
	text[0] = '\0';
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(text, n, f))
		text[0] = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
}

static void describe_gid(const struct fb_rdma_rail *rail, struct fb_rdma_gid *gid)
{
	char file[96], text[64], vlan[96];

	snprintf(file, sizeof(file), "ports/%d/gid_attrs/types/%d", rail->number, gid->index);
	fb_rdma_fact(rail->name, file, text, sizeof(text));
	gid->type = !rail->ethernet ? FB_RDMA_GID_IB
		    : strstr(text, "v2") ? FB_RDMA_GID_ROCE_V2 : FB_RDMA_GID_ROCE_V1;
	snprintf(file, sizeof(file), "ports/%d/gid_attrs/ndevs/%d", rail->number, gid->index);
	fb_rdma_fact(rail->name, file, text, sizeof(text));
	snprintf(vlan, sizeof(vlan), "/proc/net/vlan/%s", text);
	gid->vlan = text[0] && !access(vlan, F_OK);
}

static int take_gid(const struct fb_rdma_settings *s, struct fb_rdma_rail *rail, char *why,
		    size_t n)
{
	struct fb_rdma_gid *table = calloc(GIDS, sizeof(*table));
	const struct fb_rdma_gid *chosen;
	int filled = 0, err = FB_OK;

	if (!table)
		return FB_ENOMEM;
	for (int i = 0; i < rail->port.gid_tbl_len && i < GIDS; i++) {
		struct fb_rdma_gid *gid = &table[filled];
		union ibv_gid raw;

		if (rail->verbs->query_gid(rail->context, rail->number, i, &raw) ||
		    (s->gid_index >= 0 && i != s->gid_index))
			continue;
		memcpy(gid->raw, raw.raw, sizeof(gid->raw));
		if (fb_rdma_gid_empty(gid->raw))
			continue;
		gid->index = i;
		describe_gid(rail, gid);
		filled++;
	}
	chosen = fb_rdma_choose_gid(table, filled);
	rail->gid_index = -1;
	snprintf(rail->kind, sizeof(rail->kind), "InfiniBand");
	if (chosen && (rail->ethernet || s->gid_index >= 0)) {
		rail->gid_index = chosen->index;
		fb_rdma_gid_kind(chosen, rail->kind, sizeof(rail->kind));
	} else if (s->gid_index >= 0) {
		snprintf(why, n, "option --rdma-gid-index: '%d' is not accepted: port %s:%d has no "
			 "address there, of %d lines in its table", s->gid_index, rail->name,
			 rail->number, rail->port.gid_tbl_len);
		err = FB_EINPUT;
	} else if (rail->ethernet) {
		snprintf(why, n, "port %s:%d has no address (GID): its interface needs one",
			 rail->name, rail->number);
		err = FB_EUNSUPPORTED;
	}
	if (chosen)
		memcpy(rail->gid, chosen->raw, sizeof(rail->gid));
	free(table);
	return err;
}

static int take_mtu(const struct fb_rdma_settings *s, struct fb_rdma_rail *rail, char *why,
		    size_t n)
{
	int most = 128 << rail->port.active_mtu, wanted = s->mtu ? 128 << s->mtu : most;

	if (wanted > most) {
		snprintf(why, n, "option --rdma-mtu: '%d' is not accepted: port %s:%d carries at "
			 "most %d", wanted, rail->name, rail->number, most);
		return FB_EINPUT;
	}
	rail->mtu = wanted;
	return FB_OK;
}

bool fb_rdma_rail_query(struct fb_rdma_rail *rail, int number)
{
	memset(&rail->port, 0, sizeof(rail->port));
	rail->number = (uint8_t)number;
	return !rail->verbs->query_port(rail->context, rail->number, &rail->port);
}

/*
 * Rates beyond NDR do not fit the 8 bits of the library's answer, which then says NDR. The kernel's
 * text has them: "800 Gb/sec (4X XDR)".
 */
long fb_rdma_rail_rate(const struct fb_rdma_rail *rail)
{
	enum { NDR = 128 };
	long rate = fb_rdma_port_rate(rail->port.active_width, rail->port.active_speed);
	char file[32], text[64];
	double told;

	if (rate && rail->port.active_speed < NDR)
		return rate;
	snprintf(file, sizeof(file), "ports/%d/rate", rail->number);
	fb_rdma_fact(rail->name, file, text, sizeof(text));
	told = strtod(text, NULL) * 1e3;
	return told > (double)rate && told < 1e8 ? (long)told : rate;
}

/* Whether the port (0: the fastest of the device) is active; sets rail->port and rail->number. */
static bool find_active(struct fb_rdma_rail *rail, int number)
{
	int first = number ? number : 1, last = number ? number : rail->device.phys_port_cnt, n = 0;
	struct fb_rdma_port_offer offers[UINT8_MAX];
	const struct fb_rdma_port_offer *best;

	for (int i = first; i <= last && n < UINT8_MAX; i++, n++) {
		offers[n] = (struct fb_rdma_port_offer){.number = i};
		if (!fb_rdma_rail_query(rail, i) || rail->port.state != IBV_PORT_ACTIVE)
			continue;
		offers[n].active = true;
		offers[n].rate = fb_rdma_rail_rate(rail);
	}
	best = fb_rdma_choose_port(offers, n);
	return best && fb_rdma_rail_query(rail, best->number) &&
	       rail->port.state == IBV_PORT_ACTIVE;
}

void fb_rdma_rail_close(struct fb_rdma_rail *rail)
{
	if (rail->pd)
		rail->verbs->dealloc_pd(rail->pd);
	if (rail->context)
		rail->verbs->close_device(rail->context);
	memset(rail, 0, sizeof(*rail));
}

bool fb_rdma_rail_open(const struct fb_verbs *verbs, struct ibv_device *device, int number,
		       struct fb_rdma_rail *rail, char *why, size_t n)
{
	memset(rail, 0, sizeof(*rail));
	rail->verbs = verbs;
	snprintf(rail->name, sizeof(rail->name), "%s", verbs->get_device_name(device));
	rail->context = verbs->open_device(device);
	if (!rail->context || verbs->query_device(rail->context, &rail->device)) {
		snprintf(why, n, "RDMA device %s cannot be opened: %s (check that this user may "
			 "read and write /dev/infiniband/uverbs*, and that module ib_uverbs is "
			 "loaded)", rail->name, strerror(errno));
	} else if (!find_active(rail, number)) {
		snprintf(why, n, "RDMA device %s has no active port%s (check the cable, "
			 "ibv_devinfo and, on InfiniBand, the subnet manager)", rail->name,
			 number ? " of that number" : "");
	} else {
		rail->ethernet = rail->port.link_layer == IBV_LINK_LAYER_ETHERNET;
		rail->max_message = rail->port.max_msg_sz;
		return true;
	}
	fb_rdma_rail_close(rail);
	return false;
}

/* Every port has the default partition, which is assumed if the library reports no keys. */
static void take_pkeys(struct fb_rdma_rail *rail)
{
	uint16_t key;

	rail->pkeys[0] = 0xffff;
	for (int i = 0; i < rail->port.pkey_tbl_len && i < FB_RDMA_PKEYS; i++)
		if (!rail->verbs->query_pkey(rail->context, rail->number, i, &key))
			rail->pkeys[i] = ntohs(key);
}

int fb_rdma_rail_pieces(const struct fb_rdma_rail *rail)
{
	int most = rail->device.max_sge, reads = rail->device.max_sge_rd;

	most = reads > 0 && reads < most ? reads : most;
	return most > 0 ? most : 1;
}

static int check_sges(const struct fb_rdma_settings *s, const struct fb_rdma_rail *rail, char *why,
		      size_t n)
{
	int most = fb_rdma_rail_pieces(rail);

	if (s->sges <= (uint64_t)most)
		return FB_OK;
	snprintf(why, n, "option --rdma-sges: '%llu' is not accepted: %s takes at most %d pieces",
		 (unsigned long long)s->sges, rail->name, most);
	return FB_EINPUT;
}

int fb_rdma_rail_finish(const struct fb_rdma_settings *s, struct fb_rdma_rail *rail, char *why,
			size_t n)
{
	int err = take_gid(s, rail, why, n);

	if (!err)
		err = take_mtu(s, rail, why, n);
	if (!err)
		err = check_sges(s, rail, why, n);
	if (err)
		return err;
	take_pkeys(rail);
	rail->pd = rail->verbs->alloc_pd(rail->context);
	if (rail->pd)
		return FB_OK;
	snprintf(why, n, "RDMA device %s gives no protection domain: %s (check rights on "
		 "/dev/infiniband, ulimit -l, and the control group's rdma.max)", rail->name,
		 strerror(errno));
	return FB_ESYS;
}

void fb_rdma_rail_text(const struct fb_rdma_rail *rail, char *text, size_t n)
{
	char gid[FB_RDMA_GID_TEXT];

	if (rail->gid_index < 0)
		snprintf(text, n, "%s:%d %s lid %d mtu %d", rail->name, rail->number, rail->kind,
			 rail->port.lid, rail->mtu);
	else
		snprintf(text, n, "%s:%d %s %s mtu %d", rail->name, rail->number, rail->kind,
			 fb_rdma_gid_text(rail->gid, gid), rail->mtu);
}

/* IBV_PORT_NOP: unknown. */
static enum ibv_port_state state_now(const struct fb_rdma_rail *rail)
{
	struct ibv_port_attr now = {.state = IBV_PORT_NOP};

	if (rail->verbs->query_port(rail->context, rail->number, &now))
		return IBV_PORT_NOP;
	return now.state;
}

const char *fb_rdma_rail_state(const struct fb_rdma_rail *rail)
{
	static const char *const names[] = {"unknown", "down", "initialising", "armed", "active",
					    "active, deferred"};
	size_t state = (size_t)state_now(rail);

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

bool fb_rdma_rail_is_down(const struct fb_rdma_rail *rail)
{
	enum ibv_port_state state = state_now(rail);

	return state == IBV_PORT_DOWN || state == IBV_PORT_INIT || state == IBV_PORT_ARMED;
}

#endif
