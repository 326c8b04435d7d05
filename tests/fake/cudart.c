/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA runtime with one GPU that does nothing, linked into programs in place of the real one
 * (build/<mpi>/tests/fake_gpu/), so that what the GPU engines do on the host runs on any machine,
 * under the sanitizers too. Device memory is the host's, in which every kernel finds and leaves
 * zeros, so the checks of data, which are kernels, never complain: this is for crashes, bounds and
 * leaks. Memory of other ranks has addresses of these ranks, which only kernels would use, but for
 * the driver's handles (cudart_memory.c). What is launched in which order: cudart_order.c. With
 * FB_FAKE_GPU_WORKS in the environment what movers enqueue is carried out: cudart_works.c.
 *
 * With FB_FAKE_GPU_EACH each process has a GPU of its own, as NCCL wants it; it sees FB_FAKE_GPUS.
 * FB_FAKE_GPU_MEMORY is the bytes that a GPU has, FB_FAKE_GPU_SMS its multiprocessors.
 * With FB_FAKE_GPU_DIRECT in the environment the GPU says that RDMA devices may use its memory, and
 * gives a file for it that is no dma-buf: such devices refuse that, and take the memory by address.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake/cudart.h"

bool fake_works(void)
{
	static int works = -1;

	if (works < 0)
		works = getenv("FB_FAKE_GPU_WORKS") != NULL;
	return works;
}

/* --- one device ------------------------------------------------------------------------------- */

#define DOES_NOTHING(name, ...)            \
	cudaError_t CUDARTAPI name(__VA_ARGS__) \
	{                                  \
		return cudaSuccess;        \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

cudaError_t cudaGetDeviceCount(int *count)
{
	const char *text = getenv("FB_FAKE_GPUS");

	*count = text ? atoi(text) : 1;
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
	*device = 0;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	const char *sms = getenv("FB_FAKE_GPU_SMS");

	*value = attribute == cudaDevAttrMultiProcessorCount		? sms ? atoi(sms) : 132
		 : attribute == cudaDevAttrComputeCapabilityMajor	? 9
		 : attribute == cudaDevAttrComputeCapabilityMinor	? 0
		 : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 227 << 10
									: 1;
	return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = 1;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus_id)
{
	*device = 0;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int n, int device)
{
	const char *each = getenv("FB_FAKE_GPU_EACH");
	unsigned domain = each && *each ? (unsigned)getpid() & 0xffff : 0;

	snprintf(bus_id, (size_t)n, "%04x:00:01.0", domain);
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = 12080;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "no GPU");
	return cudaSuccess;
}

/* --- the driver: stream memory operations, and memory ----------------------------------------- */

static CUresult no_name(CUresult code, const char **name)
{
	*name = NULL;
	return CUDA_SUCCESS;
}

/* Handles are files. Writes of RDMA devices come in no order, and are flushed by the host. */
static CUresult attribute(int *value, CUdevice_attribute which, CUdevice device)
{
	*value = which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ||
		 (which == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED &&
		  fake_multicast_works("attribute")) ||
		 (getenv("FB_FAKE_GPU_DIRECT") &&
		  (which == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED ||
		   which == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED ||
		   which == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS));
	return CUDA_SUCCESS;
}

static CUresult some_file(void *handle, CUdeviceptr at, size_t bytes, CUmemRangeHandleType type,
			  unsigned long long flags)
{
	int fd = memfd_create("no dma-buf", MFD_CLOEXEC);

	memcpy(handle, &fd, sizeof(fd));
	return fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult no_operations(CUstream stream, unsigned n, CUstreamBatchMemOpParams *operations,
			      unsigned flags)
{
	if (fake_works())
		fake_operate(stream, n, operations);
	return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
					     unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *found)
{
	*function = NULL;
	if (!strcmp(symbol, "cuGetErrorName"))
		*function = (void *)(uintptr_t)no_name;
	else if (!strcmp(symbol, "cuDeviceGetAttribute"))
		*function = (void *)(uintptr_t)attribute;
	else if (!strcmp(symbol, "cuStreamBatchMemOp"))
		*function = (void *)(uintptr_t)no_operations;
	else if (!strcmp(symbol, "cuMemGetHandleForAddressRange"))
		*function = (void *)(uintptr_t)some_file;
	else
		*function = fake_memory_function(symbol);
	*found = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return cudaSuccess;
}

/* --- what failed ------------------------------------------------------------------------------ */

const char *cudaGetErrorName(cudaError_t error)
{
	return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t error)
{
	return cudaGetErrorName(error);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	*attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .ptxVersion = 90};
	return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
							  int threads, size_t shared)
{
	*blocks = 1;
	return cudaSuccess;
}

DOES_NOTHING(cudaSetDevice, int device)
DOES_NOTHING(cudaFuncSetAttribute, const void *f, enum cudaFuncAttribute which, int value)
DOES_NOTHING(cudaGetLastError, void)
DOES_NOTHING(cudaDeviceFlushGPUDirectRDMAWrites, enum cudaFlushGPUDirectRDMAWritesTarget target,
	     enum cudaFlushGPUDirectRDMAWritesScope scope)

/* --- memory ----------------------------------------------------------------------------------- */

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags)
{
	return cudaMalloc(memory, bytes);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	return cudaMalloc(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
	return cudaFree(memory);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	*device = host;
	return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	memmove(to, from, bytes);
	return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
	memset(memory, value, bytes);
	return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
	memset(handle, 0, sizeof(*handle));
	if (fake_works())
		return fake_export(handle, memory);
	memcpy(handle, &memory, sizeof(memory));
	return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned flags)
{
	if (fake_works())
		return fake_import(memory, &handle);
	memcpy(memory, &handle, sizeof(*memory));
	return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *memory)
{
	if (fake_works())
		fake_free(memory);
	return cudaSuccess;
}

DOES_NOTHING(cudaHostRegister, void *memory, size_t bytes, unsigned flags)
DOES_NOTHING(cudaHostUnregister, void *memory)

/* --- streams, events, graphs: what is not destroyed is a leak --------------------------------- */

#define MAKE(handle) ((*(handle) = calloc(1, 1)) ? cudaSuccess : cudaErrorMemoryAllocation)
#define MAKE_AS(handle, made) ((*(handle) = (made)) ? cudaSuccess : cudaErrorMemoryAllocation)

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	return MAKE_AS(stream, fake_stream_open());
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	return MAKE_AS(stream, fake_stream_open());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	fake_stream_close(stream);
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return MAKE_AS(event, fake_event_open());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	return MAKE_AS(event, fake_event_open());
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	if (event)
		fake_event_close(event);
	return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	*ms = 1;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph,
				 unsigned long long flags)
{
	return fake_works() ? MAKE_AS(ready, fake_graph_copy(graph)) : MAKE(ready);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	if (!fake_works())
		return cudaFree(graph);
	fake_graph_free(graph);
	return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready)
{
	return cudaGraphDestroy((cudaGraph_t)(void *)ready);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	return fake_works() ? fake_wait_event(event, stream) : cudaSuccess;
}

/*
 * What copies to or from another rank has an address there, so nothing is moved, but for GPUs that
 * work, whose ranks share memory.
 */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	const struct fake_box box = {to, from, bytes, 1, 1, 0, 0, 0, 0};

	return fake_works() ? fake_copy(&box, stream) : cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	const struct fake_box box = {to, from, width, height, 1, to_pitch, from_pitch, 0, 0};

	if (width > to_pitch || width > from_pitch)
		return cudaErrorInvalidPitchValue;
	return fake_works() ? fake_copy(&box, stream) : cudaSuccess;
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	const struct fake_box box = {
		p->dstPtr.ptr, p->srcPtr.ptr, p->extent.width, p->extent.height, p->extent.depth,
		p->dstPtr.pitch, p->srcPtr.pitch, p->dstPtr.pitch * p->dstPtr.ysize,
		p->srcPtr.pitch * p->srcPtr.ysize};

	if (box.width > box.to_pitch || box.width > box.from_pitch ||
	    box.height > p->dstPtr.ysize || box.height > p->srcPtr.ysize)
		return cudaErrorInvalidPitchValue;
	return fake_works() ? fake_copy(&box, stream) : cudaSuccess;
}

static cudaError_t copy_each(void *const *to, const void *const *from, const size_t *bytes,
			     size_t count, cudaStream_t stream)
{
	cudaError_t code = fake_is_capturing() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;

	for (size_t i = 0; i < count && code == cudaSuccess; i++)
		code = cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault, stream);
	return code;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes,
				 size_t count, struct cudaMemcpyAttributes *attributes,
				 size_t *indices, size_t n, cudaStream_t stream)
{
	return copy_each(to, from, bytes, count, stream);
}
#elif CUDART_VERSION >= 12080
cudaError_t cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count,
				 struct cudaMemcpyAttributes *attributes, size_t *indices, size_t n,
				 size_t *failed, cudaStream_t stream)
{
	return copy_each(to, (const void *const *)from, bytes, count, stream);
}
#endif
