/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuner plugin of the NCCL that is none: loaded as NCCL 2.28 does, and asked by each call for a
 * cell, which the log then names; and the log itself. With windows the log names a symmetric
 * kernel, and no tuner is asked. Tree is not possible for other collectives than all_reduce, NVLS
 * for none.
 */
#ifndef FB_TESTS_FAKE_NCCL_TUNER_H
#define FB_TESTS_FAKE_NCCL_TUNER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_ALGORITHMS = 7, FAKE_PROTOCOLS = 3 };

struct fake_tuner {
	const char *name;
	int (*init)(void **context, uint64_t id, size_t nranks, size_t nnodes, void (*log)(void),
		    void *domains, void *constants);
	int (*choose)(void *context, int function, size_t bytes, int operations, float **costs,
		      int algorithms, int protocols, int registered, int *channels);
	int (*destroy)(void *context);
};

static const struct fake_tuner *fake_tuner;
static void *fake_tuner_context;

/* The first communicator of a process settles whether there is one. 0 or NCCL's code. */
static inline int fake_tuner_load(int nranks)
{
	static int looked;
	const char *file = getenv("NCCL_TUNER_PLUGIN");
	void *library;

	if (looked++ || !file)
		return 0;
	library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	fake_tuner = library ? dlsym(library, "ncclTunerPlugin_v5") : NULL;
	return fake_tuner ? fake_tuner->init(&fake_tuner_context, 1, (size_t)nranks, 1, NULL, NULL,
					     NULL) : 0;
}

/* What NCCL's log would say of a forced all_reduce, if it is asked to. */
static inline void fake_log(void)
{
	static const char *const plugins[] = {"NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN"};
	const char *file = getenv("NCCL_DEBUG_FILE"), *subsystem = getenv("NCCL_DEBUG_SUBSYS");
	FILE *f = file && subsystem && strstr(subsystem, "TUNING") ? fopen(file, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "node:1:1 [0] NCCL INFO Bootstrap: Using lo:127.0.0.1<0>\nChannel 00/16 : 0 1\n"
		"Trees [0] 1/-1/-1->0->-1 \nNCCL_NVLS_ENABLE set by environment to 0.\n"
		"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n%s", getenv("FB_FAKE_NCCL_UNTOLD")
		? "" : "AllReduce: 64 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}\n");
	if (getenv("FB_FAKE_NCCL_POLICY")) /* of a file or plugin, not of the environment */
		fprintf(f, "NCCL_CTA_POLICY set by environment to 2.\n");
	for (int i = 0; i < 2; i++)
		if (getenv(plugins[i]))
			fprintf(f, "%s set by environment to %s.\n", plugins[i],
				getenv(plugins[i]));
	fclose(f);
}

static inline void fake_tuner_ask(const char *name, size_t bytes, int windows)
{
	static const char *const functions[] = {"Broadcast", "Reduce", "AllGather",
						"ReduceScatter", "AllReduce"};
	static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN",
						 "NVLS", "NVLS_TREE", "PAT"};
	static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
	const char *path = getenv("NCCL_DEBUG_FILE"), *level = getenv("NCCL_DEBUG");
	float costs[FAKE_ALGORITHMS * FAKE_PROTOCOLS];
	int function = 0, best = -1, channels = 0;
	FILE *f;

	while (function < 5 && strcmp(functions[function], name))
		function++;
	if (function == 5 || (!windows && !fake_tuner))
		return;
	for (int i = 0; i < FAKE_ALGORITHMS * FAKE_PROTOCOLS; i++)
		costs[i] = i / FAKE_PROTOCOLS == 1 || (i / FAKE_PROTOCOLS == 0 && function == 4)
			? (float)(9 - i % FAKE_PROTOCOLS) : -1;
	if (!windows && fake_tuner->choose(fake_tuner_context, function, bytes, 1,
					   (float **)(void *)costs, FAKE_ALGORITHMS,
					   FAKE_PROTOCOLS, 0, &channels))
		abort();
	for (int i = 0; i < FAKE_ALGORITHMS * FAKE_PROTOCOLS; i++)
		if (costs[i] >= 0 && (best < 0 || costs[i] < costs[best]))
			best = i;
	f = path && level && !strcmp(level, "INFO") ? fopen(path, "a") : NULL;
	if (f && windows)
		fprintf(f, "%s [Symmetric]: 64 Bytes -> Kernel %s_ST nchannels 2 nthreads 512\n",
			name, name);
	else if (f && best >= 0)
		fprintf(f, "%s: 64 Bytes -> Algo %s proto %s channel{Lo..Hi}={0..15}\n", name,
			algorithms[best / FAKE_PROTOCOLS], protocols[best % FAKE_PROTOCOLS]);
	if (f)
		fclose(f);
}

#endif
