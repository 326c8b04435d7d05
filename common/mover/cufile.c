/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover cufile: between GPU memory and a file of each rank, by NVIDIA's cuFile, found at run time.
 * As with mover store (store.h) the `remote` places are places in the file: PUT writes it, GET
 * reads it back. Where the machine has GPUDirect Storage (nvidia-fs) the disk reaches GPU memory
 * itself; elsewhere cuFile copies through the host (compatibility mode). The row says which.
 *
 * Each run of neighbours is one call, which returns when its bytes have been moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/library/library.h"
#include "common/mover/store.h"

/* The parts of cufile.h that are used here. */
struct cufile_error {
	int code, driver;
};

struct cufile_file {
	int type; /* 1: a file descriptor */
	union {
		int fd;
		void *handle;
	} of;
	const void *operations;
};

struct cufile {
	struct cufile_error (*open)(void);
	struct cufile_error (*add_file)(void **handle, struct cufile_file *file);
	void (*remove_file)(void *handle);
	struct cufile_error (*add_memory)(const void *base, size_t bytes, int flags);
	struct cufile_error (*remove_memory)(const void *base);
	ssize_t (*read)(void *handle, void *base, size_t bytes, off_t file, off_t memory);
	ssize_t (*write)(void *handle, const void *base, size_t bytes, off_t file, off_t memory);
};

struct cufile_mover {
	struct fb_mover mover;
	struct cufile api;
	uint64_t arrived[FB_NOTICES + 1];
	bool direct; /* nvidia-fs is loaded */
};

struct cufile_region {
	struct fb_region region;
	int fd;
	void *handle;
	bool known; /* the memory is registered; else cuFile copies through its buffers */
};

/*
 * Local: makes a file and registers it with cuFile, with O_DIRECT if the file system has it, which
 * GPUDirect Storage needs. cuFile looks a file up by its name, so the name is removed afterwards.
 * Returns cuFile's error code, or -1 (printed) if no file could be made.
 */
static int make_file(const struct cufile *api, int *fd, void **handle)
{
	char name[FB_STORE_NAME_CHARS];
	struct cufile_file file = {.type = 1};
	int code;

	*fd = fb_store_make_file(true, name);
	if (*fd < 0)
		return -1;
	file.of.fd = *fd;
	code = api->add_file(handle, &file).code;
	unlink(name);
	return code;
}

/* Tries a file in the folder of later files, because cuFile supports some file systems only. */
static int probe(const struct cufile *api, char why[FB_REASON_CHARS])
{
	void *handle = NULL;
	int fd, code = make_file(api, &fd, &handle);

	if (code)
		snprintf(why, FB_REASON_CHARS, "cuFile takes no file there: cuFileHandleRegister: "
			 "error %d", code);
	else
		api->remove_file(handle);
	if (fd >= 0)
		close(fd);
	return code ? FB_EUNSUPPORTED : FB_OK;
}

static int open_mover(struct fb_mover **mover, const struct fb_session *session,
		      const struct fb_group *group, char why[FB_REASON_CHARS])
{
	static const struct fb_library_symbol table[] = {
		{"cuFileDriverOpen", offsetof(struct cufile, open), false},
		{"cuFileHandleRegister", offsetof(struct cufile, add_file), false},
		{"cuFileHandleDeregister", offsetof(struct cufile, remove_file), false},
		{"cuFileBufRegister", offsetof(struct cufile, add_memory), false},
		{"cuFileBufDeregister", offsetof(struct cufile, remove_memory), false},
		{"cuFileRead", offsetof(struct cufile, read), false},
		{"cuFileWrite", offsetof(struct cufile, write), false},
	};
	int err = fb_mover_new(mover, &fb_mover_cufile, sizeof(struct cufile_mover), session,
			       group);
	struct cufile_mover *m;
	const char *missing;
	void *library;

	if (err)
		return err;
	m = (struct cufile_mover *)*mover;
	*why = '\0';
	/* Without GPUDirect Storage the library may refuse by default. */
	setenv("CUFILE_ALLOW_COMPAT_MODE", "true", 0);
	/* It has threads, so it stays open. */
	library = fb_library_open("libcufile.so.0", NULL, 0, why, FB_REASON_CHARS);
	missing = library ? fb_library_functions(library, table, sizeof(table) / sizeof(table[0]),
						 &m->api)
			  : NULL;
	if (missing)
		snprintf(why, FB_REASON_CHARS, "libcufile.so.0 has no %s", missing);
	err = library && !missing ? FB_OK : FB_EUNSUPPORTED;
	if (!err) {
		int code = m->api.open().code;

		if (code)
			snprintf(why, FB_REASON_CHARS, "cuFileDriverOpen: error %d", code);
		err = code ? FB_EUNSUPPORTED : probe(&m->api, why);
	}
	m->direct = !access("/proc/driver/nvidia-fs/version", R_OK);
	err = fb_group_agree_why(group, err, why, FB_REASON_CHARS);
	if (err)
		fb_mover_free(*mover);
	return err;
}

static void remove_region(struct fb_region *region)
{
	struct cufile_region *r = (struct cufile_region *)region;
	const struct cufile_mover *m = (const struct cufile_mover *)region->mover;

	if (r->known)
		m->api.remove_memory(fb_segment_part(region->segment, region->mover->group->rank));
	if (r->handle)
		m->api.remove_file(r->handle);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static int open_region(struct fb_region *region)
{
	const struct cufile_mover *m = (const struct cufile_mover *)region->mover;
	struct cufile_region *r = (struct cufile_region *)region;
	const struct fb_segment *s = region->segment;
	int code = make_file(&m->api, &r->fd, &r->handle), err;

	if (code < 0)
		return FB_ESYS;
	if (code)
		return fb_error(FB_ESYS, "cuFileHandleRegister: error %d", code);
	err = fb_store_reserve(r->fd, s->part_bytes);
	r->known = !err && !m->api.add_memory(fb_segment_part(s, region->mover->group->rank),
					      s->part_bytes, 0).code;
	return err;
}

static int add_region(struct fb_mover *mover, const struct fb_segment *segment,
		      struct fb_region **region)
{
	return fb_region_new(mover, segment, sizeof(struct cufile_region), open_region, region);
}

static int prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		   struct fb_move **move)
{
	int err = fb_store_check_peers(mover, given);

	(void)form;
	return err ? err : fb_move_new(mover, given, sizeof(**move), move);
}

/* Moves a run, by several calls if cuFile moves only a part at a time. */
static int carry(const struct cufile_mover *m, const struct fb_transfer *t, uint64_t memory,
		 uint64_t place, uint64_t bytes)
{
	const struct cufile_region *file = (const struct cufile_region *)t->remote;
	char *base = fb_transfer_local(t, m->mover.group->rank);
	bool writes = t->verb == FB_MOVE_PUT;

	for (uint64_t done = 0; done < bytes;) {
		off_t at = (off_t)(place + done), from = (off_t)(memory + done);
		ssize_t n = writes ? m->api.write(file->handle, base, bytes - done, at, from)
				   : m->api.read(file->handle, base, bytes - done, at, from);

		if (n <= 0)
			return fb_error(FB_ESYS, "cuFile: %s %llu bytes at %llu of a file: %s",
					writes ? "writing" : "reading",
					(unsigned long long)(bytes - done),
					(unsigned long long)(place + done),
					n == 0    ? "it is too short"
					: n == -1 ? strerror(errno)
						  : "an error of cuFile's own");
		done += (uint64_t)n;
	}
	return FB_OK;
}

static int post(struct fb_move *move)
{
	struct cufile_mover *m = (struct cufile_mover *)move->mover;
	int err = FB_OK;

	for (uint32_t i = 0; i < move->transfers && !err; i++) {
		struct fb_runs runs = {.walk = {.transfer = &move->transfer[i]}};
		uint64_t memory, place, bytes;

		while (!err && (bytes = fb_runs_next(&runs, &memory, &place)))
			err = carry(m, &move->transfer[i], memory, place, bytes);
		m->arrived[move->transfer[i].notice]++;
	}
	return err;
}

static int test(struct fb_move *move, bool *done)
{
	(void)move;
	*done = true;
	return FB_OK;
}

static int arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	*count = from == mover->group->rank ? ((struct cufile_mover *)mover)->arrived[notice] : 0;
	return FB_OK;
}

static void describe(struct fb_move *move, struct fb_traits *traits)
{
	snprintf(traits->path, sizeof(traits->path), "cuFile, %s",
		 ((const struct cufile_mover *)move->mover)->direct
			 ? "GPUDirect Storage"
			 : "compatibility mode: nvidia-fs is not loaded");
	traits->channels = 1;
}

const struct fb_mover_ops fb_mover_cufile = {
	.name = "cufile", .summary = "between GPU memory and a file of each rank, by cuFile",
	.transport = "file", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .device = true,
	.open = open_mover, .close = fb_mover_free, .add = add_region, .remove = remove_region,
	.prepare = prepare, .release = fb_move_free, .post = post, .test = test,
	.arrived = arrived, .describe = describe,
};
