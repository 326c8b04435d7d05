/* SPDX-License-Identifier: BSD-3-Clause */
/* Versions of CUDA; links, memory errors and the fabric's state, by NVML; see gpu_facts.h. */
#include <cuda_runtime_api.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_nvml.h"
#include "common/cuda/gpu_facts.h"
#include "common/library/library.h"

/* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON; nvmlIntNvLinkDeviceType_t; P2P as in cuda_nvml.c. */
enum { SPEED_MBPS = 90, DEVICE_SWITCH = 2, P2P_NVLINK = 2 };

/* NVML_FI_DEV_C2C_LINK_COUNT; of a link, _GET_STATUS (1: active) and _GET_MAX_BW in MB/s. */
enum { C2C_COUNT = 170, C2C_STATUS, C2C_MBPS };

/* More links than any GPU has: NVML_NVLINK_MAX_LINKS is 18, and 36 of later ones. */
enum { LINKS = 40, GPUS = 64, ID_CHARS = 16, TEXT_CHARS = 1024, KEY_CHARS = 64, ROOM_BYTES = 256 };

/* nvmlPciInfo_t */
struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

/* nvmlGpuFabricInfo_v2_t, whose version holds its size, too. */
struct fabric {
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
	unsigned health;
};

/* nvmlGpuFabricState_t, and the health mask's field about bandwidth. */
enum { NOT_SUPPORTED, COMPLETED = 3, BANDWIDTH_MASK = 3, BANDWIDTH_DEGRADED = 1 };

/* nvmlMemoryErrorType_t, and nvmlEccCounterType_t: since ever. */
enum { CORRECTED, UNCORRECTED, AGGREGATE = 1 };

struct calls {
	int (*count)(unsigned *n);
	int (*by_index)(unsigned index, void **device);
	int (*pci)(void *device, struct pci *pci);
	int (*link_state)(void *device, unsigned link, unsigned *up);
	int (*link_type)(void *device, unsigned link, int *type);
	int (*link_pci)(void *device, unsigned link, struct pci *remote);
	int (*fabric)(void *device, struct fabric *fabric);
	int (*ecc_mode)(void *device, unsigned *now, unsigned *next);
	int (*ecc_errors)(void *device, int type, int counter, unsigned long long *count);
	int (*remapped)(void *device, unsigned *corrected, unsigned *uncorrected,
			unsigned *pending, unsigned *failed);
};

#define OPTIONAL(name, member) { name, offsetof(struct calls, member), true }

static const struct fb_library_symbol symbols[] = {
	OPTIONAL("nvmlDeviceGetCount_v2", count),
	OPTIONAL("nvmlDeviceGetHandleByIndex_v2", by_index),
	OPTIONAL("nvmlDeviceGetPciInfo_v3", pci),
	OPTIONAL("nvmlDeviceGetNvLinkState", link_state),
	OPTIONAL("nvmlDeviceGetNvLinkRemoteDeviceType", link_type),
	OPTIONAL("nvmlDeviceGetNvLinkRemotePciInfo_v2", link_pci),
	OPTIONAL("nvmlDeviceGetGpuFabricInfoV", fabric),
	OPTIONAL("nvmlDeviceGetEccMode", ecc_mode),
	OPTIONAL("nvmlDeviceGetTotalEccErrors", ecc_errors),
	OPTIONAL("nvmlDeviceGetRemappedRows", remapped),
};

/* A GPU's links, which are read once, because each call of NVML may ask the driver. */
struct device {
	void *handle;
	char id[ID_CHARS];
	unsigned links, up, to_switches;
	char peer[LINKS][ID_CHARS]; /* [up - to_switches] */
};

/* The driver fills separate memory with room behind it, as in cuda_nvml.h. */
struct host {
	const struct fb_nvml *nvml;
	const struct fb_session *session;
	struct calls calls;
	struct device device[GPUS];
	size_t count;
	union {
		struct pci pci;
		struct fabric fabric;
		char room[ROOM_BYTES];
	} *answer;
};

static void add(const struct host *h, const struct device *d, const char *what, const char *value)
{
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "gpu.%s.%s", d->id, what);
	fb_fact(h->session, key, "%s", value);
}

static void name(const struct pci *pci, char id[ID_CHARS])
{
	snprintf(id, ID_CHARS, "%04x:%02x:%02x.0", pci->domain & 0xffff, pci->bus & 0xff,
		 pci->device & 0xff);
}

static void find_devices(struct host *h)
{
	unsigned count;

	if (!h->calls.count || !h->calls.by_index || !h->calls.pci || h->calls.count(&count))
		return;
	for (unsigned i = 0; i < count && h->count < GPUS; i++) {
		struct device *d = &h->device[h->count];

		if (!h->calls.by_index(i, &d->handle) &&
		    !h->calls.pci(d->handle, &h->answer->pci))
			name(&h->answer->pci, h->device[h->count++].id);
	}
}

/* Records where a link that is up leads: to a switch, which reaches all GPUs, or to one GPU. */
static void follow(struct host *h, struct device *d, unsigned link)
{
	int type;

	d->up++;
	if (h->calls.link_type && !h->calls.link_type(d->handle, link, &type) &&
	    type == DEVICE_SWITCH) {
		d->to_switches++;
		return;
	}
	memset(h->answer, 0, sizeof(*h->answer));
	if (h->calls.link_pci && !h->calls.link_pci(d->handle, link, &h->answer->pci))
		name(&h->answer->pci, d->peer[d->up - d->to_switches - 1]);
}

/* A field value of the device or of one of its links; 0 if NVML does not know it. */
static unsigned field_of(struct host *h, const struct device *d, unsigned id, unsigned link)
{
	struct fb_nvml_field *field = h->nvml->answer;

	memset(field, 0, FB_NVML_ROOM * sizeof(*field));
	field->id = id;
	field->scope = link;
	return h->nvml->fields && !h->nvml->fields(d->handle, 1, field) && !field->result
		       ? field->value.u32 : 0;
}

static void add_kind(const struct host *h, const struct device *d, const char *const key[2],
		     unsigned up, unsigned links, unsigned MBps, unsigned least)
{
	char text[KEY_CHARS];

	snprintf(text, sizeof(text), "%u of %u", up, links);
	if (links)
		add(h, d, key[0], text);
	if (least < MBps)
		snprintf(text, sizeof(text), "%u, least %u", MBps, least);
	else
		snprintf(text, sizeof(text), "%u", MBps);
	if (up && MBps)
		add(h, d, key[1], text);
}

static void add_links(struct host *h, struct device *d)
{
	static const char *const nvlink[] = {"nvlinks", "nvlink_MBps"};
	static const char *const c2c[] = {"c2c_links", "c2c_link_MBps"};
	unsigned up, links = field_of(h, d, C2C_COUNT, 0), active = 0;
	unsigned MBps, most = 0, least = UINT_MAX;

	for (unsigned l = 0; h->calls.link_state && l < LINKS; l++) {
		if (h->calls.link_state(d->handle, l, &up))
			continue;
		d->links++;
		if (up)
			follow(h, d, l);
	}
	add_kind(h, d, nvlink, d->up, d->links, field_of(h, d, SPEED_MBPS, 0), UINT_MAX);
	for (unsigned l = 0; l < links && l < LINKS; l++) {
		if (field_of(h, d, C2C_STATUS, l) != 1)
			continue;
		active++;
		MBps = field_of(h, d, C2C_MBPS, l);
		most = MBps > most ? MBps : most;
		least = MBps < least ? MBps : least;
	}
	add_kind(h, d, c2c, active, links, most, least);
}

/* Counts the links that are up from one GPU to another one. */
static unsigned links_to(const struct host *h, const struct device *d, const struct device *peer)
{
	unsigned count = d->to_switches;
	int status;

	if (!d->up || !h->nvml->p2p ||
	    h->nvml->p2p(d->handle, peer->handle, P2P_NVLINK, &status) || status)
		return 0;
	for (unsigned i = 0; i < d->up - d->to_switches; i++)
		count += strcmp(d->peer[i], peer->id) ? 0 : 1;
	return count;
}

static void add_peers(const struct host *h, const struct device *d)
{
	char text[TEXT_CHARS] = "";
	size_t used = 0;

	for (size_t i = 0; i < h->count && used < sizeof(text); i++) {
		const struct device *peer = &h->device[i];
		unsigned links = peer == d ? 0 : links_to(h, d, peer);

		if (links)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %u",
						 used ? ", " : "", peer->id, links);
	}
	add(h, d, "nvlinks_to", text);
}

static void add_fabric(struct host *h, const struct device *d)
{
	static const char *const states[] = {"", "not started", "in progress", "completed"};
	struct fabric *f = &h->answer->fabric;
	char text[KEY_CHARS];
	bool somewhere = false;

	memset(h->answer, 0, sizeof(*h->answer));
	f->version = (unsigned)sizeof(*f) | 2U << 24;
	if (!h->calls.fabric || h->calls.fabric(d->handle, f) || f->state == NOT_SUPPORTED ||
	    f->state > COMPLETED)
		return;
	snprintf(text, sizeof(text), "%s", states[f->state]);
	if (f->state == COMPLETED && f->status)
		snprintf(text, sizeof(text), "completed, error %d", f->status);
	else if (f->state == COMPLETED && (f->health & BANDWIDTH_MASK) == BANDWIDTH_DEGRADED)
		snprintf(text, sizeof(text), "completed, degraded bandwidth");
	add(h, d, "fabric", text);
	/* An NVLink domain of one host has the number 0, which is not written. */
	for (size_t i = 0; i < sizeof(f->cluster); i++) {
		snprintf(text + 2 * i, sizeof(text) - 2 * i, "%02x", f->cluster[i]);
		somewhere |= f->cluster[i] != 0;
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ".%u", f->clique);
	if (somewhere && f->state == COMPLETED && !f->status)
		add(h, d, "fabric_clique", text);
}

static void add_ecc(struct host *h, const struct device *d)
{
	unsigned now, next, corrected, uncorrected, pending, failed;
	unsigned long long count[2];
	char text[KEY_CHARS];

	if (h->calls.ecc_mode && !h->calls.ecc_mode(d->handle, &now, &next))
		add(h, d, "ecc", now ? "on" : "off");
	if (h->calls.ecc_errors &&
	    !h->calls.ecc_errors(d->handle, CORRECTED, AGGREGATE, &count[CORRECTED]) &&
	    !h->calls.ecc_errors(d->handle, UNCORRECTED, AGGREGATE, &count[UNCORRECTED])) {
		snprintf(text, sizeof(text), "corrected %llu, uncorrected %llu", count[CORRECTED],
			 count[UNCORRECTED]);
		add(h, d, "ecc_errors", text);
	}
	if (h->calls.remapped &&
	    !h->calls.remapped(d->handle, &corrected, &uncorrected, &pending, &failed))
		add(h, d, "remapped_rows",
		    failed ? "failed" : pending ? "waiting for a reset"
				      : corrected || uncorrected ? "some" : "none");
}

static void add_version(const struct fb_session *session, const char *key,
			cudaError_t (*ask)(int *version))
{
	int version;

	if (ask(&version) == cudaSuccess)
		fb_fact(session, key, "%d.%d", version / 1000, version % 1000 / 10);
}

void fb_gpu_facts(const struct fb_gpu *gpu, const struct fb_session *session)
{
	struct host *h = gpu->nvml ? calloc(1, sizeof(*h)) : NULL;

	add_version(session, "cuda.driver_version", cudaDriverGetVersion);
	add_version(session, "cuda.runtime_version", cudaRuntimeGetVersion);
	if (!h)
		return;
	*h = (struct host){gpu->nvml, session, .answer = calloc(1, sizeof(*h->answer))};
	if (h->answer) {
		(void)fb_library_functions(h->nvml->library, symbols,
					   sizeof(symbols) / sizeof(symbols[0]), &h->calls);
		find_devices(h);
	}
	for (size_t i = 0; i < h->count; i++) {
		add_links(h, &h->device[i]);
		add_ecc(h, &h->device[i]);
	}
	for (size_t i = 0; i < h->count; i++) {
		add_peers(h, &h->device[i]);
		add_fabric(h, &h->device[i]);
	}
	free(h->answer);
	free(h);
}
