/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the GPU that does nothing (cudart.c) which knows the order of things. A blocking
 * kernel (common/cuda/stream.cu) is the only one that takes time here: until the host opens its
 * gate the stream is busy, waiting for the device is an error, as it would never end, and so is a
 * full queue.
 *
 * With FB_FAKE_GPU_LOG=FILE each process writes FILE.<pid>, a line for each thing: "launch KERNEL",
 * "graph", "event", "idle" where the host has seen the device idle; "held " goes before what is
 * enqueued behind a blocking kernel. What is captured is not enqueued, so it is not there.
 */
#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cuda/stream_kernels.h"
#include "tests/fake/cudart.h"

enum { KERNELS = 4096, QUEUE = 600 }; /* real queues hold some 1000 */

struct kernel {
	const void *function;
	const char *name;
};

static struct {
	struct kernel kernel[KERNELS];
	int kernels, queued; /* queued: behind the gate */
	const struct fb_hold_gate *gate; /* NULL: no blocking kernel */
	uint32_t number;
	int capturing, busy; /* busy: the host has not seen yet that all is over */
} device;

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const void *function, char *device_function,
			    const char *name, int threads, void *, void *, void *, void *, int *);
cudaError_t __cudaGetKernel(void **kernel, const void *function);
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* --- what nvcc's code calls ------------------------------------------------------------------- */

void **__cudaRegisterFatBinary(void *image)
{
	static void *handle[1];

	handle[0] = image;
	return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
}

void __cudaRegisterFunction(void **handle, const void *function, char *device_function,
			    const char *name, int threads, void *a, void *b, void *c, void *d,
			    int *e)
{
	if (device.kernels < KERNELS)
		device.kernel[device.kernels++] = (struct kernel){function, name};
}

cudaError_t __cudaGetKernel(void **kernel, const void *function)
{
	memcpy(kernel, &function, sizeof(function));
	return cudaSuccess;
}

/* Between <<< and >>>. */
static struct {
	dim3 grid, block;
	void *stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = 0;
	memcpy(stream, &configuration.stream, sizeof(configuration.stream));
	return cudaSuccess;
}

/* --- the order of things ---------------------------------------------------------------------- */

static void log_line(const char *what, const char *name)
{
	static FILE *file;
	const char *path = getenv("FB_FAKE_GPU_LOG");
	char own[512];

	if (!path)
		return;
	if (!file) {
		snprintf(own, sizeof(own), "%s.%d", path, (int)getpid());
		file = fopen(own, "w");
	}
	if (!file)
		abort();
	fprintf(file, "%s%s%s%s\n", device.gate ? "held " : "", what, *name ? " " : "", name);
	fflush(file);
}

static int is_held(void)
{
	if (device.gate && (int32_t)(__atomic_load_n(&device.gate->open, __ATOMIC_ACQUIRE) -
				     device.number) >= 0)
		device.gate = NULL;
	return device.gate != NULL;
}

static cudaError_t add(const char *what, const char *name)
{
	if (device.capturing)
		return cudaSuccess;
	device.busy = 1;
	device.queued = is_held() ? device.queued + 1 : 0;
	log_line(what, name);
	return device.queued < QUEUE ? cudaSuccess : cudaErrorLaunchTimeout;
}

static const char *name_of(const void *function)
{
	for (int i = 0; i < device.kernels; i++)
		if (device.kernel[i].function == function)
			return device.kernel[i].name;
	return "unknown";
}

static cudaError_t launch(const void *function, void **args, dim3 grid, dim3 block,
			  cudaStream_t stream)
{
	const char *name = name_of(function);
	cudaError_t code = add("launch", name);

	if (fake_works())
		return fake_launch(name, args, grid.x, block.x, stream);

	if (strstr(name, "hold_stream")) {
		memcpy(&device.gate, args[0], sizeof(device.gate));
		memcpy(&device.number, args[1], sizeof(device.number));
	}
	return code;
}

cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream)
{
	return launch(kernel, args, grid, block, stream);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
			     size_t shared, cudaStream_t stream)
{
	return launch(function, args, grid, block, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
	return launch(function, args, config->gridDim, config->blockDim, config->stream);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	if (fake_works())
		return fake_record(event, stream);
	return add("event", "");
}

/* This thread's open captures, and whether a call has invalidated them. */
static __thread struct {
	int open;
	bool spoilt;
} captures;

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream)
{
	if (captures.open)
		return cudaErrorStreamCaptureUnsupported;
	if (fake_works())
		fake_graph_launch(ready, stream);
	return add("graph", "");
}

bool fake_is_capturing(void)
{
	return device.capturing != 0;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t ready, cudaStream_t stream)
{
	captures.spoilt = captures.open > 0;
	return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	device.capturing = 1;
	captures.spoilt = captures.open++ && captures.spoilt;
	if (fake_works())
		fake_capture_begin(stream);
	return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	*status = device.capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	device.capturing = 0;
	captures.open--;
	if (captures.spoilt) {
		*graph = NULL;
		return cudaErrorStreamCaptureInvalidated;
	}
	*graph = fake_works() ? fake_capture_end(stream) : calloc(1, 1);
	return *graph ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t idle(cudaError_t held)
{
	if (is_held())
		return held;
	if (device.busy)
		log_line("idle", "");
	device.busy = 0;
	return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	if (fake_works())
		fake_go_on();
	if (fake_works() && !fake_stream_idle(stream))
		return cudaErrorNotReady;
	return idle(cudaErrorNotReady);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	if (!fake_works())
		return idle(cudaErrorNotReady);
	if (fake_is_wrong("undone"))
		return cudaSuccess;
	fake_go_on();
	return fake_event_over(event) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	while (fake_works() && !fake_stream_idle(stream)) {
		fake_go_on();
		sched_yield();
	}
	return idle(cudaErrorLaunchTimeout);
}

cudaError_t cudaDeviceSynchronize(void)
{
	return idle(cudaErrorLaunchTimeout);
}
