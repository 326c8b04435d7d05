/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: one for each combination of the properties that NCCL fixes when a communicator is
 * made (forced algorithm and protocol, number of channels) and of registered buffers, which belong
 * to a communicator. A case makes the one that it needs if it is missing, and it is kept.
 *
 * They are blocking: a nonblocking communicator launches every group from its own thread, which
 * costs time and cannot be captured in a graph. The watchdog ends calls that block for too long.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_COMM_H
#define FB_COMMON_LIBRARY_NCCL_COMM_H

#include "common/library/nccl/api.h"
#include "common/library/nccl/force.h"
#include "common/library/nccl/wire.h"
#include "common/memory/segment.h"
#include "common/record/traits.h"
#include "common/session.h"

/*
 * Collective over the group: the session's NCCL (--nccl-library), loaded at first use. All ranks
 * must have the same version, because ranks with different versions would hang. With --nodes-as
 * NCCL takes pretended nodes for hosts (NCCL_HOSTID).
 * `shared`: ranks share a GPU (fb_gpu.shared), which NCCL refuses. Returns the same on all ranks of
 * the group: 0 with *nccl, or FB_EUNSUPPORTED with the reason, *nccl zeroed.
 */
int fb_nccl_find(struct fb_nccl *nccl, const struct fb_session *session,
		 const struct fb_group *group, bool shared, char why[FB_REASON_CHARS]);

enum fb_nccl_registration {
	FB_NCCL_NONE,
	FB_NCCL_REGISTERED,
	FB_NCCL_WINDOW,
	FB_NCCL_WINDOW_COPY, /* a window, and no CTAs: copy engines */
	FB_NCCL_REGISTRATIONS,
};

/* "none", "registered", "window", "window-copy", NULL. */
extern const char *const fb_nccl_registrations[FB_NCCL_REGISTRATIONS + 1];

/* One of those names as a number. */
enum fb_nccl_registration fb_nccl_registration_of(const char *name);

/* Pure: whether this NCCL can register this kind of memory that way. Else writes the reason. */
bool fb_nccl_can_register(const struct fb_nccl *nccl, enum fb_nccl_registration how,
			  const char *memory, char reason[FB_REASON_CHARS]);

/*
 * Pure: a configuration with NCCL's defaults, but with blocking calls and, from 2.32 on, without
 * NVLink multicast where it is not allowed. NCCL_NVLS_ENABLE=0 is set as well, but somebody may
 * change the environment after the start.
 */
struct fb_nccl_config fb_nccl_config_plain(const struct fb_nccl *nccl);

/*
 * Collective over the communicator: makes it, by ncclCommInitRank in versions before 2.14, which
 * take no configuration. NCCL's result, not printed.
 */
int fb_nccl_init_rank(const struct fb_nccl *nccl, fb_nccl_comm *comm, int nranks,
		      struct fb_nccl_id id, int rank, struct fb_nccl_config *config);

/*
 * Registers the rank's whole part of the segment with the communicator, or nothing (FB_NCCL_NONE);
 * collective for windows. 0 or an error (printed). *registered is for fb_nccl_deregister().
 */
int fb_nccl_register(const struct fb_nccl *nccl, fb_nccl_comm comm, enum fb_nccl_registration how,
		     const struct fb_segment *segment, int rank, void **registered);

/* NULLs are fine. */
void fb_nccl_deregister(const struct fb_nccl *nccl, fb_nccl_comm comm,
			enum fb_nccl_registration how, void *registered);

/* The needs of a case on its communicator; equal on all ranks but for pointers. */
struct fb_nccl_need {
	struct fb_nccl_algo_proto choice;
	enum fb_nccl_registration registration;
	const struct fb_segment *segment; /* this rank's part is registered; read only by _get() */
	int channels;                     /* smallest and largest number; 0: limits are in ctas */
	struct fb_nccl_ctas ctas;
};

struct fb_nccl_group {
	struct fb_nccl_need need;
	fb_nccl_comm comm;  /* NULL: aborted */
	void *registered;   /* handle or window */
	unsigned memory;    /* number of the segment that is registered */
	struct fb_nccl_wire wire; /* from this rank's log; filled by the code that reads the log */
	struct fb_nccl_group *next;
};

/*
 * Collective: the communicator for the need, made if it is not in the list. The same on all
 * ranks: FB_OK, or an error (printed), whereupon the list is as it was.
 */
int fb_nccl_group_get(struct fb_nccl_group **list, const struct fb_nccl *nccl,
		      const struct fb_group *world, const struct fb_nccl_need *need,
		      struct fb_nccl_group **group);

/*
 * Local: asks for asynchronous errors (a rank that died). 0; or an error (printed), and the
 * communicator is then aborted, so that its kernels end.
 */
int fb_nccl_group_poll(const struct fb_nccl *nccl, struct fb_nccl_group *group);

/* Local: aborts the communicator and takes it off the list. */
void fb_nccl_group_drop(struct fb_nccl_group **list, const struct fb_nccl *nccl,
			struct fb_nccl_group *group);

/* Collective: destroys all. */
void fb_nccl_group_close(struct fb_nccl_group **list, const struct fb_nccl *nccl);

#endif
