/* SPDX-License-Identifier: BSD-3-Clause */
/* The same library as a newer version, in which a call can have a configuration. */
#define FAKE_NEW 1
#include "tests/fake/libfake_nccl.c" /* NOLINT(bugprone-suspicious-include) */

typedef struct {
	size_t size;
	unsigned magic, version;
	void *ext;
	int min_ctas, max_ctas, nvls_ctas, cga_cluster_size;
	const char *selection;
	int force, cta_policy;
	uint64_t tag;
} call_config_t;

/* Says in the log, if there is one, that it ran the first of the selection. */
static void tell(const char *name, const call_config_t *config)
{
	const char *path = getenv("NCCL_DEBUG_FILE"), *selection = config->selection;
	const char *protocol = selection ? strchr(selection, '_') : NULL;
	FILE *f = path && protocol ? fopen(path, "a") : NULL;

	if (!f)
		return;
	if (!strncmp(selection, "SYMK_", 5)) {
		fprintf(f, "%s [Symmetric]: 64 Bytes -> Kernel %s_%s nchannels 2 nthreads 512\n",
			name, name, selection + 5);
		fclose(f);
		return;
	}
	fprintf(f, "node:1:1 [0] NCCL INFO %s: 64 Bytes -> Algo %.*s proto %.*s "
		"channel{Lo..Hi}={0..%d} cgaClusterSize %d\n", name, (int)(protocol - selection),
		selection, (int)strcspn(protocol + 1, ","), protocol + 1,
		config->max_ctas > 0 ? config->max_ctas - 1 : 23,
		config->cga_cluster_size >= 0 ? config->cga_cluster_size : 4);
	fclose(f);
}

/* NULL is the plain call. As NCCL, it refuses what it does not know. */
static int configured(const char *name, const call_config_t *config, int code)
{
	const int unset = -2147483647 - 1;

	if (code || !config)
		return code;
	if (config->size != 64 || config->magic != 0xcafebeef || config->version != 23102 ||
	    config->ext || config->force != 1 || config->tag || config->nvls_ctas != unset)
		return 4;
	calls.configured++;
	calls.call_min_ctas = config->min_ctas;
	calls.call_max_ctas = config->max_ctas;
	calls.call_cta_policy = config->cta_policy;
	calls.call_cluster = config->cga_cluster_size;
	snprintf(calls.selection, sizeof(calls.selection), "%s",
		 config->selection ? config->selection : "");
	tell(name, config);
	return 0;
}

/* X of these arguments, the last of which is the stream, and its form with a configuration. */
#define CONFIGURED(name, arguments, ...)                                                           \
	API(name##Config, EACH arguments, void *stream, const call_config_t *config)               \
	{                                                                                          \
		return configured(#name, config, nccl##name(__VA_ARGS__, stream));                 \
	}
#define EACH(...) __VA_ARGS__

CONFIGURED(AllReduce, (const void *in, void *out, size_t count, int type, int op, comm_t comm),
	   in, out, count, type, op, comm)
CONFIGURED(AllGather, (const void *in, void *out, size_t count, int type, comm_t comm),
	   in, out, count, type, comm)
CONFIGURED(ReduceScatter, (const void *in, void *out, size_t count, int type, int op, comm_t comm),
	   in, out, count, type, op, comm)
CONFIGURED(Broadcast, (const void *in, void *out, size_t count, int type, int root, comm_t comm),
	   in, out, count, type, root, comm)
CONFIGURED(Reduce, (const void *in, void *out, size_t count, int type, int op, int root,
		    comm_t comm), in, out, count, type, op, root, comm)
CONFIGURED(AlltoAll, (const void *in, void *out, size_t count, int type, comm_t comm),
	   in, out, count, type, comm)
CONFIGURED(Gather, (const void *in, void *out, size_t count, int type, int root, comm_t comm),
	   in, out, count, type, root, comm)
CONFIGURED(Scatter, (const void *in, void *out, size_t count, int type, int root, comm_t comm),
	   in, out, count, type, root, comm)
