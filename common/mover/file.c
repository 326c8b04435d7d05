/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover file: payload goes through files in $TMPDIR that one rank writes and the other reads. This
 * file implements a transport whose links are parts of the files; wire.h does the rest. The forms
 * are those of mover store (store.h): through the page cache or by O_DIRECT, by one system call at
 * a time or by io_uring.
 *
 * A link's part has a ring of slots, a word for each slot, and a number. The word says which
 * message the slot holds, of how many bytes, and by which form it was written; the number says how
 * many messages the reader has released. Order: a slot's write is complete before that of its word
 * begins, and the read of a slot begins after that of its word. POSIX lets a read that is provably
 * after a write see it; the word, the later write, is the proof. A slot is overwritten only after
 * the number says that it was read. Words and the number are aligned 8 bytes each, so they are
 * never seen in parts.
 *
 * Mixing the page cache and O_DIRECT in one file is not coherent on every file system. So O_DIRECT
 * has a separate file, which has slots only; words, numbers and headers are in the first file.
 * O_DIRECT moves whole pages, filled up if need be, so pieces may have any length. The files' names
 * are removed as soon as all ranks have opened them, so that a killed job leaves no files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/mover/store.h"
#include "common/mover/wire.h"

enum {
	PAGE = 4096,
	SLOT = 64 << 10,
	SLOTS = 8,
	LINKS = 8,
	WORDS = 0, /* places in a part */
	NUMBER = PAGE,
	RING = 2 * PAGE,
	PART = RING + SLOT * SLOTS,
};

/* A slot's word: the message's number, counted from 1, then its form, then its bytes. */
enum { BYTES_BITS = 24, FORM_BITS = 4, MESSAGE_AT = BYTES_BITS + FORM_BITS };

struct file_transport {
	struct fb_transport transport;
	int fd[2]; /* page cache; O_DIRECT, -1: the file system has none */
	struct fb_ring ring;
	struct fb_store_lacks lacks;
	int writing; /* requests of the ring that write */
	struct file_port *ports; /* all that were made */
	int err;     /* of the first failure (printed), for progress() */
};

struct file_slot {
	struct fb_store_request request; /* first: the ring's tag */
	struct iovec iov;
	struct file_port *port;
	uint64_t word;	   /* of the message; reader: as read last */
	uint64_t complete; /* of a reader: the word of the message that is in memory */
	bool moving;	   /* the ring has the request */
};

struct file_port {
	struct fb_port port;
	struct file_transport *owner;
	struct file_port *next;
	off_t part; /* where the link's part of the files begins */
	uint64_t messages; /* committed by a sender, or released by a receiver */
	uint64_t released; /* sender: by the receiver, as read last */
	bool sends;
	int form; /* of the message that is acquired next */
	struct file_slot slot[SLOTS];
	char *buffer; /* [SLOTS + 1] of SLOT bytes: for io_uring, and one for system calls */
};

/* Reads or writes words or a number in the first file. */
static bool move_control(const struct file_port *p, bool writes, void *at, size_t bytes,
			 off_t offset)
{
	struct file_transport *t = p->owner;
	struct iovec iov = {at, bytes};
	const struct fb_store_request r = {.at = (uint64_t)(p->part + offset), .iov = &iov,
		.bytes = bytes, .parts = 1, .fd = t->fd[0], .writes = writes};

	if (!t->err)
		t->err = fb_store_finish(&r, 0);
	return !t->err;
}

static int form_of(uint64_t word)
{
	return (int)(word >> BYTES_BITS & ((1u << FORM_BITS) - 1));
}

/* The buffer for message m in this form. */
static char *buffer_of(const struct file_port *p, uint64_t m, int form)
{
	return p->buffer + (fb_store_rings(form) ? m % SLOTS : SLOTS) * SLOT;
}

/* The slot's bytes have been moved. A sender then writes the word. */
static void end_slot(struct file_slot *s)
{
	struct file_port *p = s->port;

	s->moving = false;
	if (p->sends)
		move_control(p, true, &s->word, sizeof(s->word),
			     WORDS + (s - p->slot) * (off_t)sizeof(s->word));
	else
		s->complete = s->word;
}

/* Begins to write or read message m, whose word is in slot.word. */
static void begin_slot(struct file_port *p, uint64_t m)
{
	struct file_transport *t = p->owner;
	struct file_slot *s = &p->slot[m % SLOTS];
	int form = form_of(s->word);
	bool direct = fb_store_direct(form);
	uint64_t bytes = s->word & ((1u << BYTES_BITS) - 1);

	if (direct)
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	s->iov = (struct iovec){buffer_of(p, m, form), bytes};
	s->request = (struct fb_store_request){
		.at = (uint64_t)p->part + RING + m % SLOTS * SLOT, .iov = &s->iov, .bytes = bytes,
		.parts = 1, .fd = t->fd[direct], .writes = p->sends};
	if (fb_store_rings(form)) {
		s->moving = true;
		t->writing += p->sends;
		fb_ring_add(&t->ring, s->request.fd, p->sends, &s->iov, 1, s->request.at, s);
		return;
	}
	t->err = t->err ? t->err : fb_store_finish(&s->request, 0);
	if (!t->err)
		end_slot(s);
}

/* Fails unless the value grew as the protocol allows; a truncated file would have zeroes. */
static bool check(const struct file_port *p, bool grown)
{
	if (grown)
		return true;
	p->owner->err = fb_error(FB_ESYS, "a file has lost what rank %d wrote", p->port.peer);
	return false;
}

static void *file_acquire(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;

	if (bytes > SLOT || (fb_store_rings(p->form) && p->owner->ring.busy == FB_STORE_DEPTH))
		return NULL;
	if (p->messages - p->released == SLOTS &&
	    (!move_control(p, false, &p->released, sizeof(p->released), NUMBER) ||
	     !check(p, p->messages - p->released <= SLOTS) ||
	     p->messages - p->released == SLOTS))
		return NULL;
	return buffer_of(p, p->messages, p->form);
}

static void file_commit(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;
	uint64_t m = p->messages++;

	p->slot[m % SLOTS].word = (m + 1) << MESSAGE_AT | (uint64_t)p->form << BYTES_BITS | bytes;
	begin_slot(p, m);
}

/* Whether message m has been announced, by the words that were read last. */
static bool announced(const struct file_port *p, uint64_t m)
{
	return p->slot[m % SLOTS].word >> MESSAGE_AT == m + 1;
}

static void look(struct file_port *p)
{
	uint64_t now[SLOTS];

	if (!move_control(p, false, now, sizeof(now), WORDS))
		return;
	for (int i = 0; i < SLOTS && !p->owner->err; i++)
		if (check(p, now[i] >= p->slot[i].word &&
				     now[i] >> MESSAGE_AT <= p->messages + SLOTS) &&
		    !p->slot[i].moving)
			p->slot[i].word = now[i];
}

static const void *file_peek(struct fb_port *port, size_t bytes)
{
	struct file_port *p = (struct file_port *)port;
	const struct fb_ring *ring = &p->owner->ring;
	struct file_slot *first = &p->slot[p->messages % SLOTS];

	if (bytes > SLOT)
		return NULL;
	if (!announced(p, p->messages))
		look(p);
	/* io_uring reads messages ahead; system calls read only the message that is wanted. */
	for (uint64_t m = p->messages; m < p->messages + SLOTS && announced(p, m); m++) {
		const struct file_slot *s = &p->slot[m % SLOTS];
		bool rings = fb_store_rings(form_of(s->word));

		if (s->moving || s->complete == s->word)
			continue;
		if (rings ? ring->busy < ring->depth : m == p->messages)
			begin_slot(p, m);
	}
	return announced(p, p->messages) && first->complete == first->word
		       ? buffer_of(p, p->messages, form_of(first->word))
		       : NULL;
}

static void file_release(struct fb_port *port)
{
	struct file_port *p = (struct file_port *)port;

	p->messages++;
	move_control(p, true, &p->messages, sizeof(p->messages), NUMBER);
}

static const struct fb_port_ops file_ports = {.acquire = file_acquire, .commit = file_commit,
					      .peek = file_peek, .release = file_release};

static void choose(struct fb_port *port, int form)
{
	((struct file_port *)port)->form = form;
}

static struct file_port *new_port(struct file_transport *t, const struct fb_link_request *request)
{
	const struct fb_group *g = t->transport.world;
	int from = request->sends ? g->rank : request->peer;
	off_t pair = (off_t)from * g->nranks + (g->rank + request->peer - from);
	struct file_port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->port = (struct fb_port){&file_ports, request->peer};
	p->owner = t;
	p->part = (pair * LINKS + (off_t)request->id) * PART;
	p->sends = request->sends;
	p->buffer = aligned_alloc(PAGE, (size_t)(SLOTS + 1) * SLOT);
	for (int i = 0; i < SLOTS; i++)
		p->slot[i].port = p;
	p->next = t->ports;
	t->ports = p;
	return p->buffer ? p : NULL;
}

/* Ports are freed with the transport, because after an error nobody disconnects them. */
static void file_disconnect(struct fb_transport *transport, struct fb_port **ports, int n)
{
	(void)transport, (void)ports, (void)n;
}

static int file_connect(struct fb_transport *transport, const struct fb_link_request *requests,
			int n, struct fb_port **ports)
{
	int err = FB_OK;

	for (int i = 0; i < n; i++) {
		ports[i] = (struct fb_port *)new_port((struct file_transport *)transport,
						      &requests[i]);
		err = ports[i] ? err : FB_ENOMEM;
	}
	return fb_group_agree(transport->world, err);
}

static int file_progress(struct fb_transport *transport)
{
	struct file_transport *t = (struct file_transport *)transport;
	void *tag;
	long result;
	int err;

	while (fb_ring_reap(&t->ring, &tag, &result)) {
		struct file_slot *s = tag;

		t->writing -= s->request.writes;
		t->err = t->err ? t->err : fb_store_finish(&s->request, result);
		if (!t->err)
			end_slot(s);
	}
	err = fb_ring_submit(&t->ring);
	if (err && !t->err)
		t->err = fb_error(FB_ESYS, "io_uring: %s", strerror(err));
	return t->err;
}

/* Whether all committed messages have been announced. */
static bool file_idle(const struct fb_transport *transport)
{
	return !((const struct file_transport *)transport)->writing;
}

static void file_close(struct fb_transport *transport)
{
	struct file_transport *t = (struct file_transport *)transport;

	fb_ring_close(&t->ring);
	while (t->ports) {
		struct file_port *p = t->ports;

		t->ports = p->next;
		free(p->buffer);
		free(p);
	}
	for (int f = 0; f < 2; f++)
		if (t->fd[f] >= 0)
			close(t->fd[f]);
	free(t);
}

/*
 * Collective: one rank makes a file, whose words are 0, and all open it. *refused: why this rank
 * cannot use it with O_DIRECT, which is no error, or NULL.
 */
static int open_file(struct file_transport *t, bool direct, const char **refused)
{
	const struct fb_group *g = t->transport.world;
	char name[FB_STORE_NAME_CHARS] = "";
	int made = g->rank ? -1 : fb_store_make_file(false, name);
	int err = fb_group_agree(g, !g->rank && made < 0 ? FB_ESYS : FB_OK);

	if (err)
		return err;
	MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, g->comm);
	t->fd[direct] = open(name, O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0));
	*refused = t->fd[direct] < 0 ? strerror(errno) : NULL;
	if (direct && !*refused && fb_store_alignment(t->fd[direct]) > PAGE)
		*refused = "it wants whole blocks of more than 4096 bytes";
	if (made >= 0 && ftruncate(made, (off_t)g->nranks * g->nranks * LINKS * PART))
		err = fb_error(FB_ESYS, "%s: %s", name, strerror(errno));
	if (*refused && !direct)
		err = fb_error(FB_ESYS, "%s: %s", name, *refused);
	err = fb_group_agree(g, err);
	if (made >= 0) {
		close(made);
		unlink(name);
	}
	return err;
}

static bool file_can(const struct fb_mover *mover, const char *form, char why[FB_REASON_CHARS])
{
	const struct fb_wire *wire = (const struct fb_wire *)mover;

	return fb_store_has(&((const struct file_transport *)wire->transport)->lacks,
			    fb_mover_form(mover->ops, form), why);
}

static int file_open_mover(struct fb_mover **mover, const struct fb_session *session,
			   const struct fb_group *group, char why[FB_REASON_CHARS])
{
	static const struct fb_transport_ops ops = {.close = file_close, .connect = file_connect,
		.disconnect = file_disconnect, .progress = file_progress};
	struct file_transport *t = calloc(1, sizeof(*t));
	int err = fb_group_agree(group, t ? FB_OK : FB_ENOMEM);
	const char *refused = NULL;
	struct fb_wire *wire;

	(void)why;
	if (err || !t) {
		free(t);
		return err;
	}
	*t = (struct file_transport){{&ops, group}, {-1, -1}, {.fd = -1}, .err = FB_OK};
	err = open_file(t, false, &refused);
	if (!err)
		err = open_file(t, true, &refused);
	if (err) {
		file_close(&t->transport);
		return err;
	}
	fb_store_agree(group, refused, fb_ring_open(&t->ring, FB_STORE_DEPTH), &t->lacks);
	err = fb_wire_open(mover, &fb_mover_file, session, group, &t->transport, SLOTS, SLOT);
	if (err)
		return err;
	wire = (struct fb_wire *)*mover;
	wire->idle = file_idle;
	wire->choose = choose;
	wire->ways = fb_store_methods;
	return FB_OK;
}

const struct fb_mover_ops fb_mover_file = {
	.name = "file",
	.summary = "files that one rank writes and the other reads",
	.transport = "file",
	.one_host = true,
	.forms = fb_store_forms,
	.can = file_can,
	.open = file_open_mover,
	FB_WIRE_OPS,
};
