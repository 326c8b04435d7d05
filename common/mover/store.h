/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover store: each rank's part of a region has a file of the same size on disk, and transfers
 * with the rank itself pass between memory and that file. PUT writes the file, GET reads it back.
 * It is a tier below memory, so it is not in the registry of movers between ranks: the `remote`
 * places of its transfers are places in the file, not in a region's memory.
 *
 * Pieces that are neighbours in the file are one request with several parts in memory
 * (preadv, pwritev), up to FB_STORE_REQUEST bytes.
 *
 *	buffered       system calls through the page cache, one at a time
 *	direct         the same with O_DIRECT: the disk itself
 *	uring          io_uring, with as many requests in flight as fb_store_depth() says
 *	uring_direct   the same with O_DIRECT
 *
 * O_DIRECT needs places, lengths and addresses that are multiples of what the file system asks for;
 * other transfers are FB_EUNSUPPORTED.
 */
#ifndef FB_COMMON_MOVER_STORE_H
#define FB_COMMON_MOVER_STORE_H

#include <sys/uio.h>

#include "common/mover/mover.h"

enum { FB_STORE_DEPTH = 32, FB_STORE_REQUEST = 1 << 20, FB_STORE_NAME_CHARS = 288 };

/*
 * Not in fb_movers. Files have no name once they are open. store_gpu: bounce.c; cufile: cufile.c;
 * object: object.c; nixl_file, nixl_gpu_file: nixl_file.c.
 */
extern const struct fb_mover_ops fb_mover_store, fb_mover_store_gpu, fb_mover_cufile,
	fb_mover_object, fb_mover_nixl_file, fb_mover_nixl_gpu_file;

/*
 * The forms of store, store_gpu and file: "buffered", ..., NULL. For each form a text of how it
 * moves bytes, for the row's path.
 */
extern const char *const fb_store_forms[], *const fb_store_methods[];

/*
 * object.c: sets where movers that are opened later make objects, and with how many requests at
 * once. `url` is borrowed; NULL, as at the start: no store. A PUT's pieces have to begin at
 * multiples of FB_OBJECT_BYTES, or where the piece before ends.
 */
enum { FB_OBJECT_BYTES = 1 << 20 };
void fb_object_store(const char *url, unsigned depth);

/* Sets the folder of later files; borrowed. NULL, as at the start: $TMPDIR, or /tmp. */
void fb_store_folder(const char *folder);

/*
 * Local: makes a file there, with O_DIRECT if `direct` and the file system has it. Returns its
 * descriptor, which the caller closes, or -1 (printed). Its name goes to name[FB_STORE_NAME_CHARS],
 * for the caller to unlink; with NULL the name has been removed.
 */
int fb_store_make_file(bool direct, char *name);

/* Local: allocates a file's blocks, so that a full disk is found now. 0 or FB_ESYS (printed). */
int fb_store_reserve(int fd, size_t bytes);

/* Local: 0, or FB_EINPUT (printed) if a transfer is with another rank. */
int fb_store_check_peers(const struct fb_mover *mover, const struct fb_move *given);

/* For mover store. As ops->add, but without a file: memory that can only be a `local` region. */
int fb_store_add_memory(struct fb_mover *mover, const struct fb_segment *segment,
			struct fb_region **region);

/* `mover` if it is mover store, the store in a store_gpu, or NULL for any other mover. */
struct fb_mover *fb_store_below(struct fb_mover *mover);

/* For mover store, as ops->can. */
bool fb_store_can(const struct fb_mover *mover, const char *form, char why[FB_REASON_CHARS]);

/* Why this machine has no O_DIRECT or no io_uring; empty if it has. */
struct fb_store_lacks {
	char direct[FB_REASON_CHARS], ring[FB_REASON_CHARS];
};

/* Local: of what O_DIRECT needs places, lengths and addresses to be multiples, for an open file. */
uint64_t fb_store_alignment(int fd);

/*
 * Collective: each rank gives the reason why it has no O_DIRECT (NULL: it has), and the errno value
 * with which a ring could not be opened (0: it could); *lacks becomes the same on all ranks.
 * fb_store_has() is local: whether a form can be had; else writes why not.
 */
void fb_store_agree(const struct fb_group *group, const char *no_direct, int no_ring,
		    struct fb_store_lacks *lacks);
bool fb_store_has(const struct fb_store_lacks *lacks, int form, char why[FB_REASON_CHARS]);

/*
 * For mover store. Local, with no move under way: sets how many requests io_uring has in flight.
 * Returns 0 or FB_ESYS (printed).
 */
int fb_store_depth(struct fb_mover *mover, unsigned depth);

/*
 * --- store_uring.c: io_uring by its system calls, as liburing does -------------------------------
 */
struct io_uring_sqe;
struct io_uring_cqe;

struct fb_ring {
	int fd; /* -1: closed */
	unsigned depth, busy, waiting; /* busy: not reaped; waiting: not submitted */
	unsigned *sq_tail, *sq_array, *cq_head, *cq_tail, sq_mask, cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	void *map[3];
	size_t map_bytes[3];
};

/* Local: 0, or the errno of the call that failed (not printed), `ring` closed. */
int fb_ring_open(struct fb_ring *ring, unsigned depth);
/* Safe on a closed ring. Waits for submitted requests and drops their results. */
void fb_ring_close(struct fb_ring *ring);
/* Adds a request; there is room (busy < depth). `tag` comes back with its result. */
void fb_ring_add(struct fb_ring *ring, int fd, bool writes, const struct iovec *iov, unsigned parts,
		 uint64_t at, void *tag);
/* Submits what was added to the kernel. 0 or an errno. */
int fb_ring_submit(struct fb_ring *ring);
/* The next result: bytes or a negative errno. False: there is none yet. */
bool fb_ring_reap(struct fb_ring *ring, void **tag, long *result);

/*
 * --- between store.c (opening, preparing) and store_run.c ----------------------------------------
 */
enum {
	FB_STORE_BUFFERED,
	FB_STORE_DIRECT,
	FB_STORE_URING,
	FB_STORE_URING_DIRECT,
	FB_STORE_PARTS = 64, /* most of a request */
};

/* Whether a form uses O_DIRECT, and whether it uses io_uring. */
static inline bool fb_store_direct(int form)
{
	return form == FB_STORE_DIRECT || form == FB_STORE_URING_DIRECT;
}

static inline bool fb_store_rings(int form)
{
	return form == FB_STORE_URING || form == FB_STORE_URING_DIRECT;
}

struct fb_store_request {
	uint64_t at;	   /* in the file */
	struct iovec *iov; /* [parts], in memory */
	uint64_t bytes;
	unsigned parts;
	int fd;
	bool writes;
	struct fb_store_move *move;
};

struct fb_store_move {
	struct fb_move move;
	struct fb_store_request *request; /* [requests] */
	struct iovec *iov;
	uint64_t requests, begun, ended;
	bool rings, listed;
	int form;
	struct fb_store_move *next; /* under way, in the order of posting */
};

struct fb_store_region {
	struct fb_region region;
	int fd[2]; /* through the page cache; O_DIRECT, -1: the file system has none */
};

struct fb_store {
	struct fb_mover mover;
	struct fb_ring ring;
	struct fb_store_move *first, *last;
	uint64_t *arrived; /* [FB_NOTICES + 1] */
	uint64_t align;
	struct fb_store_lacks lacks;
	char folder[256];
	int err; /* of a transfer that failed (printed) */
};

/*
 * Local, blocks: moves the rest of a request of which `result` bytes have moved, by the ring or 0;
 * or which failed in the ring with -errno. 0 or FB_ESYS (printed), also where the file ends before
 * the request does.
 */
int fb_store_finish(const struct fb_store_request *request, long result);

int fb_store_post(struct fb_move *move);
int fb_store_test(struct fb_move *move, bool *done);
int fb_store_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
void fb_store_describe(struct fb_move *move, struct fb_traits *traits);

#endif
