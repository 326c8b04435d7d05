/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host engine's own structures: a request is a set of plans (one per channel), the ports of
 * their links, and for each lane where it stands. Internal to collectives/engine/host*.c.
 */
#ifndef FB_COLLECTIVES_ENGINE_HOST_H
#define FB_COLLECTIVES_ENGINE_HOST_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/engine/engine.h"
#include "collectives/engine/host_direct.h"
#include "common/base/copy.h"

struct host_engine {
	struct fb_engine engine;
	const struct fb_group *group;
	const struct fb_settings *settings;
	struct fb_topology topology;
	struct fb_transport *shm, *tcp, *rdma; /* NULL until first needed; rdma: if possible */
	char no_rdma[FB_REASON_CHARS];         /* why there is no rdma; the same on all ranks */
};

enum { HOST_FLIGHTS = 64 };

/* A push whose source [begin, end) the device may still read. */
struct host_flight {
	const char *begin, *end;
	const struct fb_port *port;
	struct fb_ticket ticket;
};

/* Where in a chunk a transfer has stopped. */
struct host_place {
	uint32_t piece;
	size_t bytes; /* of that piece done */
};

/* Where a lane stands in a step with remote zero-copy ends (host_remote.c). */
struct host_transfer {
	int phase, end, value;
	bool straight, moves;
	struct host_place at;
	size_t stage_unit; /* of each source, and of the result behind them */
	char *stage;
	size_t stage_bytes;
	const char **from; /* [ends] for the processor's move */
	char **to;
	bool *stream;
	struct fb_ticket *tickets;
};

/* Where a lane stands in the operation under way. */
struct host_lane {
	const struct fb_step *steps;
	uint32_t nsteps, step;
	uint64_t slice, completed; /* completed: steps since start, over all slices */
	uint16_t scan;             /* ends of the step already found ready */
	const char **src;          /* what the step's sources and destinations are */
	char **dst;
	bool *stream;
	struct host_transfer transfer;
};

struct host_channel {
	struct fb_plan *plan;
	struct fb_port **in, **out; /* ports by link index */
	uint64_t *drain_base;       /* [n_out_links] pulls before the operation under way */
	char **address;             /* [nends] with one slice: memory of each end, else NULL */
	size_t *bytes;              /* [lane][step] with one slice; indexed by first_end */
	struct host_lane lanes[FB_MAX_LANES];
	int nlanes;
	size_t most_ends; /* of a step */
};

struct host_request {
	struct fb_request request;
	struct host_engine *engine;
	const struct fb_operation *op;
	const struct fb_algorithm *algorithm;
	const char *stages; /* of a composed algorithm, in the case's text; NULL: its default */
	struct fb_geometry geometry;
	struct fb_move move;
	struct fb_segment scratch;
	bool streams; /* large destinations are written past the cache */
	uint64_t slices; /* per channel */
	int nchannels, running; /* running: lanes not finished yet */
	uint64_t steps;         /* executed, over all operations */
	struct host_channel *channels;
	struct fb_port **shm_ports, **far_ports;
	int n_shm, n_far;
	struct fb_transport *far; /* the network's; NULL: all links are shared memory */
	bool remote;              /* links of the network are zero copy */
	struct host_flight *flights;
	int nflights;
	char *stage;
	size_t stage_bytes;
	size_t slot_bytes;
};

/* Executor (host_run.c). */
void fb_host_start(struct host_request *r);
/* Moves every lane as far as it goes. 0 or an error. */
int fb_host_progress(struct host_request *r);

/* Whether every lane is through and all that was sent has left this rank. */
bool fb_host_done(const struct host_request *r);

/* Connects the links of all channels (host_link.c). Collective. */
int fb_host_connect(struct host_request *r, const struct fb_case *c);
void fb_host_disconnect(struct host_request *r);

/* Whether the links between two ranks go through shared memory. */
bool fb_host_uses_shm(const struct host_engine *e, const struct fb_case *c, int a, int b);

/* Whether the case uses the rdma transport for anything. */
bool fb_host_uses_rdma(const struct fb_case *c);

/*
 * Steps with zero-copy ends on other nodes (host_remote.c). Setup is collective, after the
 * channels are open; teardown comes while their ports exist.
 */
int fb_host_remote_setup(struct host_request *r);
void fb_host_remote_teardown(struct host_request *r);
bool fb_host_is_transfer(const struct host_channel *ch, const struct fb_step *s);
/* Goes on with the step, whose ends are ready; false: not through yet. */
bool fb_host_transfer(struct host_request *r, const struct host_channel *ch,
		      struct host_lane *lane, const struct fb_step *s, uint64_t part, size_t bytes);
/* Whether the step would write to what a push still reads. */
bool fb_host_must_wait(struct host_request *r, const struct host_channel *ch,
		       const struct fb_step *s, uint64_t part, size_t bytes);
/* Forgets the flights that are over. */
void fb_host_land(struct host_request *r);

/* Bytes that a step of the channel moves per end, for slice `part`. */
size_t fb_host_step_bytes(const struct host_request *r, const struct host_channel *ch,
			  const struct fb_step *s, uint64_t part);

/*
 * Memory of a rank's buffer; NULL if the rank is on another host. (host_setup.c) For the peer of a
 * remote zero-copy link pass this rank: such links name places by this rank's addresses (direct.h).
 */
char *fb_host_base(const struct host_request *r, int rank, uint8_t buffer);

/* Plans, ports and memory of a request (host_setup.c). Collective. */
int fb_host_setup(struct host_request *r, const struct fb_case *c);
void fb_host_teardown(struct fb_request *request);

/* The shape a case asks the algorithm for; stages as in fb_shape. */
struct fb_shape fb_host_shape(const struct host_engine *e, const struct fb_operation *op,
			      const char *stages, int channel, int nchannels);
int fb_host_channels(const struct host_engine *e, const struct fb_operation *op,
		     const struct fb_algorithm *algorithm);

#endif
