/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover tcp: sockets between ranks, on one host or several (common/transport/tcp.h), with the
 * messages of wire.h. Each end copies payload once, out of or into a message's slot; the kernel
 * copies as well.
 */
#include "common/transport/tcp.h"

#include "common/mover/wire.h"

/* A slot: a record and 128 KiB. Loopback's packets are just under 64 KiB. */
enum { SLOT = (128 << 10) + sizeof(struct fb_wire_record) };

static int tcp_open_mover(struct fb_mover **mover, const struct fb_session *session,
			  const struct fb_group *group, char why[FB_REASON_CHARS])
{
	const struct fb_settings *s = session->settings;
	struct fb_transport *transport = NULL;
	int err = fb_tcp_open(&transport, group, &s->tcp);

	(void)why;
	if (!err)
		err = fb_wire_open(mover, &fb_mover_tcp, session, group, transport,
				   (uint32_t)s->slots, s->slot_bytes ? s->slot_bytes : SLOT);
	if (!err)
		((struct fb_wire *)*mover)->idle = fb_tcp_idle;
	return err;
}

const struct fb_mover_ops fb_mover_tcp = {
	.name = "tcp",
	.summary = "sockets between processors",
	.transport = "tcp",
	.open = tcp_open_mover,
	FB_WIRE_OPS,
};
