/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of which programs use which options; see users.h. It is not spread over the programs'
 * descriptions, because the refusal of an option names the other programs that use it.
 * tests/lint compares the names with the Makefile's.
 */
#include "common/option/users.h"

#include "common/base/error.h"
#include "common/option/rdma_options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Kinds of programs, as bits. */
enum kind {
	COLLECTIVE = 1,
	STEP = 2,
	SIZED = 128, /* steps whose size is --bytes; other programs' bytes follow from the shape */
	MESSAGES = 4,
	ROOTED = 8, /* those of MESSAGES with a root */
	COST = 16,
	LOCAL = 32,
	TIER = 256,
	SERVE = 512,
	HANDOFF = 1024,
	PRESET = 2048, /* steps that differ in training and inference */
	LIFE = 1 << 20, /* of communicators */
	NETWORK = COLLECTIVE | STEP | MESSAGES | COST | SERVE | HANDOFF | LIFE,
};

static const struct {
	const char *name;
	unsigned kinds;
} programs[] = {
	{"all_gather", COLLECTIVE},   {"all_reduce", COLLECTIVE}, {"all_to_all", COLLECTIVE},
	{"all_gather_v", COLLECTIVE}, {"reduce_scatter_v", COLLECTIVE},
	{"all_to_all_v", COLLECTIVE}, {"barrier", COLLECTIVE},    {"broadcast", COLLECTIVE},
	{"gather", COLLECTIVE},       {"reduce", COLLECTIVE},     {"reduce_scatter", COLLECTIVE},
	{"scatter", COLLECTIVE},      {"send_recv", COLLECTIVE},  {"kv_reshard", HANDOFF},
	{"offload", TIER},            {"serve", SERVE},
	{"handoff", HANDOFF},         {"stream", HANDOFF},
	{"ddp", STEP | SIZED},               {"all_pairs", MESSAGES},    {"bandwidth", MESSAGES},
	{"connection", COST},         {"host_device", LOCAL},     {"incast", MESSAGES | ROOTED},
	{"latency", MESSAGES},        {"loaded_latency", MESSAGES}, {"multi_pair", MESSAGES},
	{"registration", COST},       {"steady", MESSAGES},       {"fsdp", STEP | SIZED},
	{"tensor_parallel", STEP | PRESET}, {"pipeline", STEP | SIZED}, {"moe", STEP | PRESET},
	{"context_parallel", STEP},   {"communicator", LIFE},
	{"hazards", STEP | SIZED},  {"graph", STEP | SIZED},
	{"contention", STEP | SIZED},  {"dataparallel", STEP | SIZED},
	{"staging", STEP | SIZED},
};

/*
 * Options that only some programs use. A name that ends in '-' stands for all options that begin
 * with it. Each collective accepts the axes of all of them, so that a study can give all the same.
 */
static const struct {
	const char *option;
	unsigned users;
} limited[] = {
	{"bytes", COLLECTIVE | LIFE | SIZED | MESSAGES | COST | LOCAL},
	{"algorithm", COLLECTIVE | LIFE | STEP | MESSAGES | TIER | SERVE | HANDOFF},
	{"protocol", COLLECTIVE | LIFE | STEP | MESSAGES},
	{"transport", COLLECTIVE | LIFE | STEP | MESSAGES},
	{"memory", COLLECTIVE | STEP | MESSAGES | COST | LOCAL | TIER | SERVE | HANDOFF},
	{"datatype", ~(unsigned)COST},
	{"redop", COLLECTIVE | STEP},
	{"root", COLLECTIVE | ROOTED},
	{"in-place", COLLECTIVE},
	{"launch", COLLECTIVE | STEP | MESSAGES | LOCAL},
	{"cache", COLLECTIVE},
	{"slots", COLLECTIVE | STEP | MESSAGES | SERVE | HANDOFF},
	{"slot-bytes", COLLECTIVE | STEP | MESSAGES | SERVE | HANDOFF},
	{"threads", COLLECTIVE | STEP | MESSAGES | LOCAL | SERVE | HANDOFF},
	{"ll-line", COLLECTIVE | STEP},
	{"no-gpu-overlap", COLLECTIVE | STEP},
	{"blocking-kernel", COLLECTIVE},
	{"accumulate", COLLECTIVE | STEP},
	{"gpu-direct", COLLECTIVE | STEP | MESSAGES | COST | SERVE | HANDOFF},
	{"nccl-library", NETWORK},
	{"nccl-force", COLLECTIVE | LIFE | STEP},
	{"nccl-force-by", COLLECTIVE},
	{"nccl-model", COLLECTIVE},
	{"nccl-gpu-time", COLLECTIVE},
	{"gpus-per-process", COLLECTIVE | LIFE},
	{"registration", COLLECTIVE | LIFE | STEP | MESSAGES},
	{"copy-direction", COLLECTIVE | STEP},
	{"copy-streams", COLLECTIVE | STEP},
	{"tuning", COLLECTIVE | STEP | TIER | SERVE | HANDOFF},
	{"preset", COLLECTIVE | PRESET},
	{"objective", COLLECTIVE | STEP | SERVE | HANDOFF},
	{"rdma-wait,", MESSAGES}, /* a list of several */
	{"rdma-wait", COLLECTIVE | MESSAGES | HANDOFF}, /* other programs always poll */
	{"rdma-spin", COLLECTIVE | MESSAGES | HANDOFF},
	{"rdma-", NETWORK},
	{"tcp-", NETWORK},
	{"check-plan", COLLECTIVE},
};

/* The kinds of programs that use the option. */
static unsigned users_of(const char *option)
{
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++) {
		size_t length = strlen(limited[i].option);
		bool begins = limited[i].option[length - 1] == '-';

		if (begins ? !strncmp(option, limited[i].option, length)
			   : !strcmp(option, limited[i].option))
			return limited[i].users;
	}
	return ~0u;
}

bool fb_option_used(const char *option, const char *program)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(programs[i].name, program))
			return (programs[i].kinds & users_of(option)) != 0;
	return true;
}

int fb_option_check_waits(uint64_t waits, const char *program, FILE *errors)
{
	char list[64] = "";
	size_t used = 0;

	if (!(waits & (waits - 1)) || fb_option_used("rdma-wait,", program))
		return FB_OK;
	for (size_t i = 0; fb_rdma_wait_names[i]; i++)
		if (waits >> i & 1)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
						 used ? "," : "", fb_rdma_wait_names[i]);
	return fb_option_reject(errors, "rdma-wait", list,
				"one of them: this program has no rows of several");
}

const char *fb_option_users(const char *option, char *buf, size_t n)
{
	unsigned users = users_of(option);
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!(programs[i].kinds & users) || used + 1 >= n)
			continue;
		used += (size_t)snprintf(buf + used, n - used, "%s%s", used ? ", " : "",
					 programs[i].name);
	}
	return buf;
}
