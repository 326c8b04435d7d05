/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading, starting and ending NVSHMEM; see nvshmem.h. */
#include "common/library/nvshmem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"
#include "common/system/multicast.h"

_Static_assert(sizeof(struct fb_nvshmem_id) == 128, "as nvshmemx_uniqueid_v1");
_Static_assert(sizeof(struct fb_nvshmem_id_args) == 24, "as nvshmemx_uniqueid_args_v1");
_Static_assert(sizeof(struct fb_nvshmem_init) == 144, "as nvshmemx_init_attr_v1");

enum { OLDEST_MAJOR = 3, VERSION_OF = 1 << 16 }; /* a structure's version: 1, and its size */

#define SHMEM(member) { "nvshmem_" #member, offsetof(struct fb_nvshmem, member), false }
#define SHMEMX(member) { "nvshmemx_" #member, offsetof(struct fb_nvshmem, member), false }

static const struct fb_library_symbol symbols[] = {
	SHMEMX(vendor_get_version_info), SHMEMX(get_uniqueid), SHMEMX(set_attr_uniqueid_args),
	SHMEMX(hostlib_init_attr), SHMEMX(hostlib_finalize), SHMEMX(init_status), SHMEM(my_pe),
	SHMEM(n_pes), SHMEM(malloc), SHMEM(free), SHMEM(ptr), SHMEMX(putmem_on_stream),
	SHMEMX(getmem_on_stream), SHMEMX(putmem_signal_on_stream), SHMEMX(signal_op_on_stream),
	SHMEMX(signal_wait_until_on_stream), SHMEMX(quiet_on_stream),
	SHMEMX(barrier_all_on_stream),
};

/* The one that this process has started; NULL: none. */
static struct fb_nvshmem *started;

const char *fb_nvshmem_version(const struct fb_nvshmem *nvshmem,
			       char buf[FB_NVSHMEM_VERSION_CHARS])
{
	snprintf(buf, FB_NVSHMEM_VERSION_CHARS, "%d.%d.%d", nvshmem->major, nvshmem->minor,
		 nvshmem->patch);
	return buf;
}

/*
 * Local: loads the library: the file that FB_NVSHMEM_LIBRARY names, a path or a name; else
 * libnvshmem_host.so.3 where the linker looks, in $NVSHMEM_HOME/lib and where packages put it. 0,
 * or FB_EUNSUPPORTED with the reason.
 */
static int load(struct fb_nvshmem *nvshmem, char *reason, size_t n)
{
	const char *named = getenv("FB_NVSHMEM_LIBRARY"), *home = getenv("NVSHMEM_HOME"), *lacks;
	const char *file = named && *named ? named : "libnvshmem_host.so.3";
	char folder[PATH_MAX], version[FB_NVSHMEM_VERSION_CHARS];
	const char *const folders[] = {
		home ? folder : NULL,
		"/usr/local/cuda/lib64",
		"/usr/lib/x86_64-linux-gnu/nvshmem/13",
		"/usr/lib/x86_64-linux-gnu/nvshmem/12",
		"/usr/local/nvshmem/lib",
	};
	struct fb_nvshmem found = {.handle = NULL};

	snprintf(folder, sizeof(folder), "%s/lib", home ? home : "");
	*nvshmem = found;
	found.handle = fb_library_open(file, folders, sizeof(folders) / sizeof(folders[0]), reason,
				       n);
	if (!found.handle)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.handle, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "%s is no NVSHMEM of 3.0 or later: it has no %s", file, lacks);
		return FB_EUNSUPPORTED;
	}
	found.vendor_get_version_info(&found.major, &found.minor, &found.patch);
	if (found.major < OLDEST_MAJOR) {
		snprintf(reason, n, "%s is NVSHMEM %s, and 3.0 or later is needed", file,
			 fb_nvshmem_version(&found, version));
		return FB_EUNSUPPORTED;
	}
	*nvshmem = found;
	return FB_OK;
}

static void set_environment(const struct fb_group *world)
{
	fb_multicast_forbid();
	(void)setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
	(void)setenv("NVSHMEM_TMA_POLICY", "ENABLE", 0);
	if (world->nnodes == 1)
		(void)setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
}

/* Collective: starts NVSHMEM by the unique identifier of rank 0, which all ranks get. */
static int start(struct fb_nvshmem *nv, const struct fb_group *world, char why[FB_REASON_CHARS])
{
	struct fb_nvshmem_init *init = &nv->init;
	const char *call = "nvshmemx_get_uniqueid";
	char version[FB_NVSHMEM_VERSION_CHARS];
	int code = 0, err;

	memset(init, 0, sizeof(*init));
	init->version = VERSION_OF + (int)sizeof(*init);
	init->args.version = VERSION_OF + (int)sizeof(init->args);
	init->args.id.version = VERSION_OF + (int)sizeof(init->args.id);
	nv->id.version = VERSION_OF + (int)sizeof(nv->id);
	if (world->rank == 0)
		code = nv->get_uniqueid(&nv->id);
	MPI_Bcast(&code, 1, MPI_INT, 0, world->comm);
	if (!code) {
		MPI_Bcast(&nv->id, sizeof(nv->id), MPI_BYTE, 0, world->comm);
		call = "nvshmemx_set_attr_uniqueid_args";
		code = nv->set_attr_uniqueid_args(world->rank, world->nranks, &nv->id, init);
	}
	if (!code) {
		call = "nvshmemx_hostlib_init_attr";
		code = nv->hostlib_init_attr(FB_NVSHMEM_BY_ID, init);
	}
	err = FB_EUNSUPPORTED;
	if (code)
		snprintf(why, FB_REASON_CHARS, "NVSHMEM %s does not start: %s returned %d",
			 fb_nvshmem_version(nv, version), call, code);
	/* If it finds no GPU it returns 0, and the first allocation would end the process. */
	else if (nv->init_status() < FB_NVSHMEM_INITIALISED)
		snprintf(why, FB_REASON_CHARS, "NVSHMEM %s does not start: it finds no GPU",
			 fb_nvshmem_version(nv, version));
	else if (nv->my_pe() != world->rank || nv->n_pes() != world->nranks)
		snprintf(why, FB_REASON_CHARS, "NVSHMEM %s takes rank %d of %d for %d of %d",
			 fb_nvshmem_version(nv, version), world->rank, world->nranks, nv->my_pe(),
			 nv->n_pes());
	else
		err = FB_OK;
	return fb_group_agree_why(world, err, why, FB_REASON_CHARS);
}

/* Collective over the world. */
static int open_once(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	struct fb_nvshmem *nv = thing;
	const struct fb_group *world = session->world;
	char version[FB_NVSHMEM_VERSION_CHARS] = "";
	int own = load(nv, why, FB_REASON_CHARS);
	int err = fb_group_agree_why(world, own, why, FB_REASON_CHARS);

	if (own || err)
		return err;
	if (!fb_group_same(world, fb_nvshmem_version(nv, version), sizeof(version))) {
		snprintf(why, FB_REASON_CHARS, "ranks found NVSHMEM of different versions");
		return FB_EUNSUPPORTED;
	}
	fb_fact(session, "library.libnvshmem_host.version", "%s", version);
	set_environment(world);
	err = start(nv, world, why);
	if (err)
		return err;
	started = nv;
	fb_fact(session, "library.libnvshmem_host.remote", "%s",
		*fb_library_loaded("nvshmem_transport_", nv->remote, sizeof(nv->remote))
			? nv->remote
			: "none");
	return FB_OK;
}

/* It stays loaded: it has threads. */
static void close_once(void *thing)
{
	const struct fb_nvshmem *nv = thing;

	if (started)
		nv->hostlib_finalize();
	started = NULL;
}

static const struct fb_once once = {
	.bytes = sizeof(struct fb_nvshmem), .open = open_once, .close = close_once};

int fb_nvshmem_find(struct fb_nvshmem **nvshmem, const struct fb_session *session,
		    const struct fb_group *group, bool shared, char why[FB_REASON_CHARS])
{
	void *found = NULL;
	const char *missing = "";
	int err;

	*nvshmem = NULL;
	if (shared) {
		snprintf(why, FB_REASON_CHARS, "NVSHMEM is not used where ranks share a GPU");
		return FB_EUNSUPPORTED;
	}
	if (group->nranks != session->world->nranks) {
		snprintf(why, FB_REASON_CHARS, "NVSHMEM's symmetric memory spans all %d ranks, and "
			 "this group has %d", session->world->nranks, group->nranks);
		return FB_EUNSUPPORTED;
	}
	err = fb_session_once(session, &once, &found, &missing);
	if (err)
		snprintf(why, FB_REASON_CHARS, "%s", missing);
	*nvshmem = found;
	return err;
}

int fb_nvshmem_free(void *memory)
{
	if (started)
		started->free(memory);
	return FB_OK;
}
