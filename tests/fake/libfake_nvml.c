/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with the part of NVML's interface that is used, for GPUs of the fake CUDA runtime:
 *
 *	FAKE_NVML_P2P      nvmlGpuP2PStatus_t of NVLink between any two; default 0, which is OK
 *	FAKE_NVML_LEVEL    nvmlGpuTopologyLevel_t of any two; not set: the call fails
 *	FAKE_NVML_NVLINK   KiB that NVLink's counters grow by from one look to the next; default 0
 *	FAKE_NVML_PCIE     bytes that PCIe's do; not set: not supported, as by drivers before 565
 *
 * Constants and structures are declared once more, so that a mistake in the program's does not
 * repeat itself here.
 */
#include <stdint.h>
#include <stdlib.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };
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
		if (v->fieldId == 138 && v->scopeId == UINT32_MAX) { /* sent; 139: received */
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = nvlink += number("FAKE_NVML_NVLINK");
		} else if (v->fieldId == 139 && v->scopeId == UINT32_MAX) {
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = 0;
		} else if ((v->fieldId == 197 || v->fieldId == 198) && getenv("FAKE_NVML_PCIE")) {
			pcie += v->fieldId == 197 ? number("FAKE_NVML_PCIE") : 0;
			v->valueType = VALUE_UNSIGNED_LONG_LONG;
			v->value.ullVal = v->fieldId == 197 ? pcie : 0;
		} else {
			v->nvmlReturn = NOT_SUPPORTED;
		}
	}
	return SUCCESS;
}
