/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler's files; see profiler_record.h. NCCL may call from several threads. */
#include "common/library/nccl/profiler_record.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/library/nccl/profiler.h"

enum { RECENT = 32768 }; /* events of more launches than a stream can hold */

struct fb_nccl_profile {
	pthread_mutex_t lock;
	FILE *csv, *trace;
	int rank, mask;
	bool first;
	/* [RECENT] events that later events may name as parents; NULL: none will */
	struct fb_nccl_record *recent;
	uint64_t events, kept;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static FILE *create(const char *ending, uint64_t hash, int rank)
{
	const char *folder = getenv("FB_NCCL_PROFILE");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/nccl-%llx-%d-%d.%s", folder ? folder : ".",
		 (unsigned long long)hash, rank, (int)getpid(), ending);
	return fopen(path, "w");
}

int fb_nccl_profile_open(struct fb_nccl_profile **profile, uint64_t hash, int rank, int mask,
			 bool keeps)
{
	struct fb_nccl_profile *p = calloc(1, sizeof(*p));

	*profile = NULL;
	if (!p)
		return 2;
	pthread_mutex_init(&p->lock, NULL);
	p->rank = rank;
	p->mask = mask;
	*profile = p;
	if (fb_nccl_watcher)
		return 0;
	*profile = NULL;
	/* Some versions do not give the communicator's hash. */
	if (!hash)
		hash = (uint64_t)now_us();
	p->csv = create("csv", hash, rank);
	p->trace = create("json", hash, rank);
	p->recent = keeps ? calloc(RECENT, sizeof(*p->recent)) : NULL;
	if (!p->csv || !p->trace || (keeps && !p->recent)) {
		if (p->csv)
			fclose(p->csv);
		if (p->trace)
			fclose(p->trace);
		free(p->recent);
		free(p);
		return 2;
	}
	p->first = true;
	fputs("rank,kind,function,count,datatype,algorithm,protocol,channels,peer,batches,"
	      "start_us,end_us,channel,gpu_us,kernel,tag,event,parent,step,bytes,gpu_wait_us,"
	      "peer_wait_us,wait_us,flush_wait_us\n", p->csv);
	fputs("[", p->trace);
	*profile = p;
	return 0;
}

int fb_nccl_profile_close(struct fb_nccl_profile *p)
{
	if (!p)
		return 0;
	if (p->trace)
		fputs("\n]\n", p->trace);
	if (p->trace)
		fclose(p->trace);
	if (p->csv)
		fclose(p->csv);
	pthread_mutex_destroy(&p->lock);
	free(p->recent);
	free(p);
	return 0;
}

bool fb_nccl_profile_wants(const struct fb_nccl_profile *profile, int type)
{
	return profile && profile->mask & type;
}

int fb_nccl_record_begin(struct fb_nccl_profile *p, void **handle,
			 const struct fb_nccl_record *what)
{
	struct fb_nccl_record *e = NULL;
	uint64_t number;

	*handle = NULL;
	if (!p)
		return 0;
	if (fb_nccl_watcher)
		*handle = fb_nccl_watcher->begun(what);
	if (fb_nccl_watcher && what->channel < 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	number = ++p->events;
	if (p->recent && !what->leaf)
		e = &p->recent[p->kept++ % RECENT];
	pthread_mutex_unlock(&p->lock);
	if (!e)
		e = calloc(1, sizeof(*e));
	if (!e)
		return 0;
	*e = *what;
	e->rank = what->rank < 0 ? p->rank : what->rank;
	e->profile = p;
	e->number = number;
	e->kept = p->recent && !what->leaf;
	e->start_us = now_us();
	*handle = e;
	return 0;
}

/* --- states ----------------------------------------------------------------------------------- */

enum { GPU_WAIT, PEER_WAIT, WAIT, FLUSH_WAIT, WAITS };

/* Which wait of a proxy step the state begins; -1: none. */
static int wait_of(int state)
{
	switch (state) {
	case FB_NCCL_STATE_SEND_GPU_WAIT:
	case FB_NCCL_STATE_RECEIVE_GPU_WAIT:
		return GPU_WAIT;
	case FB_NCCL_STATE_SEND_PEER_WAIT:
		return PEER_WAIT;
	case FB_NCCL_STATE_SEND_WAIT:
	case FB_NCCL_STATE_RECEIVE_WAIT:
		return WAIT;
	case FB_NCCL_STATE_RECEIVE_FLUSH_WAIT:
		return FLUSH_WAIT;
	default:
		return -1;
	}
}

/* The name of what the proxy's thread does from this state on. */
static const char *control_of(int state)
{
	static const char *const names[] = {"idle", "active", "sleep", "wakeup", "append",
					    "appended"};
	int first = FB_NCCL_STATE_CONTROL_IDLE;

	return state >= first && state <= FB_NCCL_STATE_CONTROL_APPENDED ? names[state - first]
									 : NULL;
}

int fb_nccl_record_state(void *handle, int state, void *arguments)
{
	struct fb_nccl_record *e = handle;
	int wait = wait_of(state);
	size_t bytes = 0;

	if (!e)
		return 0;
	if (e->channel >= 0 && arguments && state == FB_NCCL_STATE_KERNEL_CHANNEL_STOP)
		memcpy(&e->gpu_end, arguments, sizeof(e->gpu_end));
	if (e->step < 0 && control_of(state) && !e->func)
		e->func = control_of(state);
	if (e->step < 0 || wait < 0)
		return 0;
	if (e->state_us[wait] == 0)
		e->state_us[wait] = now_us();
	if (arguments)
		memcpy(&bytes, arguments, sizeof(bytes));
	e->bytes = bytes ? bytes : e->bytes;
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static const char *text(const char *t)
{
	return t ? t : "";
}

/* Writes how long each wait of a step took: until the next wait began or the step ended. */
static void put_waits(const struct fb_nccl_record *e, double end_us, FILE *out)
{
	for (int w = 0; w < WAITS; w++) {
		double until = end_us;

		for (int other = 0; other < WAITS; other++)
			if (e->state_us[other] > e->state_us[w] && e->state_us[other] < until)
				until = e->state_us[other];
		fputc(',', out);
		if (e->state_us[w] > 0)
			fprintf(out, "%.3f", until - e->state_us[w]);
	}
	fputc('\n', out);
}

/* Writes the number, or an empty field if it is not `there`. */
static void put_number(bool there, uint64_t number, FILE *out)
{
	fputc(',', out);
	if (there)
		fprintf(out, "%llu", (unsigned long long)number);
}

static void write_event(struct fb_nccl_profile *p, const struct fb_nccl_record *e, double end_us)
{
	double us = end_us - e->start_us;
	char track[48], channel[16] = "", gpu[32] = "";

	snprintf(track, sizeof(track), "%s", e->kind);
	if (e->channel >= 0) {
		snprintf(channel, sizeof(channel), "%d", e->channel);
		snprintf(track, sizeof(track), "%s%schannel %d",
			 e->steps || e->step >= 0 ? e->kind : "",
			 e->steps || e->step >= 0 ? " " : "", e->channel);
	}
	if (e->gpu_start && e->gpu_end > e->gpu_start) {
		us = 1e-3 * (double)(e->gpu_end - e->gpu_start);
		snprintf(gpu, sizeof(gpu), "%.3f", us);
	}
	fprintf(p->csv, "%d,%s,%s,%zu,%s,%s,%s,%d,%d,%u,%.3f,%.3f,%s,%s,%s,%llu,%llu", e->rank,
		e->kind, text(e->func), e->count, text(e->datatype), text(e->algorithm),
		text(e->protocol), e->channels, e->peer, e->batches, e->start_us, end_us, channel,
		gpu, text(e->kernel), (unsigned long long)e->tag, (unsigned long long)e->number);
	put_number(e->parent, e->parent, p->csv);
	put_number(e->step >= 0 || e->steps, (uint64_t)(e->steps ? e->steps : e->step), p->csv);
	put_number(e->bytes, e->bytes, p->csv);
	put_waits(e, end_us, p->csv);
	fprintf(p->trace, "%s\n{\"name\":\"%s %s %s\",\"ph\":\"X\",\"pid\":%d,"
		"\"tid\":\"%s\",\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"count\":%zu,\"channels\":%d,"
		"\"event\":%llu,\"parent\":%llu,\"bytes\":%llu}}",
		p->first ? "" : ",", text(e->func), text(e->algorithm), text(e->protocol),
		e->rank, track, e->start_us, us, e->count, e->channels,
		(unsigned long long)e->number, (unsigned long long)e->parent,
		(unsigned long long)e->bytes);
	p->first = false;
}

int fb_nccl_record_end(void *handle)
{
	struct fb_nccl_record *e = handle;
	double end_us = now_us();

	if (!e)
		return 0;
	if (fb_nccl_watcher) {
		fb_nccl_watcher->ended(e);
	} else {
		pthread_mutex_lock(&e->profile->lock);
		write_event(e->profile, e, end_us);
		pthread_mutex_unlock(&e->profile->lock);
	}
	if (!e->kept)
		free(e);
	return 0;
}
