/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests see of the NCCL that is none: the calls it was given. */
#ifndef FB_TESTS_FAKE_NCCL_H
#define FB_TESTS_FAKE_NCCL_H

#include <stddef.h>

enum { FAKE_MOST_CALLS = 65536 };

struct fake_call {
	char name[24];        /* "AllReduce" */
	int rank;             /* of the communicator */
	const void *in;
	void *out;
	size_t count;
	int type, op, other;  /* other: root or peer; -1 where there is none */
	void *stream;
	int group;            /* depth of groups */
};

struct fake_calls {
	int count, depth;
	struct fake_call call[FAKE_MOST_CALLS];
	/* The environment and the configuration when the last communicator was made. */
	char algorithm[32], protocol[32];
	int min_ctas, max_ctas, cta_policy, blocking, made, aborted, destroyed, registered, windows;
	int cluster, nvls_host_mode, finalized, revoked, simulated;
	/* The configuration of the last call that had one. */
	char selection[96];
	int configured, call_min_ctas, call_max_ctas, call_cta_policy, call_cluster;
	int fail_with;        /* the next collective returns this */
	int asynchronous;     /* what CommGetAsyncError returns */
};

/* In the fake library: struct fake_calls *fake_calls(void). */
typedef struct fake_calls *(*fake_calls_fn)(void);

#endif
