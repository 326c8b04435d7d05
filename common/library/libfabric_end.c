/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint of libfabric and what it needs; see libfabric.h. */
#include "common/library/libfabric.h"

#if FB_HAVE_LIBFABRIC

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"

enum { ENTRIES = 16 }; /* completions that are read at once */
enum { LOOKS = 1 << 16 }; /* most reads for cancelled receives, so that closing has a bound */

/* Members that later versions append are 0. */
union attr {
	struct fi_mr_attr mr;
	char room[256];
};
union error {
	struct fi_cq_err_entry entry;
	char room[256];
};

int fb_ofi_error(const struct fb_ofi_end *end, ssize_t status, const char *call, int peer)
{
	char with[32] = "";

	if (peer >= 0)
		snprintf(with, sizeof(with), " with rank %d", peer);
	return fb_error(FB_ESYS, "%s%s by libfabric's %.60s: %s", call, with,
			end->info->fabric_attr->prov_name, end->ofi.strerror((int)-status));
}

int fb_ofi_register(struct fb_ofi_end *end, void *memory, size_t bytes, uint64_t access, int gpu,
		    struct fid_mr **mr)
{
	const struct iovec whole = {memory, bytes};
	union attr attr = {.room = {0}};
	int status;

	attr.mr.mr_iov = &whole;
	attr.mr.iov_count = 1;
	attr.mr.access = access;
	attr.mr.requested_key = end->keys++;
	if (gpu >= 0) {
		attr.mr.iface = FI_HMEM_CUDA;
		attr.mr.device.cuda = gpu;
	}
	status = fi_mr_regattr(end->domain, &attr.mr, 0, mr);
	if (!status && end->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		status = fi_mr_bind(*mr, &end->ep->fid, 0);
		if (!status)
			status = fi_mr_enable(*mr);
	}
	return status;
}

static int smaller(size_t a, int b)
{
	return a < (size_t)b ? (int)a : b;
}

/* The first of end->op. */
static int receives_of(const struct fb_ofi_end *end)
{
	return smaller(end->info->rx_attr->size, FB_OFI_RECEIVES);
}

/* Allocates operations and receives with their contexts and message words. */
static int open_ops(struct fb_ofi_end *end)
{
	for (int i = 0; i < end->nops; i++) {
		struct fb_ofi_op **list = i < receives_of(end) ? &end->receives : &end->free;

		end->op[i].next = *list;
		*list = &end->op[i];
	}
	if (!(end->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	return fb_ofi_register(end, end->op, (size_t)end->nops * sizeof(*end->op),
			       FI_SEND | FI_RECV, -1, &end->mr);
}

/* `own`: this rank's address. */
static int open_objects(struct fb_ofi_end *end, int nranks, char own[FB_OFI_NAME],
			char why[FB_REASON_CHARS])
{
	struct fi_av_attr av = {.type = end->info->domain_attr->av_type};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
	const char *call = "fi_fabric";
	size_t bytes = FB_OFI_NAME;
	int status = end->ofi.fabric(end->info->fabric_attr, &end->fabric, NULL);

	/* Peers' writes with a message complete here as well. */
	cq.size = FB_OFI_OPS + FB_OFI_RECEIVES + 4 * (size_t)nranks;
	if (!status && (call = "fi_domain"))
		status = fi_domain(end->fabric, end->info, &end->domain, NULL);
	if (!status && (call = "fi_av_open"))
		status = fi_av_open(end->domain, &av, &end->av, NULL);
	if (!status && (call = "fi_cq_open"))
		status = fi_cq_open(end->domain, &cq, &end->cq, NULL);
	if (!status && (call = "fi_endpoint"))
		status = fi_endpoint(end->domain, end->info, &end->ep, NULL);
	if (!status && (call = "fi_ep_bind"))
		status = fi_ep_bind(end->ep, &end->av->fid, 0);
	if (!status)
		status = fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!status && (call = "fi_enable"))
		status = fi_enable(end->ep);
	if (!status && (call = "fi_mr_regattr"))
		status = open_ops(end);
	if (!status && (call = "fi_getname"))
		status = fi_getname(&end->ep->fid, own, &bytes);
	if (!status)
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "%s by libfabric's %.60s: %s", call,
		 end->info->fabric_attr->prov_name, end->ofi.strerror(-status));
	return FB_EUNSUPPORTED;
}

int fb_ofi_open(struct fb_ofi_end *end, const struct fb_group *g, char why[FB_REASON_CHARS])
{
	char own[FB_OFI_NAME] = "", (*names)[FB_OFI_NAME];
	int err = FB_OK;

	end->nops = receives_of(end) + smaller(end->info->tx_attr->size, FB_OFI_OPS);
	end->op = calloc((size_t)end->nops, sizeof(*end->op));
	end->address = malloc((size_t)g->nranks * sizeof(*end->address));
	names = calloc((size_t)g->nranks, sizeof(*names));
	if (!end->op || !end->address || !names)
		err = fb_error(FB_ENOMEM, "libfabric: out of memory for %d ranks", g->nranks);
	err = fb_group_agree(g, err);
	if (!err)
		err = fb_group_agree_why(g, open_objects(end, g->nranks, own, why), why,
					 FB_REASON_CHARS);
	if (err) {
		free(names);
		return err;
	}
	for (int r = 0; r < g->nranks; r++)
		end->address[r] = FI_ADDR_NOTAVAIL;
	MPI_Allgather(own, sizeof(own), MPI_BYTE, names, sizeof(own), MPI_BYTE, g->comm);
	end->names = names;
	return FB_OK;
}

int fb_ofi_connect(struct fb_ofi_end *end, int peer)
{
	int inserted = 1;

	if (end->address[peer] == FI_ADDR_NOTAVAIL)
		inserted = fi_av_insert(end->av, end->names[peer], 1, &end->address[peer], 0,
					NULL);
	return inserted == 1 ? FB_OK : fb_ofi_error(end, inserted < 0 ? inserted : -FI_EINVAL,
						    "fi_av_insert", peer);
}

/* The operation that failed; NULL for another rank's write, whose context is not of this rank. */
static struct fb_ofi_op *op_of(const struct fb_ofi_end *end, const struct fi_cq_err_entry *error)
{
	struct fb_ofi_op *op = error->op_context;

	return op >= end->op && op < end->op + end->nops ? op : NULL;
}

/* Cancels all posted receives. Returns whether the provider has completed all of them. */
static bool cancel_receives(struct fb_ofi_end *end)
{
	int posted = receives_of(end);

	for (const struct fb_ofi_op *op = end->receives; op; op = op->next)
		posted--;
	for (int i = 0; i < receives_of(end) && posted; i++)
		(void)fi_cancel(&end->ep->fid, &end->op[i].context);
	for (int looks = 0; looks < LOOKS && posted; looks++) {
		struct fi_cq_data_entry entry = {.flags = 0};
		union error error = {.room = {0}};
		const struct fb_ofi_op *op = NULL;
		ssize_t n = fi_cq_read(end->cq, &entry, 1);

		if (n > 0 && !(entry.flags & FI_REMOTE_CQ_DATA))
			op = entry.op_context;
		else if (n == -FI_EAVAIL && fi_cq_readerr(end->cq, &error.entry, 0) > 0)
			op = op_of(end, &error.entry);
		posted -= op && !op->user;
	}
	return !posted;
}

/*
 * The endpoint is closed first, with the receives that are still posted, because they refer to the
 * registration. But memory that is bound to the endpoint (FI_MR_ENDPOINT) has to be closed before
 * the endpoint, so that the receives are cancelled first. If something is still in use, the memory
 * that it may write to is not freed.
 */
void fb_ofi_close(struct fb_ofi_end *end)
{
	if (end->ep && end->mr && end->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		if (!cancel_receives(end) || fi_close(&end->mr->fid))
			return;
		end->mr = NULL;
	}
	if (end->ep && fi_close(&end->ep->fid))
		return;
	FB_OFI_CLOSE(end->mr);
	FB_OFI_CLOSE(end->cq);
	FB_OFI_CLOSE(end->av);
	FB_OFI_CLOSE(end->domain);
	FB_OFI_CLOSE(end->fabric);
	if (end->info)
		end->ofi.freeinfo(end->info);
	free(end->op);
	free(end->names);
	free(end->address);
}

/* --- completions ------------------------------------------------------------------------------ */

static void give_back(struct fb_ofi_op **list, struct fb_ofi_op *op)
{
	op->next = *list;
	*list = op;
}

static int complete(struct fb_ofi_end *end, const struct fi_cq_data_entry *entry)
{
	struct fb_ofi_op *op = entry->op_context;

	/* A peer's write with a message: its context is not an operation of this rank. */
	if (entry->flags & FI_REMOTE_CQ_DATA)
		return end->complete(end->arg, NULL, entry->data);
	if (!op->user) {
		give_back(&end->receives, op);
		return end->complete(end->arg, NULL, op->word);
	}
	give_back(&end->free, op);
	return end->complete(end->arg, op, 0);
}

/* Prints the failed operation with libfabric's and the provider's texts. */
static int read_error(struct fb_ofi_end *end)
{
	union error error = {.room = {0}};
	ssize_t n = fi_cq_readerr(end->cq, &error.entry, 0);
	struct fb_ofi_op *op = op_of(end, &error.entry);
	char text[128] = "", what[64] = "a transfer of another rank";
	const char *said;

	if (n == -FI_EAGAIN)
		return FB_OK;
	if (n < 0)
		return fb_ofi_error(end, n, "fi_cq_readerr", -1);
	said = fi_cq_strerror(end->cq, error.entry.prov_errno, error.entry.err_data, text,
			      sizeof(text));
	if (op && !op->user)
		give_back(&end->receives, op);
	else if (op)
		snprintf(what, sizeof(what), "a transfer with rank %d", op->peer);
	return fb_error(FB_ESYS, "%s by libfabric's %.60s: %s (%s)", what,
			end->info->fabric_attr->prov_name, end->ofi.strerror(error.entry.err),
			said ? said : text);
}

static int post_receives(struct fb_ofi_end *end)
{
	struct fb_ofi_op *op;

	while ((op = end->receives)) {
		ssize_t status = fi_recv(end->ep, &op->word, sizeof(op->word),
					 end->mr ? fi_mr_desc(end->mr) : NULL, FI_ADDR_UNSPEC,
					 &op->context);

		if (status == -FI_EAGAIN)
			break;
		if (status)
			return fb_ofi_error(end, status, "fi_recv", -1);
		end->receives = op->next;
	}
	return FB_OK;
}

int fb_ofi_read(struct fb_ofi_end *end)
{
	struct fi_cq_data_entry entry[ENTRIES];
	ssize_t n = fi_cq_read(end->cq, entry, ENTRIES);
	int err = FB_OK;

	for (ssize_t i = 0; i < n && !err; i++)
		err = complete(end, &entry[i]);
	if (n == -FI_EAVAIL)
		return read_error(end);
	if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR)
		return fb_ofi_error(end, n, "fi_cq_read", -1);
	return err ? err : post_receives(end);
}

ssize_t fb_ofi_send(struct fb_ofi_end *end, struct fb_ofi_op *op, fi_addr_t to, uint32_t word)
{
	const struct iovec iov = {&op->word, sizeof(op->word)};
	void *desc = end->mr ? fi_mr_desc(end->mr) : NULL;
	const struct fi_msg msg = {.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = to,
				   .context = &op->context};

	op->word = word;
	return fi_sendmsg(end->ep, &msg, FI_COMPLETION | FI_TRANSMIT_COMPLETE);
}

#endif
