/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What really carried the bytes: the counters of this host's network interfaces and RDMA ports,
 * before and after.
 *
 * A library chooses its transports itself, and a wrong choice (the management network, TCP where
 * RDMA was meant) shows only as a bad number. So counters are compared with what was moved:
 * whatever carried a good part of it belongs into the row's path.
 */
#ifndef FB_COMMON_SYSTEM_AUDIT_H
#define FB_COMMON_SYSTEM_AUDIT_H

#include <stddef.h>
#include <stdint.h>

enum { FB_AUDIT_DEVICES = 64, FB_AUDIT_NAME = 32 };

struct fb_audit_device {
	char name[FB_AUDIT_NAME]; /* "eth0", "mlx5_0:1" */
	char over[FB_AUDIT_NAME]; /* of a port without counters, as of soft-RoCE: its interface */
	uint64_t bytes;		  /* sent and received so far */
};

struct fb_audit {
	struct fb_audit_device device[FB_AUDIT_DEVICES];
	int count;
};

/*
 * Reads all counters below `root` ("" for the real machine, or a folder with a copy of /sys for
 * tests). Local; some 0.1 ms. Devices beyond the room for them are left out.
 */
void fb_audit_read(struct fb_audit *audit, const char *root);

/*
 * Writes the devices that carried at least a tenth of `bytes` between the two readings, most
 * first: "lo 1.00, eth0 0.25" (traffic divided by bytes; sent and received both count, so what
 * passes lo shows as 2.00). Empty where none did. Returns how many did.
 */
int fb_audit_text(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		  char *text, size_t n);

/*
 * Whether the bytes took another way than they should have: not all of them passed the
 * `expected` devices (names between blanks; empty: none should have), and 0.4 of them or more,
 * which is one way of two, passed all others together. A port without counters is judged by its
 * interface. Bonds, bridges and VLANs count with their parts, and do no harm so. Returns the
 * others' traffic divided by `bytes` where it was so, else 0.
 */
double fb_audit_stray(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		      const char *expected);

#endif
