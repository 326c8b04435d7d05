/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting until no messages are under way, before a region or the links are closed; see wire.h. A
 * rank whose own links have failed still takes part in all collectives: the other ranks would wait
 * for it, and MPI goes on writing to the memory of a collective that one rank has left.
 */
#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/mover/wire.h"

/* Two values of which all ranks get the lowest. */
enum { WORST_ERROR, MISSING };

/* Messages on the first `lanes` of a peer's links: those sent to it, or taken from it. */
static int64_t messages(const struct fb_wire_peer *peer, int lanes, bool sent)
{
	int64_t n = 0;

	for (int lane = 0; lane < lanes; lane++)
		n += (int64_t)(sent ? peer->link[lane].sent : peer->link[lane].taken);
	return n;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): other functions began these requests. */

/*
 * Progresses until the request is complete, because other ranks may need this to begin theirs.
 * After an error it only waits. False: the watchdog ends the job, and MPI still has the request.
 */
static bool complete(struct fb_wire *wire, MPI_Request *request, struct fb_spin *spin)
{
	int done = 0;

	while (!done) {
		if (!wire->failed)
			wire->failed = fb_wire_progress(wire);
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (!done && fb_spin_again(spin) &&
		    fb_alive(wire->mover.session, "waiting until all messages are read")) {
			wire->failed = FB_ETIMEOUT;
			return false;
		}
	}
	return true;
}

/* Messages sent before settling and not taken yet; later ones may have been taken as well. */
static int64_t missing(const struct fb_wire *wire, int lanes, const int64_t *due)
{
	int64_t n = 0;

	for (int r = 0; r < wire->mover.group->nranks; r++) {
		int64_t taken = messages(&wire->peer[r], lanes, false);

		n += due[r] > taken ? due[r] - taken : 0;
	}
	return n;
}

int fb_wire_settle(struct fb_wire *wire, int lanes)
{
	const struct fb_group *g = wire->mover.group;
	struct fb_spin spin = {.yields = g->oversubscribed};
	int64_t *sent = wire->counts, *due = sent + g->nranks, *state = due + g->nranks;
	MPI_Request request;

	if (wire->failed)
		return wire->failed;
	for (int r = 0; r < g->nranks; r++)
		sent[r] = messages(&wire->peer[r], lanes, true);
	MPI_Ialltoall(sent, 1, MPI_INT64_T, due, 1, MPI_INT64_T, g->comm, &request);
	if (!complete(wire, &request, &spin))
		return wire->failed;
	/* In rounds, so that a rank's error ends the wait of ranks that it sends nothing to. */
	do {
		state[WORST_ERROR] = wire->failed;
		state[MISSING] = -missing(wire, lanes, due);
		MPI_Iallreduce(MPI_IN_PLACE, state, FB_WIRE_STATES, MPI_INT64_T, MPI_MIN, g->comm,
			       &request);
		if (!complete(wire, &request, &spin))
			return wire->failed;
	} while (!state[WORST_ERROR] && state[MISSING]);
	/* The watchdog must not take this wait for what the rank does next. */
	if (spin.looks >= FB_SPIN_LOOKS_PER_CALL)
		(void)fb_alive(wire->mover.session, "");
	wire->failed = (int)state[WORST_ERROR];
	return wire->failed;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
