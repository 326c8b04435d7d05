/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of the tcp transport: an error that names the peer, on every rank, in bounded time, and no
 * harm to what still works.
 * ranks: 2 3
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"

/* Until then something has to happen. */
static time_t deadline(void)
{
	return time(NULL) + (time_t)check_seconds(60);
}

/* What goes to stderr between these two is returned as text. */
static int quiet_begin(FILE **file)
{
	int saved = dup(STDERR_FILENO);

	*file = tmpfile();
	if (*file)
		dup2(fileno(*file), STDERR_FILENO);
	return saved;
}

static void quiet_end(FILE *file, int saved, char *text, size_t n)
{
	size_t got = 0;

	dup2(saved, STDERR_FILENO);
	close(saved);
	if (file) {
		rewind(file);
		got = fread(text, 1, n - 1, file);
		fclose(file);
	}
	text[got] = '\0';
}

/* Ends that do not ask for the same get an error on all ranks, and no harm is done. */
static void test_mismatch(struct fb_transport *t)
{
	int rank = t->world->rank, saved, err;
	struct fb_link_request request = {
		.id = 3,
		.peer = 1 - rank,
		.sends = rank == 0,
		.slots = rank == 0 ? 2 : 3,
		.slot_bytes = 8,
		.protocol = "simple",
	};
	struct fb_port *port = NULL;
	char text[1024];
	FILE *file;

	saved = quiet_begin(&file);
	err = t->ops->connect(t, &request, rank < 2, &port);
	quiet_end(file, saved, text, sizeof(text));
	CHECK_INT(err, FB_EPLAN);
	CHECK(rank > 1 || strstr(text, "link 3"));
	saved = quiet_begin(&file);
	err = t->ops->connect(t, &request, rank == 0, &port);
	quiet_end(file, saved, text, sizeof(text));
	CHECK_INT(err, FB_EPLAN);
	CHECK(!port);
}

/* Rank 1 goes without a word, leaving messages unread; the others must notice and name it. */
static void test_death(const struct fb_group *world)
{
	struct fb_link_request requests[64];
	struct fb_port *ports[64];
	struct fb_transport *t;
	time_t end = deadline();
	int n = 0, saved, err = FB_OK;
	char text[1024];
	FILE *file;

	if (!CHECK_INT(fb_transport_tcp.open(&t, world), FB_OK))
		return;
	for (int peer = 0; peer < world->nranks; peer++)
		if (peer != world->rank && (peer == 1 || world->rank == 1))
			for (int sends = 0; sends < 2; sends++)
				requests[n++] = (struct fb_link_request){
					.peer = peer, .sends = sends, .slots = 4,
					.slot_bytes = 1000, .protocol = "simple"};
	CHECK_INT(t->ops->connect(t, requests, n, ports), FB_OK);
	if (world->rank != 1) {
		saved = quiet_begin(&file);
		while (!err && time(NULL) < end) {
			if (ports[1]->ops->acquire(ports[1], 1000))
				ports[1]->ops->commit(ports[1], 1000);
			if (world->rank == 0)
				ports[0]->ops->peek(ports[0], 10);
			err = t->ops->progress(t);
			sched_yield();
		}
		CHECK_INT(t->ops->progress(t), FB_EPEER);
		quiet_end(file, saved, text, sizeof(text));
		CHECK_INT(err, FB_EPEER);
		CHECK(strstr(text, "rank 1 on host ") != NULL);
		CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	} else {
		/* Later than the others' first messages. */
		usleep(100000);
	}
	t->ops->close(t);
}

/*
 * The middle one of three sockets between ranks 0 and 1 breaks while messages that are spread over
 * all of them are under way: both ends say so.
 */
static void test_cut(const struct fb_group *world)
{
	enum { BYTES = 300000, BEFORE = 5 };
	static const struct fb_tcp_settings settings = {
		.sockets = 3, .stripe = 1000, .congestion = "auto", .interface = "auto"};
	struct fb_link_request request = {
		.peer = 1 - world->rank, .sends = world->rank == 0, .slots = 2,
		.slot_bytes = BYTES, .protocol = "simple"};
	struct fb_port *port = NULL;
	struct fb_transport *t;
	time_t end = deadline();
	int n = world->rank < 2, done = 0, saved, err = FB_OK;
	char text[1024];
	FILE *file;

	if (!CHECK_INT(fb_tcp_open(&t, world, &settings), FB_OK))
		return;
	CHECK_INT(t->ops->connect(t, &request, n, &port), FB_OK);
	saved = quiet_begin(&file);
	while (n && !err && time(NULL) < end) {
		if (world->rank == 0 && port->ops->acquire(port, BYTES)) {
			port->ops->commit(port, BYTES);
			if (++done == BEFORE)
				shutdown(((struct fb_tcp *)t)->sockets[3 + 1]->fd, SHUT_RDWR);
		} else if (world->rank == 1 && port->ops->peek(port, BYTES)) {
			port->ops->release(port);
		}
		err = t->ops->progress(t);
		sched_yield();
	}
	quiet_end(file, saved, text, sizeof(text));
	if (n) {
		CHECK_INT(err, FB_EPEER);
		CHECK(strstr(text, world->rank ? "rank 0 on host " : "rank 1 on host ") != NULL);
	}
	MPI_Barrier(world->comm);
	t->ops->close(t);
}

/* One link from rank 0 to rank 1, over which one message goes. */
static void use_link(struct fb_transport *t)
{
	struct fb_link_request request = {
		.id = 1,
		.peer = 1 - t->world->rank,
		.sends = t->world->rank == 0,
		.slots = 1,
		.slot_bytes = 8,
		.protocol = "simple",
	};
	int n = t->world->rank < 2, err = FB_OK;
	time_t end = deadline();
	const void *message = NULL;
	struct fb_port *port;

	if (!CHECK_INT(t->ops->connect(t, &request, n, &port), FB_OK))
		return;
	if (t->world->rank == 0) {
		memcpy(port->ops->acquire(port, 8), "message", 8);
		port->ops->commit(port, 8);
	} else if (n) {
		while (!err && !message && time(NULL) < end) {
			err = t->ops->progress(t);
			message = port->ops->peek(port, 8);
			sched_yield();
		}
		CHECK_INT(err, FB_OK);
		if (message)
			CHECK_STR(message, "message");
		if (CHECK(message != NULL))
			port->ops->release(port);
	}
	t->ops->disconnect(t, &port, n);
}

/* Nobody listens where rank 1 says that it does; afterwards it is found. */
static void test_unreachable(const struct fb_group *world)
{
	struct fb_link_request request = {
		.peer = 1 - world->rank,
		.sends = world->rank == 0,
		.slots = 1,
		.slot_bytes = 8,
		.protocol = "simple",
	};
	struct fb_port *port;
	struct fb_transport *t;
	struct fb_tcp *tcp;
	char text[1024];
	uint32_t port_1;
	int saved, err;
	FILE *file;

	if (!CHECK_INT(fb_transport_tcp.open(&t, world), FB_OK))
		return;
	tcp = (struct fb_tcp *)t;
	tcp->timeout_ms = 1500;
	port_1 = tcp->identity[1].port;
	tcp->identity[1].port = 1;
	saved = quiet_begin(&file);
	err = t->ops->connect(t, &request, world->rank < 2, &port);
	quiet_end(file, saved, text, sizeof(text));
	CHECK_INT(err, FB_EPEER);
	if (world->rank == 0) {
		CHECK(strstr(text, "rank 0 on host ") && strstr(text, "to rank 1 on host "));
		CHECK(strstr(text, "address ") && strstr(text, "port 1: Connection refused\n"));
	}
	if (world->rank == 1)
		CHECK(strstr(text, "no connection with rank 0 on host ") != NULL);
	tcp->identity[1].port = port_1;
	tcp->timeout_ms = FB_TCP_TIMEOUT_MS;
	use_link(t);
	t->ops->close(t);
}

/* Somebody else talks to the port, or says nothing: neither hinders rank 0. */
static void test_strangers(const struct fb_group *world)
{
	int fds[20], n = (int)(sizeof(fds) / sizeof(fds[0]));
	static const char text[] = "GET / HTTP/1.0\r\nHost: somebody\r\n\r\n";
	struct sockaddr_storage to = {0};
	struct fb_transport *t;
	socklen_t bytes = sizeof(to);

	if (!CHECK_INT(fb_transport_tcp.open(&t, world), FB_OK))
		return;
	/* Where the rank listens: loopback, or an address of its host. */
	CHECK_INT(getsockname(((struct fb_tcp *)t)->listeners[0], (struct sockaddr *)&to, &bytes),
		  0);
	for (int i = 0; i < n; i++) {
		fds[i] = socket(to.ss_family, SOCK_STREAM, 0);
		CHECK_INT(connect(fds[i], (struct sockaddr *)&to, bytes), 0);
		if (i % 2)
			CHECK(send(fds[i], text, sizeof(text), MSG_NOSIGNAL) > 0);
	}
	use_link(t);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	t->ops->close(t);
}

int main(int argc, char **argv)
{
	struct fb_transport *t;
	struct fb_group world;
	int result = 0;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	if (world.nranks < 2) {
		printf("SKIP tcp_faults: for 2 ranks or more\n");
		fb_group_close(&world);
		return 77;
	}
	if (CHECK_INT(fb_transport_tcp.open(&t, &world), FB_OK)) {
		test_mismatch(t);
		use_link(t);
		t->ops->close(t);
	}
	test_unreachable(&world);
	test_strangers(&world);
	test_cut(&world);
	test_death(&world);
	MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_INT, MPI_SUM, world.comm);
	if (world.rank == 0)
		result = check_done("tcp_faults");
	fb_group_close(&world);
	return result;
}
