/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory of the ranks of a host; see segment.h. */
#include "common/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/error.h"

enum { NAME_CHARS = 64 };

/* How the host's ranks find the file of its first rank. */
struct address {
	int pid, fd;           /* /proc/<pid>/fd/<fd> */
	char name[NAME_CHARS]; /* or this name in /dev/shm, when not empty */
	uint64_t device, inode; /* of the file: in another pid namespace the path names another */
};

static int part_indices(const struct fb_world *world, int *part_of, int *nparts)
{
	int *members, err;

	MPI_Comm_size(world->node_comm, nparts);
	members = malloc((size_t)*nparts * sizeof(*members));
	err = fb_world_agree(world, part_of && members ? FB_OK : FB_ENOMEM);
	if (err || !part_of || !members) {
		free(members);
		return err;
	}
	MPI_Allgather(&world->rank, 1, MPI_INT, members, 1, MPI_INT, world->node_comm);
	for (int r = 0; r < world->nranks; r++)
		part_of[r] = -1;
	for (int i = 0; i < *nparts; i++)
		part_of[members[i]] = i;
	free(members);
	return FB_OK;
}

/*
 * Makes the file, of `bytes` bytes, and fills in its address; a->fd is -1 if that fails. /dev/shm
 * has a limit, beyond which a touch, long after this, would end the process.
 */
static int make_file(struct address *a, size_t bytes, bool named)
{
	struct statvfs room;
	struct stat is;
	int fd;

	if (named) {
		snprintf(a->name, sizeof(a->name), "/fabricbench.%d", a->pid);
		shm_unlink(a->name);
		fd = shm_open(a->name, O_CREAT | O_EXCL | O_RDWR, 0600);
	} else {
		fd = memfd_create("fabricbench", MFD_CLOEXEC);
	}
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)bytes) || fstat(fd, &is) || fstatvfs(fd, &room) ||
	    (named && room.f_blocks && bytes / room.f_frsize >= room.f_bavail)) {
		close(fd);
		return -1;
	}
	a->fd = fd;
	a->device = is.st_dev;
	a->inode = is.st_ino;
	return fd;
}

static int open_file(const struct address *a)
{
	struct stat is;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", a->pid, a->fd);
	fd = a->name[0] ? shm_open(a->name, O_RDWR, 0600) : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &is) || is.st_dev != a->device || is.st_ino != a->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

static char *map(int fd, size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	return base == MAP_FAILED ? NULL : base;
}

/* All ranks of the host map the file the first one made; `named`: by a name in /dev/shm. */
static char *map_together(const struct fb_world *world, size_t bytes, bool named)
{
	struct address a = {.pid = (int)getpid(), .fd = -1};
	char *base = NULL;
	int local, ok, fd = -1;

	MPI_Comm_rank(world->node_comm, &local);
	if (local == 0)
		fd = make_file(&a, bytes, named);
	MPI_Bcast(&a, sizeof(a), MPI_BYTE, 0, world->node_comm);
	if (local != 0 && a.fd >= 0)
		fd = open_file(&a);
	if (fd >= 0)
		base = map(fd, bytes);
	ok = base != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, world->node_comm);
	if (local == 0 && named)
		shm_unlink(a.name);
	if (fd >= 0)
		close(fd);
	if (!ok && base) {
		munmap(base, bytes);
		base = NULL;
	}
	return base;
}

int fb_segment_open(struct fb_segment *segment, const struct fb_world *world, size_t part_bytes,
		    bool huge)
{
	size_t page = huge ? (size_t)2 << 20 : (size_t)sysconf(_SC_PAGESIZE), total;
	uint64_t wanted = part_bytes ? part_bytes : 1;
	struct fb_segment s = {.base = NULL};
	int err = FB_OK;

	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UINT64_T, MPI_MAX, world->comm);
	s.part_of = malloc((size_t)world->nranks * sizeof(*s.part_of));
	err = part_indices(world, s.part_of, &s.nparts);
	if (err)
		goto free_parts;
	s.part_bytes = ((size_t)wanted + page - 1) / page * page;
	total = s.part_bytes * (size_t)s.nparts;
	s.base = map_together(world, total, false);
	if (!s.base)
		s.base = map_together(world, total, true);
	if (!s.base)
		err = fb_error(FB_ESYS,
			       "rank %d: the ranks of %s cannot share %zu bytes of memory: "
			       "%s", world->rank, world->host, total, strerror(errno));
	err = fb_world_agree(world, err);
	if (err)
		goto unmap;
	if (huge)
		madvise(s.base, total, MADV_HUGEPAGE);
	s.ops = &fb_memory_host;
	*segment = s;
	return FB_OK;
unmap:
	if (s.base)
		munmap(s.base, s.part_bytes * (size_t)s.nparts);
free_parts:
	free(s.part_of);
	return err;
}

void fb_segment_close(struct fb_segment *segment)
{
	if (segment->ops)
		segment->ops->close(segment);
	*segment = (struct fb_segment){.base = NULL};
}

void fb_segment_unmap(struct fb_segment *segment)
{
	if (segment->base)
		munmap(segment->base, segment->part_bytes * (size_t)segment->nparts);
	free(segment->part_of);
}
