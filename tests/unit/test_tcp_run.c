/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the tcp transport that follow one another without frames: cut at every byte, with
 * credits in front of them, more than the kernel holds, behind others that have not left; runs of
 * another length, of other messages, of another link, frames of other kinds and a peer that is gone
 * must be failures.
 *
 * The peer is this program, at the other end of a pair of sockets.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/transport/tcp_run.h"
#include "tests/unit/check.h"
#include "tests/unit/tcp_pair.h"

enum { IN, OUT, LINKS };
enum {
	SLOTS = 8,
	MOST = 600000, /* bytes of a message: more than the kernel holds */
	GUARD = 64,
	COUNT = 3, /* messages of a run */
	EPOCH = 7,
	CREDITS = 2,
	FRAME = sizeof(struct fb_tcp_frame),
	PADS = FB_TCP_LEAD / FRAME - 1,
	CUTS = 3,
};

struct bench {
	struct tcp_pair pair;
	struct fb_tcp_link *links[LINKS];
	unsigned char guard, user[FB_TCP_LEAD + MOST + GUARD], queued[FB_TCP_LEAD + MOST];
	unsigned char wired[COUNT * MOST + 8 * FRAME]; /* on the wire */
	size_t n;
};

static unsigned char content(int turn, size_t i)
{
	return (unsigned char)(turn * 29 + (int)(i * 3 + (i >> 8) * 5) + 1);
}

static bool epoll; /* see tcp_pair_watch() */

static bool bench_open(struct bench *b)
{
	b->n = 0;
	if (!tcp_pair_open(&b->pair, EPOCH) || (epoll && !tcp_pair_watch(&b->pair)))
		return false;
	for (int i = 0; i < LINKS; i++) {
		struct fb_link_request request = {.id = (uint32_t)i, .sends = i == OUT,
						  .slots = SLOTS, .slot_bytes = MOST,
						  .posted = true, .headroom = true};

		if (fb_tcp_link_new(&b->pair.tcp, &request, &b->links[i]))
			return false;
		b->links[i]->remote = 100;
	}
	memset(b->user, 0xc7, sizeof(b->user));
	b->guard = 0xc7;
	return true;
}

static void bench_close(struct bench *b)
{
	for (int i = 0; i < LINKS; i++)
		fb_tcp_link_free(&b->pair.tcp, b->links[i]);
	tcp_pair_close(&b->pair);
}

static size_t cuts = 1; /* in so many parts is given what is to be moved */

static int cut_up(char *at, size_t bytes, struct iovec pieces[CUTS])
{
	size_t length = (bytes + cuts - 1) / cuts;
	int n = 0;

	for (; bytes; at += length, bytes -= length) {
		length = length < bytes ? length : bytes;
		pieces[n++] = (struct iovec){.iov_base = at, .iov_len = length};
	}
	return n;
}

static size_t send_some(struct fb_port *port, char *at, size_t bytes, bool more)
{
	struct iovec pieces[CUTS];

	return fb_tcp_run_send(port, pieces, cut_up(at, bytes, pieces), more);
}

static size_t receive_some(struct fb_port *port, char *at, size_t bytes)
{
	struct iovec pieces[CUTS] = {{.iov_base = at, .iov_len = bytes}};
	int n = ((struct fb_tcp_link *)port)->run.begun ? cut_up(at, bytes, pieces) : 1;

	return fb_tcp_run_receive(port, pieces, n);
}

static struct fb_tcp_frame run_frame(const struct bench *b, size_t bytes)
{
	return (struct fb_tcp_frame){.link = b->links[IN]->index, .epoch = EPOCH,
				     .bytes = bytes & FB_TCP_LONGEST, .kind = FB_TCP_RUN};
}

static void lay(struct bench *b, const struct fb_tcp_frame *frame)
{
	memcpy(b->wired + b->n, frame, FRAME);
	b->n += FRAME;
}

/* Credits, the run's frame, its messages. */
static void lay_out(struct bench *b, int credits, size_t bytes)
{
	struct fb_tcp_frame frame = run_frame(b, bytes), pad = {.kind = FB_TCP_PAD};
	struct fb_tcp_frame credit = {.link = b->links[OUT]->index, .epoch = EPOCH,
				      .bytes = 1, .kind = FB_TCP_CREDIT};

	for (int i = 0; i < credits; i++)
		lay(b, &credit);
	for (int i = 0; i < PADS; i++)
		lay(b, &pad);
	lay(b, &frame);
	for (int k = 0; k < COUNT; k++)
		for (size_t i = 0; i < bytes; i++)
			b->wired[b->n++] = content(k, i);
}

/* Writes the peer's bytes up to `limit`. */
static void feed(struct bench *b, size_t *sent, size_t limit)
{
	ssize_t n = send(b->pair.wire, b->wired + *sent, limit - *sent, 0);

	*sent += n > 0 ? (size_t)n : 0;
}

/*
 * A run comes, each message when the one before is there, cut at a byte; the first `ahead` bytes
 * have been read by progress() before.
 */
static void receive(struct bench *b, int credits, size_t bytes, size_t cut, size_t ahead)
{
	size_t sent = 0, left, looks = 0;

	if (!CHECK(bench_open(b)))
		return;
	lay_out(b, credits, bytes);
	if (ahead) {
		feed(b, &sent, ahead);
		fb_tcp_ask(&b->pair.socket);
		CHECK_INT(fb_tcp_progress(&b->pair.tcp.transport), FB_OK);
	}
	fb_tcp_run_begin(&b->links[IN]->port, bytes);
	for (int k = 0; k < COUNT; k++) {
		size_t wrong = 0, end = b->n - (size_t)(COUNT - 1 - k) * bytes;
		char *at = (char *)b->user + FB_TCP_LEAD;

		for (left = bytes; left && looks < 10000; looks++) {
			size_t n;

			if (sent < cut && cut < end)
				feed(b, &sent, cut);
			else if (looks % 2)
				feed(b, &sent, end);
			n = receive_some(&b->links[IN]->port, at, left);
			CHECK(n <= left);
			at += n;
			left -= n;
		}
		for (size_t i = 0; i < bytes; i++)
			wrong += b->user[FB_TCP_LEAD + i] != content(k, i);
		CHECK_INT(left, 0);
		CHECK_INT(wrong, 0);
		CHECK_INT(b->user[FB_TCP_LEAD + bytes], 0xc7);
		CHECK_INT(b->guard, 0xc7);
	}
	CHECK_INT(b->pair.tcp.err, FB_OK);
	CHECK_INT(SLOTS - b->links[OUT]->unreleased, credits);
	CHECK_INT(b->pair.socket.end, 0);
	bench_close(b);
}

static void test_receive(struct bench *b)
{
	static const size_t sizes[] = {1, 15, 16, 17, 40, 5000};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (int credits = 0; credits <= CREDITS; credits++)
			for (size_t cut = 0; cut < 8 * FRAME + 2 * sizes[s]; cut += 1 + cut / 200)
				receive(b, credits, sizes[s], cut, 0);
	/* Credits and what fills up, and a part of one, came while progress() was still called. */
	for (size_t ahead = 1; ahead < (CREDITS + PADS) * (size_t)FRAME; ahead++)
		for (size_t more = 0; more < 2; more++)
			receive(b, CREDITS, 40, ahead + more, ahead);
	receive(b, 0, MOST, 100, 0);
	for (cuts = 2; cuts <= CUTS; cuts++) {
		for (size_t cut = 0; cut < 8 * FRAME + 80; cut++)
			receive(b, CREDITS, 40, cut, 0);
		receive(b, 0, MOST, 100, 0);
	}
	cuts = 1;
}

/* A message that is there takes one read, the first one with its frame too. */
static void test_reads(struct bench *b)
{
	size_t sent = 0;

	if (!CHECK(bench_open(b)))
		return;
	lay_out(b, 0, 100);
	fb_tcp_run_begin(&b->links[IN]->port, 100);
	feed(b, &sent, b->n);
	reads = 0;
	for (int k = 0; k < COUNT; k++)
		CHECK_INT(receive_some(&b->links[IN]->port, (char *)b->user + FB_TCP_LEAD,
					     100), 100);
	CHECK_INT(reads, COUNT);
	bench_close(b);
}

/* Anything but the run that was begun is a failure. */
static void test_wrong(struct bench *b)
{
	for (int i = 0; i < 8; i++) {
		struct fb_tcp_frame frame;
		char *at = (char *)b->user + FB_TCP_LEAD;

		if (!CHECK(bench_open(b)))
			return;
		frame = run_frame(b, 40);
		frame.turn = i == 0;
		frame.bytes = i == 1 ? 41 : 40;
		frame.link += i == 2;
		frame.epoch = i == 3 ? EPOCH + 1 : EPOCH;
		frame.kind = i == 4 ? FB_TCP_DATA : i == 5 ? 0 : i == 6 ? 9 : FB_TCP_RUN;
		/* Data has a place, but is not what is waited for. */
		fb_tcp_post(&b->links[IN]->port, b->queued + FB_TCP_LEAD);
		CHECK_INT(send(b->pair.wire, &frame, FRAME, 0), FRAME);
		fb_tcp_run_begin(&b->links[IN]->port, 40);
		CHECK_INT(receive_some(&b->links[IN]->port, at, 40), 0);
		CHECK_INT(fb_tcp_error(&b->pair.tcp.transport), i == 7 ? FB_OK : FB_EPEER);
		bench_close(b);
	}
	/* More than a message, which has a place: what leads it lacks what fills up. */
	if (!CHECK(bench_open(b)))
		return;
	lay_out(b, 0, 40);
	CHECK_INT(send(b->pair.wire, b->wired + PADS * FRAME, FRAME + 41, 0), FRAME + 41);
	fb_tcp_run_begin(&b->links[IN]->port, 40);
	CHECK_INT(receive_some(&b->links[IN]->port, (char *)b->user + FB_TCP_LEAD, 40), 0);
	CHECK_INT(fb_tcp_error(&b->pair.tcp.transport), FB_EPEER);
	bench_close(b);
	/* And a run where none was begun. */
	if (!CHECK(bench_open(b)))
		return;
	lay_out(b, 0, 40);
	CHECK_INT(send(b->pair.wire, b->wired, b->n, 0), b->n);
	fb_tcp_ask(&b->pair.socket);
	CHECK_INT(fb_tcp_progress(&b->pair.tcp.transport), FB_EPEER);
	bench_close(b);
}

/* The peer is gone: before the frame, and behind it. */
static void test_gone(struct bench *b)
{
	for (int i = 0; i < 4; i++) {
		struct fb_port *port;
		size_t moved;
		char *at = (char *)b->user + FB_TCP_LEAD;

		if (!CHECK(bench_open(b)))
			return;
		port = &b->links[i < 2 ? IN : OUT]->port;
		fb_tcp_run_begin(port, 40);
		lay_out(b, 0, 40);
		if (i == 1) {
			CHECK_INT(send(b->pair.wire, b->wired, FB_TCP_LEAD + 40, 0),
				  FB_TCP_LEAD + 40);
			CHECK_INT(receive_some(port, at, 40), 40);
		}
		if (i == 3)
			CHECK_INT(send_some(port, at, 40, true), 40);
		close(b->pair.wire);
		moved = i < 2 ? receive_some(port, at, 40) : send_some(port, at, 40, false);
		CHECK_INT(moved, 0);
		CHECK_INT(fb_tcp_error(&b->pair.tcp.transport), FB_EPEER);
		b->pair.wire = dup(b->pair.socket.fd);
		bench_close(b);
	}
}

/*
 * What is sent is frames and the messages' bytes; `queued`: behind one that was not taken
 * whole; by calls that take `most` bytes, if not 0.
 */
static void send_run(struct bench *b, size_t bytes, bool queued, size_t most)
{
	struct fb_tcp_frame frame;
	struct fb_port *port;
	size_t skip = 0, n = 0, wrong = 0, looks = 0;

	if (!CHECK(bench_open(b)))
		return;
	port = &b->links[OUT]->port;
	if (queued) {
		b->links[OUT]->unreleased = 0;
		CHECK(port->ops->acquire(port, MOST) != NULL);
		fb_tcp_commit_user(port, b->queued + FB_TCP_LEAD, MOST);
		CHECK(b->pair.socket.sending.head != NULL);
		skip = FB_TCP_LEAD + MOST;
		refused = 3;
	}
	most_sent = most;
	fb_tcp_run_begin(port, bytes);
	for (int k = 0; k < COUNT; k++) {
		char *at = (char *)b->user + FB_TCP_LEAD;

		for (size_t i = 0; i < bytes; i++)
			at[i] = (char)content(k, i);
		for (size_t left = bytes; left && looks < 10000; looks++) {
			ssize_t got = recv(b->pair.wire, b->wired + n, sizeof(b->wired) - n, 0);
			bool more = k + 1 < COUNT;
			size_t moved = send_some(port, at, left, more);

			wrong += moved && !(sent_flags & MSG_MORE) == more;
			n += got > 0 ? (size_t)got : 0;
			at += moved;
			left -= moved;
		}
	}
	for (ssize_t got; (got = recv(b->pair.wire, b->wired + n, sizeof(b->wired) - n, 0)) > 0;)
		n += (size_t)got;
	most_sent = 0;
	CHECK_INT(b->pair.tcp.err, FB_OK);
	CHECK_INT(n, skip + FB_TCP_LEAD + COUNT * bytes);
	for (size_t i = 0; i < PADS; i++) {
		memcpy(&frame, b->wired + skip + i * FRAME, FRAME);
		CHECK_INT(frame.kind, FB_TCP_PAD);
	}
	memcpy(&frame, b->wired + skip + PADS * FRAME, FRAME);
	CHECK(frame.kind == FB_TCP_RUN && frame.link == 100 && frame.epoch == EPOCH &&
	      frame.turn == 0 && frame.bytes == bytes);
	skip += FB_TCP_LEAD;
	for (int k = 0; k < COUNT; k++, skip += bytes)
		for (size_t i = 0; i < bytes; i++)
			wrong += b->wired[skip + i] != content(k, i);
	CHECK_INT(wrong, 0);
	bench_close(b);
}

static void test_send(struct bench *b)
{
	send_run(b, 1, false, 0);
	for (size_t most = 0; most < FB_TCP_LEAD + 50; most++)
		send_run(b, 40, false, most);
	CHECK_INT(parts, 1);
	send_run(b, MOST / 3, true, 0);
	send_run(b, MOST, false, 0);
	for (cuts = 2; cuts <= CUTS; cuts++) {
		send_run(b, 40, false, 0);
		send_run(b, 40, false, 7);
		CHECK_INT(parts, cuts);
		send_run(b, MOST, false, 0);
	}
	cuts = 1;
}

static void test_may(struct bench *b)
{
	struct fb_tcp_piece *flights = NULL;

	if (!CHECK(bench_open(b)))
		return;
	CHECK(fb_tcp_may_run(&b->links[IN]->port) && fb_tcp_may_run(&b->links[OUT]->port));
	b->links[IN]->headroom = false;
	CHECK(!fb_tcp_may_run(&b->links[IN]->port));
	b->pair.socket.flights = &flights;
	CHECK(!fb_tcp_may_run(&b->links[OUT]->port));
	b->pair.socket.flights = NULL;
	b->pair.tcp.width = 2;
	CHECK(!fb_tcp_may_run(&b->links[OUT]->port));
	b->pair.tcp.width = 1;
	bench_close(b);
}

int main(void)
{
	static struct bench bench;

	for (int i = 0; i < 2; i++, epoll = true) {
		test_receive(&bench);
		test_reads(&bench);
		test_wrong(&bench);
		test_gone(&bench);
		test_send(&bench);
		test_may(&bench);
	}
	return check_done("tcp_run");
}
