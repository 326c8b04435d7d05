/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing and opening the device of a rank; see gpu.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_driver.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/cuda_nvml.h"
#include "common/cuda/cuda_segment.h"

/* The data that ranks exchange about their devices. */
struct card {
	int device, devices, node, posix, fabric;
	char bus_id[16], host[64];
};

/* The number of devices; 0 with the reason: no driver, one too old for the runtime, no device. */
static int count_devices(char *reason)
{
	int n = 0;
	cudaError_t code = cudaGetDeviceCount(&n);

	if (code == cudaSuccess && n > 0)
		return n;
	snprintf(reason, FB_REASON_CHARS, "no CUDA device");
	if (code != cudaSuccess && code != cudaErrorNoDevice && code != cudaErrorInsufficientDriver)
		snprintf(reason, FB_REASON_CHARS, "no CUDA device: %s", cudaGetErrorName(code));
	(void)cudaGetLastError();
	return 0;
}

static int attribute(enum cudaDeviceAttr which, int device)
{
	int value = 0;

	return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

static bool exports(const struct fb_cuda_driver *driver, CUdevice_attribute which, int device)
{
	int value = 0;

	return driver->DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS && value;
}

/* As the driver's tools write it, 8-4-4-4-12 digits. */
static void write_uuid(const struct cudaDeviceProp *prop, char *text, size_t n)
{
	size_t used = (size_t)snprintf(text, n, "GPU-");

	for (int i = 0; i < 16; i++)
		used += (size_t)snprintf(text + used, n - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					 (unsigned char)prop->uuid.bytes[i]);
}

static int describe(struct fb_gpu *gpu, struct card *card)
{
	struct fb_cuda_driver driver;
	struct cudaDeviceProp prop;
	size_t total;
	int err = FB_CUDA(cudaSetDevice(gpu->device));

	/* The first use makes the context, which takes some of the memory itself. */
	if (!err)
		err = FB_CUDA(cudaFree(NULL));
	if (!err)
		err = FB_CUDA(cudaMemGetInfo(&gpu->memory_bytes, &total));
	if (!err)
		err = FB_CUDA(cudaGetDeviceProperties(&prop, gpu->device));
	if (!err)
		err = FB_CUDA(cudaDeviceGetPCIBusId(gpu->bus_id, sizeof(gpu->bus_id), gpu->device));
	if (err)
		return err;
	snprintf(gpu->name, sizeof(gpu->name), "%.63s", prop.name);
	write_uuid(&prop, gpu->uuid, sizeof(gpu->uuid));
	gpu->sms = attribute(cudaDevAttrMultiProcessorCount, gpu->device);
	gpu->major = attribute(cudaDevAttrComputeCapabilityMajor, gpu->device);
	gpu->minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu->device);
	if (!fb_cuda_driver_find(&driver)) {
		card->posix = exports(
			&driver, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
			gpu->device);
#if CUDART_VERSION >= 12040
		card->fabric = exports(&driver, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
				       gpu->device) && fb_vmm_has_fabric(gpu, &driver);
#endif
	}
	memcpy(card->bus_id, gpu->bus_id, sizeof(card->bus_id));
	return FB_OK;
}

/* The number of the device; negative if this process does not see it. */
static int device_at(const char *bus_id)
{
	int device = -1;

	if (cudaDeviceGetByPCIBusId(&device, bus_id) == cudaSuccess)
		return device;
	(void)cudaGetLastError();
	return -1;
}

int fb_gpu_device_of(const struct fb_gpu *gpu, int rank)
{
	return device_at(gpu->peers[rank]);
}

/*
 * Whether this rank's GPU can map memory of the other card. False for a device that this process
 * does not see, because CUDA cannot be asked about it.
 */
static bool can_reach(const struct fb_gpu *gpu, const struct card *own, const struct card *other)
{
	int device, can = 0;

	if (strcmp(own->host, other->host))
		return own->fabric && other->fabric;
	if (!strcmp(own->bus_id, other->bus_id))
		return true;
	device = device_at(other->bus_id);
	return device >= 0 &&
	       cudaDeviceCanAccessPeer(&can, gpu->device, device) == cudaSuccess && can;
}

/* Collective: fills in the members that depend on all ranks' cards. */
static void compare(struct fb_gpu *gpu, const struct card *cards)
{
	const struct fb_group *w = gpu->group;
	const struct card *own = &cards[w->rank];
	unsigned long long least = gpu->memory_bytes;
	int facts[3] = {1, own->posix, own->fabric}, sharing = 0, most;

	for (int r = 0; r < w->nranks; r++) {
		memcpy(gpu->peers[r], cards[r].bus_id, sizeof(gpu->peers[r]));
		gpu->reaches[r] = can_reach(gpu, own, &cards[r]);
		facts[0] &= gpu->reaches[r];
		sharing += !strcmp(own->host, cards[r].host) &&
			   !strcmp(own->bus_id, cards[r].bus_id);
	}
	MPI_Allreduce(&sharing, &most, 1, MPI_INT, MPI_MAX, w->comm);
	MPI_Allreduce(MPI_IN_PLACE, facts, 3, MPI_INT, MPI_MIN, w->comm);
	if (sharing > 1)
		least /= (unsigned)sharing;
	MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, w->comm);
	gpu->shared = most > 1;
	gpu->all_reach = facts[0];
	gpu->posix = facts[1];
	gpu->fabric = facts[2];
	gpu->memory_bytes = (size_t)least;
}

/* Chooses by the rank's number on its real host, also with --nodes-as. */
static int choose(const struct fb_group *world, int devices)
{
	int local;

	MPI_Comm_rank(world->node_comm, &local);
	return devices > 0 ? local % devices : 0;
}

int fb_gpu_open(struct fb_gpu *gpu, const struct fb_group *world, char reason[FB_REASON_CHARS])
{
	struct card own = {0}, *cards = calloc((size_t)world->nranks, sizeof(*cards));
	struct fb_gpu made = {.group = world};
	char why[FB_REASON_CHARS] = "no CUDA device on another rank's host";
	int err = cards ? FB_OK : FB_ENOMEM, present;

	made.reaches = calloc((size_t)world->nranks, sizeof(*made.reaches));
	made.peers = calloc((size_t)world->nranks, sizeof(*made.peers));
	err = fb_group_agree(world, made.reaches && made.peers ? err : FB_ENOMEM);
	if (err || !cards)
		goto free_cards;
	made.devices = count_devices(why);
	present = made.devices > 0;
	MPI_Allreduce(MPI_IN_PLACE, &present, 1, MPI_INT, MPI_MIN, world->comm);
	if (!present) {
		snprintf(reason, FB_REASON_CHARS, "%s", why);
		MPI_Bcast(reason, FB_REASON_CHARS, MPI_CHAR, 0, world->comm);
		err = FB_EUNSUPPORTED;
		goto free_cards;
	}
	made.device = choose(world, made.devices);
	snprintf(own.host, sizeof(own.host), "%.63s", world->host);
	err = fb_group_agree(world, describe(&made, &own));
	if (err)
		goto free_cards;
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, cards, sizeof(own), MPI_BYTE, world->comm);
	compare(&made, cards);
	made.nvml = fb_nvml_open(made.bus_id);
	free(cards);
	*gpu = made;
	return FB_OK;
free_cards:
	free(cards);
	free(made.reaches);
	free(made.peers);
	return err;
}

void fb_gpu_close(struct fb_gpu *gpu)
{
	fb_nvml_close(gpu->nvml);
	free(gpu->reaches);
	free(gpu->peers);
	*gpu = (struct fb_gpu){.device = 0};
}

size_t fb_gpu_free_bytes(void)
{
	size_t left, total;

	if (cudaMemGetInfo(&left, &total) == cudaSuccess)
		return left;
	(void)cudaGetLastError();
	return 0;
}
