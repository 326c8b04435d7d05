/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover ucx_gpu over functions of UCX whose flush returns while puts are under way, as cuda_ipc's
 * does: the flush and the notice have to wait until each put is complete. Mover ucx gives the flush
 * to UCX right behind the puts. A move whose last put cannot be posted stays in memory until the
 * earlier ones are complete, and gives no notice. A move whose notice is under way when another
 * peer fails stays, too.
 *
 * Waits of mover ucx that would last for ever, for an endpoint to close and for other ranks, say
 * what they wait for, and end when the job does.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/watchdog_report.h"
#include "common/mover/ucx.h"
#include "tests/unit/check.h"

enum { PIECES = 3, BYTES = 64 };

struct put {
	void (*complete)(void *request, fb_ucx_status status, void *user);
	void *user;
};

static struct put put[PIECES];
static int posted, ended, freed, flushes, notices, open_at_flush, may_end;
static int refused = -1; /* the put that cannot be posted */
static fb_ucx_pending notice_request; /* NULL: a notice is complete at once */
static fb_ucx_status end_status;

static fb_ucx_pending put_later(void *ep, const void *from, size_t bytes, uint64_t to, void *rkey,
				const struct fb_ucx_op *op)
{
	(void)ep, (void)from, (void)bytes, (void)to, (void)rkey;
	if (posted == refused)
		return (fb_ucx_pending)(intptr_t)FB_UCX_LAST_ERROR;
	/* Some puts are complete at once, and have no request. */
	if (posted == 1) {
		posted++;
		ended++;
		return NULL;
	}
	put[posted] = (struct put){op->mask & FB_UCX_OP_CALLBACK ? op->complete : NULL, op->user};
	return &put[posted++];
}

static fb_ucx_pending flush_at_once(void *ep, const struct fb_ucx_op *op)
{
	(void)ep, (void)op;
	flushes++;
	open_at_flush = posted - ended;
	return NULL;
}

static fb_ucx_pending send_notice(void *ep, unsigned id, const void *header, size_t header_bytes,
				  const void *from, size_t bytes, const struct fb_ucx_op *op)
{
	(void)ep, (void)id, (void)header, (void)header_bytes, (void)from, (void)bytes, (void)op;
	notices++;
	return notice_request;
}

static fb_ucx_status still_open(fb_ucx_pending request)
{
	(void)request;
	return FB_UCX_IN_PROGRESS;
}

static unsigned end_some(void *worker)
{
	(void)worker;
	for (int i = 0; i < posted && may_end; i++)
		if (put[i].complete) {
			struct put one = put[i];

			put[i].complete = NULL;
			may_end--;
			ended++;
			one.complete(&put[i], end_status, one.user);
		}
	return 0;
}

static void count_freed(void *request)
{
	(void)request;
	freed++;
}

static const char *no_words(fb_ucx_status status)
{
	(void)status;
	return "made to fail";
}

static struct fb_move *prepared(struct fb_ucx_mover *m, struct fb_ucx_memory *memory)
{
	static const struct fb_piece piece[PIECES] = {{0, 0, 8}, {16, 16, 8}, {32, 32, 8}};
	const struct fb_transfer t = {.verb = FB_MOVE_PUT, .peer = 1, .local = &memory->region,
				      .remote = &memory->region, .piece = piece,
				      .pieces = PIECES, .notice = 1};
	const struct fb_move given = {&m->mover, &t, 1};
	struct fb_move *move = NULL;

	CHECK_INT(fb_ucx_move_prepare(&m->mover, &given, NULL, &move), FB_OK);
	return move;
}

/* All puts are posted; those that are not complete at once end one by one, the last with status. */
static void check_order(struct fb_ucx_mover *m, struct fb_move *move, fb_ucx_status status)
{
	bool done = true;

	CHECK_INT(fb_ucx_move_post(move), FB_OK);
	CHECK_INT(posted, PIECES);
	if (!m->mover.ops->device) {
		CHECK_INT(flushes, 1);
		CHECK_INT(notices, 1);
		CHECK_INT(freed, PIECES - 1);
		fb_ucx_move_release(move);
		return;
	}
	for (int left = PIECES - 1; left; left--) {
		CHECK_INT(fb_ucx_move_test(move, &done), FB_OK);
		CHECK(!done);
		CHECK_INT(flushes, 0);
		CHECK_INT(notices, 0);
		may_end = left > 1;
		if (may_end)
			CHECK_INT(fb_ucx_move_test(move, &done), FB_OK);
	}
	may_end = 1;
	end_status = status;
	CHECK_INT(fb_ucx_move_test(move, &done), status ? FB_ESYS : FB_OK);
	CHECK_INT(freed, PIECES - 1);
	CHECK_INT(flushes, !status);
	CHECK_INT(notices, !status);
	CHECK(done == !status);
	CHECK(status || !open_at_flush);
	/* Frees it, or the leak checker says so; one whose put failed is queued, and stays. */
	fb_ucx_move_release(move);
	if (status)
		fb_move_free(move);
}

static uint64_t open_in(const struct fb_move *move)
{
	return ((const struct fb_ucx_move *)move)->part[0].open;
}

/* The last put is refused; the move is released while the first one is under way. */
static void check_refused(struct fb_ucx_mover *m, struct fb_move *move, fb_ucx_status status)
{
	refused = PIECES - 1;
	CHECK_INT(fb_ucx_move_post(move), FB_ESYS);
	refused = -1;
	CHECK_INT(posted, PIECES - 1);
	CHECK(!m->head);
	CHECK_INT(open_in(move), 1);
	/* It must outlive that: the address sanitizer would see the callback's write. */
	fb_ucx_move_release(move);
	may_end = 1;
	end_status = status;
	m->ucx.worker_progress(m->worker);
	CHECK_INT(freed, 1);
	CHECK_INT(open_in(move), 0);
	CHECK_INT(flushes, 0);
	CHECK_INT(notices, 0);
	fb_move_free(move);
}

/* Another peer fails; the move is released while UCX still reads the header of its notice. */
static void check_notice(struct fb_ucx_mover *m, struct fb_move *move, fb_ucx_status status)
{
	const struct fb_ucx_part *part = ((const struct fb_ucx_move *)move)->part;
	static char request;
	bool done = true;

	notice_request = &request;
	CHECK_INT(fb_ucx_move_post(move), FB_OK);
	CHECK_INT(notices, 1);
	m->failed = status;
	CHECK_INT(fb_ucx_move_test(move, &done), FB_ESYS);
	CHECK(!done);
	fb_ucx_move_release(move);
	/* It must outlive that: the address sanitizer would see this read. */
	CHECK_INT(part->header.notice, 1);
	notice_request = NULL;
	fb_move_free(move);
}

typedef void check_fn(struct fb_ucx_mover *m, struct fb_move *move, fb_ucx_status status);

static void run(const struct fb_mover_ops *ops, check_fn *check, fb_ucx_status status)
{
	static char bytes[BYTES], key;
	static int part_of[] = {0, -1};
	const struct fb_group group = {.rank = 0, .nranks = 2};
	const struct fb_segment segment = {.base = bytes, .part_bytes = BYTES,
					   .nparts = 1, .part_of = part_of};
	void *ep[] = {NULL, &key}, *rkey[] = {NULL, &key};
	uint64_t base[] = {0, 0}, arrived[2][FB_NOTICES + 1] = {{0}};
	struct fb_ucx_mover m = {
		.mover = {.ops = ops, .group = &group}, .ep = ep, .arrived = arrived,
		.ucx = {.put_nbx = put_later, .ep_flush_nbx = flush_at_once,
			.am_send_nbx = send_notice, .worker_progress = end_some,
			.request_check_status = still_open, .request_free = count_freed,
			.status_string = no_words},
	};
	struct fb_ucx_memory memory = {.region = {&m.mover, &segment}, .base = base, .rkey = rkey};
	struct fb_move *move;

	posted = ended = freed = flushes = notices = may_end = 0;
	end_status = FB_UCX_OK;
	move = prepared(&m, &memory);
	if (!CHECK(move != NULL))
		return;
	check(&m, move, status); /* and frees it */
}

/* No other rank ever comes. In place of MPI's. */
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	(void)comm;
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	(void)request, (void)status;
	*flag = 0;
	return MPI_SUCCESS;
}

static fb_ucx_pending close_never(void *ep, const struct fb_ucx_op *op)
{
	static char request;

	(void)ep, (void)op;
	return &request;
}

static bool says(const struct fb_watchdog_host *host, const char *text)
{
	char doing[FB_DOING_CHARS];

	memcpy(doing, (const void *)(uintptr_t)host->slot->doing, sizeof(doing));
	return !strcmp(doing, text);
}

/* The watchdog has been told that the job ends. What is waited for is still UCX's, and stays. */
static void check_waits(void)
{
	size_t bytes = sizeof(struct fb_watchdog_host) + sizeof(struct fb_watchdog_slot);
	struct fb_watchdog_host *host = aligned_alloc(alignof(struct fb_watchdog_host), bytes);
	struct fb_watchdog watchdog = {.host = host, .slot = host ? host->slot : NULL};
	const struct fb_session session = {.watchdog = &watchdog};
	const struct fb_group group = {.rank = 0, .nranks = 2};
	static char end;
	void *ep[] = {NULL, &end};
	struct fb_ucx_mover m = {
		.mover = {.ops = &fb_mover_ucx, .group = &group, .session = &session}, .ep = ep,
		.ucx = {.ep_close_nbx = close_never, .worker_progress = end_some,
			.request_check_status = still_open},
	};
	struct fb_ucx_memory *memory = calloc(1, sizeof(*memory));

	if (!host || !memory)
		abort();
	memory->region.mover = &m.mover;
	memory->memh = &end;
	memset(host, 0, bytes);
	posted = may_end = 0;
	atomic_store(&host->ending, FB_ENDING_CLAIMED);
	fb_mover_ucx.close(&m.mover);
	CHECK(says(host, "closing UCX's endpoints"));
	fb_mover_ucx.remove(&memory->region);
	CHECK(says(host, "waiting for all ranks' UCX"));
	free(host);
}

int main(void)
{
	check_waits();
	run(&fb_mover_ucx_gpu, check_order, FB_UCX_OK);
	run(&fb_mover_ucx_gpu, check_order, FB_UCX_LAST_ERROR);
	run(&fb_mover_ucx_gpu, check_refused, FB_UCX_OK);
	run(&fb_mover_ucx_gpu, check_refused, FB_UCX_LAST_ERROR);
	run(&fb_mover_ucx, check_order, FB_UCX_OK);
	CHECK(open_at_flush == PIECES - 1);
	run(&fb_mover_ucx, check_notice, FB_UCX_LAST_ERROR);
	return check_done("ucx_order");
}
