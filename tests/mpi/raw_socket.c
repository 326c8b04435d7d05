/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1
 *
 * Two processes with nothing but a TCP socket between them, for comparison with this project's
 * tcp transport; see tests/netns/speed. No MPI. As a test, without arguments, it only shows that
 * it works: `block 8 0.01`.
 *
 *	raw_socket ping|block|stream BYTES SECONDS
 *
 * ping: messages there and back by send() and recv(), TCP_NODELAY, looking without sleeping;
 * block: the same, but the kernel wakes who waits; stream: messages one way, as fast as they go.
 * What is sent is not the memory that was received into, as with whoever exchanges data: if it
 * were, messages that fit into a cache only once would be in the cache of who sends them.
 * Prints the mean times of batches of about 250 us (ping: of half a round trip), in us, a line
 * each, and behind it when the batch began and ended. The processes run on the first and the last
 * processor that they may use.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/pinned.h"

enum { BATCH_US = 250, MOST_SECONDS = 60 };

static void put(int fd, const char *memory, size_t bytes, int flags)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = send(fd, memory + at, bytes - at, flags | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			die("send");
		at += n > 0 ? (size_t)n : 0;
	}
}

/* Returns false at the end of the stream. */
static bool get(int fd, char *memory, size_t bytes, int flags)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = recv(fd, memory + at, bytes - at, flags);

		if (n < 0 && errno != EAGAIN)
			die("recv");
		if (n == 0)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The one that waits: answers, or swallows, until the other one closes. */
static void serve(int fd, bool answers, char *memory[2], size_t bytes, int flags)
{
	while (get(fd, memory[1], bytes, flags))
		if (answers)
			put(fd, memory[0], bytes, flags);
}

static void measure(int fd, bool answers, char *memory[2], size_t bytes, int flags, double seconds)
{
	double end = now_us() + seconds * 1e6, begin = now_us(), now = begin;
	int n = 0;

	while (now < end) {
		put(fd, memory[0], bytes, flags);
		if (answers && !get(fd, memory[1], bytes, flags))
			die("peer");
		/* Looking at the clock is not what is measured. */
		if (++n % 8 && answers)
			continue;
		now = now_us();
		if (now - begin < BATCH_US)
			continue;
		printf("%.3f %.1f %.1f\n", (now - begin) / n / (answers ? 2 : 1), begin, now);
		n = 0;
		begin = now = now_us();
	}
}

/* A connection over loopback within this process: fds[0] and fds[1] are its ends. */
static void connect_pair(int fds[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || fds[0] < 0 || bind(listener, (struct sockaddr *)&at, n) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&at, &n) ||
	    connect(fds[0], (struct sockaddr *)&at, n))
		die("connect");
	fds[1] = accept(listener, NULL, NULL);
	if (fds[1] < 0)
		die("accept");
	close(listener);
	for (int i = 0; i < 2; i++)
		if (setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
			die("TCP_NODELAY");
}

int main(int argc, char **argv)
{
	const char *kind = argc == 4 ? argv[1] : "block";
	size_t bytes = argc == 4 ? strtoull(argv[2], NULL, 10) : argc == 1 ? 8 : 0;
	double seconds = argc == 4 ? strtod(argv[3], NULL) : 0.01;
	char *memory[2] = {bytes ? malloc(bytes) : NULL, bytes ? malloc(bytes) : NULL};
	bool answers;
	int fds[2], flags;
	pid_t child;

	if (!memory[0] || !memory[1] || seconds <= 0 || seconds > MOST_SECONDS) {
		fprintf(stderr, "usage: raw_socket ping|block|stream BYTES SECONDS\n");
		free(memory[0]);
		free(memory[1]);
		return 3;
	}
	/* Pages that nobody has written are one and the same. */
	memset(memory[0], 1, bytes);
	memset(memory[1], 2, bytes);
	answers = strcmp(kind, "stream") != 0;
	flags = strcmp(kind, "ping") ? 0 : MSG_DONTWAIT;
	connect_pair(fds);
	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	close(fds[child ? 1 : 0]);
	pin(child == 0);
	if (child == 0) {
		serve(fds[1], answers, memory, bytes, flags);
	} else {
		measure(fds[0], answers, memory, bytes, flags, seconds);
		close(fds[0]);
		waitpid(child, NULL, 0);
	}
	free(memory[0]);
	free(memory[1]);
	return 0;
}
