/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma transport from the inside: messages are written into the receiver's memory by the
 * device, without its processor.
 *
 * Each end of a link has a piece of registered memory: cells that only the other end writes, and
 * slots. Both ends exchange the addresses of their slots when the link is made; from then on
 * nothing is negotiated.
 *
 * simple  The sender fills a slot of its own, WRITEs it into the same slot of the receiver, and
 *         WRITEs the number of messages so far into the receiver's `available` behind it. Both
 *         go through one queue pair, one rail, in this order; the receiver's device carries out
 *         requests in the order they were sent, the bus keeps the order of posted writes, so the
 *         processor that sees the number has the data (after fb_rdma_from_device()). The standard
 *         promises this only for what a completion covers, and devices that place packets out
 *         of order, or relaxed ordering, take it away: for these there is --rdma-notify imm,
 *         where the last WRITE carries immediate data and the receiver counts completions.
 * ll      4 bytes of data and a 4-byte flag in each 8-byte word, polled by the receiver; one
 *         WRITE in all. A word never crosses a packet (packets are cut at multiples of 256
 *         bytes, slots are aligned), and devices write aligned 8 bytes in one transaction of the
 *         bus. Soft-RoCE copies with the processor, forwards or in words of 8 bytes, so a word
 *         that is seen in parts has an incomplete flag, not incomplete data.
 * direct  WRITE into, or READ out of, the peer's registered buffer; `available` follows the data,
 *         `credits` and `freed` answer, as over shared memory (shm.h). See direct.h.
 *
 * A slot is written again after the receiver's `freed` says so and the sender's own device reported
 * the earlier WRITE complete: without the second, a packet sent again after a lost acknowledgement
 * could carry newer bytes. The receiver's reads of a slot are complete before it posts `freed`:
 * posting orders earlier accesses of the processor before those of the device.
 *
 * Only completions wake a rank that sleeps (--rdma-wait event). So messages are then announced by
 * immediate data, and the WRITE of a cell has immediate data too (FB_RDMA_WAKE), which counts no
 * message. Messages of ll complete nothing at the receiver, so they cannot wake it.
 *
 * With several rails a message of --rdma-stripe bytes or more is cut into a part for each; each
 * has its own `available`, and both ends know by the message's length which rails carry it.
 *
 * One rank's ports share queue pairs, so all of them and progress() belong to one thread.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_H
#define FB_COMMON_TRANSPORT_RDMA_H

#include <stdatomic.h>

#include "common/option/rdma_options.h"
#include "common/transport/transport.h"

/*
 * Collective. Opens the transport with these options; `settings` must outlive it. FB_EUNSUPPORTED
 * with the same reason on all ranks in why[n], not printed, where some rank has no device;
 * FB_EINPUT where an option asks for what does not exist, other errors as usual; printed.
 */
int fb_rdma_open(struct fb_transport **transport, const struct fb_group *world,
		 const struct fb_rdma_settings *settings, char *why, size_t n);

/* What fb_rdma_count gives. */
struct fb_rdma_counts {
	uint64_t registered_bytes, hits, misses;
	double register_us, deregister_us;
	int queues, rails;
};

/* The cost of registration and connections so far on this rank. */
void fb_rdma_count(const struct fb_transport *transport, struct fb_rdma_counts *counts);

#endif
