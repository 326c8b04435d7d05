/* SPDX-License-Identifier: BSD-3-Clause */
/* Mover store: between memory and files; see store.h. */
#include "common/mover/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"

enum { ALIGNMENT = 4096 };

const char *const fb_store_forms[] = {"buffered", "direct", "uring", "uring_direct", NULL};
const char *const fb_store_methods[] = {
	"page cache, preadv and pwritev", "O_DIRECT, preadv and pwritev", "page cache, io_uring",
	"O_DIRECT, io_uring"};

static const char *chosen_folder;

void fb_store_folder(const char *folder)
{
	chosen_folder = folder;
}

static const char *folder_now(void)
{
	const char *folder = chosen_folder ? chosen_folder : getenv("TMPDIR");

	return folder ? folder : "/tmp";
}

/*
 * Makes a file, and removes its name unless the caller wants it. If it cannot be opened with
 * O_DIRECT, fd[1] is -1 and errno says why.
 */
static int make_file(int fd[2], char *kept)
{
	char own[FB_STORE_NAME_CHARS], *name = kept ? kept : own;

	snprintf(name, FB_STORE_NAME_CHARS, "%.200s/fabricbench-XXXXXX", folder_now());
	fd[1] = -1;
	fd[0] = mkostemp(name, O_CLOEXEC);
	if (fd[0] < 0)
		return fb_error(FB_ESYS, "%s: %s", name, strerror(errno));
	fd[1] = open(name, O_RDWR | O_CLOEXEC | O_DIRECT);
	if (!kept)
		unlink(name);
	return FB_OK;
}

int fb_store_make_file(bool direct, char *name)
{
	int fd[2];

	if (make_file(fd, name))
		return -1;
	if (fd[1] < 0 || !direct) {
		if (fd[1] >= 0)
			close(fd[1]);
		return fd[0];
	}
	close(fd[0]);
	return fd[1];
}

int fb_store_reserve(int fd, size_t bytes)
{
	int full = posix_fallocate(fd, 0, (off_t)bytes);

	return full ? fb_error(FB_ESYS, "a file of %zu bytes in %s: %s", bytes, folder_now(),
			       strerror(full))
		    : FB_OK;
}

int fb_store_check_peers(const struct fb_mover *mover, const struct fb_move *given)
{
	for (uint32_t i = 0; i < given->transfers; i++)
		if (given->transfer[i].peer != mover->group->rank)
			return fb_error(FB_EINPUT, "mover %s: a transfer with rank %d, but files "
					"are of each rank alone", mover->ops->name,
					given->transfer[i].peer);
	return FB_OK;
}

uint64_t fb_store_alignment(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx s;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) && (s.stx_mask & STATX_DIOALIGN) &&
	    s.stx_dio_offset_align)
		return s.stx_dio_offset_align > s.stx_dio_mem_align ? s.stx_dio_offset_align
								     : s.stx_dio_mem_align;
#else
	(void)fd;
#endif
	return ALIGNMENT;
}

static void close_store(struct fb_mover *mover)
{
	struct fb_store *s = (struct fb_store *)mover;

	fb_ring_close(&s->ring);
	free(s->arrived);
	fb_mover_free(mover);
}

void fb_store_agree(const struct fb_group *group, const char *no_direct, int no_ring,
		    struct fb_store_lacks *lacks)
{
	*lacks = (struct fb_store_lacks){{0}, {0}};
	if (no_direct)
		snprintf(lacks->direct, sizeof(lacks->direct), "O_DIRECT in %.80s: %s",
			 folder_now(), no_direct);
	if (no_ring)
		snprintf(lacks->ring, sizeof(lacks->ring), "io_uring: %s", strerror(no_ring));
	(void)fb_group_agree_why(group, no_direct ? FB_EUNSUPPORTED : FB_OK, lacks->direct,
				 sizeof(lacks->direct));
	(void)fb_group_agree_why(group, no_ring ? FB_EUNSUPPORTED : FB_OK, lacks->ring,
				 sizeof(lacks->ring));
}

bool fb_store_has(const struct fb_store_lacks *lacks, int form, char why[FB_REASON_CHARS])
{
	const char *lack = fb_store_direct(form) && *lacks->direct ? lacks->direct
			   : fb_store_rings(form)		     ? lacks->ring
								     : "";

	if (*lack)
		snprintf(why, FB_REASON_CHARS, "%s", lack);
	return !*lack;
}

/* Finds out whether all ranks have O_DIRECT and io_uring; the same on all ranks. */
static int probe(struct fb_store *s)
{
	const struct fb_group *g = s->mover.group;
	const char *no_direct = NULL;
	int fd[2] = {-1, -1}, err;
	uint64_t align;

	snprintf(s->folder, sizeof(s->folder), "%.200s", folder_now());
	err = make_file(fd, NULL);
	if (!err && fd[1] < 0)
		no_direct = strerror(errno);
	align = fd[1] < 0 ? ALIGNMENT : fb_store_alignment(fd[1]);
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	MPI_Allreduce(&align, &s->align, 1, MPI_UINT64_T, MPI_MAX, g->comm);
	fb_store_agree(g, no_direct, fb_ring_open(&s->ring, FB_STORE_DEPTH), &s->lacks);
	return fb_group_agree(g, err);
}

static int open_store(struct fb_mover **mover, const struct fb_session *session,
		      const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, &fb_mover_store, sizeof(struct fb_store), session, group);
	struct fb_store *s;

	(void)why;
	if (err)
		return err;
	s = (struct fb_store *)*mover;
	s->ring.fd = -1;
	s->arrived = calloc(FB_NOTICES + 1, sizeof(*s->arrived));
	err = fb_group_agree(group, s->arrived ? FB_OK : FB_ENOMEM);
	if (!err)
		err = probe(s);
	if (err)
		close_store(*mover);
	return err;
}

bool fb_store_can(const struct fb_mover *mover, const char *form, char why[FB_REASON_CHARS])
{
	return fb_store_has(&((const struct fb_store *)mover)->lacks,
			    fb_mover_form(&fb_mover_store, form), why);
}

int fb_store_depth(struct fb_mover *mover, unsigned depth)
{
	struct fb_store *s = (struct fb_store *)mover;
	int err;

	if (*s->lacks.ring || s->ring.depth == depth)
		return FB_OK;
	fb_ring_close(&s->ring);
	err = fb_ring_open(&s->ring, depth);
	return err ? fb_error(FB_ESYS, "io_uring of %u requests: %s", depth, strerror(err)) : FB_OK;
}

static void remove_region(struct fb_region *region)
{
	struct fb_store_region *r = (struct fb_store_region *)region;

	for (int i = 0; i < 2; i++)
		if (r->fd[i] >= 0)
			close(r->fd[i]);
	free(r);
}

static int open_region(struct fb_region *region)
{
	struct fb_store_region *r = (struct fb_store_region *)region;
	int err = make_file(r->fd, NULL);

	return err ? err : fb_store_reserve(r->fd[0], region->segment->part_bytes);
}

static int add_region(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_store_region), open_region, region);
}

static int no_file(struct fb_region *region)
{
	struct fb_store_region *r = (struct fb_store_region *)region;

	r->fd[0] = r->fd[1] = -1;
	return FB_OK;
}

int fb_store_add_memory(struct fb_mover *mover, const struct fb_segment *segment,
			struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct fb_store_region), no_file, region);
}

/* --- preparing -------------------------------------------------------------------------------- */

static void free_move(struct fb_move *move)
{
	struct fb_store_move *m = (struct fb_store_move *)move;

	free(m->request);
	free(m->iov);
	fb_move_free(move);
}

/* Whether the bytes of `next` follow those of the last request, so that both can be one. */
static bool joins(const struct fb_store_request *last, const struct fb_store_request *next)
{
	return last->fd == next->fd && last->writes == next->writes &&
	       last->at + last->bytes == next->at && last->parts < FB_STORE_PARTS &&
	       last->bytes + next->bytes <= FB_STORE_REQUEST;
}

/* Appends the transfer's requests and their parts; there are m->requests and *parts so far. */
static void list(struct fb_store_move *m, struct fb_store_request *request, struct iovec *iov,
		 const struct fb_transfer *t, uint64_t *parts)
{
	const struct fb_store_region *file = (const struct fb_store_region *)t->remote;
	bool direct = fb_store_direct(m->form);
	char *memory = fb_transfer_local(t, m->move.mover->group->rank);
	struct fb_walk walk = {.transfer = t};
	struct fb_store_request next = {.parts = 1, .fd = file->fd[direct], .move = m,
			       .writes = t->verb == FB_MOVE_PUT};
	uint64_t a;

	while ((next.bytes = fb_walk_next(&walk, FB_STORE_REQUEST, &a, &next.at))) {
		struct fb_store_request *last = m->requests ? &request[m->requests - 1] : NULL;
		struct iovec part = {memory + a, next.bytes};

		next.iov = &iov[*parts];
		if (!last || !joins(last, &next)) {
			request[m->requests++] = next;
		} else {
			struct iovec *end = &iov[*parts - 1]; /* of the last request */

			last->bytes += next.bytes;
			if ((char *)end->iov_base + end->iov_len == memory + a) {
				end->iov_len += next.bytes;
				continue;
			}
			last->parts++;
		}
		iov[(*parts)++] = part;
	}
}

/* Whether all requests are aligned as O_DIRECT needs it. */
static bool aligned(const struct fb_store_move *m, uint64_t by)
{
	for (uint64_t i = 0; i < m->requests; i++) {
		const struct fb_store_request *r = &m->request[i];

		if (r->at % by)
			return false;
		for (unsigned k = 0; k < r->parts; k++)
			if ((uintptr_t)r->iov[k].iov_base % by || r->iov[k].iov_len % by)
				return false;
	}
	return true;
}

static int prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		   struct fb_move **move)
{
	const struct fb_store *s = (const struct fb_store *)mover;
	struct fb_store_request *request;
	struct fb_store_move *m;
	struct iovec *iov;
	uint64_t most = 1, parts = 0, a, b;
	int err;

	for (uint32_t i = 0; i < given->transfers; i++) {
		struct fb_walk walk = {.transfer = &given->transfer[i]};

		while (fb_walk_next(&walk, FB_STORE_REQUEST, &a, &b))
			most++;
	}
	err = fb_store_check_peers(mover, given);
	if (!err)
		err = fb_move_new(mover, given, sizeof(*m), move);
	if (err)
		return err;
	m = (struct fb_store_move *)*move;
	m->form = fb_mover_form(&fb_mover_store, form);
	m->rings = fb_store_rings(m->form);
	request = calloc(most, sizeof(*request));
	m->request = request;
	iov = calloc(most, sizeof(*iov));
	m->iov = iov;
	if (!request || !iov) {
		free_move(*move);
		return fb_error(FB_ENOMEM, "mover store: out of memory");
	}
	for (uint32_t i = 0; i < m->move.transfers; i++)
		if (m->move.transfer[i].pieces)
			list(m, request, iov, &m->move.transfer[i], &parts);
	if (fb_store_direct(m->form) && !aligned(m, s->align)) {
		free_move(*move);
		return FB_EUNSUPPORTED;
	}
	return FB_OK;
}

const struct fb_mover_ops fb_mover_store = {
	.name = "store",
	.summary = "between memory and a file of each rank",
	.transport = "file",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.forms = fb_store_forms,
	.can = fb_store_can,
	.open = open_store,
	.close = close_store,
	.add = add_region,
	.remove = remove_region,
	.prepare = prepare,
	.release = free_move,
	.post = fb_store_post,
	.test = fb_store_test,
	.arrived = fb_store_arrived,
	.describe = fb_store_describe,
};
