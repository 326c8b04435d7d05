/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast objects of the GPU that works (cudart_works.c), where FB_FAKE_MULTICAST is set: files
 * without names that hold which memory of which process is bound. The object's addresses cannot be
 * read or written but by the emulated instructions, which find the memory by them.
 *
 * FB_FAKE_MULTICAST=STEP@RANK: this step fails on that rank. "right": none does. With
 * FB_FAKE_MULTICAST_LOG=FILE each process writes each call into FILE.<pid>. Calls in an order that
 * loses an object, or memory that switches may still reach, are refused and written as misuse;
 * so is what is left when the process ends. Drivers do not refuse all of them.
 */
#include <cuda.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/launcher.h"
#include "tests/fake/cudart.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { MOST_RANKS = 8, MOST_MAPPINGS = 256, PAGE = 2 << 20 };

struct object {
	unsigned devices, added, bound;
	size_t bytes;
	struct slot {
		pid_t pid; /* 0: nothing is bound */
		int fd;
	} slot[MOST_RANKS];
};

/* What this process has mapped; of an object also the memory of all ranks, when it is used. */
static struct mapping {
	CUdeviceptr at; /* 0: none */
	size_t bytes;
	int fd;
	bool multicast;
	ino_t bound; /* the object to which this memory is bound; 0: none */
	char *replica[MOST_RANKS];
} mappings[MOST_MAPPINGS];

static int handles; /* of objects, which this process has */

static void log_call(const char *what)
{
	const char *path = getenv("FB_FAKE_MULTICAST_LOG");
	char own[512];
	FILE *file;

	if (!path)
		return;
	snprintf(own, sizeof(own), "%s.%d", path, (int)getpid());
	file = fopen(own, "a");
	if (!file)
		abort();
	fprintf(file, "%s\n", what);
	fclose(file);
}

bool fake_multicast_works(const char *step)
{
	const char *text = getenv("FB_FAKE_MULTICAST"), *at = text ? strchr(text, '@') : NULL;

	return text && (!at || strlen(step) != (size_t)(at - text) ||
			strncmp(text, step, strlen(step)) || atoi(at + 1) != fb_launcher_rank());
}

static CUresult call(const char *step)
{
	log_call(step);
	return fake_multicast_works(step) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult misuse(const char *what)
{
	char line[128];

	snprintf(line, sizeof(line), "misuse: %s", what);
	log_call(line);
	return CUDA_ERROR_INVALID_VALUE;
}

static ino_t number_of(int fd)
{
	struct stat s;

	if (fstat(fd, &s))
		abort();
	return s.st_ino;
}

/* Memory that is bound to the object, or NULL. */
static struct mapping *find_bound(ino_t object)
{
	for (int i = 0; i < MOST_MAPPINGS; i++)
		if (mappings[i].at && mappings[i].bound == object)
			return &mappings[i];
	return NULL;
}

static bool is_mapped(ino_t object)
{
	for (int i = 0; i < MOST_MAPPINGS; i++)
		if (mappings[i].at && mappings[i].multicast &&
		    number_of(mappings[i].fd) == object)
			return true;
	return false;
}

/* A process that ends by itself has given everything back. */
__attribute__((destructor)) static void look_back(void)
{
	bool mapped = false, bound = false;

	for (int i = 0; i < MOST_MAPPINGS; i++) {
		mapped |= mappings[i].at && mappings[i].multicast;
		bound |= mappings[i].at && mappings[i].bound;
	}
	if (handles)
		(void)misuse("an object is left");
	if (mapped)
		(void)misuse("a mapping of an object is left");
	if (bound)
		(void)misuse("memory is left bound");
}

static bool is_multicast(CUmemGenericAllocationHandle handle)
{
	static const char name[] = "/memfd:multicast";
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)handle);
	return readlink(path, link, sizeof(link) - 1) > 0 &&
	       !strncmp(link, name, sizeof(name) - 1);
}

CUresult fake_multicast_import(CUmemGenericAllocationHandle handle)
{
	CUresult code = is_multicast(handle) ? call("import") : CUDA_SUCCESS;

	handles += is_multicast(handle) && code == CUDA_SUCCESS;
	return code;
}

CUresult fake_multicast_release(CUmemGenericAllocationHandle handle)
{
	ino_t object;
	CUresult code;

	if (!is_multicast(handle))
		return CUDA_SUCCESS;
	object = number_of((int)handle);
	if (find_bound(object))
		return misuse("an object is released to which memory is bound");
	if (is_mapped(object))
		return misuse("an object is released that is mapped");
	code = call("release");
	handles -= code == CUDA_SUCCESS;
	return code;
}

static struct object *open_object(int fd)
{
	struct object *o = mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (o == MAP_FAILED)
		abort();
	return o;
}

static CUresult create(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop)
{
	CUresult code = call("create");
	struct object *o;
	int fd;

	if (code != CUDA_SUCCESS || prop->numDevices > MOST_RANKS || prop->size % PAGE)
		return code != CUDA_SUCCESS ? code : CUDA_ERROR_INVALID_VALUE;
	fd = memfd_create("multicast", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(*o)))
		abort();
	o = open_object(fd);
	o->devices = prop->numDevices;
	o->bytes = prop->size;
	munmap(o, sizeof(*o));
	handles++;
	*handle = (CUmemGenericAllocationHandle)fd;
	return CUDA_SUCCESS;
}

static CUresult add_device(CUmemGenericAllocationHandle handle, CUdevice device)
{
	CUresult code = call("add");
	struct object *o = open_object((int)handle);

	if (code == CUDA_SUCCESS)
		__atomic_add_fetch(&o->added, 1, __ATOMIC_SEQ_CST);
	munmap(o, sizeof(*o));
	return code;
}

static struct mapping *find(CUdeviceptr at)
{
	for (int i = 0; i < MOST_MAPPINGS; i++)
		if (mappings[i].at && at - mappings[i].at < mappings[i].bytes)
			return &mappings[i];
	return NULL;
}

/* A driver would wait for GPUs that are not added, and nobody would add them. */
static CUresult bind_address(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr memory,
			     size_t bytes, unsigned long long flags)
{
	CUresult code = call("bind");
	struct object *o = open_object((int)handle);
	struct mapping *m = find(memory);
	unsigned i;

	if (code == CUDA_SUCCESS && (!m || m->multicast || m->at != memory || offset || m->bound ||
				     bytes != m->bytes || bytes != o->bytes ||
				     find_bound(number_of((int)handle)) || o->added != o->devices))
		code = misuse("memory is bound that cannot be");
	if (code == CUDA_SUCCESS) {
		i = __atomic_fetch_add(&o->bound, 1, __ATOMIC_SEQ_CST);
		o->slot[i].fd = m->fd;
		o->slot[i].pid = getpid();
		m->bound = number_of((int)handle);
	}
	munmap(o, sizeof(*o));
	return code;
}

static CUresult unbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset,
		       size_t bytes)
{
	struct mapping *m = find_bound(number_of((int)handle));
	struct object *o;

	if (!m || offset || bytes != m->bytes)
		return misuse("memory is unbound that was not bound so");
	m->bound = 0;
	o = open_object((int)handle);
	for (int i = 0; i < MOST_RANKS; i++)
		if (o->slot[i].pid == getpid())
			o->slot[i].pid = 0;
	munmap(o, sizeof(*o));
	return call("unbind");
}

static CUresult granularity(size_t *bytes, const CUmulticastObjectProp *prop,
			    CUmulticastGranularity_flags which)
{
	*bytes = PAGE;
	return call("granularity");
}

/* --- cuMemMap and cuMemUnmap ------------------------------------------------------------------ */

/* Notes what is mapped. False: it is an object, and nothing may be read there. */
bool fake_multicast_map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle,
			CUresult *code)
{
	struct mapping *m = mappings;
	bool multicast = is_multicast(handle);
	struct object *o;

	*code = multicast ? call("map") : CUDA_SUCCESS;
	if (*code != CUDA_SUCCESS)
		return false;
	while (m < mappings + MOST_MAPPINGS && m->at)
		m++;
	if (m == mappings + MOST_MAPPINGS)
		abort();
	*m = (struct mapping){.at = at, .bytes = bytes, .fd = dup((int)handle),
			      .multicast = multicast};
	if (multicast) {
		o = open_object(m->fd);
		if (o->added != o->devices)
			abort();
		munmap(o, sizeof(*o));
	}
	return !multicast;
}

CUresult fake_multicast_unmap(CUdeviceptr at, size_t bytes)
{
	struct mapping *m = find(at);

	if (!m || m->at != at || m->bytes != bytes)
		return misuse("what is unmapped was not mapped so");
	if (m->bound)
		return misuse("memory is unmapped that is bound");
	if (m->multicast)
		log_call("unmap");
	for (int i = 0; i < MOST_RANKS; i++)
		if (m->replica[i])
			munmap(m->replica[i], m->bytes);
	close(m->fd);
	m->at = 0;
	return CUDA_SUCCESS;
}

CUresult fake_multicast_unreserve(CUdeviceptr at, size_t bytes)
{
	for (int i = 0; i < MOST_MAPPINGS; i++)
		if (mappings[i].at && mappings[i].at - at < bytes)
			return misuse("addresses are freed where something is mapped");
	return CUDA_SUCCESS;
}

static char *open_replica(const struct slot *slot, size_t bytes)
{
	char path[64];
	char *memory;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)slot->pid, slot->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || memory == MAP_FAILED)
		abort();
	close(fd);
	return memory;
}

/*
 * What was bound when the address is first used stays so until it is unmapped. None: a rank has not
 * bound its memory yet, or not any more.
 */
int fake_multicast_replicas(uint64_t address, char **replica)
{
	struct mapping *m = find(address);
	struct object *o;
	int n;

	if (!m || !m->multicast)
		return 0;
	o = open_object(m->fd);
	n = o->bound == o->devices ? (int)o->devices : 0;
	for (int i = 0, all = n; i < all; i++)
		n = o->slot[i].pid ? n : 0;
	for (int i = 0; i < n; i++) {
		if (!m->replica[i])
			m->replica[i] = open_replica(&o->slot[i], m->bytes);
		replica[i] = m->replica[i] + (address - m->at);
	}
	munmap(o, sizeof(*o));
	return n;
}

void *fake_multicast_function(const char *symbol)
{
	static const struct {
		const char *symbol;
		uintptr_t function;
	} table[] = {
		{"cuMulticastCreate", (uintptr_t)create},
		{"cuMulticastAddDevice", (uintptr_t)add_device},
		{"cuMulticastBindAddr", (uintptr_t)bind_address},
		{"cuMulticastUnbind", (uintptr_t)unbind},
		{"cuMulticastGetGranularity", (uintptr_t)granularity},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].symbol, symbol))
			continue;
		log_call("find");
		return fake_multicast_works("driver") ? (void *)table[i].function : NULL;
	}
	return fake_green_function(symbol);
}
