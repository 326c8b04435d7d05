/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that bounds the start of a job; see start.h. */
#include "common/measure/start.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/launcher.h"

enum { TEXT_CHARS = 512, HOST_CHARS = 64, LEAST_S = 10, RANKS_PER_SECOND = 100 };

struct fb_start {
	pthread_t thread;
	double limit_s;
	sigset_t set;
};

static _Noreturn void give_up(const struct fb_start *start)
{
	/* If several processes give up at the same moment, the speaker's line comes first. */
	const struct timespec grace = {.tv_sec = 1};
	char text[TEXT_CHARS], host[HOST_CHARS] = "unknown";
	int rank = fb_launcher_rank(), speaker = fb_launcher_missing(text, sizeof(text));

	gethostname(host, sizeof(host) - 1);
	if (speaker < 0 || speaker == rank)
		fb_error(FB_EPEER, "the job has not started for %.0f s on %s: %s", start->limit_s,
			 host, text);
	else
		nanosleep(&grace, NULL);
	_exit(FB_EXIT_FAULT);
}

static _Noreturn void told_to_end(int signal)
{
	/* Launchers send the signal to all ranks; one line is enough. */
	if (fb_launcher_rank() <= 0)
		fb_error(FB_EPEER, "told to end by %s while the job started",
			 signal == SIGINT ? "SIGINT" : "SIGTERM");
	_exit(FB_EXIT_FAULT);
}

static void *watch(void *arg)
{
	const struct fb_start *start = arg;
	const struct timespec sleep = {
		.tv_sec = (time_t)start->limit_s,
		.tv_nsec = (long)((start->limit_s - floor(start->limit_s)) * 1e9)};
	siginfo_t info;
	int signal;

	do
		signal = sigtimedwait(&start->set, &info, &sleep);
	while (signal < 0 && errno == EINTR);
	if (signal < 0)
		give_up(start);
	if (info.si_code != SI_QUEUE || info.si_value.sival_ptr != arg)
		told_to_end(signal);
	return NULL;
}

int fb_start_begin(struct fb_start **start, double timeout_s)
{
	struct fb_start *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory");
	s->limit_s = fmax(timeout_s, LEAST_S) + (double)fb_launcher_size(NULL) / RANKS_PER_SECOND;
	sigemptyset(&s->set);
	sigaddset(&s->set, SIGINT);
	sigaddset(&s->set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &s->set, NULL);
	err = pthread_create(&s->thread, NULL, watch, s);
	if (err) {
		free(s);
		return fb_error(FB_ESYS, "a thread cannot start: %s", strerror(err));
	}
	pthread_setname_np(s->thread, FB_LAUNCHER_STARTED);
	*start = s;
	return FB_OK;
}

void fb_start_end(struct fb_start *start)
{
	const union sigval end = {.sival_ptr = start};

	if (!start)
		return;
	pthread_sigqueue(start->thread, SIGTERM, end);
	pthread_join(start->thread, NULL);
	free(start);
}
