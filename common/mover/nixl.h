/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions used of NIXL's C interface, libnixl_capi.so, found at run time. Its header, which
 * wheels do not have, is not needed. Handles are opaque pointers; results are 0, 1 (in progress) or
 * an error below 0. Lists are made with a third argument, which versions from 1.0 on ignore.
 */
#ifndef FB_COMMON_MOVER_NIXL_H
#define FB_COMMON_MOVER_NIXL_H

#include <stdio.h>

#include "common/base/error.h"
#include "common/cuda/gpu.h"
#include "common/mover/mover.h"

enum { FB_NIXL_DRAM, FB_NIXL_VRAM, FB_NIXL_FILE = 4 };
enum { FB_NIXL_READ, FB_NIXL_WRITE };
enum { FB_NIXL_DONE, FB_NIXL_BUSY };

/* The settings of an agent. The library fixes their order and types. */
struct fb_nixl_config {
	bool progress_thread, listen_thread;
	int listen_port, sync; /* sync 0: one thread calls */
	unsigned workers;
	uint64_t progress_delay_us, listen_delay_us;
	bool telemetry;
};

/* The library's measurements of a completed request, in its order and types. */
struct fb_nixl_telemetry {
	uint64_t start_us, post_us, transfer_us, bytes, descriptors;
};

struct fb_nixl {
	void *library;
	int (*create_configured_agent)(const char *name, const struct fb_nixl_config *config,
				       void **agent);
	int (*params_add)(void *params, const char *key, const char *value); /* NULL: old version */
	int (*destroy_agent)(void *agent);
	int (*get_plugin_params)(void *agent, const char *plugin, void **memories, void **params);
	int (*create_backend)(void *agent, const char *plugin, void *params, void **backend);
	int (*create_opt_args)(void **args);
	int (*destroy_opt_args)(void *args);
	int (*opt_args_add_backend)(void *args, void *backend);
	int (*opt_args_set_notif_msg)(void *args, const void *data, size_t n);
	int (*opt_args_set_has_notif)(void *args, bool has);
	int (*create_reg_dlist)(int memory, void **list, bool sorted);
	int (*destroy_reg_dlist)(void *list);
	int (*reg_dlist_add_desc)(void *list, uintptr_t at, size_t n, uint64_t device,
				  const void *data, size_t data_bytes);
	int (*register_mem)(void *agent, void *list, void *args);
	int (*deregister_mem)(void *agent, void *list, void *args);
	int (*get_local_md)(void *agent, void **data, size_t *n);
	int (*load_remote_md)(void *agent, const void *data, size_t n, char **name);
	int (*agent_make_connection)(void *agent, const char *peer, void *args);
	int (*create_xfer_dlist)(int memory, void **list, bool sorted);
	int (*destroy_xfer_dlist)(void *list);
	int (*xfer_dlist_add_desc)(void *list, uintptr_t at, size_t n, uint64_t device);
	int (*create_xfer_req)(void *agent, int operation, void *local, void *remote,
			       const char *peer, void **request, void *args);
	int (*post_xfer_req)(void *agent, void *request, void *args);
	int (*get_xfer_status)(void *agent, void *request);
	int (*release_xfer_req)(void *agent, void *request);
	int (*destroy_xfer_req)(void *request);
	int (*gen_notif)(void *agent, const char *peer, const void *data, size_t n, void *args);
	int (*create_notif_map)(void **map);
	int (*destroy_notif_map)(void *map);
	int (*get_notifs)(void *agent, void *map, void *args);
	int (*notif_map_size)(void *map, size_t *n);
	int (*notif_map_get_agent_at)(void *map, size_t i, const char **name);
	int (*notif_map_get_notifs_size)(void *map, const char *name, size_t *n);
	int (*notif_map_get_notif)(void *map, const char *name, size_t i, const void **data,
				   size_t *n);
	int (*notif_map_clear)(void *map);
	int (*is_stub)(void); /* NULL: an old version */
	int (*get_xfer_telemetry)(void *agent, void *request,
				  struct fb_nixl_telemetry *telemetry); /* the same */
};

/* --- between nixl.c (opening, regions), nixl_move.c and nixl_file.c --------------------------- */

enum { FB_NIXL_NAME_CHARS = 24, FB_NIXL_FILES = 1 << 16 /* descriptors that are searched */ };

/* The contents of a notification. */
struct fb_nixl_message {
	uint32_t from, notice;
	uint64_t number; /* of all with this notice to that peer, from 1 */
};

/* Notices of one rank and number. */
struct fb_nixl_counter {
	uint64_t count;	 /* all up to this one have come */
	uint64_t *early; /* [n]: numbers that came while an earlier one was missing */
	size_t n, room;
};

struct fb_nixl_mover {
	struct fb_mover mover;
	struct fb_nixl api;
	void *agent, *backend, *args, *map;
	struct fb_nixl_counter (*counter)[FB_NOTICES + 1]; /* [nranks] */
	struct fb_nixl_move *first; /* posted and not done */
	int failed; /* why nothing moves any more (printed), or 0: requests may still run */
	double payload, tcp_before;
	const char *plugin; /* "UCX" */
	bool files;	    /* the other side of transfers is a file of this rank */
	/* With telemetry, of `measured` requests that are done, in us. */
	double post_us, transfer_us;
	uint64_t measured;
	bool telemetry;
	int memory;	  /* FB_NIXL_DRAM, or FB_NIXL_VRAM for GPU memory */
	uint64_t *device; /* [nranks]: the GPUs' numbers; 0 in host memory */
	struct fb_gpu gpu;
	/*
	 * nixl_ucx.c: UCX's version; the memory file for UCX's log, and the descriptor by which UCX
	 * writes to it (0: none); how many bytes of the log have been copied to stderr.
	 */
	char ucx[32];
	int log, ucx_log;
	size_t passed;
	void *ucx_plugin; /* NIXL's, which has loaded UCX; NULL: none */
	const char *(*ucx_version)(void);
	void (*ucx_flush)(void); /* of UCX's log */
};

struct fb_nixl_region {
	struct fb_region region;
	void *list;
	uint64_t *base; /* [nranks] */
	void *file_list; /* of mover nixl_file: the file, as the plugin knows it */
	int fd;          /* -1: none */
};

struct fb_nixl_part {
	void *request; /* NULL: a notice alone, or a transfer with the rank itself */
	void *args;
	bool busy;
	uint64_t number; /* of a file's request: the notice to give when it is done; 0: none */
};

struct fb_nixl_move {
	struct fb_move move;
	struct fb_nixl_move *next;
	bool listed;
	struct fb_nixl_part part[]; /* [transfers] */
};

static inline int fb_nixl_failed(const char *call, int status)
{
	return fb_error(FB_ESYS, "nixl: %s: error %d", call, status);
}

static inline void fb_nixl_name(int rank, char name[FB_NIXL_NAME_CHARS])
{
	snprintf(name, FB_NIXL_NAME_CHARS, "rank%d", rank);
}

/* Local: loads a rank's metadata, and checks that it is of that rank's agent. */
int fb_nixl_load_metadata(struct fb_nixl_mover *m, int rank, const char *data, size_t n);

/* As ops->open, with the plugin of that name or the one that environment variable names. */
int fb_nixl_open(struct fb_mover **mover, const struct fb_mover_ops *ops, const char *plugin,
		 const char *variable, const struct fb_session *session,
		 const struct fb_group *group, char why[FB_REASON_CHARS]);
/*
 * Collective: a barrier that progresses requests. 0; or an error, after which the job ends:
 * requests may still run, and their memory must not be freed.
 */
int fb_nixl_settled(struct fb_nixl_mover *m);
/* Local: registers the list; after an error destroys it and sets it to NULL. NIXL's status. */
int fb_nixl_register_list(struct fb_nixl_mover *m, void **list);
/* Local: registers the rank's part of the segment. 0 or FB_ESYS (printed). */
int fb_nixl_register(struct fb_nixl_mover *m, const struct fb_segment *segment, void **list);
/* NIXL's own figures of the requests since the last call: ": ...", or nothing. */
void fb_nixl_telemetry_text(struct fb_nixl_mover *m, char *text, size_t chars);

/*
 * --- nixl_ucx.c ----------------------------------------------------------------------------------
 *
 * Local. To be called before the plugin is loaded (begin), after that (loaded), after the backend
 * has been made (begun), and before the mover is freed (end), also without the others.
 */
void fb_nixl_ucx_begin(struct fb_nixl_mover *m);
void fb_nixl_ucx_loaded(struct fb_nixl_mover *m);
void fb_nixl_ucx_begun(struct fb_nixl_mover *m);
void fb_nixl_ucx_end(struct fb_nixl_mover *m);
/*
 * Writes to stderr what UCX has logged since the last call, except for its tables. Returns all that
 * it has logged, for the caller to free, or NULL.
 */
char *fb_nixl_ucx_pass_on(struct fb_nixl_mover *m);
/* ", UCX 1.22.0 cma/memory": its version, and the transports that the verb has used; or "". */
void fb_nixl_ucx_path(struct fb_nixl_mover *m, const struct fb_move *move, char *path, size_t n);

/* fb_mover_ops */
void fb_nixl_close(struct fb_mover *mover);
int fb_nixl_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move);
void fb_nixl_release(struct fb_move *move);
int fb_nixl_post(struct fb_move *move);
int fb_nixl_test(struct fb_move *move, bool *done);
int fb_nixl_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);

#endif
