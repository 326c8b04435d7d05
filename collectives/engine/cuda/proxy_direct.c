/* SPDX-License-Identifier: BSD-3-Clause */
/* GPUDirect links: the network's device reads and writes their slots; see proxy_links.h. */
#include "collectives/engine/cuda/proxy_direct.h"

/* One message. False: not all of it has found room. */
static bool push(struct fb_gpu_proxy_link *m)
{
	const struct fb_direct_ops *d = m->port->ops->direct;
	size_t bytes = m->bytes[m->done % m->messages];
	size_t at = (m->done & (m->nslots - 1)) * m->stride;

	if (m->pushed < bytes)
		m->pushed += d->push(m->port, m->slots + at + m->pushed, m->place + at + m->pushed,
				     bytes - m->pushed);
	if (m->pushed < bytes || !d->announce(m->port, true))
		return false;
	d->ticket(m->port, &m->tickets[m->done & (m->nslots - 1)]);
	m->pushed = 0;
	m->done++;
	return true;
}

bool fb_gpu_direct_out(struct fb_gpu_proxy_link *m)
{
	const struct fb_direct_ops *d = m->port->ops->direct;
	uint64_t available = __atomic_load_n(m->available, __ATOMIC_ACQUIRE);
	uint64_t done = m->done, released = m->released;

	while (m->done < available && (!m->freed || d->may_push(m->port)) && push(m))
		;
	if (!m->freed)
		return m->done != done;
	/* At most nslots are behind, since the block waits for `freed`. */
	while (m->released < m->done &&
	       d->reached(m->port, &m->tickets[m->released & (m->nslots - 1)]))
		m->released++;
	if (m->released != released)
		__atomic_store_n(m->freed, m->released, __ATOMIC_RELEASE);
	return m->done != done || m->released != released;
}

int fb_gpu_direct_in(struct fb_gpu_proxy_links *proxied, struct fb_gpu_proxy_link *m)
{
	const struct fb_direct_ops *d = m->port->ops->direct;
	uint64_t done = m->done, credited = m->credited;
	int err;

	if (m->freed)
		for (uint64_t may = __atomic_load_n(m->freed, __ATOMIC_ACQUIRE) + m->nslots;
		     m->credited < may; m->credited++)
			d->credit(m->port);
	for (; d->announced(m->port); m->done++)
		d->done(m->port, false);
	if (m->done == done)
		return m->credited != credited;
	err = proxied->flush ? proxied->flush(proxied->arg) : 0;
	if (err)
		return err;
	__atomic_store_n(m->available, m->done, __ATOMIC_RELEASE);
	return 1;
}
