/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover file: payload goes through a POSIX file, in the page cache of the file system of $TMPDIR. A
 * transport whose links are parts of the file is all it takes; wire.h does the rest.
 *
 * A link's part holds two numbers, messages committed and messages released, and a ring of slots.
 * Order: pwrite() of a slot returns before that of the number begins, pread() of the slot begins
 * after that of the number. POSIX lets a read that is provably after a write see it; the number,
 * the later write, is the proof. A slot is overwritten only after the other number says that it was
 * read. A number is one aligned word in a page of its own, so it is never seen in parts. The file
 * loses its name as soon as all ranks have opened it, so a killed job leaves none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/mover/wire.h"

enum { PAGE = 4096, SLOT = 64 << 10, SLOTS = 8, LINKS = 8, PART = 2 * PAGE + SLOT * SLOTS };

struct file_transport {
	struct fb_transport transport;
	int fd, err; /* err: of the first failure (printed), for progress() */
};

struct file_port {
	struct fb_port port;
	struct file_transport *owner;
	off_t part; /* where the link's part of the file begins */
	uint64_t messages, seen; /* this end's number; the other one's, at the last look */
	bool sends;
	char buffer[SLOT];
};

static bool move_bytes(struct file_port *p, bool writes, void *at, size_t bytes, off_t offset)
{
	char *to = at;

	while (bytes && !p->owner->err) {
		ssize_t n = writes ? pwrite(p->owner->fd, to, bytes, p->part + offset)
				   : pread(p->owner->fd, to, bytes, p->part + offset);

		if (n == 0 || (n < 0 && errno != EINTR))
			p->owner->err = fb_error(FB_ESYS, "file with rank %d: %s", p->port.peer,
						 n ? strerror(errno) : "it is too short");
		n = n > 0 ? n : 0;
		to += n;
		offset += n;
		bytes -= (size_t)n;
	}
	return !p->owner->err;
}

static bool move_slot(struct file_port *p, bool writes, size_t bytes)
{
	return move_bytes(p, writes, p->buffer, bytes,
			  2 * PAGE + (off_t)(p->messages % SLOTS * SLOT));
}

/* Whether this end may send, or take, a message; looks only where it knows of none. */
static bool may(struct file_port *p)
{
	uint64_t known = p->sends ? p->seen + SLOTS : p->seen;

	return p->messages < known ||
	       (move_bytes(p, false, &p->seen, sizeof(p->seen), p->sends ? PAGE : 0) &&
		p->messages < p->seen + (p->sends ? SLOTS : 0));
}

static void count(struct file_port *p)
{
	p->messages++;
	move_bytes(p, true, &p->messages, sizeof(p->messages), p->sends ? 0 : PAGE);
}

static void *file_acquire(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;

	return bytes <= SLOT && may(p) ? p->buffer : NULL;
}

static void file_commit(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;

	if (move_slot(p, true, bytes))
		count(p);
}

static const void *file_peek(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;

	return may(p) && move_slot(p, false, bytes) ? p->buffer : NULL;
}

static void file_release(struct fb_port *port)
{
	count((struct file_port *)port);
}

static const struct fb_port_ops file_ports = {.acquire = file_acquire, .commit = file_commit,
					      .peek = file_peek, .release = file_release};

static int file_connect(struct fb_transport *transport, const struct fb_link_request *requests,
			int n, struct fb_port **ports)
{
	const struct fb_group *g = transport->world;
	int err = FB_OK;

	for (int i = 0; i < n; i++) {
		struct file_port *p = calloc(1, sizeof(*p));
		int from = requests[i].sends ? g->rank : requests[i].peer;
		off_t pair = (off_t)from * g->nranks + (g->rank + requests[i].peer - from);
		off_t part = (pair * LINKS + (off_t)requests[i].id) * PART;

		ports[i] = (struct fb_port *)p;
		err = p ? err : FB_ENOMEM;
		if (p)
			*p = (struct file_port){{&file_ports, requests[i].peer},
						(struct file_transport *)transport, part,
						.sends = requests[i].sends};
	}
	return fb_group_agree(g, err);
}

static void file_disconnect(struct fb_transport *transport, struct fb_port **ports, int n)
{
	(void)transport;
	for (int i = 0; i < n; i++)
		free(ports[i]);
}

static int file_progress(struct fb_transport *transport)
{
	return ((struct file_transport *)transport)->err;
}

static void file_close(struct fb_transport *transport)
{
	close(((struct file_transport *)transport)->fd);
	free(transport);
}

/* Collective: one rank makes the file, whose numbers are 0, and all open it. */
static int open_file(struct file_transport *t)
{
	const struct fb_group *g = t->transport.world;
	const char *folder = getenv("TMPDIR");
	char name[256];

	snprintf(name, sizeof(name), "%.200s/fabricbench-XXXXXX", folder ? folder : "/tmp");
	if (g->rank == 0)
		t->fd = mkstemp(name);
	MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, g->comm);
	if (g->rank)
		t->fd = open(name, O_RDWR | O_CLOEXEC);
	if (t->fd < 0 || ftruncate(t->fd, (off_t)g->nranks * g->nranks * LINKS * PART))
		t->err = fb_error(FB_ESYS, "%s: %s", name, strerror(errno));
	t->err = fb_group_agree(g, t->err);
	if (g->rank == 0)
		unlink(name);
	return t->err;
}

static int file_open_mover(struct fb_mover **mover, const struct fb_session *session,
			   const struct fb_group *group, char why[FB_REASON_CHARS])
{
	static const struct fb_transport_ops ops = {.close = file_close, .connect = file_connect,
		.disconnect = file_disconnect, .progress = file_progress};
	struct file_transport *t = calloc(1, sizeof(*t));
	int err = fb_group_agree(group, t ? FB_OK : FB_ENOMEM);

	(void)why;
	if (err || !t) {
		free(t);
		return err;
	}
	*t = (struct file_transport){{&ops, group}, -1, FB_OK};
	err = open_file(t);
	if (!err)
		return fb_wire_open(mover, &fb_mover_file, session, group, &t->transport, SLOTS,
				    SLOT);
	file_close(&t->transport);
	return err;
}

const struct fb_mover_ops fb_mover_file = {
	.name = "file",
	.summary = "files that one rank writes and the other reads",
	.transport = "file",
	.one_host = true,
	.open = file_open_mover,
	FB_WIRE_OPS,
};
