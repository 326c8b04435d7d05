/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rail and which address to take: the decisions that need no device, apart from it, so
 * that they can be tested anywhere.
 *
 * A RoCE port has several addresses (GIDs) for the same interface: of RoCE v1 and v2, link-local
 * and routable ones, of VLANs. A wrong one gives a queue pair that connects without complaint and
 * whose packets are lost, so the choice is made as careful operators make it by hand.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_CHOICE_H
#define FB_COMMON_TRANSPORT_RDMA_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FB_RDMA_RAILS = 8,
	FB_RDMA_NAME = 64,
	FB_RDMA_GID_TEXT = 48,
	FB_RDMA_PKEYS = 128, /* lines of a port's partition table that are looked at */
	FB_RDMA_PARTITION = 0x7fff,   /* bits of a partition key that name the partition */
	FB_RDMA_FULL_MEMBER = 0x8000, /* and the one that tells a full from a limited member */
};

/* One item of --rdma-device. */
struct fb_rdma_rail_name {
	char device[FB_RDMA_NAME];
	int port; /* 0: the fastest active one */
};

/*
 * Parses "mlx5_0:1,mlx5_1". Returns how many, or FB_EINPUT for an empty item, a port that is no
 * number from 1 to 254, the same rail twice, too many, or "auto" among them.
 */
int fb_rdma_parse_rails(const char *list, struct fb_rdma_rail_name rails[FB_RDMA_RAILS]);

/*
 * How many rails "auto" (1), "auto:N" (N) and "auto:all" (FB_RDMA_RAILS) ask for, at most; 0 for
 * any other text, which may be a list; FB_EINPUT for a number that is none from 1 to FB_RDMA_RAILS.
 */
int fb_rdma_parse_auto(const char *value);

enum fb_rdma_gid_type { FB_RDMA_GID_IB, FB_RDMA_GID_ROCE_V1, FB_RDMA_GID_ROCE_V2 };

/* A line of a port's table of addresses. */
struct fb_rdma_gid {
	uint8_t raw[16];
	int index;
	enum fb_rdma_gid_type type;
	bool vlan; /* its interface is a VLAN's */
};

/*
 * The line to use, or NULL where none can be: RoCE v2 before v1; then IPv4 (::ffff:a.b.c.d) before
 * routable IPv6 before link-local; the interface itself before its VLANs; then the lowest index.
 */
const struct fb_rdma_gid *fb_rdma_choose_gid(const struct fb_rdma_gid *table, int n);

/*
 * The partition in which two ports reach each other. A key's low 15 bits name the partition, and
 * bit 15 says that the port is a full member of it; two limited members do not reach each other.
 * Lines that are 0 or have only bit 15 are empty. A partition of which both ports are full members
 * goes first, then the one whose two lines are nearest to the start of the tables, then the one
 * with the lowest number. The rule is symmetric: both ends take the same partition. Returns the
 * line in `own`, or -1 where the ports have no common partition.
 */
int fb_rdma_choose_pkey(const uint16_t own[FB_RDMA_PKEYS], const uint16_t peer[FB_RDMA_PKEYS]);

/* The keys of the lines that are not empty: "0xffff, 0x8001", cut to n characters. Returns text. */
const char *fb_rdma_pkeys_text(const uint16_t keys[FB_RDMA_PKEYS], char *text, size_t n);

/* The kind of address in words: "RoCE v2, IPv4". */
void fb_rdma_gid_kind(const struct fb_rdma_gid *gid, char *text, size_t n);

/* The address as people write it: "10.0.0.1" where it is IPv4, else IPv6. Returns text. */
const char *fb_rdma_gid_text(const uint8_t raw[16], char text[FB_RDMA_GID_TEXT]);

/* Whether all 16 bytes are 0, which is an empty line of the table. */
bool fb_rdma_gid_empty(const uint8_t raw[16]);

/*
 * A port's data rate in Mbit/s, from its codes of width (1, 2, 4, 8 and 16 stand for 1, 4, 8, 12
 * and 2 lanes) and of the speed of a lane (a bit each, 1 for SDR to 256 for XDR). 0 for a code that
 * is not known. Source: InfiniBand Architecture Specification, PortInfo; a lane's data are 8/10 of
 * its bits up to QDR, 64/66 from FDR10 on.
 */
long fb_rdma_port_rate(unsigned width, unsigned speed);

/* A port of a device, as far as the choice between its ports goes. */
struct fb_rdma_port_offer {
	int number;
	bool active;
	long rate; /* Mbit/s */
};

/* The fastest active port, of equal ones the first; NULL where none is active. */
const struct fb_rdma_port_offer *fb_rdma_choose_port(const struct fb_rdma_port_offer *ports, int n);

/* An active port of the machine, as far as the choice of rails goes. */
struct fb_rdma_rail_offer {
	long rate;    /* Mbit/s */
	int nearness; /* to the rank's GPU or processor; more is nearer */
	bool ethernet;
};

/*
 * The ports that are as fast as the fastest one, of these as near as the nearest, and of these with
 * the link layer of the first one, since InfiniBand and Ethernet ports cannot talk to each other.
 * Slower or farther ports are left out, because rails carry equal parts. Writes their indices in
 * order to taken[n]. Returns how many.
 */
int fb_rdma_choose_nearest(const struct fb_rdma_rail_offer *offers, int n, int *taken);

/*
 * The part of `bytes` that rail `rail` of n carries: equal parts, cut at multiples of 64 bytes so
 * that no cache line is written by two rails.
 */
void fb_rdma_stripe(size_t bytes, int rail, int n, size_t *first, size_t *part);

#endif
