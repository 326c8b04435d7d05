/* SPDX-License-Identifier: BSD-3-Clause */
/* A wire's regions, links and moves; see wire.h. */
#include "common/mover/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

struct fb_wire_batch {
	struct fb_wire_batch *next;
	int n;
	struct fb_port *port[]; /* [n] */
};

enum {
	LINKS = 2 * FB_WIRE_LANES, /* of two ranks */
	LEAST_SLOT = 64,           /* a header, or some bytes behind a record */
};

int fb_wire_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		 const struct fb_session *session, const struct fb_group *group,
		 struct fb_transport *transport, uint32_t slots, size_t slot_bytes)
{
	int err = fb_mover_new(mover, ops, sizeof(struct fb_wire), session, group);
	struct fb_wire *wire;

	if (err)
		goto close_transport;
	wire = (struct fb_wire *)*mover;
	wire->transport = transport;
	wire->slots = slots;
	wire->slot_bytes = slot_bytes < LEAST_SLOT ? LEAST_SLOT : slot_bytes;
	wire->peer = calloc((size_t)group->nranks, sizeof(*wire->peer));
	wire->counts = calloc(2 * (size_t)group->nranks + FB_WIRE_STATES, sizeof(*wire->counts));
	err = fb_group_agree(group, wire->peer && wire->counts ? FB_OK : FB_ENOMEM);
	if (!err)
		return FB_OK;
	fb_error_print("mover %s: out of memory for %d ranks", ops->name, group->nranks);
	free(wire->counts);
	free(wire->peer);
	fb_mover_free(*mover);
close_transport:
	transport->ops->close(transport);
	return err;
}

/* --- regions ---------------------------------------------------------------------------------- */

int fb_wire_add(struct fb_mover *mover, const struct fb_segment *segment,
		struct fb_region **region)
{
	struct fb_wire *wire = (struct fb_wire *)mover;
	struct fb_region **list;
	int i = fb_wire_number(wire, NULL), err;

	/* fb_wire_remove() had no way to return its error, which all ranks have. */
	if (wire->failed)
		return fb_error(wire->failed, "mover %s: its links failed when a region was "
				"removed", mover->ops->name);
	list = realloc(wire->region, (size_t)(wire->regions + 1) * sizeof(struct fb_region *));
	if (list)
		wire->region = list;
	err = fb_group_agree(mover->group, list && i < UINT16_MAX ? FB_OK : FB_ENOMEM);
	if (!err)
		err = fb_region_add(mover, segment, region);
	if (err || !list)
		return err;
	if (i == wire->regions)
		wire->regions++;
	list[i] = *region;
	return FB_OK;
}

void fb_wire_remove(struct fb_region *region)
{
	struct fb_wire *wire = (struct fb_wire *)region->mover;
	int i = fb_wire_number(wire, region);

	/*
	 * Bytes of a PUT that is done may not have been taken yet, and must not be written to a
	 * later region of the same number. A region whose add() failed has no number, and not all
	 * ranks may call this for it.
	 */
	if (i < wire->regions) {
		(void)fb_wire_settle(wire, FB_WIRE_ONE_SIDED + 1);
		wire->region[i] = NULL;
	}
	fb_region_remove(region);
}

/* --- links ------------------------------------------------------------------------------------ */

static bool is_linked(const struct fb_wire *wire, int peer)
{
	return peer == wire->mover.group->rank || wire->peer[peer].link[0].out;
}

/* Lists requests for links to the peers that have none yet. Returns how many. */
static int list_links(const struct fb_wire *wire, const int *peers, int n,
		      struct fb_link_request *requests)
{
	int count = 0, rank = wire->mover.group->rank;

	for (int i = 0; i < n; i++) {
		bool listed = is_linked(wire, peers[i]);

		for (int k = 0; k < count && !listed; k++)
			listed = requests[k].peer == peers[i];
		for (int l = 0; l < LINKS && !listed; l++)
			requests[count++] = (struct fb_link_request){
				.peer = peers[i], .id = (uint32_t)l,
				.sends = l % 2 == (rank > peers[i]), .slots = wire->slots,
				.slot_bytes = wire->slot_bytes, .protocol = "simple",
			};
	}
	return count;
}

static void enter_ports(struct fb_wire *wire, const struct fb_link_request *requests,
			struct fb_port **ports, int n)
{
	for (int i = 0; i < n; i++) {
		struct fb_wire_link *link = &wire->peer[requests[i].peer].link[requests[i].id / 2];

		*(requests[i].sends ? &link->out : &link->in) = ports[i];
	}
}

int fb_wire_connect(struct fb_mover *mover, const int *peers, int n)
{
	struct fb_wire *wire = (struct fb_wire *)mover;
	size_t most = (size_t)n * LINKS + 1;
	struct fb_link_request *requests = calloc(most, sizeof(*requests));
	struct fb_wire_batch *batch = calloc(1, sizeof(*batch) + most * sizeof(struct fb_port *));
	int err = fb_group_agree(mover->group, requests && batch ? FB_OK : FB_ENOMEM);

	if (!err && requests && batch) {
		batch->n = list_links(wire, peers, n, requests);
		err = wire->transport->ops->connect(wire->transport, requests, batch->n,
						    batch->port);
	}
	if (!err && requests && batch) {
		enter_ports(wire, requests, batch->port, batch->n);
		batch->next = wire->batch;
		wire->batch = batch;
		batch = NULL;
	}
	free(batch);
	free(requests);
	return err;
}

/* Counts owed notices of GETs for each peer to which all answers have now left. */
static void pay(struct fb_wire *wire)
{
	wire->owes = false;
	for (int r = 0; r < wire->mover.group->nranks; r++) {
		struct fb_wire_peer *peer = &wire->peer[r];
		uint64_t owed = 0;

		for (int n = 1; n <= FB_NOTICES; n++)
			owed += peer->owed[n];
		if (!owed)
			continue;
		if (!fb_wire_settled(wire, &peer->link[FB_WIRE_ONE_SIDED])) {
			wire->owes = true;
			continue;
		}
		for (int n = 1; n <= FB_NOTICES; n++)
			peer->arrived[n] += peer->owed[n];
		memset(peer->owed, 0, sizeof(peer->owed));
	}
}

int fb_wire_progress(struct fb_wire *wire)
{
	int err = wire->abandoned;

	for (int r = 0; r < wire->mover.group->nranks && !err; r++) {
		if (!wire->peer[r].link[0].in)
			continue;
		err = fb_wire_receive(wire, r);
		fb_wire_send(wire, &wire->peer[r]);
	}
	if (!err && wire->transport->ops->progress)
		err = wire->transport->ops->progress(wire->transport);
	if (!err && wire->owes)
		pay(wire);
	return err;
}

/* --- moves ------------------------------------------------------------------------------------ */

static struct fb_wire_job job_of(struct fb_wire_move *m, const struct fb_transfer *t)
{
	static const enum fb_wire_kind kinds[] = {
		[FB_MOVE_PUT] = FB_WIRE_DATA, [FB_MOVE_GET] = FB_WIRE_ASK,
		[FB_MOVE_SEND] = FB_WIRE_STREAM, [FB_MOVE_RECV] = FB_WIRE_STREAM,
	};

	return (struct fb_wire_job){.move = m, .transfer = t, .walk = {.transfer = t},
				    .kind = kinds[t->verb], .form = m->form};
}

int fb_wire_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move)
{
	const struct fb_wire *wire = (const struct fb_wire *)mover;
	size_t bytes = sizeof(struct fb_wire_move) + given->transfers * sizeof(struct fb_wire_job);
	int err;

	for (uint32_t i = 0; i < given->transfers; i++)
		if (!is_linked(wire, given->transfer[i].peer))
			return fb_error(FB_EINPUT, "mover %s: a transfer with rank %d, which is "
					"not connected", mover->ops->name, given->transfer[i].peer);
	err = fb_move_new(mover, given, bytes, move);
	if (!err)
		((struct fb_wire_move *)*move)->form = fb_mover_form(mover->ops, form);
	return err;
}

/*
 * After an error the links may still use the move, and its pieces, which the caller may free. So
 * the move is not freed, and this rank carries out nothing more; the job ends.
 */
void fb_wire_release(struct fb_move *move)
{
	const struct fb_wire_move *m = (const struct fb_wire_move *)move;
	struct fb_wire *wire = (struct fb_wire *)move->mover;

	if (!m->open && !m->missing)
		fb_move_free(move);
	else if (!wire->abandoned)
		wire->abandoned = fb_error(FB_EPEER, "mover %s: a move that is not done is given "
					   "up, so nothing more is moved", move->mover->ops->name);
}

static void post_job(struct fb_wire *wire, struct fb_wire_move *m, uint32_t i)
{
	const struct fb_transfer *t = &m->move.transfer[i];
	bool two_sided = t->verb == FB_MOVE_SEND || t->verb == FB_MOVE_RECV;
	uint64_t bytes = fb_transfer_bytes(t);
	struct fb_wire_peer *peer = &wire->peer[t->peer];
	struct fb_wire_job *job = &m->job[i];

	if (t->peer == wire->mover.group->rank) {
		fb_transfer_copy(t, t->peer);
		peer->arrived[t->notice] += t->notice != 0;
		return;
	}
	if (!bytes && !t->notice)
		return;
	*job = job_of(m, t);
	if (t->verb == FB_MOVE_GET || t->verb == FB_MOVE_RECV) {
		job->missing = bytes;
		m->missing += bytes;
	}
	if (t->verb == FB_MOVE_RECV) {
		fb_wire_queue_add(&peer->receives, job);
		return;
	}
	job->tag = t->verb == FB_MOVE_GET ? (uintptr_t)job : 0;
	m->open++;
	fb_wire_queue_add(&peer->link[two_sided].queue, job);
	fb_wire_send(wire, peer);
}

int fb_wire_post(struct fb_move *move)
{
	struct fb_wire *wire = (struct fb_wire *)move->mover;
	uint32_t n = wire->abandoned ? 0 : move->transfers;

	for (uint32_t i = 0; i < n; i++)
		post_job(wire, (struct fb_wire_move *)move, i);
	return fb_wire_progress(wire);
}

/* Whether all messages of the move reach the peers without further calls. */
static bool has_left(const struct fb_wire *wire, const struct fb_move *move)
{
	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		if (t->peer != wire->mover.group->rank && t->verb != FB_MOVE_RECV &&
		    !fb_wire_settled(wire, &wire->peer[t->peer].link[t->verb == FB_MOVE_SEND]))
			return false;
	}
	return true;
}

int fb_wire_test(struct fb_move *move, bool *done)
{
	const struct fb_wire_move *m = (const struct fb_wire_move *)move;
	struct fb_wire *wire = (struct fb_wire *)move->mover;
	int err = FB_OK;

	/*
	 * A caller that sees `done` may stop calling, so all data must have left by then. The whole
	 * transport need not be idle, because the peer of another move may not be reading. But
	 * before progress() a settled link is not enough: its socket may still hold bytes back.
	 */
	*done = !m->open && !m->missing && (!wire->idle || wire->idle(wire->transport));
	if (!*done) {
		err = fb_wire_progress(wire);
		*done = !err && !m->open && !m->missing && has_left(wire, move);
	}
	return err;
}

int fb_wire_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_wire *wire = (struct fb_wire *)mover;
	int err = fb_wire_progress(wire);

	*count = wire->peer[from].arrived[notice];
	return err;
}

void fb_wire_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_wire *wire = (const struct fb_wire *)move->mover;
	int peer = -1;

	for (uint32_t i = 0; i < move->transfers && peer < 0; i++)
		if (move->transfer[i].peer != move->mover->group->rank)
			peer = move->transfer[i].peer;
	if (peer < 0 || !wire->transport->ops->describe)
		snprintf(traits->path, sizeof(traits->path), "%s", move->mover->ops->summary);
	else
		wire->transport->ops->describe(wire->transport, peer, traits->path,
					       sizeof(traits->path));
	if (wire->ways)
		snprintf(traits->path + strlen(traits->path),
			 sizeof(traits->path) - strlen(traits->path), ", %s",
			 wire->ways[((const struct fb_wire_move *)move)->form]);
	traits->channels = 1;
}

/* --- the end ---------------------------------------------------------------------------------- */

void fb_wire_close(struct fb_mover *mover)
{
	struct fb_wire *wire = (struct fb_wire *)mover;
	const struct fb_transport_ops *ops = wire->transport->ops;
	struct fb_wire_batch *next;

	if (!fb_wire_settle(wire, FB_WIRE_LANES))
		for (struct fb_wire_batch *b = wire->batch; b; b = b->next)
			ops->disconnect(wire->transport, b->port, b->n);
	/* Waits for all ranks: one that still settles would report this rank's closed links. */
	else if (wire->failed != FB_ETIMEOUT)
		(void)fb_group_agree(mover->group, FB_OK);
	ops->close(wire->transport);
	for (struct fb_wire_batch *b = wire->batch; b; b = next) {
		next = b->next;
		free(b);
	}
	free(wire->region);
	/* After a timeout the collective is not complete, and MPI may still write to counts. */
	if (wire->failed != FB_ETIMEOUT)
		free(wire->counts);
	free(wire->peer);
	fb_mover_free(mover);
}
