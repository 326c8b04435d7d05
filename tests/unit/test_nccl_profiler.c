/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profiler plugin: calls as NCCL of each version makes them, as images of memory with members
 * where its headers have them (x86-64 and aarch64 alike), become lines of a CSV and of a trace.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/library/nccl/profiler.h"
#include "tests/unit/check.h"
#include "tests/unit/nccl_image.h"

extern const struct fb_nccl_profiler ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3,
	ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;

/* Where a version has what, in bytes from the event's begin. */
struct places {
	size_t func, count, datatype, channels, algorithm, protocol; /* of a collective */
	size_t to_func, to_count, to_datatype, to_peer, to_channels; /* of a send; 0: not there */
	/* 0: not there. Version 1 has numbers of a byte where others have texts. */
	size_t kernel, tag, to_tag;
	bool numbers;
};

static const struct places old1 = {48, 72, 84, 104, 106, 107, 40, 64, 56, 72, 0,
				   .numbers = true};
static const struct places old2 = {48, 72, 88, 104, 112, 120, 40, 64, 56, 72, 0,
				   .numbers = false};
static const struct places old3 = {48, 72, 88, 96, 104, 112, 40, 64, 56, 72, 0,
				   .numbers = false};
static const struct places new4 = {32, 56, 72, 80, 88, 96, 24, 48, 40, 56, 60,
				   .numbers = false};
static const struct places new7 = {32, 56, 72, 80, 88, 96, 24, 48, 40, 56, 60,
				   .kernel = 112, .tag = 128, .to_tag = 72};

/* A name, or in version 1 NCCL's number of it. */
static void put_name(struct image *image, const struct places *at, size_t where, const char *text,
		     uint8_t number)
{
	if (at->numbers)
		put(image, where, &number, 1);
	else
		put_text(image, where, text);
}

static void replay(const struct fb_nccl_profiler *profiler, void *context, struct image *image)
{
	void *handle = NULL;

	CHECK_INT(profiler->start(context, &handle, image), 0);
	CHECK(handle != NULL);
	CHECK_INT(profiler->state(handle, 22, NULL), 0);
	CHECK_INT(profiler->stop(handle), 0);
}

static void replay_both(const struct fb_nccl_profiler *profiler, void *context,
			const struct places *at, bool wide)
{
	struct image image;
	size_t count = 1048576;
	uint8_t channels = 16;
	uint64_t tag = 42;
	int peer = 7;

	put_type(&image, FB_NCCL_EVENT_COLL, wide);
	put_name(&image, at, at->func, "AllReduce", 4);
	put(&image, at->count, &count, sizeof(count));
	put_name(&image, at, at->datatype, "ncclFloat32", 7);
	put(&image, at->channels, &channels, 1);
	put_name(&image, at, at->algorithm, "RING", 1);
	put_name(&image, at, at->protocol, "LL128", 1);
	if (at->kernel)
		put_text(&image, at->kernel, "AllReduce_AGxLL_R");
	if (at->tag)
		put(&image, at->tag, &tag, sizeof(tag));
	replay(profiler, context, &image);
	put_type(&image, FB_NCCL_EVENT_P2P, wide);
	put_name(&image, at, at->to_func, "Send", 6);
	put(&image, at->to_count, &count, sizeof(count));
	put_name(&image, at, at->to_datatype, "ncclInt8", 0);
	put(&image, at->to_peer, &peer, sizeof(peer));
	if (at->to_channels)
		put(&image, at->to_channels, &channels, 1);
	if (at->to_tag)
		put(&image, at->to_tag, &tag, sizeof(tag));
	replay(profiler, context, &image);
}

static void replay_copies(const struct fb_nccl_profiler *profiler, void *context, bool tagged)
{
	struct image image;
	size_t count = 4096;
	uint32_t batches = 5;
	uint64_t tag = 43;

	put_type(&image, FB_NCCL_EVENT_CE_COLL, true);
	put_text(&image, 32, "AllGather");
	put(&image, 56, &count, sizeof(count));
	put_text(&image, 72, "ncclInt8");
	put(&image, 96, &batches, sizeof(batches));
	if (tagged)
		put(&image, 112, &tag, sizeof(tag));
	replay(profiler, context, &image);
}

/* A call, and behind it a channel of its kernel, 3.5 us of the GPU's timer; then one of no call. */
static void replay_channel(const struct fb_nccl_profiler *profiler, void *context,
			   const struct places *at, bool wide)
{
	struct image image;
	void *call = NULL, *channel = NULL;
	uint64_t start = 1000000, end = 1003500;
	uint8_t id = 5;

	put_type(&image, FB_NCCL_EVENT_COLL, wide);
	put_text(&image, at->func, "AllReduce");
	put_text(&image, at->datatype, "ncclFloat32");
	put_text(&image, at->algorithm, "RING");
	put_text(&image, at->protocol, "LL");
	if (at->kernel)
		put_text(&image, at->kernel, "");
	CHECK_INT(profiler->start(context, &call, &image), 0);
	CHECK_INT(profiler->stop(call), 0);
	for (int i = 0; i < 2; i++) {
		put_type(&image, FB_NCCL_EVENT_KERNEL_CHANNEL, wide);
		put(&image, 8, &call, sizeof(call));
		put(&image, 24, &id, 1);
		put(&image, 32, &start, sizeof(start));
		CHECK_INT(profiler->start(context, &channel, &image), 0);
		CHECK(channel && channel != call);
		CHECK_INT(profiler->state(channel, 22, call ? &end : NULL), 0);
		CHECK_INT(profiler->stop(channel), 0);
		call = NULL;
	}
}

static void test(int version, const struct fb_nccl_profiler *profiler, const struct places *at,
		 const char *folder)
{
	const char *const rows[] = {
		"\n3,collective,AllReduce,1048576,ncclFloat32,RING,LL128,16,-1,0,",
		at->to_channels ? "\n3,p2p,Send,1048576,ncclInt8,,,16,7,0,"
				: "\n3,p2p,Send,1048576,ncclInt8,,,0,7,0,",
		version >= 6 ? "\n3,copy engine,AllGather,4096,ncclInt8,copyengine,,0,-1,5," : "\n",
		/* The ends of the lines: kernel and tag. */
		at->kernel ? ",AllReduce_AGxLL_R,42,1,,,,,,,\n3,p2p," : ",,0,1,,,,,,,\n3,p2p,",
		version >= 7 ? ",,42,2,,,,,,,\n3,copy engine," : ",,0,2,,,,,,,\n",
		version >= 7 ? ",,43,3,,,,,,,\n" : ",,0,2,,,,,,,\n", NULL};
	const char *const trace[] = {"[\n{\"name\":\"AllReduce RING LL128\",\"ph\":\"X\"",
				     ",\n{\"name\":\"Send", "\n]\n", NULL};
	void *context = NULL;
	int mask = 0;

	CHECK_STR(profiler->name, "fabricbench");
	if (version < 4)
		CHECK_INT(((fb_nccl_init_2)profiler->init)(&context, &mask), 0);
	else if (version == 4)
		CHECK_INT(((fb_nccl_init_4)profiler->init)(&context, &mask, "c", 0xabc, 1, 8, 3,
							   NULL), 0);
	else
		CHECK_INT(((fb_nccl_init_5)profiler->init)(&context, 0xabc, &mask, "c", 1, 8, 3,
							   NULL), 0);
	CHECK_INT(mask, FB_NCCL_EVENT_COLL | FB_NCCL_EVENT_P2P |
				(version >= 6 ? FB_NCCL_EVENT_CE_COLL : 0));
	replay_both(profiler, context, at, version > 4);
	if (version >= 6)
		replay_copies(profiler, context, version >= 7);
	CHECK_INT(profiler->finalize(context), 0);
	CHECK(has(folder, ".csv", rows));
	CHECK(has(folder, ".json", trace));
}

static void test_channels(int version, const struct fb_nccl_profiler *profiler,
			  const struct places *at, const char *folder)
{
	const char *const rows[] = {"\n3,collective,AllReduce,", "\n3,channel,AllReduce,",
				    ",5,3.500,,", "\n3,channel,unknown,0,,,,0,-1,0,",
				    ",2,1,,,,,,\n", ",5,,,0,3,,,,,,,\n", NULL};
	const char *const trace[] = {"{\"name\":\"AllReduce RING LL\",\"ph\":\"X\",\"pid\":3,"
				     "\"tid\":\"channel 5\"", "\"dur\":3.500,", "\n]\n", NULL};
	void *context = NULL;
	int mask = 0;

	setenv("FB_NCCL_PROFILE_CHANNELS", "1", 1);
	if (version == 4)
		CHECK_INT(((fb_nccl_init_4)profiler->init)(&context, &mask, "c", 0xabc, 1, 8, 3,
							   NULL), 0);
	else
		CHECK_INT(((fb_nccl_init_5)profiler->init)(&context, 0xabc, &mask, "c", 1, 8, 3,
							   NULL), 0);
	CHECK(mask & FB_NCCL_EVENT_KERNEL_CHANNEL);
	replay_channel(profiler, context, at, version > 4);
	CHECK_INT(profiler->finalize(context), 0);
	CHECK(has(folder, ".csv", rows));
	CHECK(has(folder, ".json", trace));
	unsetenv("FB_NCCL_PROFILE_CHANNELS");
}

/*
 * An all_reduce in the user's group, its proxy operation of two steps, and one of another process
 * with its context, which is not ours to read. `since_5`: NCCL tells of API calls and launches too.
 */
static void replay_proxy(const struct fb_nccl_profiler *profiler, void *context, bool since_5)
{
	size_t bytes = 65536;
	int pid = (int)getpid(), peer = 1, steps = 2, chunk = 131072, sends = 1;
	void *group = NULL, *api = NULL, *call = NULL, *op = NULL, *step = NULL, *other = NULL;
	void *foreign = (void *)8;
	struct image image;
	uint8_t channel = 4;

	put_type(&image, since_5 ? FB_NCCL_EVENT_GROUP_API : FB_NCCL_EVENT_GROUP, since_5);
	CHECK_INT(profiler->start(context, &group, &image), 0);
	if (since_5) {
		put_type(&image, FB_NCCL_EVENT_COLL_API, true);
		put(&image, 8, &group, sizeof(group));
		put_text(&image, 24, "AllReduce");
		put_text(&image, 40, "ncclFloat32");
		CHECK_INT(profiler->start(context, &api, &image), 0);
		CHECK_INT(profiler->stop(api), 0);
	}
	CHECK_INT(profiler->stop(group), 0);
	put_type(&image, FB_NCCL_EVENT_COLL, since_5);
	put(&image, 8, since_5 ? (void *)&api : (void *)&group, sizeof(api));
	put_text(&image, 32, "AllReduce");
	put_text(&image, 72, "ncclFloat32");
	put_text(&image, 88, "RING");
	put_text(&image, 96, "LL");
	memset(image.bytes + 104, 0, 32); /* group, kernel, tag */
	CHECK_INT(profiler->start(context, &call, &image), 0);
	CHECK_INT(profiler->stop(call), 0);
	for (int i = 0; i < 2; i++) {
		put_type(&image, FB_NCCL_EVENT_PROXY_OP, since_5);
		put(&image, 8, &call, sizeof(call));
		put(&image, 24, &pid, sizeof(pid));
		put(&image, 28, &channel, 1);
		put(&image, 32, &peer, sizeof(peer));
		put(&image, 36, &steps, sizeof(steps));
		put(&image, 40, &chunk, sizeof(chunk));
		put(&image, 44, &sends, sizeof(sends));
		CHECK_INT(profiler->start(i ? foreign : context, i ? &other : &op, &image), 0);
		pid++;
	}
	put_type(&image, FB_NCCL_EVENT_PROXY_STEP, since_5);
	put(&image, 8, &other, sizeof(other));
	CHECK_INT(profiler->start(foreign, &step, &image), 0);
	CHECK(!other && !step);
	for (int i = 0; i < steps; i++) {
		put_type(&image, FB_NCCL_EVENT_PROXY_STEP, since_5);
		put(&image, 8, &op, sizeof(op));
		put(&image, 24, &i, sizeof(i));
		CHECK_INT(profiler->start(context, &step, &image), 0);
		CHECK_INT(profiler->state(step, FB_NCCL_STATE_SEND_GPU_WAIT, NULL), 0);
		CHECK_INT(profiler->state(step, FB_NCCL_STATE_SEND_WAIT, &bytes), 0);
		CHECK_INT(profiler->stop(step), 0);
	}
	CHECK_INT(profiler->stop(op), 0);
	put_type(&image, FB_NCCL_EVENT_PROXY_CONTROL, since_5);
	CHECK_INT(profiler->start(context, &step, &image), 0);
	CHECK_INT(profiler->state(step, FB_NCCL_STATE_CONTROL_SLEEP, NULL), 0);
	CHECK_INT(profiler->stop(step), 0);
}

static void test_proxy(int version, const struct fb_nccl_profiler *profiler, const char *folder)
{
	bool since_5 = version >= 5;
	/* Numbers of events: the group, its call of the API, the collective, the operation. */
	const char *const rows[] = {
		since_5 ? "\n3,group call,,0," : "\n3,group,,0,",
		since_5 ? "\n3,collective call,AllReduce,": "\n3,collective,AllReduce,",
		since_5 ? ",0,3,2,,,,,,\n" : ",0,2,1,,,,,,\n",
		"\n3,proxy send,AllReduce,",
		since_5 ? ",4,,,0,4,3,2,131072,,,,\n" : ",4,,,0,3,2,2,131072,,,,\n",
		"\n3,proxy step,AllReduce,",
		since_5 ? ",4,,,0,5,4,0,65536,": ",4,,,0,4,3,0,65536,",
		"\n3,proxy control,sleep,", NULL};
	const char *const trace[] = {"\"tid\":\"proxy step channel 4\"", "\"bytes\":65536}",
				     "\n]\n", NULL};
	void *context = NULL;
	int mask = 0;

	setenv("FB_NCCL_PROFILE_EVENTS", "all", 1);
	if (version == 4)
		CHECK_INT(((fb_nccl_init_4)profiler->init)(&context, &mask, "c", 0xabc, 1, 8, 3,
							   NULL), 0);
	else
		CHECK_INT(((fb_nccl_init_5)profiler->init)(&context, 0xabc, &mask, "c", 1, 8, 3,
							   NULL), 0);
	CHECK_INT(mask, version == 4 ? 0x7f : version == 5 ? 0xf7f : 0x7f7f);
	replay_proxy(profiler, context, since_5);
	CHECK_INT(profiler->finalize(context), 0);
	CHECK(has(folder, ".csv", rows));
	CHECK(has(folder, ".json", trace));
	unsetenv("FB_NCCL_PROFILE_EVENTS");
}

/* What a list asks for, with what that needs; a name that is none is refused. */
static void test_lists(const char *folder)
{
	const char *const none[] = {NULL};
	void *context = NULL;
	int mask = 0;

	setenv("FB_NCCL_PROFILE_EVENTS", "proxy_step,launch", 1);
	CHECK_INT(((fb_nccl_init_5)ncclProfiler_v5.init)(&context, 0xabc, &mask, "c", 1, 8, 3,
							 NULL), 0);
	CHECK_INT(mask, 0x81e);
	CHECK_INT(ncclProfiler_v5.finalize(context), 0);
	CHECK(has(folder, ".csv", none));
	CHECK(has(folder, ".json", none));
	setenv("FB_NCCL_PROFILE_EVENTS", "proxy", 1);
	CHECK_INT(((fb_nccl_init_5)ncclProfiler_v5.init)(&context, 0xabc, &mask, "c", 1, 8, 3,
							 NULL), 2);
	CHECK(!context && !mask);
	unsetenv("FB_NCCL_PROFILE_EVENTS");
}

int main(void)
{
	char folder[] = "/tmp/fabricbench-profile-XXXXXX";
	void *context = NULL;
	int mask = 1;

	if (!CHECK(mkdtemp(folder) != NULL))
		return check_done("nccl_profiler");
	setenv("FB_NCCL_PROFILE", folder, 1);
	test(1, &ncclProfiler_v1, &old1, folder);
	test(2, &ncclProfiler_v2, &old2, folder);
	test(3, &ncclProfiler_v3, &old3, folder);
	test(4, &ncclProfiler_v4, &new4, folder);
	test(5, &ncclProfiler_v5, &new4, folder);
	test(6, &ncclProfiler_v6, &new4, folder);
	test(7, &ncclProfiler_v7, &new7, folder);
	test_channels(4, &ncclProfiler_v4, &new4, folder);
	test_channels(5, &ncclProfiler_v5, &new4, folder);
	test_channels(6, &ncclProfiler_v6, &new4, folder);
	test_channels(7, &ncclProfiler_v7, &new7, folder);
	test_proxy(4, &ncclProfiler_v4, folder);
	test_proxy(5, &ncclProfiler_v5, folder);
	test_proxy(6, &ncclProfiler_v6, folder);
	test_proxy(7, &ncclProfiler_v7, folder);
	test_lists(folder);
	(void)rmdir(folder);
	/* A folder that is not there: NCCL is told, and goes on without. */
	CHECK_INT(((fb_nccl_init_5)ncclProfiler_v6.init)(&context, 1, &mask, "c", 1, 1, 0,
							 NULL), 2);
	CHECK(!context && !mask);
	return check_done("nccl_profiler");
}
