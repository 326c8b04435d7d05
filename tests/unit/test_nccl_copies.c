/* SPDX-License-Identifier: BSD-3-Clause */
/* The profiler plugin: parts of a copy-engine collective, as NCCL 2.29 and 2.31 tell of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/library/nccl/profiler.h"
#include "tests/unit/check.h"
#include "tests/unit/nccl_image.h"

extern const struct fb_nccl_profiler ncclProfiler_v6, ncclProfiler_v7;

/*
 * A collective by copy engines: ranks wait until all are ready, one batch of three copies, and wait
 * until all are complete. Its parts begin and end before it ends.
 */
static void test_copies(const struct fb_nccl_profiler *profiler, const char *folder)
{
	const char *const rows[] = {
		"\n3,copy ready,AllGather,4096,ncclInt8,copyengine,,0,-1,0,", ",,,,0,2,1,,,,,,\n",
		"\n3,copy batch,AllGather,", ",,,,0,3,1,3,8192,,,,\n",
		"\n3,copy complete,AllGather,", ",,,,0,4,1,,,,,,\n",
		"\n3,copy engine,AllGather,4096,ncclInt8,copyengine,,0,-1,1,", NULL};
	const char *const trace[] = {"\"tid\":\"copy batch\"", "\"parent\":1,\"bytes\":8192}",
				     NULL};
	size_t count = 4096, bytes = 8192;
	int mask = 0, ranks = 2, copies = 3;
	void *context = NULL, *call = NULL, *part = NULL;
	uint32_t batches = 1;
	uint64_t tag = 0;
	struct image image;

	setenv("FB_NCCL_PROFILE_EVENTS", "copy_parts", 1);
	CHECK_INT(((fb_nccl_init_5)profiler->init)(&context, 0xabc, &mask, "c", 1, 8, 3, NULL), 0);
	CHECK_INT(mask, 0x7000);
	put_type(&image, FB_NCCL_EVENT_CE_COLL, true);
	put_text(&image, 32, "AllGather");
	put(&image, 56, &count, sizeof(count));
	put_text(&image, 72, "ncclInt8");
	put(&image, 96, &batches, sizeof(batches));
	put(&image, 112, &tag, sizeof(tag)); /* of version 7 */
	CHECK_INT(profiler->start(context, &call, &image), 0);
	for (int i = 0; i < 3; i++) {
		bool complete = i == 2;

		put_type(&image, i == 1 ? FB_NCCL_EVENT_CE_BATCH : FB_NCCL_EVENT_CE_SYNC, true);
		put(&image, 8, &call, sizeof(call));
		if (i == 1) {
			put(&image, 24, &copies, sizeof(copies));
			put(&image, 32, &bytes, sizeof(bytes));
		} else {
			put(&image, 24, &complete, 1);
			put(&image, 28, &ranks, sizeof(ranks));
		}
		CHECK_INT(profiler->start(context, &part, &image), 0);
		CHECK(part && part != call);
		CHECK_INT(profiler->stop(part), 0);
	}
	CHECK_INT(profiler->stop(call), 0);
	CHECK_INT(profiler->finalize(context), 0);
	CHECK(has(folder, ".csv", rows));
	CHECK(has(folder, ".json", trace));
	unsetenv("FB_NCCL_PROFILE_EVENTS");
}

int main(void)
{
	char folder[] = "/tmp/fabricbench-profile-XXXXXX";

	if (!CHECK(mkdtemp(folder) != NULL))
		return check_done("nccl_copies");
	setenv("FB_NCCL_PROFILE", folder, 1);
	test_copies(&ncclProfiler_v6, folder);
	test_copies(&ncclProfiler_v7, folder);
	(void)rmdir(folder);
	return check_done("nccl_copies");
}
