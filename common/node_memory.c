/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory shared by the ranks of one host; see node_memory.h. */
#include "common/node_memory.h"
#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NAME_CHARS = 64 };

/* The first rank of a host makes the object; others find it by the name it broadcasts. */
static int create(char name[NAME_CHARS], size_t bytes)
{
	struct timespec now;
	int fd, err;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, NAME_CHARS, "/fabricbench-%ld-%ld%09ld", (long)getpid(), (long)now.tv_sec,
		 now.tv_nsec);
	fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	if (fd < 0) {
		fb_error(FB_ESYS, "shared memory cannot be created: shm_open(%s): %s", name,
			 strerror(errno));
		goto no_name;
	}
	/* Not ftruncate alone: a full /dev/shm would then kill the job at the first access. */
	err = posix_fallocate(fd, 0, (off_t)bytes);
	if (!err)
		return fd;
	fb_error(FB_ESYS, "no room for %zu bytes of shared memory in /dev/shm: %s", bytes,
		 strerror(err));
	close(fd);
	shm_unlink(name);
no_name:
	name[0] = '\0';
	return -1;
}

int fb_node_memory_open(struct fb_node_memory *memory, const struct fb_world *world, size_t bytes)
{
	char name[NAME_CHARS] = "";
	void *base = MAP_FAILED;
	int fd = -1, local, err = FB_OK;

	MPI_Comm_rank(world->node_comm, &local);
	if (local == 0)
		fd = create(name, bytes);
	MPI_Bcast(name, NAME_CHARS, MPI_CHAR, 0, world->node_comm);
	if (local != 0 && name[0]) {
		fd = shm_open(name, O_RDWR, 0600);
		if (fd < 0)
			fb_error(FB_ESYS,
				 "rank %d: shm_open(%s): %s (is /dev/shm shared by the "
				 "ranks of this host?)",
				 world->rank, name, strerror(errno));
	}
	if (fd >= 0) {
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base == MAP_FAILED)
			fb_error(FB_ESYS, "rank %d: mmap: %s", world->rank, strerror(errno));
		close(fd);
	}
	if (base == MAP_FAILED)
		err = FB_ESYS;
	err = fb_world_agree(world, err);
	if (local == 0 && name[0])
		shm_unlink(name);
	if (err) {
		if (base != MAP_FAILED)
			munmap(base, bytes);
		return err;
	}
	memory->base = base;
	memory->bytes = bytes;
	return FB_OK;
}

void fb_node_memory_close(struct fb_node_memory *memory)
{
	if (memory->base)
		munmap(memory->base, memory->bytes);
	memory->base = NULL;
	memory->bytes = 0;
}
