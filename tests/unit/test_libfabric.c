/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover libfabric over a provider that is made up. It delivers writes in any order, by a seeded
 * choice, and messages overtake them: behind k notices the first k transfers must be complete, and
 * a notice that is due goes before pieces of later moves. Movers that are wrong have to be caught:
 * a notice with a write that others precede, a notice before its pieces, later pieces before it.
 *
 * Closing, with memory that is bound to the endpoint: its receives are taken back first, then the
 * memory is closed, then the endpoint, which such providers do not close before.
 */
#include "common/base/rng.h"
#include "tests/unit/check.h"

/* With its static functions, of which the wrong movers are made. */
#include "common/mover/libfabric_move.c" /* NOLINT(bugprone-suspicious-include) */

#if FB_HAVE_LIBFABRIC

#include "common/base/error.h"

enum { PEER = 1, OPS = 4, RECEIVES = 2, MOVES = 12, PIECES = 6, SEEDS = 200, BYTES = 64 };
enum fault { NONE, ALONE, EARLY, LATER_FIRST, FAULTS };

/* An operation that is posted and not complete. */
struct pending {
	void *context;
	int move; /* -1: a message */
	bool notice;
};

static struct pending pending[OPS + RECEIVES];
static int npending;
static void *complete_now;      /* the context of the operation whose completion is read next */
static int left[MOVES];         /* pieces of each move that are not delivered */
static int notices, violations; /* that the peer has seen; found by the provider */
static struct fb_move *moves[MOVES];
static struct fb_ofi_mover *mover;

/* The peer sees a notice: the count says that the first moves are complete. */
static void see_notice(void)
{
	for (int i = 0; i <= notices && i < MOVES; i++)
		violations += left[i] != 0;
	notices++;
}

static int move_of(const struct fi_msg_rma *msg)
{
	return (int)(msg->rma_iov->addr / BYTES);
}

/* Whether the first move is delivered, and its notice is not given. */
static bool notice_is_due(void)
{
	return mover->head && mover->head != mover->feed && all_complete(mover->head) &&
	       mover->head->move.transfer->notice && !mover->head->part->told;
}

static ssize_t write_piece(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	int move = move_of(msg);

	(void)ep;
	violations += notice_is_due();
	pending[npending++] = (struct pending){msg->context, move, flags & FI_REMOTE_CQ_DATA};
	return 0;
}

/* Messages overtake all writes, and complete like them. */
static ssize_t send_notice(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep, (void)flags;
	see_notice();
	pending[npending++] = (struct pending){msg->context, -1, false};
	return 0;
}

static void deliver(int k)
{
	struct pending p = pending[k];

	pending[k] = pending[--npending];
	if (p.move >= 0)
		left[p.move]--;
	if (p.notice)
		see_notice();
	complete_now = p.context;
}

static ssize_t read_queue(struct fid_cq *cq, void *to, size_t n)
{
	(void)cq, (void)n;
	if (!complete_now)
		return -FI_EAGAIN;
	*(struct fi_cq_data_entry *)to = (struct fi_cq_data_entry){.op_context = complete_now};
	complete_now = NULL;
	return 1;
}

/* The mover's own state is made wrong. */
static void spoil(struct fb_ofi_mover *m, enum fault fault)
{
	for (struct fb_ofi_move *move = m->head; move; move = move == m->tail ? NULL : move->next)
		if (fault == ALONE)
			move->part->alone = !move->part->open && move->part->bytes;
		else if (fault == EARLY)
			move->delivered = true;
	if (fault == LATER_FIRST) {
		(void)fb_ofi_read(&m->end);
		(void)push_moves(m);
	}
}

static void prepare_moves(struct fb_ofi_mover *m, const struct fb_ofi_memory *region,
			  struct fb_piece piece[MOVES][PIECES], struct fb_rng *rng)
{
	for (int i = 0; i < MOVES; i++) {
		uint64_t n = 1 + fb_rng_below(rng, PIECES);
		const struct fb_transfer t = {
			.verb = FB_MOVE_PUT, .peer = PEER, .local = &region->region,
			.remote = &region->region, .piece = piece[i], .pieces = n, .notice = 1,
		};
		const struct fb_move given = {&m->mover, &t, 1};

		for (uint64_t k = 0; k < n; k++)
			piece[i][k] = (struct fb_piece){k, (uint64_t)i * BYTES + k, 1};
		left[i] = (int)n;
		CHECK_INT(fb_ofi_move_prepare(&m->mover, &given, NULL, &moves[i]), FB_OK);
	}
}

/* Posts all moves between deliveries, until all are complete. */
static void run_moves(struct fb_ofi_mover *m, enum fault fault, struct fb_rng *rng)
{
	int posted = 0;

	for (int calls = 0; calls < 1000 && (posted < MOVES || m->head || npending); calls++) {
		if (posted < MOVES && fb_rng_below(rng, 2))
			CHECK_INT(fb_ofi_move_post(moves[posted++]), FB_OK);
		if (npending && !complete_now && fb_rng_below(rng, 2))
			deliver((int)fb_rng_below(rng, (uint64_t)npending));
		spoil(m, fault);
		CHECK_INT(fb_ofi_progress(m), FB_OK);
	}
	CHECK_INT(posted, MOVES);
	CHECK_INT(notices, MOVES);
}

/* Returns how often the peer was told wrong, or later. */
static int run(enum fault fault, uint64_t seed)
{
	static struct fi_ops_rma rma = {.writemsg = write_piece};
	static struct fi_ops_msg message = {.sendmsg = send_notice};
	static struct fi_ops_cq queue = {.read = read_queue};
	static char bytes[MOVES * BYTES];
	static int part_of[] = {0, -1};
	struct fb_rng rng;
	struct fb_piece piece[MOVES][PIECES];
	struct fi_ep_attr attr = {.max_msg_size = BYTES};
	struct fi_info info = {.ep_attr = &attr};
	struct fid_ep ep = {.rma = &rma, .msg = &message};
	struct fid_cq cq = {.ops = &queue};
	struct fid_mr mr = {.key = 1};
	const struct fb_group group = {.rank = 0, .nranks = 2};
	const struct fb_segment segment = {.base = bytes, .part_bytes = sizeof(bytes),
					   .nparts = 1, .part_of = part_of};
	struct fb_ofi_op op[OPS] = {{.next = NULL}};
	fi_addr_t address[] = {FI_ADDR_NOTAVAIL, 0};
	uint64_t busy[2] = {0}, arrived[2][FB_NOTICES + 1] = {{0}};
	struct fb_ofi_mover m = {
		.mover = {.ops = &fb_mover_libfabric, .group = &group},
		.end = {.info = &info, .ep = &ep, .cq = &cq, .op = op, .nops = OPS,
			.address = address, .complete = fb_ofi_complete, .arg = &m},
		.busy = busy, .arrived = arrived, .data = true,
	};
	struct fb_ofi_memory *region = calloc(1, sizeof(*region) + 2 * sizeof(region->target[0]));

	if (!CHECK(region != NULL))
		return 0;
	region->region = (struct fb_region){&m.mover, &segment};
	region->mr = &mr;
	for (int i = 0; i < OPS; i++) {
		op[i].next = m.end.free;
		m.end.free = &op[i];
	}
	fb_rng_seed(&rng, seed);
	mover = &m;
	npending = notices = violations = 0;
	complete_now = NULL;
	prepare_moves(&m, region, piece, &rng);
	run_moves(&m, fault, &rng);
	for (int i = 0; i < MOVES; i++)
		fb_move_free(moves[i]);
	free(region);
	return violations;
}

static void check_order(void)
{
	for (int fault = NONE; fault < FAULTS; fault++) {
		int found = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			found += run((enum fault)fault, seed) != 0;
		CHECK((found != 0) == (fault != NONE));
	}
}

/* --- closing ---------------------------------------------------------------------------------- */

static bool is_posted[RECEIVES];
static int cancelled, told, queue_looks, wrong;
static struct fb_ofi_end *closing;
static char closed[8]; /* the objects, in order: m, e, c */

static int close_object(struct fid *fid)
{
	size_t n = strlen(closed);
	bool receives = is_posted[0] || is_posted[1] || told < cancelled;

	if (fid->fclass == FI_CLASS_EP && !strchr(closed, 'm'))
		return -FI_EBUSY;
	wrong += fid->fclass == FI_CLASS_MR && receives;
	closed[n] = fid->fclass == FI_CLASS_MR ? 'm' : fid->fclass == FI_CLASS_EP ? 'e' : 'c';
	return 0;
}

static ssize_t cancel(fid_t fid, void *context)
{
	int i = (int)((struct fb_ofi_op *)context - closing->op);

	(void)fid;
	if (!is_posted[i])
		return -FI_ENOENT;
	is_posted[i] = false;
	cancelled++;
	return 0;
}

/* Cancelling is asynchronous. */
static ssize_t read_cancelled(struct fid_cq *cq, void *to, size_t n)
{
	(void)cq, (void)to, (void)n;
	return ++queue_looks % 3 || told == cancelled ? -FI_EAGAIN : -FI_EAVAIL;
}

static ssize_t read_cancelled_error(struct fid_cq *cq, struct fi_cq_err_entry *to, uint64_t flags)
{
	(void)cq, (void)flags;
	*to = (struct fi_cq_err_entry){.op_context = &closing->op[told++], .err = FI_ECANCELED};
	return 1;
}

static void keep_info(struct fi_info *info)
{
	(void)info;
}

static void check_close(void)
{
	static struct fi_ops ops = {.close = close_object};
	static struct fi_ops_ep end_ops = {.cancel = cancel};
	static struct fi_ops_cq queue = {.read = read_cancelled, .readerr = read_cancelled_error};
	struct fi_domain_attr domain = {.mr_mode = FI_MR_ENDPOINT | FI_MR_LOCAL};
	struct fi_rx_attr receive = {.size = RECEIVES};
	struct fi_info info = {.domain_attr = &domain, .rx_attr = &receive};
	struct fid_ep ep = {.fid = {.fclass = FI_CLASS_EP, .ops = &ops}, .ops = &end_ops};
	struct fid_cq cq = {.fid = {.fclass = FI_CLASS_CQ, .ops = &ops}, .ops = &queue};
	struct fid_mr mr = {.fid = {.fclass = FI_CLASS_MR, .ops = &ops}};
	struct fb_ofi_end end = {.ep = &ep, .cq = &cq, .mr = &mr,
				 .op = calloc(OPS, sizeof(struct fb_ofi_op)), .nops = OPS};

	if (!CHECK(end.op != NULL))
		return;
	end.ofi.freeinfo = keep_info;
	end.info = &info;
	closing = &end;
	/* One is posted, the other one is not yet. */
	end.receives = &end.op[1];
	is_posted[0] = true;
	fb_ofi_close(&end);
	CHECK_STR(closed, "mec");
	CHECK_INT(wrong, 0);
	CHECK_INT(cancelled, 1);
	CHECK_INT(told, 1);
}

int main(void)
{
	check_order();
	check_close();
	return check_done("libfabric");
}

#else

int main(void)
{
	printf("SKIP libfabric: built without its headers\n");
	return CHECK_SKIP;
}

#endif
