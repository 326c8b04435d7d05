/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1
 *
 * Has two groups of processes run by turns, by SIGSTOP and SIGCONT, and says how far the first and
 * the last of this process's processors were from each other meanwhile; see speed_of_pairs in
 * tests/lib_speed.sh. On a virtual machine that distance was seen to change, as if the host had
 * moved a processor: a cache line's way there and back took 0.1 or 0.4 us, for a fraction of a
 * second or some, and a plain socket's 512 bytes over loopback 5.8 or 8.2 us, in one run. Only
 * turns of one distance can be compared. No MPI. As a test, without arguments, it only shows that
 * it works: two children that sleep.
 *
 *	take_turns TURN_MS TURNS PID... -- PID...
 *
 * First nobody runs, for 300 ms: the longest gap in what the second group notes down. Then the
 * first group and the second TURN_MS each, TURNS times, or until one of these processes is gone.
 * All are stopped in the end. Prints lines "TURN GROUP FROM_US TO_US BEFORE_NS AFTER_NS": when the
 * group (1, 2) ran, and the way there and back measured before and after that.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/pinned.h"

enum { MOST = 16, SETTLE_MS = 300, BATCHES = 20, TRIPS = 50 };

/* A line of its own: odd while it is the other thread's turn, who makes it even. */
static _Alignas(128) atomic_uint ball;
static _Alignas(128) atomic_bool playing, ready, done;
static sem_t match; /* what the other thread sleeps on */

static void sleep_us(long us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/*
 * Between two measurements it sleeps, and must not look now and then whether there is one: each is
 * a timer's interrupt beside the group that has its turn. With a look every 100 us perftest's
 * message took 55 to 130 us in an emulated machine instead of 10.
 */
static void *answer(void *unused)
{
	pin(true);
	for (;;) {
		while (sem_wait(&match))
			;
		if (atomic_load(&done))
			return unused;
		while (atomic_load(&playing)) {
			unsigned int seen = atomic_load(&ball);

			atomic_store(&ready, true);
			if (seen % 2)
				atomic_store(&ball, seen + 1);
		}
	}
}

/* The fastest mean of short batches, in ns: a thread that was sent away makes batches longer. */
static double distance(void)
{
	double least = 1e9;

	atomic_store(&ready, false);
	atomic_store(&playing, true);
	sem_post(&match);
	while (!atomic_load(&ready))
		sched_yield(); /* with one processor it would never come */
	for (int i = 0; i < BATCHES; i++) {
		double begin = now_us(), took;

		for (int j = 0; j < TRIPS; j++) {
			atomic_fetch_add(&ball, 1);
			for (long k = 1; atomic_load(&ball) % 2; k++)
				if (k % 10000 == 0)
					sched_yield();
		}
		took = (now_us() - begin) * 1e3 / TRIPS;
		least = took < least ? took : least;
	}
	atomic_store(&playing, false);
	return least;
}

struct group {
	pid_t pids[MOST];
	int count;
};

static bool tell(const struct group *group, int signal)
{
	bool there = true;

	for (int i = 0; i < group->count; i++)
		if (kill(group->pids[i], signal))
			there = false;
	return there;
}

/* Returns false where a process is gone. */
static bool take_turn(const struct group *group, long us, double *from, double *to)
{
	bool there = tell(group, SIGCONT);

	*from = now_us();
	sleep_us(us);
	there = tell(group, SIGSTOP) && there;
	*to = now_us();
	return there;
}

static int run(const struct group groups[2], long turn_us, long turns)
{
	pthread_t other;
	double before;

	for (int i = 0; i < 2; i++)
		if (!tell(&groups[i], SIGSTOP))
			die("take_turns: SIGSTOP");
	if (sem_init(&match, 0, 0) || pthread_create(&other, NULL, answer, NULL))
		die("take_turns: the other thread");
	pin(false);
	sleep_us(SETTLE_MS * 1000);
	before = distance();
	for (long i = 0; i < 2 * turns; i++) {
		double from, to, after;

		if (!take_turn(&groups[i % 2], turn_us, &from, &to))
			break;
		after = distance();
		printf("%ld %ld %.1f %.1f %.1f %.1f\n", i / 2, i % 2 + 1, from, to, before, after);
		before = after;
	}
	atomic_store(&done, true);
	sem_post(&match);
	pthread_join(other, NULL);
	return 0;
}

static int test_itself(void)
{
	struct group groups[2] = {{.count = 1}, {.count = 1}};
	int bad;

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			sleep_us(60000000);
			_exit(1);
		}
		groups[i].pids[0] = pid;
	}
	bad = run(groups, 2000, 3);
	for (int i = 0; i < 2; i++) {
		int status;

		/* They must have been left stopped. */
		if (waitpid(groups[i].pids[0], &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
			bad = 1;
		kill(groups[i].pids[0], SIGKILL);
		waitpid(groups[i].pids[0], &status, 0);
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct group groups[2] = {{.count = 0}, {.count = 0}};
	long turn_ms = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	long turns = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	int group = 0;

	if (argc == 1)
		return test_itself();
	for (int i = 3; i < argc; i++) {
		long pid = strtol(argv[i], NULL, 10);

		if (!strcmp(argv[i], "--")) {
			group++;
		} else if (pid > 0 && group < 2 && groups[group].count < MOST) {
			groups[group].pids[groups[group].count++] = (pid_t)pid;
		} else {
			group = 2;
		}
	}
	if (turn_ms < 1 || turns < 1 || group != 1 || !groups[0].count || !groups[1].count) {
		fprintf(stderr, "usage: take_turns TURN_MS TURNS PID... -- PID...\n");
		return 3;
	}
	return run(groups, turn_ms * 1000, turns);
}
