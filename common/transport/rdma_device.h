/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: a rail is one port of one device, opened and ready for queue pairs.
 *
 * Used by the transport and by programs that measure verbs as such. All calls are local.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_DEVICE_H
#define FB_COMMON_TRANSPORT_RDMA_DEVICE_H

#include <stdbool.h>

#include "common/option/rdma_options.h"
#include "common/transport/rdma_choice.h"
#include "common/transport/rdma_verbs.h"

#if FB_HAVE_VERBS

struct fb_rdma_rail {
	const struct fb_verbs *verbs;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	char name[FB_RDMA_NAME];
	uint8_t number; /* of the port */
	bool ethernet;
	int gid_index;  /* -1: none, an InfiniBand port addressed by LID */
	uint16_t pkeys[FB_RDMA_PKEYS]; /* partition keys; 0: an empty line */
	uint8_t gid[16];
	char kind[40];  /* of the address: "RoCE v2, IPv4" */
	int mtu;        /* bytes */
	size_t max_message; /* bytes of one work request */
};

/*
 * Opens the rails that the settings name. "auto" is the fastest active port, of equally fast ones
 * the one nearest to the GPU or, without a GPU, to the calling thread's processor. "auto:N" is up
 * to N ports that are as fast and as near (fb_rdma_choose_nearest) and have an address, in the
 * order of their names. FB_OK with *n at least 1; FB_EUNSUPPORTED where the machine has no usable
 * port; FB_EINPUT where the settings ask for what does not exist; FB_ESYS. The reason is in `why`,
 * not printed.
 */
int fb_rdma_rails_open(const struct fb_verbs *verbs, const struct fb_rdma_settings *settings,
		       struct fb_rdma_rail rails[FB_RDMA_RAILS], int *n, char *why, size_t chars);
void fb_rdma_rails_close(struct fb_rdma_rail *rails, int n);

/* "mlx5_0:1 RoCE v2, IPv4 10.0.0.1 mtu 4096", for rows and messages. */
void fb_rdma_rail_text(const struct fb_rdma_rail *rail, char *text, size_t n);

/* The text of the rails that carried bytes (bits 1 << index): "rdma mlx5_0:1 ...+mlx5_1:1 ...". */
void fb_rdma_rails_text(const struct fb_rdma_rail *rails, unsigned which, char *text, size_t n);

/* The most pieces of local memory that a request may have, also if it is a READ. */
int fb_rdma_rail_pieces(const struct fb_rdma_rail *rail);

/* The port's state now, in words ("active", "down"); asked after a failure. */
const char *fb_rdma_rail_state(const struct fb_rdma_rail *rail);

/* Whether the port can carry nothing now. False where its state cannot be asked for. */
bool fb_rdma_rail_is_down(const struct fb_rdma_rail *rail);

/* --- between rdma_rails.c and rdma_device.c -------------------------------------------------- */

#define FB_RDMA_DEVICES "/sys/class/infiniband"

/* First line of /sys/class/infiniband/<device>/<file>; empty where there is none. */
void fb_rdma_fact(const char *device, const char *file, char *text, int n);

/* Opens the device and finds the port (0: its fastest). False: why not, in `why`. */
bool fb_rdma_rail_open(const struct fb_verbs *verbs, struct ibv_device *device, int number,
		       struct fb_rdma_rail *rail, char *why, size_t n);

/* Address, MTU and protection domain of an open one. Errors as of fb_rdma_rails_open(). */
int fb_rdma_rail_finish(const struct fb_rdma_settings *settings, struct fb_rdma_rail *rail,
			char *why, size_t n);

/* Safe on a zeroed structure, which it is afterwards. */
void fb_rdma_rail_close(struct fb_rdma_rail *rail);

/* Queries port `number` of the device, which becomes the rail's port. */
bool fb_rdma_rail_query(struct fb_rdma_rail *rail, int number);

/* Mbit/s of the port asked last. */
long fb_rdma_rail_rate(const struct fb_rdma_rail *rail);

#endif
#endif
