/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover nixl over functions of NIXL that fail: a move whose second request is refused, or fails
 * while the first one is under way, stays in memory with its requests, as NIXL may still write to
 * its pieces. The region then stays registered, and the agent stays, too. Behind the error nothing
 * is posted or asked for. Without one, requests are completed while a rank waits for the others.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/mover/nixl.h"
#include "tests/unit/check.h"

enum { REQUESTS = 2, REFUSED = -5, FAILED = -6 };

static int post_status, status[REQUESTS], posts, asked, released, deregistered, destroyed, waits;

static int post(void *agent, void *request, void *args)
{
	(void)agent, (void)args;
	posts++;
	return *(int *)request ? post_status : FB_NIXL_BUSY;
}

static int ask(void *agent, void *request)
{
	(void)agent;
	asked++;
	return status[*(int *)request];
}

static int release(void *agent, void *request)
{
	(void)agent, (void)request;
	released++;
	return 0;
}

static int destroy(void *request)
{
	(void)request;
	return 0;
}

static int deregister(void *agent, void *list, void *args)
{
	(void)agent, (void)list, (void)args;
	deregistered++;
	return 0;
}

static int no_notices(void *agent, void *map, void *args)
{
	(void)agent, (void)map, (void)args;
	return 0;
}

static int no_agents(void *map, size_t *n)
{
	(void)map;
	*n = 0;
	return 0;
}

static int destroy_agent(void *agent)
{
	(void)agent;
	destroyed++;
	return 0;
}

/* In place of MPI's: all ranks have come at the second look. */
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	(void)comm;
	waits = 1;
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *s)
{
	(void)request, (void)s;
	*flag = !waits;
	waits = 0;
	return MPI_SUCCESS;
}

static struct fb_nixl_move *made(struct fb_nixl_mover *m)
{
	static int number[REQUESTS] = {0, 1};
	static const struct fb_transfer t[REQUESTS] = {{.verb = FB_MOVE_GET, .peer = 1},
						       {.verb = FB_MOVE_GET, .peer = 1}};
	const struct fb_move given = {&m->mover, t, REQUESTS};
	struct fb_move *move = NULL;
	struct fb_nixl_move *n;

	CHECK_INT(fb_move_new(&m->mover, &given, sizeof(*n) + REQUESTS * sizeof(n->part[0]),
			      &move), FB_OK);
	n = (struct fb_nixl_move *)move;
	for (int i = 0; n && i < REQUESTS; i++)
		n->part[i].request = &number[i];
	return n;
}

/*
 * `posted`: what the second request's post says; `later`: what it says when it is asked. `rests`:
 * the rank first waits for the others, which completes the requests.
 */
static void run(int posted, int later, bool rests)
{
	const struct fb_group group = {.rank = 0, .nranks = 2};
	struct fb_nixl_mover *m = calloc(1, sizeof(*m));
	struct fb_nixl_region *region = calloc(1, sizeof(*region));
	struct fb_nixl_move *n = m ? made(m) : NULL;
	bool done = true, fails = posted < 0 || later < 0;
	static char list, map;

	if (!m || !region || !n || !(m->counter = calloc(2, sizeof(*m->counter))))
		abort();
	m->mover.ops = &fb_mover_nixl;
	m->mover.group = &group;
	m->plugin = "UCX";
	m->api = (struct fb_nixl){.post_xfer_req = post, .get_xfer_status = ask,
				  .release_xfer_req = release, .destroy_xfer_req = destroy,
				  .deregister_mem = deregister, .destroy_reg_dlist = destroy,
				  .destroy_agent = destroy_agent, .get_notifs = no_notices,
				  .notif_map_size = no_agents, .destroy_notif_map = destroy};
	m->agent = region->list = &list;
	m->map = &map;
	region->region.mover = &m->mover;
	post_status = posted;
	status[0] = fails ? FB_NIXL_BUSY : FB_NIXL_DONE;
	status[1] = later;
	posts = asked = released = deregistered = destroyed = 0;
	CHECK_INT(fb_nixl_post(&n->move), posted < 0 ? FB_ESYS : FB_OK);
	if (rests)
		CHECK_INT(fb_nixl_settled(m), FB_OK);
	CHECK_INT(asked, rests ? REQUESTS : 0);
	CHECK_INT(fb_nixl_test(&n->move, &done), fails ? FB_ESYS : FB_OK);
	CHECK(done == !fails);
	fb_nixl_release(&n->move);
	CHECK_INT(released, fails ? 0 : REQUESTS);
	/* A move that stays is intact, which the address sanitizer sees, and is not asked for. */
	CHECK(!fails || m->first == n);
	CHECK(!fails || n->part[0].busy);
	CHECK(!rests || asked == REQUESTS);
	posts = asked = 0;
	if (fails) {
		CHECK_INT(fb_nixl_test(&n->move, &done), FB_ESYS);
		CHECK(!done);
		CHECK_INT(fb_nixl_post(&n->move), FB_ESYS);
	}
	fb_mover_nixl.remove(&region->region);
	CHECK_INT(deregistered, !fails);
	fb_mover_nixl.close(&m->mover);
	CHECK_INT(destroyed, !fails);
	CHECK_INT(posts, 0);
	CHECK_INT(asked, 0);
	if (fails) {
		fb_move_free(&n->move);
		free(m->counter);
		free(m);
	}
}

int main(void)
{
	run(FB_NIXL_BUSY, FB_NIXL_DONE, false);
	run(FB_NIXL_BUSY, FB_NIXL_DONE, true);
	run(REFUSED, FB_NIXL_BUSY, false);
	run(FB_NIXL_BUSY, FAILED, false);
	return check_done("nixl_release");
}
