/* SPDX-License-Identifier: BSD-3-Clause */
/* Mover store: carrying transfers out; see store.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/mover/store.h"

int fb_store_finish(const struct fb_store_request *r, long result)
{
	struct iovec iov[FB_STORE_PARTS], *part = iov;
	uint64_t done = result > 0 ? (uint64_t)result : 0;
	unsigned n = r->parts;

	if (result < 0 && result != -EINTR && result != -EAGAIN)
		return fb_error(FB_ESYS, "%s %llu bytes at %llu of a file: %s",
				r->writes ? "writing" : "reading", (unsigned long long)r->bytes,
				(unsigned long long)r->at, strerror((int)-result));
	if (done >= r->bytes)
		return FB_OK;
	memcpy(iov, r->iov, n * sizeof(*iov));
	for (uint64_t skip = done; done < r->bytes;) {
		ssize_t moved;

		for (; n && skip >= part->iov_len; n--)
			skip -= part++->iov_len;
		part->iov_base = (char *)part->iov_base + skip;
		part->iov_len -= skip;
		moved = r->writes ? pwritev(r->fd, part, (int)n, (off_t)(r->at + done))
				  : preadv(r->fd, part, (int)n, (off_t)(r->at + done));
		if (moved == 0 || (moved < 0 && errno != EINTR))
			return fb_error(FB_ESYS, "%s %llu bytes at %llu of a file: %s",
					r->writes ? "writing" : "reading",
					(unsigned long long)(r->bytes - done),
					(unsigned long long)(r->at + done),
					moved ? strerror(errno) : "it is too short");
		skip = moved > 0 ? (uint64_t)moved : 0;
		done += skip;
	}
	return FB_OK;
}

static void give_notices(struct fb_store *s, const struct fb_move *move)
{
	for (uint32_t i = 0; i < move->transfers; i++)
		s->arrived[move->transfer[i].notice]++;
}

/* Submits requests as far as the ring has room, and takes results. */
static int progress(struct fb_store *s)
{
	struct fb_ring *ring = &s->ring;
	void *tag;
	long result;
	int err;

	/* After an error the list is not used: a move in it may have been released. */
	if (s->err)
		return s->err;
	while (fb_ring_reap(ring, &tag, &result)) {
		struct fb_store_request *r = tag;

		err = fb_store_finish(r, result);
		s->err = s->err ? s->err : err;
		r->move->ended++;
	}
	for (struct fb_store_move *m = s->first; m; m = m->next)
		for (; m->begun < m->requests && ring->busy < ring->depth; m->begun++) {
			const struct fb_store_request *r = &m->request[m->begun];

			fb_ring_add(ring, r->fd, r->writes, r->iov, r->parts, r->at,
				    &m->request[m->begun]);
		}
	err = fb_ring_submit(ring);
	if (err)
		s->err = fb_error(FB_ESYS, "io_uring: %s", strerror(err));
	while (s->first && s->first->ended == s->first->requests) {
		give_notices(s, &s->first->move);
		s->first->listed = false;
		s->first = s->first->next;
	}
	return s->err;
}

int fb_store_post(struct fb_move *move)
{
	struct fb_store *s = (struct fb_store *)move->mover;
	struct fb_store_move *m = (struct fb_store_move *)move;

	if (s->err)
		return s->err;
	m->begun = m->ended = 0;
	m->next = NULL;
	m->listed = m->rings;
	if (m->rings) {
		if (s->first)
			s->last->next = m;
		else
			s->first = m;
		s->last = m;
		return progress(s);
	}
	for (; m->begun < m->requests && !s->err; m->begun++)
		s->err = fb_store_finish(&m->request[m->begun], 0);
	m->ended = m->requests;
	give_notices(s, move);
	return s->err;
}

int fb_store_test(struct fb_move *move, bool *done)
{
	struct fb_store *s = (struct fb_store *)move->mover;
	struct fb_store_move *m = (struct fb_store_move *)move;

	int err = m->listed ? progress(s) : s->err;

	/* A move in the list is not done, since earlier moves give their notices first. */
	*done = !m->listed;
	return err;
}

int fb_store_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_store *s = (struct fb_store *)mover;
	int err = s->first ? progress(s) : s->err;

	*count = from == mover->group->rank ? s->arrived[notice] : 0;
	return err;
}

void fb_store_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_store *s = (const struct fb_store *)move->mover;
	const struct fb_store_move *m = (const struct fb_store_move *)move;

	snprintf(traits->path, sizeof(traits->path), "%s, %llu requests, file in %s",
		 fb_store_methods[m->form], (unsigned long long)m->requests, s->folder);
	traits->channels = m->rings ? (int)s->ring.depth : 1;
}
