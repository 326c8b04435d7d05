/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with the part of NVML's interface that is used, for GPUs of the fake CUDA runtime:
 *
 *	FAKE_NVML_P2P      nvmlGpuP2PStatus_t of NVLink between any two; default 0, which is OK
 *	FAKE_NVML_LEVEL    nvmlGpuTopologyLevel_t of any two; not set: the call fails
 *	FAKE_NVML_NVLINK   KiB that NVLink's counters grow by from one look to the next; default 0
 *	FAKE_NVML_PCIE     bytes that PCIe's do; not set: not supported, as by drivers before 565
 *	FAKE_NVML_ECC      uncorrected memory errors, and rows that wait for a reset; not set: no
 *	                   ECC
 *	FAKE_NVML_UP       links that are up of 18, to an NVSwitch; default 18
 *	FAKE_NVML_DIRECT   so many of them lead to the other GPU, the others to an unknown one
 *	FAKE_NVML_C2C      links by NVLink-C2C that are active of 10, as on GH200; not set: none
 *	FAKE_NVML_C2C_SLOW MB/s of the second of them; not set: as the others, 44712
 *	FAKE_NVML_FABRIC   state of the fabric, and the clique: "3 7"; not set: not supported
 *	FAKE_NVML_BUSY     percent of the time that GPM says SMs had work; not set: no GPM
 *
 * There are two GPUs, 0000:01:00.0 and 0000:02:00.0. Constants and structures are declared once
 * more, so that a mistake in the program's does not repeat itself here.
 */
#include <stdint.h>
#include <stdlib.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, VERSION_MISMATCH = 25 };
enum { VALUE_UNSIGNED_INT = 1, VALUE_UNSIGNED_LONG_LONG = 3 };

typedef struct {
	uint32_t fieldId, scopeId;
	int64_t timestamp, latencyUsec;
	int32_t valueType, nvmlReturn;
	union {
		double dVal;
		uint32_t uiVal;
		uint64_t ullVal;
	} value;
} nvmlFieldValue_t;

typedef struct {
	char busIdLegacy[16];
	uint32_t domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct {
	uint32_t version;
	uint8_t clusterUuid[16];
	int32_t status;
	uint32_t cliqueId;
	uint8_t state;
	uint32_t healthMask;
} nvmlGpuFabricInfo_v2_t;

#define API(name, ...)                                                                             \
	int name(__VA_ARGS__);                                                                     \
	int name(__VA_ARGS__)

static uint64_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

API(nvmlInit_v2, void)
{
	return SUCCESS;
}
API(nvmlShutdown, void)
{
	return SUCCESS;
}

API(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, void **device)
{
	static int devices[256];

	*device = &devices[strtoul(bus_id, NULL, 16) % 256];
	return SUCCESS;
}

API(nvmlDeviceGetClockInfo, void *device, int type, unsigned *MHz)
{
	*MHz = type == 1 ? 1980 : 3201;
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetCurrentClocksThrottleReasons, void *device, unsigned long long *reasons)
{
	*reasons = 0;
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetP2PStatus, void *device, void *peer, int index, int *status)
{
	*status = (int)number("FAKE_NVML_P2P");
	return device && peer && index == 2 ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetTopologyCommonAncestor, void *device, void *peer, int *level)
{
	*level = (int)number("FAKE_NVML_LEVEL");
	return device && peer && getenv("FAKE_NVML_LEVEL") ? SUCCESS : NOT_SUPPORTED;
}

API(nvmlDeviceGetFieldValues, void *device, int n, nvmlFieldValue_t *values)
{
	static uint64_t nvlink, pcie;

	if (!device)
		return INVALID_ARGUMENT;
	for (int i = 0; i < n; i++) {
		nvmlFieldValue_t *v = &values[i];

		v->nvmlReturn = SUCCESS;
		if (v->fieldId == 90) {
			v->valueType = VALUE_UNSIGNED_INT;
			v->value.uiVal = 26562;
		} else if (v->fieldId == 138 && v->scopeId == UINT32_MAX) { /* 139: received */
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = nvlink += number("FAKE_NVML_NVLINK");
		} else if (v->fieldId == 139 && v->scopeId == UINT32_MAX) {
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = 0;
		} else if ((v->fieldId == 197 || v->fieldId == 198) && getenv("FAKE_NVML_PCIE")) {
			pcie += v->fieldId == 197 ? number("FAKE_NVML_PCIE") : 0;
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = v->fieldId == 197 ? pcie : 0;
		} else if (v->fieldId == 170 && getenv("FAKE_NVML_C2C")) {
			v->valueType = VALUE_UNSIGNED_INT;
			v->value.uiVal = 10;
		} else if (v->fieldId == 171 && v->scopeId < 10 && getenv("FAKE_NVML_C2C")) {
			v->valueType = VALUE_UNSIGNED_INT;
			v->value.uiVal = v->scopeId < number("FAKE_NVML_C2C");
		} else if (v->fieldId == 172 && v->scopeId < number("FAKE_NVML_C2C")) {
			v->valueType = VALUE_UNSIGNED_INT;
			v->value.uiVal = v->scopeId == 1 && getenv("FAKE_NVML_C2C_SLOW")
						 ? (uint32_t)number("FAKE_NVML_C2C_SLOW")
						 : 44712;
		} else {
			v->nvmlReturn = NOT_SUPPORTED;
		}
	}
	return SUCCESS;
}

static int by_index[2];

API(nvmlDeviceGetCount_v2, unsigned *count)
{
	*count = 2;
	return SUCCESS;
}

API(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device)
{
	*device = &by_index[index % 2];
	return SUCCESS;
}

API(nvmlDeviceGetPciInfo_v3, void *device, nvmlPciInfo_t *pci)
{
	*pci = (nvmlPciInfo_t){.bus = device == &by_index[1] ? 2 : 1};
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetNvLinkState, void *device, unsigned link, unsigned *up)
{
	*up = link < (getenv("FAKE_NVML_UP") ? number("FAKE_NVML_UP") : 18);
	return device && link < 18 ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetNvLinkRemoteDeviceType, void *device, unsigned link, int *type)
{
	*type = getenv("FAKE_NVML_DIRECT") ? 0 : 2; /* a GPU; a switch */
	return device && link < 18 ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetNvLinkRemotePciInfo_v2, void *device, unsigned link, nvmlPciInfo_t *pci)
{
	*pci = (nvmlPciInfo_t){.bus = 0xff};
	if (link < number("FAKE_NVML_DIRECT"))
		pci->bus = device == &by_index[1] ? 1 : 2;
	return device && link < 18 ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetEccMode, void *device, unsigned *now, unsigned *next)
{
	*now = *next = getenv("FAKE_NVML_ECC") ? 1 : 0;
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetTotalEccErrors, void *device, int type, int counter, unsigned long long *count)
{
	*count = type == 1 ? number("FAKE_NVML_ECC") : 5;
	return !device || counter != 1 ? INVALID_ARGUMENT
				       : getenv("FAKE_NVML_ECC") ? SUCCESS : NOT_SUPPORTED;
}

API(nvmlDeviceGetRemappedRows, void *device, unsigned *corrected, unsigned *uncorrected,
    unsigned *pending, unsigned *failed)
{
	*corrected = *failed = 0;
	*uncorrected = *pending = (unsigned)number("FAKE_NVML_ECC");
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlDeviceGetGpuFabricInfoV, void *device, nvmlGpuFabricInfo_v2_t *fabric)
{
	const char *text = getenv("FAKE_NVML_FABRIC");
	char *rest;

	if (fabric->version != (sizeof(*fabric) | 2U << 24))
		return VERSION_MISMATCH;
	if (!text)
		return NOT_SUPPORTED;
	fabric->state = (uint8_t)strtoul(text, &rest, 10);
	fabric->cliqueId = (uint32_t)strtoul(rest, NULL, 10);
	fabric->clusterUuid[15] = 0xab;
	return device ? SUCCESS : INVALID_ARGUMENT;
}

typedef struct {
	uint32_t version, isSupportedDevice;
} nvmlGpmSupport_t;

typedef struct {
	uint32_t metricId;
	int32_t nvmlReturn;
	double value;
	struct {
		char *shortName, *longName, *unit;
	} metricInfo;
} nvmlGpmMetric_t;

typedef struct {
	uint32_t version, numMetrics;
	void *sample1, *sample2;
	nvmlGpmMetric_t metrics[98];
} nvmlGpmMetricsGet_t;

API(nvmlGpmQueryDeviceSupport, void *device, nvmlGpmSupport_t *support)
{
	support->isSupportedDevice = support->version == 1 && getenv("FAKE_NVML_BUSY");
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlGpmSampleAlloc, void **sample)
{
	*sample = calloc(1, 1);
	return *sample ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlGpmSampleFree, void *sample)
{
	free(sample);
	return SUCCESS;
}

API(nvmlGpmSampleGet, void *device, void *sample)
{
	*(char *)sample = 1;
	return device ? SUCCESS : INVALID_ARGUMENT;
}

API(nvmlGpmMetricsGet, nvmlGpmMetricsGet_t *get)
{
	if (get->version != 1 || !*(char *)get->sample1 || !*(char *)get->sample2)
		return INVALID_ARGUMENT;
	for (uint32_t i = 0; i < get->numMetrics; i++) {
		nvmlGpmMetric_t *m = &get->metrics[i];

		m->nvmlReturn = m->metricId == 2 || m->metricId == 3 ? SUCCESS : NOT_SUPPORTED;
		m->value = (double)number("FAKE_NVML_BUSY") / (m->metricId - 1);
	}
	return SUCCESS;
}
