/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out what really carried the bytes, by the counters of this host's network interfaces and
 * RDMA ports before and after.
 *
 * A library selects its transports itself, and a wrong selection (the management network, or TCP in
 * place of RDMA) shows only as a bad number. So counters are compared with the bytes moved. Each
 * interface that carried a good part of them is named in the row's path.
 */
#ifndef FB_COMMON_SYSTEM_AUDIT_H
#define FB_COMMON_SYSTEM_AUDIT_H

#include <stddef.h>
#include <stdint.h>

enum { FB_AUDIT_DEVICES = 64, FB_AUDIT_NAME = 32, FB_AUDIT_EVENTS = 512, FB_AUDIT_EVENT = 64 };

struct fb_audit_device {
	char name[FB_AUDIT_NAME]; /* "eth0", "mlx5_0:1" */
	char over[FB_AUDIT_NAME]; /* of a port without counters, as of soft-RoCE: its interface */
	uint64_t bytes;		  /* sent and received so far */
	uint32_t gbit_s;	  /* of an RDMA port that is active, else 0 */
};

/* Events that a device or the kernel counts, and of which even one is worth a look. */
struct fb_audit_event {
	char name[FB_AUDIT_EVENT]; /* "eth0.rx_dropped", "mlx5_0:1.packet_seq_err" */
	uint64_t count;
};

struct fb_audit {
	struct fb_audit_device device[FB_AUDIT_DEVICES];
	int count;
	struct fb_audit_event event[FB_AUDIT_EVENTS];
	int events;
};

/*
 * Reads all counters below `root` ("" for the real machine, or a folder with a copy of /sys and
 * /proc for tests): bytes; errors and drops of interfaces; what RDMA ports count of errors,
 * retransmissions, congestion (ECN, CNP) and waiting; what TCP sent again; and of the real
 * machine's network cards also the pause frames (ETHTOOL_GSTATS). Local; some 0.3 ms. What is
 * beyond the room is left out.
 */
void fb_audit_read(struct fb_audit *audit, const char *root);

/*
 * Writes the devices that carried at least a tenth of `bytes` between the two readings, most
 * first: "lo 1.00, eth0 0.25" (traffic divided by bytes; sent and received both count, so what
 * passes lo shows as 2.00). Empty where none did. Returns how many did.
 */
int fb_audit_text(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		  char *text, size_t n);

/* Bytes of a device, or events of a name, since `before`; 0 where it is new or was reset. */
uint64_t fb_audit_bytes(const struct fb_audit *before, const struct fb_audit_device *now);
uint64_t fb_audit_events(const struct fb_audit *before, const struct fb_audit_event *now);

/* The meaning of an event for a row. */
enum fb_audit_sort { FB_AUDIT_REMARK, FB_AUDIT_RETRANSMIT, FB_AUDIT_ERROR };
enum fb_audit_sort fb_audit_sort(const char *event);

/* Adds a count of an event of a device; nothing where there is no room. For readers of counters. */
void fb_audit_add(struct fb_audit *audit, const char *device, const char *event, uint64_t count);

/* Adds the pause frames of a network interface, where its driver counts any. (audit_pause.c) */
void fb_audit_read_pause(struct fb_audit *audit, const char *interface);

/*
 * How evenly two or more `expected` devices (names between blanks) carried the bytes: the bytes of
 * the one that carried least, divided by those of the one that carried most. 1 if there are fewer,
 * or if none carried `least` bytes.
 */
double fb_audit_balance(const struct fb_audit *before, const struct fb_audit *after,
			const char *expected, double least);

/*
 * Writes the RDMA ports, "mlx5_2:1 mlx5_3:1", that are active and as fast as the slowest port in
 * `expected` (names between blanks), but are not in it and carried less than a hundredth of what
 * the most loaded one of these did. Empty where `expected` has no port with counters, or none of
 * them carried `least` bytes. Returns how many there are.
 */
int fb_audit_idle(const struct fb_audit *before, const struct fb_audit *after,
		  const char *expected, double least, char *text, size_t n);

/*
 * Whether the bytes took other devices than the `expected` ones (names between blanks; empty: none
 * should carry bytes): fewer than 0.9 of them passed the expected devices, and 0.4 of them or more
 * passed all others together. A port without counters is judged by its interface. Bonds, bridges
 * and VLANs count like their members, which does no harm. Returns the others' traffic divided by
 * `bytes` if so, else 0.
 */
double fb_audit_stray(const struct fb_audit *before, const struct fb_audit *after, double bytes,
		      const char *expected);

#endif
