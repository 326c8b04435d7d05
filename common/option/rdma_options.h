/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of everything that talks verbs, as lines for an option table, so that the
 * collectives and the point-to-point programs accept and record the same ones.
 */
#ifndef FB_COMMON_OPTION_RDMA_OPTIONS_H
#define FB_COMMON_OPTION_RDMA_OPTIONS_H

#include "common/option/option.h"

enum fb_rdma_notify { FB_RDMA_NOTIFY_WRITE, FB_RDMA_NOTIFY_IMM };
enum fb_rdma_connect { FB_RDMA_CONNECT_MPI, FB_RDMA_CONNECT_CM };
enum fb_rdma_wait { FB_RDMA_WAIT_POLL, FB_RDMA_WAIT_EVENT, FB_RDMA_WAIT_HYBRID };

struct fb_rdma_settings {
	const char *device;  /* "mlx5_0:1,mlx5_1:1", "auto", "auto:2", "auto:all" */
	const char *near;    /* no option: `auto` is near this GPU (PCI address); or NULL */
	int gid_index;       /* -1: the best one */
	int mtu;             /* index into fb_rdma_mtu_names; 0: the port's */
	int traffic_class, service_level;
	int timeout;         /* of a packet: 4.096 us * 2^timeout */
	int retry, rnr_retry;
	uint64_t qps;        /* per peer and rail */
	uint64_t depth;      /* work requests of a send queue */
	uint64_t inline_bytes;
	uint64_t signal;     /* work requests for each completion */
	uint64_t batch;      /* work requests given to the device at once, at most */
	uint64_t sges;       /* pieces of local memory that a work request names, at most */
	uint64_t stripe;     /* bytes from which on a message is spread over all rails */
	int reads;           /* READs in flight of a queue pair */
	int notify;          /* enum fb_rdma_notify */
	int connect;         /* enum fb_rdma_connect */
	uint64_t waits;      /* bits 1 << enum fb_rdma_wait, at least one */
	uint64_t spin_us;    /* hybrid: polls so long before it sleeps */
	bool relaxed_ordering, odp;
};

/* "auto", "256", ... "4096", NULL; "write", "imm", NULL; and "mpi", "cm", NULL. */
extern const char *const fb_rdma_mtu_names[], *const fb_rdma_notify_names[];
extern const char *const fb_rdma_connect_names[];

/* "poll", "event", "hybrid", NULL. */
extern const char *const fb_rdma_wait_names[];

/* Whether --rdma-wait names a way to wait that sleeps. */
static inline bool fb_rdma_sleeps(const struct fb_rdma_settings *settings)
{
	return settings->waits > 1u << FB_RDMA_WAIT_POLL;
}

/* The way that --rdma-wait names, where it is no axis. */
static inline enum fb_rdma_wait fb_rdma_wait_of(const struct fb_rdma_settings *settings)
{
	return settings->waits ? (enum fb_rdma_wait)__builtin_ctzll(settings->waits)
			       : FB_RDMA_WAIT_POLL;
}

/* The values of all options without a command line. */
extern const struct fb_rdma_settings fb_rdma_defaults;

/* FB_OPTION_STRING's judge of --rdma-device. */
int fb_rdma_check_device(const char *value, char *accepted, size_t n);

/*
 * Appends the options that are not at their default to a case's variant, as sorted "k=v;k=v".
 * What does not fit `n` characters is left out.
 */
void fb_rdma_variant(const struct fb_rdma_settings *settings, char *text, size_t n);

/* The options' lines; `m` is the struct fb_rdma_settings within structure s. */
#define FB_RDMA_OPTIONS(s, m)                                                                      \
	FB_OPTION_GROUP("RDMA"),                                                                   \
	FB_OPTION_STRING(s, m.device, 0, "rdma-device", "LIST", "auto", fb_rdma_check_device,      \
			 "devices and ports, one for each rail: mlx5_0:1,mlx5_1:1; without a "	   \
			 "port the device's fastest active one; auto: the fastest port of the "	   \
			 "host, and the nearest of several; auto:N, auto:all: up to N, or all, "   \
			 "ports that are as fast and as near"),					   \
	FB_OPTION_CHOICE(s, m.connect, 0, "rdma-connect", "mpi", fb_rdma_connect_names,            \
			 "how queue pairs connect: by addresses that MPI exchanges, or by IP "	   \
			 "address through the connection manager (librdmacm)"),			   \
	FB_OPTION_INT(s, m.gid_index, 0, "rdma-gid-index", "N", "-1", -1, 255,                     \
		      "index in the port's GID table; -1: the RoCE v2 address of IPv4 if " \
		      "there is one"),							   \
	FB_OPTION_CHOICE(s, m.mtu, 0, "rdma-mtu", "auto", fb_rdma_mtu_names,                       \
			 "bytes of a packet; auto: the smaller value of the two ports"),	   \
	FB_OPTION_INT(s, m.traffic_class, 0, "rdma-traffic-class", "N", "0", 0, 255,               \
		      "of the packets (RoCE: DSCP in the upper 6 bits)"),                          \
	FB_OPTION_INT(s, m.service_level, 0, "rdma-service-level", "N", "0", 0, 15,                \
		      "of the packets (InfiniBand)"),                                              \
	FB_OPTION_INT(s, m.timeout, 0, "rdma-timeout", "N", "14", 1, 31,                           \
		      "an answer is due within 4.096 us times 2 to the N"),                        \
	FB_OPTION_INT(s, m.retry, 0, "rdma-retry", "N", "6", 0, 7,                                 \
		      "how often a packet is sent again; 7: forever on soft-RoCE"),		   \
	FB_OPTION_INT(s, m.rnr_retry, 0, "rdma-rnr-retry", "N", "7", 0, 7,                         \
		      "how often to wait for a receiver that is not ready; 7: forever"),	   \
	FB_OPTION_U64(s, m.qps, 0, "rdma-qps", "N", "1", 1, 64,                                    \
		      "queue pairs for each peer and rail"),                                       \
	FB_OPTION_U64(s, m.depth, 0, "rdma-depth", "N", "512", 16, 32768,                          \
		      "work requests that fit into a send queue (p2p: at most)"),                  \
	FB_OPTION_U64(s, m.inline_bytes, 0, "rdma-inline", "SIZE", "512", 8, 4096,                 \
		      "messages up to this size travel within the work request"),                  \
	FB_OPTION_U64(s, m.signal, 0, "rdma-signal", "N", "32", 1, 4096,                           \
		      "work requests for each completion"),					   \
	FB_OPTION_U64(s, m.batch, 0, "rdma-batch", "N", "16", 1, 16,                               \
		      "work requests posted with one doorbell, at most"),                          \
	FB_OPTION_U64(s, m.sges, 0, "rdma-sges", "N", "1", 1, 32,                                  \
		      "pieces that a request gathers a message from, or scatters it to"),          \
	FB_OPTION_U64(s, m.stripe, 0, "rdma-stripe", "SIZE", "32K", 1, UINT64_C(1) << 40,          \
		      "messages from this size on are spread over all rails"),                     \
	FB_OPTION_INT(s, m.reads, 0, "rdma-reads", "N", "16", 1, 128,                              \
		      "READs of a queue pair that are under way at once"),                         \
	FB_OPTION_CHOICE(s, m.notify, 0, "rdma-notify", "write", fb_rdma_notify_names,             \
			 "sign of a message's arrival: a flag behind it, or immediate data"),	   \
	FB_OPTION_CHOICES(s, m.waits, 0, "rdma-wait", "poll", fb_rdma_wait_names,                  \
			  "how ranks wait for completions: poll; event: sleep until the device "   \
			  "signals one; hybrid: poll for --rdma-spin, then sleep; several of "	   \
			  "them in the programs that send messages"),				   \
	FB_OPTION_U64(s, m.spin_us, 0, "rdma-spin", "US", "20", 1, 1000000,                        \
		      "hybrid: microseconds from the last completion to sleep"),                   \
	FB_OPTION_FLAG(s, m.relaxed_ordering, 0, "rdma-relaxed-ordering",                          \
		       "let the bus reorder writes; needs --rdma-notify imm"),                     \
	FB_OPTION_FLAG(s, m.odp, 0, "rdma-odp", "register memory for paging on demand")

#endif
