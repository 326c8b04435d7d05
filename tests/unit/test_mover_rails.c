/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover rdma over two rails, between two ranks in one process whose devices are made up: what a
 * queue pair carries stays in order, and rails overtake each other by a seeded choice. Behind k
 * notices the first k transfers are complete, whatever the order. A receiver that looks at one rail
 * only has to be caught. Also: how transfers are dealt, full queues, and moves behind an error.
 */
#include "common/mover/rdma.h"

#include "tests/unit/check.h"

#if FB_HAVE_VERBS

#include <arpa/inet.h>

#include "common/base/error.h"
#include "common/base/rng.h"

enum { RANKS = 2, RAILS = 2, PART = 1 << 17, DEPTH = 16, POSTED = 4096, STRIPE = 1024 };

/* A request that was posted, with what it names. */
struct posted {
	struct ibv_send_wr wr;
	struct ibv_sge sge[FB_RDMA_GATHERED];
};

/* A rank's end of a rail. */
struct end {
	struct ibv_context context; /* first: calls find the end by it */
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct fb_rdma_queue queue;
	struct fb_rdma_queue *queues[1];
	struct posted posted[POSTED];
	int nposted, done;
	uint64_t bytes; /* carried */
	bool reads;     /* READs were among them */
	struct ibv_wc wc[POSTED];
	int nwc, taken;
};

struct rank {
	struct fb_rdma_mover m;
	struct fb_group group;
	struct fb_segment segment;
	struct fb_rdma_memory *region;
	struct fb_rdma_queue *queue[RANKS * FB_RDMA_RAILS];
	uint64_t arrived[RAILS][RANKS][FB_NOTICES + 1];
	struct end end[RAILS];
	char part[PART];
};

static struct rank ranks[RANKS];
static int part_of[RANKS] = {0, 1};
static struct ibv_comp_channel channel;
static bool broken; /* completions cannot be read, nor asked for */
static char *parts[RANKS] = {ranks[0].part, ranks[1].part};

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct end *e = (struct end *)qp->context;

	(void)bad;
	for (; wr; wr = wr->next) {
		struct posted *p = &e->posted[e->nposted++];

		if (e->nposted > POSTED || wr->num_sge > FB_RDMA_GATHERED)
			abort();
		p->wr = *wr;
		for (int i = 0; i < wr->num_sge; i++)
			p->sge[i] = wr->sg_list[i];
	}
	return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	struct end *e = (struct end *)cq->context;
	int n = 0;

	while (n < most && e->taken < e->nwc)
		wc[n++] = e->wc[e->taken++];
	return broken ? -1 : n;
}

static int request_event(struct ibv_cq *cq, int solicited)
{
	(void)cq, (void)solicited;
	return broken;
}

static void complete(struct end *e, const struct ibv_wc *wc)
{
	if (e->nwc == POSTED)
		abort();
	e->wc[e->nwc++] = *wc;
}

/* Carries out the next request of a rank's end. False: there is none. */
static bool deliver(int rank, int rail)
{
	struct end *e = &ranks[rank].end[rail], *far = &ranks[!rank].end[rail];
	struct posted *p = &e->posted[e->done];
	char *remote = (char *)(uintptr_t)p->wr.wr.rdma.remote_addr;

	if (e->done == e->nposted)
		return false;
	for (int i = 0; i < p->wr.num_sge; remote += p->sge[i++].length) {
		void *local = (void *)(uintptr_t)p->sge[i].addr;
		bool reads = p->wr.opcode == IBV_WR_RDMA_READ;

		e->reads |= reads;
		memcpy(reads ? local : remote, reads ? remote : local, p->sge[i].length);
		e->bytes += p->sge[i].length;
	}
	/* A device begins other requests while READs wait for their bytes. */
	if (e->reads && p->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		CHECK(p->wr.send_flags & IBV_SEND_FENCE);
	if (p->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		complete(far, &(struct ibv_wc){.wr_id = UINT64_MAX,
					       .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
					       .imm_data = p->wr.imm_data,
					       .qp_num = far->qp.qp_num});
	if (p->wr.send_flags & IBV_SEND_SIGNALED)
		complete(e, &(struct ibv_wc){.wr_id = p->wr.wr_id});
	e->done++;
	return true;
}

static void open_end(struct rank *r, int rail)
{
	struct end *e = &r->end[rail];
	struct fb_rdma_completions *c = &r->m.completions[rail];

	memset(e, 0, sizeof(*e));
	e->context.ops.post_send = post_send;
	e->context.ops.post_recv = post_recv;
	e->context.ops.poll_cq = poll_cq;
	e->context.ops.req_notify_cq = request_event;
	e->qp.context = e->cq.context = &e->context;
	e->qp.qp_num = (uint32_t)rail + 1;
	e->queues[0] = &e->queue;
	*c = (struct fb_rdma_completions){.rail = &r->m.rail[rail], .cq = &e->cq, .room = POSTED,
					  .queues = e->queues, .nqueues = 1, .max_queues = 1,
					  .channel = &channel,
					  .arrived = fb_rdma_count_notice,
					  .arg = &r->m.tally[rail]};
	e->queue = (struct fb_rdma_queue){.completions = c, .qp = &e->qp, .depth = DEPTH,
					  .signal = 7, .batch = 3, .sges = FB_RDMA_GATHERED};
	r->m.tally[rail] = (struct fb_rdma_tally){&r->m, r->arrived[rail]};
}

static void open_ranks(void)
{
	size_t bytes = sizeof(struct fb_rdma_memory) + RANKS * sizeof(struct fb_rdma_target);

	for (int i = 0; i < RANKS; i++) {
		struct rank *r = &ranks[i];

		free(r->region);
		memset(r, 0, sizeof(*r));
		r->group = (struct fb_group){.rank = i, .nranks = RANKS};
		r->segment = (struct fb_segment){.part_bytes = PART, .nparts = RANKS,
						 .part_of = part_of, .parts = parts};
		r->m.mover = (struct fb_mover){.ops = &fb_mover_rdma, .group = &r->group};
		r->m.settings.stripe = STRIPE;
		r->m.rails = RAILS;
		r->m.most = 1 << 14;
		r->m.queue = r->queue;
		for (int rail = 0; rail < RAILS; rail++) {
			open_end(r, rail);
			r->queue[!i * FB_RDMA_RAILS + rail] = &r->end[rail].queue;
		}
		r->region = calloc(1, bytes);
		if (!r->region)
			abort();
		r->region->region = (struct fb_region){&r->m.mover, &r->segment};
		for (int k = 0; k < RANKS; k++)
			r->region->reach[k].base = (uintptr_t)parts[k];
	}
}

/* Of rank 0 with rank 1. */
static struct fb_move *make(enum fb_move_verb verb, const struct fb_piece *piece, uint64_t pieces,
			    const char *form, int notice)
{
	const struct fb_region *region = &ranks[0].region->region;
	struct fb_transfer t = {.verb = verb, .peer = 1, .local = region, .remote = region,
				.piece = piece, .pieces = pieces, .notice = notice};
	const struct fb_move given = {&ranks[0].m.mover, &t, 1};
	struct fb_move *move = NULL;

	CHECK_INT(fb_rdma_move_prepare(&ranks[0].m.mover, &given, form, &move), FB_OK);
	return move;
}

static uint64_t arrived(void)
{
	uint64_t count = 0;

	CHECK_INT(fb_rdma_move_arrived(&ranks[1].m.mover, 0, 1, &count), FB_OK);
	return count;
}

static bool done(struct fb_move *move)
{
	bool is = false;

	CHECK_INT(fb_rdma_move_test(move, &is), FB_OK);
	return is;
}

/* One rail carries all that it has, and then the other. */
static void test_overtaken(enum fb_move_verb verb, int first)
{
	const struct fb_piece pieces[] = {{64, 0, 50000}, {60000, 60001, 77}};
	struct fb_move *move;
	int target = verb == FB_MOVE_PUT, turns = 0;

	open_ranks();
	for (int i = 0; i < PART; i++)
		ranks[!target].part[i] = (char)(i * 7 + i / 251);
	move = make(verb, pieces, 2, NULL, 1);
	CHECK_INT(fb_rdma_move_post(move), FB_OK);
	while (deliver(0, first))
		turns++;
	CHECK(turns > 1);
	CHECK_INT(arrived(), 0);
	CHECK(!done(move));
	/* The mutant: its notice comes before half of the bytes. */
	ranks[1].m.rails = 1;
	CHECK_INT(arrived(), first == 0);
	ranks[1].m.rails = RAILS;
	while (deliver(0, !first))
		turns++;
	CHECK_INT(arrived(), 1);
	CHECK(done(move));
	for (int i = 0; i < 2; i++) {
		const struct fb_piece *p = &pieces[i];

		CHECK(!memcmp(ranks[0].part + p->local, ranks[1].part + p->remote, p->bytes));
	}
	/* Equal parts, but for a chunk. */
	CHECK_INT(ranks[0].end[0].bytes + ranks[0].end[1].bytes, 50077);
	CHECK(ranks[0].end[0].bytes > 50077 / 2 - 50077 / 8);
	CHECK(ranks[0].end[1].bytes > 50077 / 2 - 50077 / 8);
	fb_move_free(move);
}

/* A move that waits for room is released after an error: nothing looks at it from then on. */
static void test_failed(bool rests)
{
	static struct fb_piece piece[3 * RAILS * DEPTH];
	struct fb_move *first, *second;
	bool is = true;
	int posted;

	for (uint64_t i = 0; i < 3 * RAILS * DEPTH; i++)
		piece[i] = (struct fb_piece){2 * i, 2 * i, 1};
	open_ranks();
	first = make(FB_MOVE_PUT, piece, 3 * RAILS * DEPTH, NULL, 1);
	second = make(FB_MOVE_PUT, piece, 1, NULL, 1);
	CHECK_INT(fb_rdma_move_post(first), FB_OK);
	CHECK(ranks[0].m.head != NULL);
	broken = true;
	CHECK((rests ? fb_rdma_move_rest(first->mover, &is) : fb_rdma_move_test(first, &is)) < 0);
	CHECK(!is);
	fb_move_free(first);
	broken = false;
	posted = ranks[0].end[0].nposted + ranks[0].end[1].nposted;
	while (deliver(0, 0) || deliver(0, 1))
		;
	CHECK(fb_rdma_move_post(second) < 0);
	CHECK(fb_rdma_move_test(second, &is) < 0);
	CHECK(!is);
	CHECK_INT(ranks[0].end[0].nposted + ranks[0].end[1].nposted, posted);
	fb_move_free(second);
}

/* Below --rdma-stripe one rail carries the bytes, and both carry the notice, if there is one. */
static void test_dealt(uint64_t bytes, int notice, bool striped)
{
	const struct fb_piece piece = {0, 0, bytes};
	struct fb_move *move;

	open_ranks();
	move = make(FB_MOVE_PUT, &piece, 1, NULL, notice);
	CHECK_INT(fb_rdma_move_post(move), FB_OK);
	for (int r = 0; r < RAILS; r++) {
		CHECK(!done(move));
		while (deliver(0, r))
			;
	}
	CHECK_INT(ranks[0].end[0].bytes > 0, striped);
	CHECK_INT(ranks[0].end[0].bytes + ranks[0].end[1].bytes, bytes);
	CHECK_INT(arrived(), notice);
	CHECK(done(move));
	fb_move_free(move);
}

enum { MOVES = 5, EACH = 60, ZONE = PART / MOVES };

/* Whether what move k PUTs is at rank 1, or what it GETs at rank 0. */
static bool is_there(const struct fb_piece *piece, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (memcmp(ranks[0].part + piece[i].local, ranks[1].part + piece[i].remote,
			   piece[i].bytes))
			return false;
	return true;
}

/*
 * Several moves of many pieces, more than the queues hold, with rails that take turns by chance.
 * Returns how often a notice came before its bytes.
 */
static unsigned run(enum fb_move_verb verb, const char *form, uint64_t seed, bool mutant)
{
	static struct fb_piece piece[MOVES][EACH];
	struct fb_move *move[MOVES];
	unsigned early = 0;
	int over = 0;

	open_ranks();
	for (int i = 0; i < PART; i++)
		ranks[verb == FB_MOVE_GET].part[i] = (char)(fb_mix64((uint64_t)i + seed) | 1);
	for (int k = 0; k < MOVES; k++) {
		uint64_t at = (uint64_t)k * ZONE;

		for (int i = 0; i < EACH; i++) {
			/* Half of them are neighbours on the far side, which form sge joins. */
			uint64_t bytes = 1 + fb_mix64(seed + (uint64_t)(k * EACH + i)) % 400;

			piece[k][i] = (struct fb_piece){at, at + (uint64_t)(i / 8), bytes};
			at += bytes;
		}
		move[k] = make(verb, piece[k], k == 3 ? 2 : EACH, form, 1);
		CHECK_INT(fb_rdma_move_post(move[k]), FB_OK);
	}
	ranks[1].m.rails = mutant ? 1 : RAILS;
	for (uint64_t turn = 0; over < MOVES && turn < 100000; turn++) {
		/* Rails take long turns, so that they overtake each other by far. */
		int rail = (int)(fb_mix64(seed * 31 + turn / 40) % RAILS);
		uint64_t count;

		deliver(0, rail);
		count = arrived();
		for (uint64_t k = 0; k < count; k++)
			early += !is_there(piece[k], k == 3 ? 2 : EACH);
		for (over = 0; over < MOVES && done(move[over]); over++)
			early += !is_there(piece[over], over == 3 ? 2 : EACH);
	}
	CHECK_INT(over, MOVES);
	for (int k = 0; k < MOVES; k++)
		fb_move_free(move[k]);
	return early;
}

int main(void)
{
	static const char *const forms[] = {"chained", "single", "sge"};

	for (int verb = FB_MOVE_PUT; verb <= FB_MOVE_GET; verb++) {
		unsigned caught = 0;

		for (int rail = 0; rail < RAILS; rail++)
			test_overtaken((enum fb_move_verb)verb, rail);
		for (uint64_t seed = 1; seed <= 4; seed++)
			for (int form = 0; form < 3; form++) {
				CHECK_INT(run((enum fb_move_verb)verb, forms[form], seed, false),
					  0);
				caught += run((enum fb_move_verb)verb, forms[form], seed, true) > 0;
			}
		CHECK(caught > 0);
	}
	for (int notice = 0; notice <= 1; notice++) {
		test_dealt(STRIPE - 1, notice, false);
		test_dealt(20 * STRIPE + 1, notice, true);
	}
	test_failed(false);
	test_failed(true);
	for (int i = 0; i < RANKS; i++)
		free(ranks[i].region);
	return check_done("test_mover_rails");
}

#else

int main(void)
{
	return CHECK_SKIP;
}

#endif
