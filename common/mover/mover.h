/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers carry transfers out. A transfer is data: which pieces of a local region belong to which
 * pieces of a region of another rank, in which direction, and which notice the other rank gets
 * after them. Programs build transfers; a mover is how bytes really move: shared memory, sockets,
 * verbs, a library, a GPU's copy engine or its kernels. docs/movers.md says how to add one.
 *
 * The order of calls: open, add (regions), connect (peers), prepare (moves), then any number of
 * times post and test, or enqueue_behind; release, remove, close.
 *
 * Ownership. Segments, piece lists and regions stay the caller's and outlive the moves that name
 * them. A posted move owns its local pieces until test() says that it is done: a PUT or SEND reads
 * them, a GET or RECV writes them, and nobody else may write (or in the second case read) them. A
 * move may be posted again as soon as it is done, with other bytes in the same places. The peer
 * leaves the target of a PUT, and the source of a GET, alone until it has seen the notice.
 *
 * Order. A peer sees a notice only after all pieces of its transfer: then it sees all bytes of a
 * PUT, and all bytes of a GET have been read. Notices of one rank under one number, which must be
 * all of PUTs or all of GETs, are counted in the order of posting: when the count is k, the first k
 * transfers with this number to that peer are complete there. Nothing else is ordered: pieces,
 * transfers of a move, and moves arrive in any order. That a move is done says nothing about the
 * peer's side; only a notice does. SEND and RECV match in the order in which both ends post them,
 * have the same bytes at both ends, and may be cut into pieces differently.
 *
 * Progress. Some movers move bytes only during calls. So a rank that waits, for a move or for a
 * notice, calls test() or arrived(), which progress everything of the mover; and a rank whose
 * memory others read or write ends a round by waiting for a notice from them, because they may
 * need its calls. Only collective calls wait for other ranks.
 *
 * A mover belongs to one thread. Errors are printed where they are found and end the job: what a
 * peer that died had under way is not known to the others.
 */
#ifndef FB_COMMON_MOVER_MOVER_H
#define FB_COMMON_MOVER_MOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/memory/segment.h"
#include "common/session.h"

struct fb_gpu;
struct fb_spin;

enum fb_move_verb {
	FB_MOVE_PUT,  /* local pieces to the peer's memory */
	FB_MOVE_GET,  /* the peer's memory to local pieces */
	FB_MOVE_SEND, /* local pieces, in order, to the peer's RECV */
	FB_MOVE_RECV,
	FB_MOVE_VERBS,
};

/* "put", "get", "send", "recv", NULL. */
extern const char *const fb_move_verbs[FB_MOVE_VERBS + 1];

/* Numbers of notices are 1 to FB_NOTICES; 0: none. */
enum { FB_NOTICES = 4 };

/* Offsets in the parts of a region; `remote` of SEND and RECV means nothing. */
struct fb_piece {
	uint64_t local, remote, bytes;
};

/* Memory of all ranks, each of which has a part, made known to a mover. */
struct fb_region {
	struct fb_mover *mover;
	const struct fb_segment *segment;
};

struct fb_transfer {
	enum fb_move_verb verb;
	int peer; /* rank of the group; for PUT and GET also this rank itself */
	const struct fb_region *local, *remote; /* remote: of PUT and GET */
	const struct fb_piece *piece;           /* [pieces]; pieces of one side do not overlap */
	uint64_t pieces;                        /* 0: there is the notice only */
	/* The list is carried out so many times (0 means once), each time shifted by the steps. */
	uint32_t repeats;
	uint64_t local_step, remote_step;
	uint64_t local_at, remote_at; /* added to all offsets: one list serves many places */
	int notice; /* of PUT and GET: the notice that the peer gets; 0: none */
	bool apart; /* the mover does not join neighbouring pieces (fb_runs_next) */
};

struct fb_mover {
	const struct fb_mover_ops *ops;
	enum fb_rdma_wait wait; /* how fb_mover_again() waits; of movers with ops->rest */
	bool said;              /* the watchdog has been told of the current wait */
	const struct fb_session *session;
	const struct fb_group *group;
	uint64_t (*counts)[FB_NOTICES + 1]; /* [nranks]: notices given to each, of all moves */
	unsigned regions; /* fb_mover_add() minus fb_mover_remove() */
};

struct fb_move {
	struct fb_mover *mover;
	const struct fb_transfer *transfer; /* [transfers], copied; piece lists are the caller's */
	uint32_t transfers;
};

/* A wait until rank `from` has given `count` notices of this number. */
struct fb_wait {
	int from, notice;
	uint64_t count;
};

struct fb_mover_ops {
	const char *name;      /* "shm" */
	const char *summary;   /* one line */
	const char *transport; /* of its rows */
	unsigned verbs;        /* bits 1 << enum fb_move_verb */
	bool device;           /* regions are in GPU memory; else in host memory */
	bool streams;          /* has enqueue_behind */
	bool ordered;          /* a notice comes behind the pieces of all transfers of its move */
	bool one_host;         /* no peer on another host */
	bool fifo, lands; /* notices come behind all earlier PUTs; a PUT that is done has landed */
	/* Ways to do the same, ending in NULL, the usual one first; NULL: there is one. */
	const char *const *forms;

	/* For fb_mover_open(), which has checked one_host. */
	int (*open)(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS]);
	void (*close)(struct fb_mover *mover); /* collective */

	/* Collective: every rank's part becomes known to all. 0 or an error on all ranks. */
	int (*add)(struct fb_mover *mover, const struct fb_segment *segment,
		   struct fb_region **region);
	/* Collective, after its moves are released: when it returns, done PUTs have landed. */
	void (*remove)(struct fb_region *region);

	/*
	 * Collective: moves to and from these n ranks will be prepared; they do the same. May be
	 * called again. NULL: nothing to do. 0 or an error on all ranks.
	 */
	int (*connect)(struct fb_mover *mover, const int *peers, int n);

	/*
	 * Local: makes a move of the checked transfers `given` in a form (NULL: the usual one) that
	 * ops->can allows. 0, FB_ENOMEM or FB_ESYS (printed), or FB_EUNSUPPORTED (not printed).
	 */
	int (*prepare)(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move);
	void (*release)(struct fb_move *move); /* local; it is done, or test() gave an error */

	/* Local. They do not wait for other ranks. */
	int (*post)(struct fb_move *move);
	int (*test)(struct fb_move *move, bool *done);
	/* How many notices of the number have come from the rank, since open. */
	int (*arrived)(struct fb_mover *mover, int from, int notice, uint64_t *count);

	/*
	 * Enqueues on a cudaStream_t a wait for all n notices and then the move (NULL: the wait
	 * alone), as one operation where the mover can. The move is done when the stream has
	 * completed it. Moves that give the same rank notices of the same number must be on one
	 * stream, or on streams that the caller has ordered. The values of notices are fixed by
	 * this call, so a graph that has captured it must not run twice. NULL: the mover can be
	 * used by the host only.
	 */
	int (*enqueue_behind)(struct fb_mover *mover, const struct fb_wait *wait, int n,
			      struct fb_move *move, void *stream);

	/* Fills in path, channels and flags of the row, by what really carried the bytes. */
	void (*describe)(struct fb_move *move, struct fb_traits *traits);

	/*
	 * Collective: opens a segment in the memory that regions of this mover have to lie in. 0 or
	 * an error on all ranks (printed). NULL: any segment of the kind `device` says.
	 */
	int (*segment)(struct fb_segment *segment, const struct fb_session *session,
		       const struct fb_group *group, size_t part_bytes);

	/*
	 * Local: after test() or arrived() found nothing, sleeps until there may be something, at
	 * most 50 ms; *idle: there was nothing. 0 or an error (printed). NULL: callers poll.
	 */
	int (*rest)(struct fb_mover *mover, bool *idle);

	/*
	 * Local, equal on all ranks: whether a form (NULL: the usual one) can be had on this
	 * machine; else writes the reason. NULL: every form can.
	 */
	bool (*can)(const struct fb_mover *mover, const char *form, char why[FB_REASON_CHARS]);
};

extern const struct fb_mover_ops fb_mover_shm, fb_mover_cma, fb_mover_tcp, fb_mover_file,
	fb_mover_mpi, fb_mover_mpi_window, fb_mover_rdma, fb_mover_ucx, fb_mover_nixl,
	fb_mover_nixl_gpu, fb_mover_mooncake, fb_mover_rdma_gpu, fb_mover_copy, fb_mover_cuda,
	fb_mover_nccl, fb_mover_nvshmem, fb_mover_nvshmem_device, fb_mover_ucx_gpu,
	fb_mover_libfabric, fb_mover_libfabric_gpu;

/* All movers, ending in NULL. One that is absent opens with a reason. */
extern const struct fb_mover_ops *fb_movers[];

/*
 * Movers of users: libraries that are built with this header and export fb_mover_plugin(). It
 * returns the mover, or NULL if it was built for another version than the one given. The library
 * can call all functions fb_* of the program.
 */
enum { FB_MOVER_VERSION = 6 };
typedef const struct fb_mover_ops *fb_mover_plugin_fn(unsigned version);
fb_mover_plugin_fn fb_mover_plugin;

/*
 * Local, the same on all ranks: adds to fb_movers those of the environment variable FB_MOVERS, file
 * names with ':' between. 0, or FB_EINPUT (printed) where one cannot be had.
 */
int fb_movers_load(void);

/* The index of a form in ops->forms; 0 for NULL; -1: there is no such form. */
int fb_mover_form(const struct fb_mover_ops *ops, const char *form);

/*
 * Local: checks the transfers and has the mover prepare them; the list is copied, what it points to
 * is not. 0; FB_EINPUT (printed: the piece, and what bounds it); or as ops->prepare. After an error
 * *move is NULL.
 */
int fb_move_prepare(struct fb_mover *mover, const struct fb_transfer *transfers, uint32_t n,
		    const char *form, struct fb_move **move);

/* --- mover_check.c ---------------------------------------------------------------------------- */

/* What ranks tell each other about their parts of a region before addresses and keys are used. */
enum { FB_REGION_MAGIC = 0x66627267, FB_REGION_NAME = 24 };
struct fb_region_record {
	uint32_t magic, version, bytes, device;
	char mover[FB_REGION_NAME];
	uint64_t part_bytes;
};

/*
 * Collective: checks that all ranks describe the same region, and then calls ops->add. The same
 * value on all ranks: 0; FB_EINPUT (printed: the rank, and what differs), before any key is
 * exchanged; or the error of ops->add.
 */
int fb_mover_add(struct fb_mover *mover, const struct fb_segment *segment,
		 struct fb_region **region);

/* Collective: as ops->remove, of a region of fb_mover_add(). */
void fb_mover_remove(struct fb_region *region);
/*
 * Collective: as ops->close. Returns how many regions were never removed, which is a mistake of the
 * caller (printed by rank 0): their memory stays registered.
 */
unsigned fb_mover_close(struct fb_mover *mover);

/* This rank's record; and why another rank's is of no such region (NULL: it is). */
void fb_region_record_of(const struct fb_mover *mover, const struct fb_segment *segment,
			 struct fb_region_record *record);
const char *fb_region_record_unlike(const struct fb_region_record *own, const void *other,
				    size_t bytes);

/*
 * Local: checks that the pieces that the transfer writes, in all repeats, do not overlap. 0;
 * FB_EINPUT (printed: the two pieces); or FB_ENOMEM (printed). It sorts the list, which takes time,
 * so it is for set-up only: fb_move_prepare() may be timed and does not call it.
 */
int fb_transfer_check_targets(const struct fb_transfer *transfer);

/* For set-up: as fb_move_prepare(), of transfers whose targets were checked before. */
int fb_move_prepare_checked(struct fb_mover *mover, const struct fb_transfer *transfers, uint32_t n,
			    const char *form, struct fb_move **move);

/* --- mover.c, waiting and what movers share --------------------------------------------------- */

/*
 * Local, after test() or arrived() found nothing: pauses, or sleeps as mover->wait says, and tells
 * the watchdog now and then that this rank is `doing` this. 0 or an error (printed).
 */
int fb_mover_again(struct fb_mover *mover, struct fb_spin *spin, const char *doing);
int fb_mover_again_for(struct fb_mover *mover, struct fb_spin *spin, const struct fb_wait *wait,
		       uint64_t have); /* for a notice of which `have` have come, and says so */
/* The wait is over. If err is 0, the watchdog's reports no longer name it. Returns `err`. */
int fb_mover_waited(struct fb_mover *mover, int err);
/* Collective: waits for all ranks and helps them with `progress`. 0 or an error (printed). */
int fb_mover_barrier(struct fb_mover *mover, void (*progress)(struct fb_mover *mover),
		     const char *doing);
/* Waits until the move is done, or until so many notices have come. 0 or an error (printed). */
int fb_move_wait(struct fb_move *move);
int fb_mover_await(struct fb_mover *mover, int from, int notice, uint64_t count);

/*
 * Collective: opens the mover. The same value on all ranks: 0; FB_EUNSUPPORTED with the reason why
 * this job, machine or build has no such mover; or another error (printed).
 */
int fb_mover_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		  const struct fb_session *session, const struct fb_group *group,
		  char why[FB_REASON_CHARS]);

/*
 * For movers, collective: allocates `bytes` zeroed bytes that begin with a struct fb_mover, and
 * fills that in. 0 or FB_ENOMEM (printed) on all ranks. Freeing is local.
 */
int fb_mover_new(struct fb_mover **mover, const struct fb_mover_ops *ops, size_t bytes,
		 const struct fb_session *session, const struct fb_group *group);
void fb_mover_free(struct fb_mover *mover);

/* The values of --memory for movers' regions, ending in NULL; and the memory of a mover's rows. */
extern const char *const fb_mover_memories[];
const char *fb_mover_memory(const struct fb_mover_ops *ops, const struct fb_settings *settings,
			    bool device);

/*
 * Collective: opens a segment for regions of a mover (NULL: of any mover): in memory from
 * ops->segment, else GPU memory, or host memory where `gpu` is NULL, of the kind that --memory
 * names. 0 or an error on all ranks (printed).
 */
int fb_mover_segment(struct fb_segment *segment, const struct fb_mover_ops *ops,
		     const struct fb_session *session, const struct fb_gpu *gpu,
		     const struct fb_group *group, size_t part_bytes);

/*
 * For movers, collective: a region of `bytes` zeroed bytes that begin with a struct fb_region.
 * `open` (local, prints its errors; NULL: nothing to do) fills in the rest. If it fails on any
 * rank, all ranks get an error, and ops->remove frees the regions, which may be partly filled in.
 */
int fb_region_new(struct fb_mover *mover, const struct fb_segment *segment, size_t bytes,
		  int (*open)(struct fb_region *region), struct fb_region **region);

/* For movers: regions and moves with no data beyond the common structures. */
int fb_region_add(struct fb_mover *mover, const struct fb_segment *segment,
		  struct fb_region **region);
void fb_region_remove(struct fb_region *region);
int fb_move_new(struct fb_mover *mover, const struct fb_move *given, size_t bytes,
		struct fb_move **move);
void fb_move_free(struct fb_move *move);

/*
 * For movers: walks through a transfer's pieces in chunks. Returns the bytes of the next chunk, at
 * most `most`, and its offsets; 0: no more. Begin with {transfer}. Empty pieces are left out.
 */
struct fb_walk {
	const struct fb_transfer *transfer;
	uint64_t piece, begun; /* begun: bytes of the piece that were in earlier chunks */
	uint32_t repeat;
};

static inline uint64_t fb_walk_next(struct fb_walk *walk, uint64_t most, uint64_t *local,
				    uint64_t *remote)
{
	const struct fb_transfer *t = walk->transfer;
	uint32_t repeats = t->repeats ? t->repeats : 1;

	while (walk->repeat < repeats) {
		const struct fb_piece *piece = t->piece + walk->piece;
		uint64_t left;

		if (walk->piece == t->pieces) {
			walk->piece = 0;
			walk->repeat++;
			continue;
		}
		left = piece->bytes - walk->begun;
		if (left == 0) {
			walk->piece++;
			walk->begun = 0;
			continue;
		}
		*local = t->local_at + piece->local + walk->repeat * t->local_step + walk->begun;
		*remote = t->remote_at + piece->remote + walk->repeat * t->remote_step +
			  walk->begun;
		left = left < most ? left : most;
		walk->begun += left;
		return left;
	}
	return 0;
}

/*
 * The same by runs: pieces that are contiguous on both sides are joined, unless the transfer keeps
 * them apart. 0: no more.
 */
struct fb_runs {
	struct fb_walk walk;
	uint64_t local, remote, bytes; /* the piece that was read ahead */
};

uint64_t fb_runs_next(struct fb_runs *runs, uint64_t *local, uint64_t *remote);

/* Bytes of all pieces. */
uint64_t fb_transfer_bytes(const struct fb_transfer *transfer);

/* For movers: carries out a PUT or GET of the rank with itself, in host memory. */
void fb_transfer_copy(const struct fb_transfer *transfer, int rank);

/* This rank's part of the transfer's local region. */
static inline char *fb_transfer_local(const struct fb_transfer *t, int rank)
{
	return fb_segment_part(t->local->segment, rank);
}

#endif
