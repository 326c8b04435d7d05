/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io_uring without liburing; see store.h. One thread adds, submits and reaps.
 *
 * Order. The kernel reads the submission queue's tail and writes the completion queue's tail on
 * other processors. So the submission tail is stored with release order after the entry; the
 * completion tail is loaded with acquire before the entry; and the completion head is stored with
 * release after the entry's loads, since the kernel may then overwrite the entry. Data that a
 * request has read is in place before its completion is visible.
 */
#include "common/mover/store.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SQ, CQ, ENTRIES, MAPS };

/* The unsigned at an offset that the kernel has returned. */
static unsigned *word(void *base, unsigned offset)
{
	return (unsigned *)(void *)((char *)base + offset);
}

static int map(struct fb_ring *r, int which, size_t bytes, long long offset)
{
	r->map[which] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			     (off_t)offset);
	if (r->map[which] == MAP_FAILED) {
		r->map[which] = NULL;
		return errno;
	}
	r->map_bytes[which] = bytes;
	return 0;
}

int fb_ring_open(struct fb_ring *r, unsigned depth)
{
	struct io_uring_params p;
	int err;

	memset(&p, 0, sizeof(p));
	*r = (struct fb_ring){.depth = depth};
	r->fd = (int)syscall(SYS_io_uring_setup, depth, &p);
	if (r->fd < 0)
		return errno;
	err = map(r, SQ, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	if (!err)
		err = map(r, CQ, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
			  IORING_OFF_CQ_RING);
	if (!err)
		err = map(r, ENTRIES, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (err) {
		fb_ring_close(r);
		return err;
	}
	r->sq_tail = word(r->map[SQ], p.sq_off.tail);
	r->sq_array = word(r->map[SQ], p.sq_off.array);
	r->sq_mask = *word(r->map[SQ], p.sq_off.ring_mask);
	r->cq_head = word(r->map[CQ], p.cq_off.head);
	r->cq_tail = word(r->map[CQ], p.cq_off.tail);
	r->cq_mask = *word(r->map[CQ], p.cq_off.ring_mask);
	r->cqe = (struct io_uring_cqe *)(void *)((char *)r->map[CQ] + p.cq_off.cqes);
	r->sqe = r->map[ENTRIES];
	return 0;
}

void fb_ring_close(struct fb_ring *r)
{
	void *tag;
	long result;

	/* Waits for submitted requests, because the caller may free their memory next. */
	while (r->busy > r->waiting)
		if (!fb_ring_reap(r, &tag, &result) &&
		    syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			break;
	for (int i = 0; i < MAPS; i++)
		if (r->map[i])
			munmap(r->map[i], r->map_bytes[i]);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct fb_ring){.fd = -1};
}

void fb_ring_add(struct fb_ring *r, int fd, bool writes, const struct iovec *iov, unsigned parts,
		 uint64_t at, void *tag)
{
	unsigned tail = *r->sq_tail, place = tail & r->sq_mask;
	struct io_uring_sqe *e = &r->sqe[place];

	memset(e, 0, sizeof(*e));
	e->opcode = writes ? IORING_OP_WRITEV : IORING_OP_READV;
	e->fd = fd;
	e->addr = (uintptr_t)iov;
	e->len = parts;
	e->off = at;
	e->user_data = (uintptr_t)tag;
	r->sq_array[place] = place;
	atomic_store_explicit((_Atomic unsigned *)r->sq_tail, tail + 1, memory_order_release);
	r->busy++;
	r->waiting++;
}

int fb_ring_submit(struct fb_ring *r)
{
	while (r->waiting) {
		long n = syscall(SYS_io_uring_enter, r->fd, r->waiting, 0, 0, NULL, 0);

		if (n < 0 && (errno == EAGAIN || errno == EBUSY))
			return 0; /* the kernel has no room: tried again after the next results */
		if (n < 0 && errno != EINTR)
			return errno;
		r->waiting -= n > 0 ? (unsigned)n : 0;
	}
	return 0;
}

bool fb_ring_reap(struct fb_ring *r, void **tag, long *result)
{
	const struct io_uring_cqe *e;
	unsigned head;

	if (!r->busy)
		return false; /* a closed ring has no memory to look at */
	head = *r->cq_head;
	if (head == atomic_load_explicit((_Atomic unsigned *)r->cq_tail, memory_order_acquire))
		return false;
	e = &r->cqe[head & r->cq_mask];
	*tag = (void *)(uintptr_t)e->user_data;
	*result = e->res;
	atomic_store_explicit((_Atomic unsigned *)r->cq_head, head + 1, memory_order_release);
	r->busy--;
	return true;
}
