/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's functions (UCP, its upper layer), found at run time in the library that the user names.
 *
 * Nothing of UCX is needed to build or to start: the interface is declared here by hand, as far as
 * it is used. It is the one of 1.10, which later versions keep: structures only grow at their ends,
 * and a mask says which members are set, so that the first members are enough.
 * tests/unit/test_ucx_api.c compares numbers and layout with UCX's headers where these are
 * installed.
 */
#ifndef FB_COMMON_LIBRARY_UCX_H
#define FB_COMMON_LIBRARY_UCX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sys/socket.h>

#include "common/session.h"

/* The interface that is declared here, which the library must know. */
enum { FB_UCX_MAJOR = 1, FB_UCX_MINOR = 10 };

/* ucs_status_t: a packed enumeration, so one byte, also as a function's value. */
typedef int8_t fb_ucx_status;

enum { FB_UCX_OK = 0, FB_UCX_IN_PROGRESS = 1, FB_UCX_LAST_ERROR = -100 };

/*
 * Functions that begin something return NULL if it is done already, an error (see below), or a
 * request that the caller polls and frees.
 */
typedef void *fb_ucx_pending;

/* The error in what such a function returned, below 0; or 0. */
static inline fb_ucx_status fb_ucx_pending_error(fb_ucx_pending pending)
{
	bool is = (uintptr_t)pending >= (uintptr_t)(intptr_t)FB_UCX_LAST_ERROR;

	return is ? (fb_ucx_status)(intptr_t)pending : (fb_ucx_status)FB_UCX_OK;
}

/* Bits of the masks: which members are set. */
enum {
	FB_UCX_PARAMS_FEATURES = 1 << 0,
	FB_UCX_PARAMS_ENDPOINTS = 1 << 6,
	FB_UCX_WORKER_THREADS = 1 << 0,
	FB_UCX_EP_ADDRESS = 1 << 0,
	FB_UCX_EP_ERROR_MODE = 1 << 1,
	FB_UCX_EP_ERROR_HANDLER = 1 << 2,
	FB_UCX_MAP_ADDRESS = 1 << 0,
	FB_UCX_MAP_LENGTH = 1 << 1,
	FB_UCX_HANDLER_ID = 1 << 0,
	FB_UCX_HANDLER_FLAGS = 1 << 1,
	FB_UCX_HANDLER_CALLBACK = 1 << 2,
	FB_UCX_HANDLER_ARG = 1 << 3,
	FB_UCX_CONTEXT_MEMORIES = 1 << 2,
	FB_UCX_EP_TRANSPORTS = 1 << 3, /* 1.15 */
	FB_UCX_OP_CALLBACK = 1 << 1,
	FB_UCX_OP_USER = 1 << 2,
};

enum {
	FB_UCX_FEATURE_TAG = 1 << 0,
	FB_UCX_FEATURE_RMA = 1 << 1,
	FB_UCX_FEATURE_AM = 1 << 6,
	FB_UCX_THREADS_SINGLE = 0,
	FB_UCX_ERRORS_TOLD = 1, /* UCP_ERR_HANDLING_MODE_PEER */
	FB_UCX_MEMORY_CUDA = 1,	      /* ucs_memory_type_t; a bit of memory_types */
	FB_UCX_AM_WHOLE = 1 << 0,	/* in fb_ucx_am_handler.flags */
	FB_UCX_AM_RENDEZVOUS = 1 << 17, /* in fb_ucx_am_info.attributes */
};

struct fb_ucx_params { /* ucp_params_t */
	uint64_t mask, features;
	size_t request_size;
	void (*request_init)(void *request);
	void (*request_cleanup)(void *request);
	uint64_t tag_sender_mask;
	int shared_workers;
	size_t endpoints; /* as many as there may be */
};

struct fb_ucx_worker_params { /* ucp_worker_params_t */
	uint64_t mask;
	int threads;
};

struct fb_ucx_ep_params { /* ucp_ep_params_t */
	uint64_t mask;
	const void *address;
	int error_mode;
	void (*failed)(void *arg, void *ep, fb_ucx_status status);
	void *arg;
};

struct fb_ucx_map_params { /* ucp_mem_map_params_t */
	uint64_t mask;
	void *address;
	size_t length;
};

struct fb_ucx_context_attr { /* ucp_context_attr_t */
	uint64_t mask;
	size_t request_size;
	int threads;
	uint64_t memory_types;
	char room[256]; /* members of later versions */
};

struct fb_ucx_transport { /* ucp_transport_entry_t */
	const char *transport, *device;
};

struct fb_ucx_ep_attr { /* ucp_ep_attr_t */
	uint64_t mask;
	char name[32];
	struct sockaddr_storage local, remote;
	struct fb_ucx_transport *transports;
	unsigned ntransports;
	size_t transport_bytes; /* of an element of `transports` */
	char room[256];
};

struct fb_ucx_op { /* ucp_request_param_t */
	uint32_t mask, flags;
	void *request;
	union {
		/* of ucp_am_recv_data_nbx */
		void (*received)(void *request, fb_ucx_status status, size_t length, void *user);
		/* of put, get, send and flush; not called if the call is complete on return */
		void (*complete)(void *request, fb_ucx_status status, void *user);
	};
	uint64_t datatype;
	void *user;
	void *reply_buffer;
	int memory_type;
	void *received_info;
	char room[64]; /* members of later versions */
};

struct fb_ucx_am_info { /* ucp_am_recv_param_t */
	uint64_t attributes;
	void *reply_ep;
};

struct fb_ucx_am_handler { /* ucp_am_handler_param_t */
	uint64_t mask;
	unsigned id;
	uint32_t flags;
	fb_ucx_status (*arrived)(void *arg, const void *header, size_t header_bytes, void *data,
				 size_t bytes, const struct fb_ucx_am_info *info);
	void *arg;
};

/* Handles are pointers to opaque objects: contexts, workers, endpoints, memory. */
struct fb_ucx {
	void *handle;	     /* of dlopen; NULL: not open */
	const char *file;    /* where it was loaded from; the linker's memory */
	const char *version; /* "1.13.1", UCX's memory */
	const char *(*get_version_string)(void);
	const char *(*status_string)(fb_ucx_status status); /* of libucs */
	fb_ucx_status (*init_version)(unsigned major, unsigned minor,
				      const struct fb_ucx_params *params, const void *config,
				      void **context);
	void (*cleanup)(void *context);
	fb_ucx_status (*context_query)(void *context, struct fb_ucx_context_attr *attr);
	fb_ucx_status (*worker_create)(void *context, const struct fb_ucx_worker_params *params,
				       void **worker);
	void (*worker_destroy)(void *worker);
	fb_ucx_status (*worker_get_address)(void *worker, void **address, size_t *bytes);
	void (*worker_release_address)(void *worker, void *address);
	unsigned (*worker_progress)(void *worker);
	fb_ucx_status (*worker_fence)(void *worker);
	fb_ucx_status (*worker_set_am_recv_handler)(void *worker,
						    const struct fb_ucx_am_handler *handler);
	fb_ucx_status (*ep_create)(void *worker, const struct fb_ucx_ep_params *params, void **ep);
	fb_ucx_pending (*ep_flush_nbx)(void *ep, const struct fb_ucx_op *op);
	fb_ucx_pending (*ep_close_nbx)(void *ep, const struct fb_ucx_op *op);
	void (*ep_print_info)(void *ep, FILE *stream);
	fb_ucx_status (*ep_query)(void *ep, struct fb_ucx_ep_attr *attr); /* NULL before 1.12 */
	fb_ucx_status (*mem_map)(void *context, const struct fb_ucx_map_params *params,
				 void **memh);
	fb_ucx_status (*mem_unmap)(void *context, void *memh);
	fb_ucx_status (*rkey_pack)(void *context, void *memh, void **packed, size_t *bytes);
	void (*rkey_buffer_release)(void *packed);
	fb_ucx_status (*ep_rkey_unpack)(void *ep, const void *packed, void **rkey);
	void (*rkey_destroy)(void *rkey);
	fb_ucx_pending (*tag_send_nbx)(void *ep, const void *from, size_t bytes, uint64_t tag,
				       const struct fb_ucx_op *op);
	fb_ucx_pending (*tag_recv_nbx)(void *worker, void *to, size_t bytes, uint64_t tag,
				       uint64_t tag_mask, const struct fb_ucx_op *op);
	fb_ucx_pending (*am_send_nbx)(void *ep, unsigned id, const void *header,
				      size_t header_bytes, const void *from, size_t bytes,
				      const struct fb_ucx_op *op);
	fb_ucx_pending (*am_recv_data_nbx)(void *worker, void *data, void *to, size_t bytes,
					   const struct fb_ucx_op *op);
	fb_ucx_pending (*put_nbx)(void *ep, const void *from, size_t bytes, uint64_t to,
				  void *rkey, const struct fb_ucx_op *op);
	fb_ucx_pending (*get_nbx)(void *ep, void *to, size_t bytes, uint64_t from, void *rkey,
				  const struct fb_ucx_op *op);
	fb_ucx_status (*request_check_status)(void *request);
	void (*request_free)(void *request);
};

/*
 * Loads `file`: a path, or a name that is looked for where the linker looks, then in
 * $HPCX_UCX_DIR/lib. 0, or FB_EUNSUPPORTED with the reason (not printed), *ucx then zeroed. The
 * library stays loaded until the process ends: MPI may use it as well.
 */
int fb_ucx_open(struct fb_ucx *ucx, const char *file, char *reason, size_t n);

/*
 * Collective: opens UCX on all ranks of the group, and in the same version, as UCX does not promise
 * that two versions can communicate. 0, or FB_EUNSUPPORTED with the reason on all ranks.
 */
int fb_ucx_load(struct fb_ucx *ucx, const struct fb_session *session, const struct fb_group *group,
		const char *file, char why[FB_REASON_CHARS]);

/*
 * Collective: gathers all ranks' bytes, which differ in number, in *all; rank r's begin at
 * (*at)[r], and (*at)[nranks] is the end. The caller frees both. 0 or FB_ENOMEM (printed) on all.
 */
int fb_ucx_gather(const struct fb_group *group, const void *own, size_t bytes, char **all,
		  int **at);

/* Prints the call (without "ucp_"), its peer if that is not negative, and the meaning. FB_ESYS. */
int fb_ucx_error(const struct fb_ucx *ucx, fb_ucx_status status, const char *call, int peer);

/*
 * Local. 1: the operation of `call` (its name, for messages) is complete, *pending freed and NULL;
 * 0: not yet; else its error (printed).
 */
int fb_ucx_complete(const struct fb_ucx *ucx, fb_ucx_pending *pending, const char *call, int peer);

/* "UCX 1.13.1 posix/memory+cma/memory": version, and the endpoint's transports and devices. */
void fb_ucx_path(const struct fb_ucx *ucx, void *ep, char *path, size_t n);

/*
 * Adds the transports in the text of ucp_ep_print_info() to the path, each once. For versions
 * before 1.15, whose ucp_ep_query() does not have them.
 */
void fb_ucx_path_from_text(const char *text, char *path, size_t n);

/*
 * The same from the tables that UCX logs with UCX_PROTO_INFO=y: the transports of the operation
 * with this name, "remote memory write" or "remote memory read".
 */
void fb_ucx_path_from_tables(const char *text, const char *operation, char *path, size_t n);

#endif
