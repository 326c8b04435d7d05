/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which address of a peer to connect to.
 *
 * A host may have many addresses, some of which lead nowhere (bridges of containers carry the same
 * address on every host), so every rank sends all its addresses to all others, and the rank that
 * connects tries the likely ones in order of preference instead of trusting a name service.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_ADDRESS_H
#define FB_COMMON_TRANSPORT_TCP_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	FB_TCP_ADDRESSES = 16,                      /* kept of one rank, the fastest ones */
	FB_TCP_CANDIDATES = FB_TCP_ADDRESSES + 1,   /* and loopback */
	FB_TCP_TEXT = INET6_ADDRSTRLEN,             /* an address as text */
	FB_TCP_INTERFACE = 16,                      /* a name, as IF_NAMESIZE */
};

/* One address of an interface. No padding: it is compared and sent as bytes. */
struct fb_tcp_address {
	char interface[FB_TCP_INTERFACE];
	uint8_t bytes[16];     /* network order; IPv4 uses the first 4 */
	uint32_t speed_Mbps;   /* 0: the interface does not say */
	uint16_t family;       /* AF_INET or AF_INET6 */
	uint16_t prefix;       /* bits of the subnet */
};

/* The data that a rank sends to all others about itself. Plain bytes, the same on every rank. */
struct fb_tcp_identity {
	char host[64];
	char boot[40];         /* boot id of the kernel */
	uint64_t netns;        /* inode of the network name space */
	uint32_t port;         /* it listens on, host order */
	uint32_t naddresses;
	struct fb_tcp_address addresses[FB_TCP_ADDRESSES];
};

/* Why an address is a candidate; better ones first. */
enum fb_tcp_class { FB_TCP_LOOPBACK, FB_TCP_SUBNET, FB_TCP_ROUTED };

/* A way to reach a peer. */
struct fb_tcp_candidate {
	struct fb_tcp_address address; /* the peer's, with this rank's interface, slower speed */
	enum fb_tcp_class class;
};

/*
 * Fills host, boot, netns and the addresses of *own; `port` stays 0. Takes addresses of
 * interfaces that are up, without loopback and link-local ones; `interface` (NULL or "auto": all)
 * keeps those of one interface, or of one subnet, "10.1.0.0/16", only. No address at all is fine:
 * ranks of one host have loopback. Local. 0 or FB_ESYS (printed).
 */
int fb_tcp_identify(struct fb_tcp_identity *own, const char *host, const char *interface);

/*
 * Whether two ranks use one network stack: the same kernel and name space. Both are needed: the
 * first name space has the same inode on all kernels, and containers of one host share the boot id.
 */
bool fb_tcp_same_stack(const struct fb_tcp_identity *a, const struct fb_tcp_identity *b);

/* Reads "10.1.0.0/16" or "fd77::/64" into family, bytes and prefix. Returns whether it is one. */
bool fb_tcp_parse_subnet(const char *text, struct fb_tcp_address *subnet);

/*
 * The ways from one rank to another, best first: loopback where both use one network stack, then
 * addresses in a subnet of both, then addresses that may be reached through routers; among these
 * the fastest first. An address that the connecting rank has itself would lead back to it and is
 * left out. Returns how many (0: none). Pure.
 */
int fb_tcp_candidates(const struct fb_tcp_identity *own, const struct fb_tcp_identity *peer,
		      struct fb_tcp_candidate list[FB_TCP_CANDIDATES]);

/* Writes the address as text, "10.0.0.1". */
void fb_tcp_address_text(const struct fb_tcp_address *address, char text[FB_TCP_TEXT]);

/* Makes the socket address for connect(); returns its length. */
socklen_t fb_tcp_sockaddr(const struct fb_tcp_address *address, uint32_t port,
			  struct sockaddr_storage *to);

/*
 * The reverse: family and bytes of a socket's address; an IPv4-mapped IPv6 address
 * (::ffff:1.2.3.4) becomes IPv4. The other members are zeroed.
 */
void fb_tcp_from_sockaddr(const struct sockaddr_storage *from, struct fb_tcp_address *address);

/* The interface of *own that has the address; "lo" for loopback addresses, "?" if none has. */
const char *fb_tcp_interface_of(const struct fb_tcp_identity *own,
				const struct fb_tcp_address *address);

#endif
