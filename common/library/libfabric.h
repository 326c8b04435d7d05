/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric (OFI, OpenFabrics Interfaces), found at run time. Its interface is mostly inline
 * functions that call through tables in the objects, so a build needs its headers, and only the
 * functions below are looked up. All versions from 1.14 on support the interface of 1.14:
 * structures only grow at their ends. Of the structures that are passed to the library, fi_mr_attr
 * and fi_cq_err_entry have room behind them; the others did not grow up to version 1.20.
 */
#ifndef FB_COMMON_LIBRARY_LIBFABRIC_H
#define FB_COMMON_LIBRARY_LIBFABRIC_H

/* -DFB_WITHOUT_LIBFABRIC builds as on a machine without the headers. */
#if defined(__has_include) && !defined(FB_WITHOUT_LIBFABRIC)
#if __has_include(<rdma/fi_rma.h>)
#include <rdma/fabric.h>
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 14
#define FB_HAVE_LIBFABRIC 1
#endif
#endif
#endif
#ifndef FB_HAVE_LIBFABRIC
#define FB_HAVE_LIBFABRIC 0
#endif

#if FB_HAVE_LIBFABRIC

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "common/session.h"

struct fb_ofi {
	uint32_t (*version)(void);
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int error);
};

enum {
	FB_OFI_OPS = 512,     /* operations under way, at most */
	FB_OFI_RECEIVES = 64, /* posted, at most */
	FB_OFI_NAME = 512,    /* bytes of an endpoint's address */
};

/* An operation under way. The provider's context comes first: completions point to it. */
struct fb_ofi_op {
	struct fi_context2 context;
	uint32_t word;          /* a message, as it is sent or received */
	int peer;
	void *user;             /* the part of a move that posted it; NULL: a receive */
	struct fb_ofi_op *next; /* in one of the two lists */
};

/* An endpoint with one queue of completions for both directions. */
struct fb_ofi_end {
	struct fb_ofi ofi;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr; /* of `op`; NULL: the provider needs none */
	uint64_t keys;     /* number of keys that this rank has requested */
	int nops;
	struct fb_ofi_op *op, *free, *receives; /* [nops]; receives: to be posted */
	/* The addresses of all ranks, by fi_getname(); NULL: not exchanged. */
	char (*names)[FB_OFI_NAME];
	fi_addr_t *address; /* [nranks]; FI_ADDR_NOTAVAIL: not connected */
	/*
	 * Called when an operation of this rank is complete and free again; or with op NULL, when a
	 * peer's message `word` has come, alone or with a write. 0 or an error (printed).
	 */
	int (*complete)(void *arg, const struct fb_ofi_op *op, uint64_t word);
	void *arg;
};

/*
 * Collective: loads libfabric, and has it choose an endpoint (FI_EP_RDM) with messages, RMA and
 * completion on delivery for this group: of the first provider that FI_PROVIDER allows, on this
 * rank's share of its network cards. `gpu`: for GPU memory. Fills in end->ofi and end->info. 0, or
 * FB_EUNSUPPORTED with the reason on all ranks, also where versions or providers of ranks differ.
 * The library stays loaded until the process ends, because MPI may use it as well.
 */
int fb_ofi_load(struct fb_ofi_end *end, const struct fb_session *session,
		const struct fb_group *group, bool gpu, char why[FB_REASON_CHARS]);

/*
 * Collective: opens and enables the endpoint and exchanges addresses. 0; FB_EUNSUPPORTED with the
 * call that failed, because the card or its driver may not work; or FB_ENOMEM (printed). The same
 * on all ranks. Closing is local, and safe after any error and on zeroes.
 */
int fb_ofi_open(struct fb_ofi_end *end, const struct fb_group *group, char why[FB_REASON_CHARS]);
void fb_ofi_close(struct fb_ofi_end *end);

/* Local: adds the peer's address, so that operations can name it. 0 or FB_ESYS (printed). */
int fb_ofi_connect(struct fb_ofi_end *end, int peer);

/* Local: reads completions, and posts receives again. 0 or an error (printed). */
int fb_ofi_read(struct fb_ofi_end *end);

/*
 * Local: sends a message by `op`, which is end->free; after 0 the caller removes it from that list.
 * The send completes without calls by the receiver. 0 or libfabric's error.
 */
ssize_t fb_ofi_send(struct fb_ofi_end *end, struct fb_ofi_op *op, fi_addr_t to, uint32_t word);

/*
 * Local: registers memory: of the processor (gpu -1), or of the GPU with this number. 0 or
 * libfabric's error, below 0.
 */
int fb_ofi_register(struct fb_ofi_end *end, void *memory, size_t bytes, uint64_t access, int gpu,
		    struct fid_mr **mr);

/* Prints the call, its peer if that is not negative, and libfabric's meaning. FB_ESYS. */
int fb_ofi_error(const struct fb_ofi_end *end, ssize_t status, const char *call, int peer);

/* "libfabric 1.17 tcp;ofi_rxm/eth0": version, provider and domain. */
void fb_ofi_path(const struct fb_ofi_end *end, char *path, size_t n);

/* Closes a domain, a registration, ...; NULL is fine. */
#define FB_OFI_CLOSE(object) ((void)((object) ? fi_close(&(object)->fid) : 0))

#endif

#endif
