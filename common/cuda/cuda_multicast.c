/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast objects; see gpu_multicast.h. Rank 0 makes the object and exports it like other memory.
 * Binding memory and mapping the object block until all GPUs have been added. So all ranks agree on
 * each step before the next one: if a rank has failed, no other waits for it.
 */
#include "common/cuda/gpu_multicast.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_segment.h"
#include "common/system/fd_exchange.h"
#include "common/system/multicast.h"

/* Collective: `reason` becomes that of the first rank that has one. Returns whether none has. */
static bool nobody_refuses(const struct fb_group *w, char reason[FB_REASON_CHARS])
{
	int first = *reason ? w->rank : w->nranks;

	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, w->comm);
	if (first < w->nranks)
		MPI_Bcast(reason, FB_REASON_CHARS, MPI_CHAR, first, w->comm);
	return first == w->nranks;
}

#if CUDART_VERSION >= 12020 /* multimem with sums in f32 is of PTX 8.2 */

enum { DRIVER_VERSION = 12010 };

struct calls {
	CUresult (*Create)(CUmemGenericAllocationHandle *object, const CUmulticastObjectProp *prop);
	CUresult (*AddDevice)(CUmemGenericAllocationHandle object, CUdevice device);
	CUresult (*BindAddr)(CUmemGenericAllocationHandle object, size_t offset, CUdeviceptr memory,
			     size_t bytes, unsigned long long flags);
	CUresult (*Unbind)(CUmemGenericAllocationHandle object, CUdevice device, size_t offset,
			   size_t bytes);
	CUresult (*GetGranularity)(size_t *bytes, const CUmulticastObjectProp *prop,
				   CUmulticastGranularity_flags which);
};

struct fb_gpu_multicast {
	struct fb_cuda_driver driver;
	struct calls calls;
	CUdevice device;
	CUmemGenericAllocationHandle object;
	CUdeviceptr base;
	size_t bytes, page; /* page: addresses and lengths are multiples of it */
	bool made, bound, reserved, mapped;
};

#define TRY(m, function, ...) \
	fb_cuda_driver_error(&(m)->driver, (m)->driver.function(__VA_ARGS__), #function)
#define CALL(m, function, ...)                                                          \
	fb_cuda_driver_error(&(m)->driver, (m)->calls.function(__VA_ARGS__), "Multicast" \
			     #function)

/* The only way to the driver's functions. FB_OK, or FB_EUNSUPPORTED and why. */
static int find_calls(struct fb_cuda_driver *driver, struct calls *calls, const char **why)
{
	const struct {
		const char *name;
		void *entry;
	} table[] = {
		{"cuMulticastCreate", &calls->Create},
		{"cuMulticastAddDevice", &calls->AddDevice},
		{"cuMulticastBindAddr", &calls->BindAddr},
		{"cuMulticastUnbind", &calls->Unbind},
		{"cuMulticastGetGranularity", &calls->GetGranularity},
	};

	if (!fb_multicast_is_allowed(why))
		return FB_EUNSUPPORTED;
	*why = "the driver has no virtual memory interface";
	if (fb_cuda_driver_find(driver))
		return FB_EUNSUPPORTED;
	*why = "the driver has no multicast: CUDA 12.1 has";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fb_cuda_driver_entry_of(table[i].name, DRIVER_VERSION, table[i].entry))
			return FB_EUNSUPPORTED;
	*why = "";
	return FB_OK;
}

int fb_gpu_multicast_can(const struct fb_gpu *gpu, char reason[FB_REASON_CHARS])
{
	struct fb_cuda_driver driver;
	struct calls calls;
	const char *why;
	int has = 0, err = find_calls(&driver, &calls, &why);

	if (!err && (driver.DeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
					       gpu->device) != CUDA_SUCCESS || !has))
		why = "a GPU has no multicast";
	snprintf(reason, FB_REASON_CHARS, "%s", why);
	return nobody_refuses(gpu->group, reason) ? FB_OK : FB_EUNSUPPORTED;
}

/* --- the object, step by step ----------------------------------------------------------------- */

/* All ranks import rank 0's object by its file descriptor `fd`, which is negative elsewhere. */
static int share_posix(struct fb_gpu_multicast *m, const struct fb_group *w, int fd)
{
	const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	/* All ranks have to send a file; only the creator's is used. */
	int own = fd >= 0 ? fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int *fds = calloc((size_t)w->nranks, sizeof(*fds)), creator, err;

	MPI_Comm_rank(w->node_comm, &creator);
	MPI_Bcast(&creator, 1, MPI_INT, 0, w->comm);
	err = fb_group_agree(w, fds ? FB_OK : FB_ENOMEM);
	if (!err && fds)
		err = fb_fd_exchange(w, own, fds, w->nranks);
	if (!err && fds && w->rank) {
		err = TRY(m, MemImportFromShareableHandle, &m->object,
			  (void *)(intptr_t)fds[creator], type);
		m->made = !err;
	}
	for (int i = 0; fds && i < w->nranks; i++)
		if (fds[i] > 0)
			close(fds[i]);
	free(fds);
	if (own >= 0)
		close(own);
	return err;
}

static int make_posix(struct fb_gpu_multicast *m, const struct fb_group *w)
{
	int fd = -1, err = FB_OK;

	if (!w->rank)
		err = TRY(m, MemExportToShareableHandle, &fd, m->object,
			  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	err = fb_group_agree(w, err);
	return err ? err : share_posix(m, w, fd);
}

#if CUDART_VERSION >= 12040
static int make_fabric(struct fb_gpu_multicast *m, const struct fb_group *w)
{
	CUmemFabricHandle handle = {{0}};
	int err = FB_OK;

	if (!w->rank)
		err = TRY(m, MemExportToShareableHandle, &handle, m->object,
			  CU_MEM_HANDLE_TYPE_FABRIC, 0);
	err = fb_group_agree(w, err);
	if (err)
		return err;
	MPI_Bcast(&handle, sizeof(handle), MPI_BYTE, 0, w->comm);
	if (w->rank) {
		err = TRY(m, MemImportFromShareableHandle, &m->object, &handle,
			  CU_MEM_HANDLE_TYPE_FABRIC);
		m->made = !err;
	}
	return err;
}
#define FABRIC CU_MEM_HANDLE_TYPE_FABRIC
#else
static int make_fabric(struct fb_gpu_multicast *m, const struct fb_group *w)
{
	(void)m;
	(void)w;
	return fb_error(FB_EUNSUPPORTED, "fabric handles need CUDA 12.4");
}
#define FABRIC 0
#endif

/* Makes or imports the object in this process; it has no GPUs yet. */
static int make(struct fb_gpu_multicast *m, const struct fb_group *w, uint64_t part,
		enum fb_gpu_memory memory)
{
	const CUmulticastObjectProp prop = {
		.numDevices = (unsigned)w->nranks, .size = m->bytes,
		.handleTypes = memory == FB_GPU_FABRIC ? FABRIC
						       : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	};
	int err = CALL(m, GetGranularity, &m->page, &prop, CU_MULTICAST_GRANULARITY_MINIMUM);

	if (!err && (!m->page || part % m->page || m->bytes % m->page))
		err = fb_error(FB_EUNSUPPORTED, "multicast memory comes in pieces of %zu bytes",
			       m->page);
	if (!err && !w->rank) {
		err = CALL(m, Create, &m->object, &prop);
		m->made = !err;
	}
	err = fb_group_agree(w, err);
	if (err)
		return err;
	return memory == FB_GPU_FABRIC ? make_fabric(m, w) : make_posix(m, w);
}

static int bind(struct fb_gpu_multicast *m, uint64_t part)
{
	int err = CALL(m, BindAddr, m->object, 0, part, m->bytes, 0);

	m->bound = !err;
	return err;
}

static int map(struct fb_gpu_multicast *m)
{
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = m->device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	int err = TRY(m, MemAddressReserve, &m->base, m->bytes, m->page, 0, 0);

	m->reserved = !err;
	if (!err)
		err = TRY(m, MemMap, m->base, m->bytes, 0, m->object, 0);
	m->mapped = m->reserved && !err;
	return err ? err : TRY(m, MemSetAccess, m->base, m->bytes, &access, 1);
}

static int set_up(struct fb_gpu_multicast *m, const struct fb_group *w, uint64_t part,
		  enum fb_gpu_memory memory)
{
	int err = fb_group_agree(w, make(m, w, part, memory));

	if (!err)
		err = fb_group_agree(w, CALL(m, AddDevice, m->object, m->device));
	if (!err)
		err = fb_group_agree(w, bind(m, part));
	return err ? err : fb_group_agree(w, map(m));
}

int fb_gpu_multicast_open(struct fb_gpu_multicast **multicast, const struct fb_gpu *gpu,
			  const struct fb_segment *segment, enum fb_gpu_memory memory)
{
	const struct fb_group *w = gpu->group;
	uint64_t part = (uint64_t)(uintptr_t)fb_segment_part(segment, w->rank);
	struct fb_gpu_multicast *m = calloc(1, sizeof(*m));
	const char *none;
	int err = m ? find_calls(&m->driver, &m->calls, &none) : FB_ENOMEM;
	char why[FB_REASON_CHARS];

	*multicast = NULL;
	if (fb_group_agree(w, err) || err || !m) {
		free(m);
		return FB_ENOMEM;
	}
	m->device = gpu->device;
	m->bytes = segment->part_bytes;
	fb_error_forget();
	if (!set_up(m, w, part, memory)) {
		*multicast = m;
		return FB_OK;
	}
	/* Rank 0 writes the row, which has the refusal of any rank's driver. */
	snprintf(why, sizeof(why), "%s", fb_error_last());
	(void)nobody_refuses(w, why);
	if (!w->rank)
		fb_error_print("no multicast: %s", *why ? why : "a rank has failed");
	MPI_Barrier(w->comm);
	fb_gpu_multicast_close(m);
	return FB_EUNSUPPORTED;
}

uint64_t fb_gpu_multicast_address(const struct fb_gpu_multicast *multicast)
{
	return multicast->base;
}

void fb_gpu_multicast_close(struct fb_gpu_multicast *m)
{
	if (!m)
		return;
	if (m->mapped)
		(void)TRY(m, MemUnmap, m->base, m->bytes);
	if (m->reserved)
		(void)TRY(m, MemAddressFree, m->base, m->bytes);
	if (m->bound)
		(void)CALL(m, Unbind, m->object, m->device, 0, m->bytes);
	if (m->made)
		(void)TRY(m, MemRelease, m->object);
	free(m);
}

#else

int fb_gpu_multicast_can(const struct fb_gpu *gpu, char reason[FB_REASON_CHARS])
{
	const char *why;

	snprintf(reason, FB_REASON_CHARS, "%s", fb_multicast_is_allowed(&why)
		 ? "multimem needs a build with CUDA 12.2" : why);
	(void)nobody_refuses(gpu->group, reason);
	return FB_EUNSUPPORTED;
}

int fb_gpu_multicast_open(struct fb_gpu_multicast **multicast, const struct fb_gpu *gpu,
			  const struct fb_segment *segment, enum fb_gpu_memory memory)
{
	(void)gpu;
	(void)segment;
	(void)memory;
	*multicast = NULL;
	return FB_EUNSUPPORTED;
}

uint64_t fb_gpu_multicast_address(const struct fb_gpu_multicast *multicast)
{
	(void)multicast;
	return 0;
}

void fb_gpu_multicast_close(struct fb_gpu_multicast *multicast)
{
	(void)multicast;
}

#endif
