/* SPDX-License-Identifier: BSD-3-Clause */
/* The proxy thread; see proxy.h. */
#include "collectives/engine/cuda/proxy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/cuda/proxy_direct.h"
#include "common/base/error.h"
#include "common/base/spin.h"

enum { MOST_SETS = 256 }; /* sets of links, one for each request */

struct fb_gpu_proxy {
	struct fb_transport *transport;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below but `err` and `wanted`, and of the transport */
	pthread_cond_t changed;
	struct {
		struct fb_gpu_proxy_links *proxied;
		struct fb_port **ports; /* [n], of the proxied links in order */
		int n;
	} sets[MOST_SETS];
	int nsets;
	bool ends;
	int wanted; /* the main thread wants the lock; atomic */
	int err;    /* atomic */
};

/* Passes on what the GPU has put into its slots. Returns whether there was something. */
static bool carry_out(struct fb_gpu_proxy_link *m)
{
	uint64_t available = __atomic_load_n(m->available, __ATOMIC_ACQUIRE), before = m->done;

	while (m->done < available) {
		size_t bytes = m->bytes[m->done % m->messages];
		void *to = m->port->ops->acquire(m->port, bytes);

		if (!to)
			break;
		if (bytes)
			memcpy(to, m->slots + (m->done & (m->nslots - 1)) * m->stride, bytes);
		m->port->ops->commit(m->port, bytes);
		m->done++;
		if (m->freed)
			__atomic_store_n(m->freed, m->done, __ATOMIC_RELEASE);
	}
	return m->done != before;
}

/* Puts what has arrived into the GPU's slots, as far as they are free. */
static bool carry_in(struct fb_gpu_proxy_link *m)
{
	uint64_t before = m->done;

	for (;;) {
		size_t bytes = m->bytes[m->done % m->messages];
		const void *from;

		if (m->freed &&
		    m->done - __atomic_load_n(m->freed, __ATOMIC_ACQUIRE) >= m->nslots)
			break;
		from = m->port->ops->peek(m->port, bytes);
		if (!from)
			break;
		if (bytes)
			memcpy(m->slots + (m->done & (m->nslots - 1)) * m->stride, from, bytes);
		m->port->ops->release(m->port);
		m->done++;
		__atomic_store_n(m->available, m->done, __ATOMIC_RELEASE);
	}
	return m->done != before;
}

static bool is_proxied(const struct fb_gpu_proxy_link *m)
{
	return m->peer >= 0 && m->messages > 0;
}

/* 1, 0, or an error. */
static int carry(struct fb_gpu_proxy_links *proxied, struct fb_gpu_proxy_link *m)
{
	if (!is_proxied(m))
		return 0;
	if (proxied->direct.base)
		return m->sends ? fb_gpu_direct_out(m) : fb_gpu_direct_in(proxied, m);
	return m->sends ? carry_out(m) : carry_in(m);
}

static int carry_all(struct fb_gpu_proxy *p)
{
	int moved = 0;

	for (int k = 0; k < p->nsets; k++)
		for (int i = 0; i < p->sets[k].proxied->n; i++) {
			int result = carry(p->sets[k].proxied, &p->sets[k].proxied->links[i]);

			if (result < 0)
				return result;
			moved |= result;
		}
	return moved;
}

static void *proxy_main(void *arg)
{
	struct fb_gpu_proxy *p = arg;
	const struct fb_group *w = p->transport->world;
	/* There is this thread beside each rank's own. */
	struct fb_spin spin = {.yields = w->oversubscribed || 2 * w->local_ranks > w->cpus};

	pthread_mutex_lock(&p->lock);
	while (!p->ends) {
		int err, moved;

		if (__atomic_load_n(&p->wanted, __ATOMIC_RELAXED) || !p->nsets || p->err) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		moved = carry_all(p);
		if (moved > 0)
			spin.looks = 0;
		err = moved < 0 ? moved : FB_OK;
		if (!err && p->transport->ops->progress)
			err = p->transport->ops->progress(p->transport);
		if (err)
			__atomic_store_n(&p->err, err, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&p->lock);
		(void)fb_spin_again(&spin);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* The main thread, between these, has the transport for itself. */
static void halt(struct fb_gpu_proxy *p)
{
	__atomic_store_n(&p->wanted, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&p->lock);
}

static void go_on(struct fb_gpu_proxy *p)
{
	__atomic_store_n(&p->wanted, 0, __ATOMIC_RELAXED);
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int fb_gpu_proxy_open(struct fb_gpu_proxy **proxy, struct fb_transport *transport)
{
	struct fb_gpu_proxy *p = calloc(1, sizeof(*p));
	int code;

	if (!p)
		return fb_error(FB_ENOMEM, "out of memory for a proxy");
	p->transport = transport;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	code = pthread_create(&p->thread, NULL, proxy_main, p);
	if (code) {
		free(p);
		return fb_error(FB_ESYS, "no thread for a proxy: %s", strerror(code));
	}
	*proxy = p;
	return FB_OK;
}

void fb_gpu_proxy_close(struct fb_gpu_proxy *p)
{
	if (!p)
		return;
	halt(p);
	p->ends = true;
	go_on(p);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	free(p);
}

int fb_gpu_proxy_state(const struct fb_gpu_proxy *p)
{
	return __atomic_load_n(&p->err, __ATOMIC_ACQUIRE);
}

/* Whether all that the GPU has sent so far is out of this host. The proxy stands still. */
static bool is_quiet(const struct fb_gpu_proxy *p)
{
	for (int k = 0; k < p->nsets; k++)
		for (int i = 0; i < p->sets[k].proxied->n; i++) {
			const struct fb_gpu_proxy_link *m = &p->sets[k].proxied->links[i];

			if (!is_proxied(m))
				continue;
			if (m->sends && m->done != __atomic_load_n(m->available, __ATOMIC_ACQUIRE))
				return false;
			if (m->port->ops->settled && !m->port->ops->settled(m->port))
				return false;
		}
	return true;
}

/*
 * Returns with the proxy halted and nothing under way on any rank: the ranks meet after each has
 * seen to its own, and a rank that has ended its calls sends nothing new.
 */
static void halt_all(struct fb_gpu_proxy *p)
{
	struct fb_spin spin = {.yields = true};
	bool quiet = false;

	while (!quiet) {
		halt(p);
		quiet = is_quiet(p) || p->err;
		go_on(p);
		(void)fb_spin_again(&spin);
	}
	MPI_Barrier(p->transport->world->comm);
	halt(p);
}

/* GPUDirect: the memory is nobody's any more. Collective. */
static void conceal(struct fb_gpu_proxy *p, const struct fb_gpu_proxy_links *proxied)
{
	if (proxied->direct.base)
		p->transport->ops->direct->conceal(p->transport, proxied->direct.base,
						   proxied->direct.bytes);
}

static int connect_links(struct fb_gpu_proxy *p, struct fb_gpu_proxy_links *proxied,
			 uint32_t slots)
{
	struct fb_link_request *requests = calloc((size_t)proxied->n + 1, sizeof(*requests));
	struct fb_port **ports = calloc((size_t)proxied->n + 1, sizeof(struct fb_port *));
	int n = 0, err = requests && ports && p->nsets < MOST_SETS ? FB_OK : FB_ENOMEM;

	for (int i = 0; i < proxied->n && !err; i++) {
		const struct fb_gpu_proxy_link *m = &proxied->links[i];

		if (is_proxied(m))
			requests[n++] = (struct fb_link_request){
				.peer = m->peer, .id = m->id, .sends = m->sends,
				.slots = m->nslots < slots ? m->nslots : slots,
				.slot_bytes = m->stride,
				.protocol = proxied->direct.base ? "direct" : "simple"};
	}
	err = fb_group_agree(p->transport->world, err);
	if (!err && proxied->direct.base)
		err = p->transport->ops->direct->expose_device(p->transport, &proxied->direct);
	if (!err) {
		err = p->transport->ops->connect(p->transport, requests, n, ports);
		if (err)
			conceal(p, proxied);
	}
	free(requests);
	if (err) {
		free(ports);
		return err;
	}
	for (int i = 0, k = 0; i < proxied->n; i++)
		if (is_proxied(&proxied->links[i]))
			proxied->links[i].port = ports[k++];
	p->sets[p->nsets].proxied = proxied;
	p->sets[p->nsets].ports = ports;
	p->sets[p->nsets++].n = n;
	return FB_OK;
}

int fb_gpu_proxy_add(struct fb_gpu_proxy *p, struct fb_gpu_proxy_links *proxied, uint32_t slots)
{
	int err;

	halt_all(p);
	err = connect_links(p, proxied, slots);
	go_on(p);
	return err;
}

void fb_gpu_proxy_remove(struct fb_gpu_proxy *p, struct fb_gpu_proxy_links *proxied)
{
	int k = 0;

	halt_all(p);
	while (k < p->nsets && p->sets[k].proxied != proxied)
		k++;
	if (k < p->nsets) {
		p->transport->ops->disconnect(p->transport, p->sets[k].ports, p->sets[k].n);
		conceal(p, proxied);
		free(p->sets[k].ports);
		p->sets[k] = p->sets[--p->nsets];
	}
	go_on(p);
}
