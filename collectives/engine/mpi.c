/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI engine: the library's own call for each collective, as the yardstick for the project's
 * algorithms. It works on the same buffers, on a communicator of its own. The library and its
 * environment variables select algorithms and transports.
 *
 * Launches: "blocking" makes the call in wait(), "nonblocking" in start(). "persistent" initialises
 * requests in prepare() and starts them in start(). MPI's default error handler stays, so an error
 * inside of MPI ends the job with the library's own message.
 */
#include "collectives/engine/mpi.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/library/mpi_gpu.h"

struct mpi_engine {
	struct fb_engine engine;
	const struct fb_group *group;
	MPI_Comm comm;
	char no_gpu[FB_REASON_CHARS]; /* why MPI must not get GPU memory; "": it may */
};

static int mpi_open(struct fb_engine *engine)
{
	struct mpi_engine *e = (struct mpi_engine *)engine;

	e->group = engine->group;
	MPI_Comm_dup(e->group->comm, &e->comm);
	(void)fb_mpi_takes_gpu(e->group, e->no_gpu, FB_REASON_CHARS);
	return FB_OK;
}

static void mpi_close(struct fb_engine *engine)
{
	MPI_Comm_free(&((struct mpi_engine *)engine)->comm);
}

/*
 * MPI_DATATYPE_NULL where MPI has no such type. Data that is only moved needs a type of the same
 * size. The tables are not static, because MPI's names need not be constants.
 */
static MPI_Datatype type_of(enum fb_datatype type, bool reduces)
{
	const MPI_Datatype types[FB_DATATYPES] = {
		[FB_I8] = MPI_INT8_T,   [FB_U8] = MPI_UINT8_T,
		[FB_I32] = MPI_INT32_T, [FB_U32] = MPI_UINT32_T,
		[FB_I64] = MPI_INT64_T, [FB_U64] = MPI_UINT64_T,
		[FB_F16] = reduces ? MPI_DATATYPE_NULL : MPI_UINT16_T,
		[FB_BF16] = reduces ? MPI_DATATYPE_NULL : MPI_UINT16_T,
		[FB_F32] = MPI_FLOAT,   [FB_F64] = MPI_DOUBLE,
		[FB_F8E4M3] = reduces ? MPI_DATATYPE_NULL : MPI_UINT8_T,
		[FB_F8E5M2] = reduces ? MPI_DATATYPE_NULL : MPI_UINT8_T,
	};

	return types[type];
}

/* MPI_OP_NULL where MPI has no such operation. */
static MPI_Op op_of(enum fb_redop op)
{
	const MPI_Op ops[FB_REDOPS] = {
		[FB_SUM] = MPI_SUM, [FB_PROD] = MPI_PROD, [FB_MIN] = MPI_MIN, [FB_MAX] = MPI_MAX,
		[FB_AVG] = MPI_OP_NULL,
	};

	return ops[op];
}

static bool can_reduce(const struct fb_operation *op, char *reason)
{
	if (!fb_collective_info(op->collective)->reduces || op->collective == FB_BARRIER)
		return true;
	if (type_of(op->datatype, true) == MPI_DATATYPE_NULL)
		snprintf(reason, FB_REASON_CHARS, "MPI has no type %s",
			 fb_datatype_name(op->datatype));
	else if (op_of(op->redop) == MPI_OP_NULL)
		snprintf(reason, FB_REASON_CHARS, "MPI has no operation %s",
			 fb_redop_name(op->redop));
	else
		return true;
	return false;
}

/*
 * The greatest number of elements that has to fit an int: the count of a block, or the sum of a
 * rank's blocks if they are unequal, because MPI's displacements are ints too.
 */
static uint64_t greatest_count(const struct fb_operation *op, int nranks)
{
	uint64_t most = op->count;

	for (int rank = 0; op->counts && rank < nranks; rank++) {
		uint64_t sent = fb_buffers_elements(op, false, rank, nranks);
		uint64_t received = fb_buffers_elements(op, true, rank, nranks);

		most = sent > most ? sent : most;
		most = received > most ? received : most;
	}
	return most;
}

/*
 * MPICH 4.0 to 4.1.1 crash in MPI_Reduce in place if the root is not rank 0 (its issue 6540). Such
 * cases are skipped, because the crash would end the job. Calls that merely give wrong data are
 * made, and the check finds them.
 */
static bool crashes(const struct mpi_engine *e, const struct fb_operation *op, char *reason)
{
	int major, minor, patch = 0;

	if (op->collective != FB_REDUCE || !op->in_place || op->root == 0)
		return false;
	if (sscanf(e->group->library, "MPICH Version: %d.%d.%d", &major, &minor, &patch) < 2)
		return false;
	if (major != 4 || minor * 100 + patch >= 102)
		return false;
	snprintf(reason, FB_REASON_CHARS, "MPICH %d.%d.%d crashes in MPI_Reduce in place at "
		 "another root than 0 (its issue 6540)", major, minor, patch);
	return true;
}

/*
 * Whether the library may be given GPU memory for this call. Open MPI says that it takes it, but
 * its nonblocking and persistent reductions read it like any other ("Which MPI APIs do NOT work
 * with CUDA-aware Open MPI", in its documentation).
 */
static bool takes_gpu(const struct mpi_engine *e, const struct fb_case *c,
		      const struct fb_operation *op, char *reason)
{
	if (*e->no_gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", e->no_gpu);
	else if (fb_collective_info(op->collective)->reduces && strcmp(c->launch, "blocking") &&
		 !strncmp(e->group->library, "Open MPI", strlen("Open MPI")))
		snprintf(reason, FB_REASON_CHARS, "Open MPI's %s reductions take no GPU memory",
			 c->launch);
	else
		return true;
	return false;
}

static bool mpi_can(const struct fb_engine *engine, const struct fb_case *c,
		    const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	const struct mpi_engine *e = (const struct mpi_engine *)engine;
	const struct fb_mpi_calls *calls = fb_mpi_calls_for(op, reason);
	uint64_t most;

	if (!calls || !can_reduce(op, reason) || crashes(e, op, reason))
		return false;
	if (!strcmp(c->memory, "device") && !takes_gpu(e, c, op, reason))
		return false;
	most = greatest_count(op, e->group->nranks);
	if (!strcmp(c->launch, "persistent") && !calls->init)
		snprintf(reason, FB_REASON_CHARS, "no persistent %s in MPI-%d", calls->name,
			 MPI_VERSION);
	else if (!strcmp(c->launch, "nonblocking") && !calls->begin)
		snprintf(reason, FB_REASON_CHARS, "no nonblocking %s in MPI-%d", calls->name,
			 MPI_VERSION);
	else if (most > INT_MAX)
		snprintf(reason, FB_REASON_CHARS, "%s counts with an int, not up to %llu",
			 calls->name, (unsigned long long)most);
	else
		return true;
	return false;
}

/* Counts and displacements of unequal blocks, which lie one behind the other. */
static void set_blocks(const struct fb_operation *op, bool out, int rank, int nranks, int *counts,
		       int *first)
{
	int blocks = fb_collective_blocks(op->collective, out, rank, nranks, op->root);

	for (int b = 0; b < blocks; b++) {
		first[b] = (int)fb_buffers_first(op, out, rank, b);
		counts[b] = (int)fb_buffers_first(op, out, rank, b + 1) - first[b];
	}
}

static int set_vectors(struct fb_mpi_request *r, const struct fb_operation *op, int rank,
		       int nranks)
{
	size_t n = (size_t)nranks;

	r->send_counts = calloc(4 * n, sizeof(*r->send_counts));
	if (!r->send_counts)
		return FB_ENOMEM;
	r->send_first = r->send_counts + n;
	r->receive_counts = r->send_counts + 2 * n;
	r->receive_first = r->send_counts + 3 * n;
	set_blocks(op, false, rank, nranks, r->send_counts, r->send_first);
	set_blocks(op, true, rank, nranks, r->receive_counts, r->receive_first);
	return FB_OK;
}

/*
 * In place, MPI wants one of the two buffers, and MPI_IN_PLACE for the other one: on all ranks or,
 * in collectives with a root, on the root only, because other ranks have one buffer.
 */
static void set_buffers(struct fb_mpi_request *r, const struct fb_operation *op, int rank)
{
	bool has_both = !fb_collective_info(op->collective)->has_root || rank == op->root;

	r->send = fb_operation_in(op, rank);
	r->receive = fb_operation_out(op, rank);
	if (!op->in_place || !has_both)
		return;
	if (op->collective == FB_SCATTER) {
		r->receive = MPI_IN_PLACE;
		return;
	}
	/* The receive buffer contains the send buffer; in a broadcast it is the send buffer. */
	r->send = MPI_IN_PLACE;
}

static int mpi_prepare(struct fb_request *request, const struct fb_case *c,
		       const struct fb_operation *op)
{
	struct mpi_engine *e = (struct mpi_engine *)request->engine;
	int rank = e->group->rank, n = e->group->nranks;
	struct fb_mpi_request *r = (struct fb_mpi_request *)request;
	char ignored[FB_REASON_CHARS];
	const struct fb_mpi_calls *calls = fb_mpi_calls_for(op, ignored);
	int err = calls ? FB_OK : FB_EUNSUPPORTED;

	if (!err && op->counts)
		err = set_vectors(r, op, rank, n);
	err = fb_group_agree(e->group, err);
	if (err || !calls)
		return err;
	r->count = (int)op->count;
	r->type = type_of(op->datatype, fb_collective_info(op->collective)->reduces);
	r->op = op_of(op->redop);
	r->root = op->root;
	r->next = (rank + 1) % n;
	r->previous = (rank + n - 1) % n;
	r->comm = e->comm;
	r->pending[0] = r->pending[1] = MPI_REQUEST_NULL;
	r->device = !strcmp(c->memory, "device");
	r->blocking = !strcmp(c->launch, "blocking");
	r->persistent = !strcmp(c->launch, "persistent");
	r->call = r->blocking ? calls->run : calls->begin;
	set_buffers(r, op, rank);
	if (r->persistent && calls->init(r) != MPI_SUCCESS)
		err = FB_EMPI;
	return fb_group_agree(e->group, err);
}

static int mpi_start(struct fb_request *request)
{
	struct fb_mpi_request *r = (struct fb_mpi_request *)request;
	int err;

	if (r->blocking)
		return FB_OK; /* wait() does it all */
	err = r->persistent ? MPI_Startall(r->npending, r->pending) : r->call(r);
	return err == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): what is waited for began elsewhere. */

static int mpi_wait(struct fb_request *request)
{
	struct fb_mpi_request *r = (struct fb_mpi_request *)request;
	MPI_Status status[2];
	int err;

	if (r->blocking)
		err = r->call(r);
	else if (r->npending == 1)
		err = MPI_Wait(&r->pending[0], MPI_STATUS_IGNORE);
	else
		err = MPI_Waitall(r->npending, r->pending, status);
	return err == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

static int mpi_test(struct fb_request *request, bool *done)
{
	struct fb_mpi_request *r = (struct fb_mpi_request *)request;
	MPI_Status status[2];
	int err, flag = 1;

	if (r->blocking)
		err = r->call(r);
	else if (r->npending == 1)
		err = MPI_Test(&r->pending[0], &flag, MPI_STATUS_IGNORE);
	else
		err = MPI_Testall(r->npending, r->pending, &flag, status);
	*done = flag != 0;
	return err == MPI_SUCCESS ? FB_OK : FB_EMPI;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* "Open MPI v4.1.4" or "MPICH Version: 4.0.2": up to the first comma, blanks made single. */
static void mpi_describe(struct fb_request *request, struct fb_traits *traits)
{
	const struct fb_mpi_request *r = (const struct fb_mpi_request *)request;
	const struct mpi_engine *e = (const struct mpi_engine *)request->engine;
	const char *text = e->group->library;
	size_t n = 0;

	/* MPI has no call that tells which of its transports carried the bytes. */
	for (; *text && *text != ',' && n + 1 < sizeof(traits->path); text++) {
		bool blank = isspace((unsigned char)*text);

		if (!blank)
			traits->path[n++] = *text;
		else if (n && traits->path[n - 1] != ' ')
			traits->path[n++] = ' ';
	}
	snprintf(traits->path + n, sizeof(traits->path) - n, "%s",
		 r->device ? ", CUDA-aware" : "");
}

static void mpi_release(struct fb_request *request)
{
	struct fb_mpi_request *r = (struct fb_mpi_request *)request;

	for (int i = 0; i < r->npending; i++)
		if (r->pending[i] != MPI_REQUEST_NULL)
			MPI_Request_free(&r->pending[i]);
	free(r->send_counts);
}

const struct fb_engine_ops fb_engine_mpi = {
	.name = "mpi",
	.takes_device = true,
	.bytes = sizeof(struct mpi_engine),
	.request_bytes = sizeof(struct fb_mpi_request),
	.open = mpi_open,
	.close = mpi_close,
	.can = mpi_can,
	.prepare = mpi_prepare,
	.start = mpi_start,
	.test = mpi_test,
	.wait = mpi_wait,
	.describe = mpi_describe,
	.release = mpi_release,
};
