/* SPDX-License-Identifier: BSD-3-Clause */
/* A file in memory that the ranks of a host map; see node_file.h. */
#include "common/system/node_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"

enum { NAME_CHARS = 64 };

/* The memory that the ranks ask for. */
struct request {
	size_t bytes;
	bool now;    /* allocate all pages at once, not at first touch */
	bool named;  /* make the file in /dev/shm, where it has a name until all have mapped it */
	size_t huge; /* bytes of a huge page; 0: normal pages */
};

/* How the host's ranks find the file of its first rank. */
struct address {
	int pid, fd;            /* /proc/<pid>/fd/<fd>; fd is -1 if there is no file */
	char name[NAME_CHARS];  /* or this name in /dev/shm, when not empty */
	uint64_t device, inode; /* of the file: in another pid namespace the path names another */
};

/*
 * Gives the file its size. Returns an errno. After ftruncate alone, a full /dev/shm or the limit on
 * the job's memory would end the process much later, when it first touches a page.
 */
static int make_room(int fd, const struct request *request)
{
	struct statvfs room;

	if (request->now)
		return posix_fallocate(fd, 0, (off_t)request->bytes);
	if (ftruncate(fd, (off_t)request->bytes) || fstatvfs(fd, &room))
		return errno;
	if (!request->named || !room.f_blocks)
		return 0;
	return request->bytes / room.f_frsize >= room.f_bavail ? ENOSPC : 0;
}

/* The flags of memfd_create: a size of huge pages is its logarithm. */
static unsigned memory_flags(size_t huge)
{
	unsigned log = 0;

	while (huge >> log > 1)
		log++;
	return MFD_CLOEXEC | (huge ? MFD_HUGETLB | log << MFD_HUGE_SHIFT : 0);
}

/* Makes the file and fills in its address. Returns an errno, with a->fd -1 and no name left. */
static int make_file(struct address *a, const struct request *request)
{
	struct timespec time;
	struct stat is;
	int fd, err;

	/* Processes of other name spaces may have the same number: the time as well. */
	clock_gettime(CLOCK_REALTIME, &time);
	snprintf(a->name, sizeof(a->name), "/fabricbench-%d-%ld%09ld", a->pid, (long)time.tv_sec,
		 time.tv_nsec);
	fd = request->named ? shm_open(a->name, O_CREAT | O_EXCL | O_RDWR, 0600)
			 : memfd_create(a->name, memory_flags(request->huge));
	if (fd < 0)
		return errno;
	err = make_room(fd, request);
	if (!err && fstat(fd, &is))
		err = errno;
	if (err) {
		if (request->named)
			shm_unlink(a->name);
		close(fd);
		return err;
	}
	if (!request->named)
		a->name[0] = '\0';
	a->fd = fd;
	a->device = is.st_dev;
	a->inode = is.st_ino;
	return 0;
}

/* Returns a file, or -1 with errno. */
static int open_file(const struct address *a)
{
	struct stat is;
	char path[NAME_CHARS];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", a->pid, a->fd);
	fd = a->name[0] ? shm_open(a->name, O_RDWR, 0600) : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &is) || is.st_dev != a->device || is.st_ino != a->inode)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

/*
 * All ranks of the host map the file that the first one made; whether that went well is the same
 * on all of them. Only the last way says what went wrong.
 */
static bool map_together(const struct fb_group *world, const struct request *request, void **base)
{
	struct address a = {.pid = (int)getpid(), .fd = -1};
	/* Huge pages are reserved by the mapping: without it a touch could end the process. */
	int flags = MAP_SHARED | (request->huge ? 0 : MAP_NORESERVE);
	bool last = request->named || request->huge, named = request->named;
	size_t bytes = request->bytes;
	void *mine = MAP_FAILED;
	int local, ok, fd = -1, err = 0;

	MPI_Comm_rank(world->node_comm, &local);
	if (local == 0)
		err = make_file(&a, request);
	if (err && last)
		fb_error(FB_ESYS, "rank %d: no %zu bytes of %s: %s", world->rank, bytes,
			 named ? "shared memory in /dev/shm" : "huge pages", strerror(err));
	MPI_Bcast(&a, sizeof(a), MPI_BYTE, 0, world->node_comm);
	if (a.fd >= 0) {
		fd = local == 0 ? a.fd : open_file(&a);
		if (fd < 0 && last)
			fb_error(FB_ESYS,
				 "rank %d: shared memory %s cannot be opened: %s (is /dev/shm "
				 "shared by the ranks of this host?)",
				 world->rank, named ? a.name : "of huge pages", strerror(errno));
	}
	if (fd >= 0) {
		mine = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
		if (mine == MAP_FAILED && last)
			fb_error(FB_ESYS, "rank %d: mmap of %zu bytes of shared memory: %s",
				 world->rank, bytes, strerror(errno));
	}
	ok = mine != MAP_FAILED;
	MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, world->node_comm);
	/* Not before all have opened it. */
	if (local == 0 && a.fd >= 0 && named)
		shm_unlink(a.name);
	if (fd >= 0)
		close(fd);
	if (ok)
		*base = mine;
	else if (mine != MAP_FAILED)
		munmap(mine, bytes);
	return ok;
}

int fb_node_file_map(const struct fb_group *world, size_t bytes, bool now, void **base)
{
	struct request request = {.bytes = bytes, .now = now};

	if (map_together(world, &request, base))
		return FB_OK;
	request.named = true;
	return map_together(world, &request, base) ? FB_OK : FB_ESYS;
}

int fb_node_file_map_huge(const struct fb_group *world, size_t bytes, size_t page, void **base)
{
	const struct request request = {.bytes = bytes, .huge = page};

	return map_together(world, &request, base) ? FB_OK : FB_ESYS;
}
