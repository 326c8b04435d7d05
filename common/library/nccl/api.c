/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading NCCL, and what its versions have; see api.h. */
#include "common/library/nccl/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

#define NEEDED(member) { "nccl" #member, offsetof(struct fb_nccl, member), false }
#define OPTIONAL(member) { "nccl" #member, offsetof(struct fb_nccl, member), true }

static const struct fb_library_symbol symbols[] = {
	NEEDED(GetVersion),           NEEDED(GetErrorString),     NEEDED(GetUniqueId),
	NEEDED(CommInitRank),         NEEDED(CommDestroy),        NEEDED(CommAbort),
	NEEDED(CommGetAsyncError),    NEEDED(GroupStart),         NEEDED(GroupEnd),
	NEEDED(AllReduce),            NEEDED(AllGather),          NEEDED(ReduceScatter),
	NEEDED(Broadcast),            NEEDED(Reduce),             OPTIONAL(Send),
	OPTIONAL(Recv),               OPTIONAL(GetLastError),     OPTIONAL(CommInitRankConfig),
	OPTIONAL(MemAlloc),           OPTIONAL(MemFree),          OPTIONAL(CommRegister),
	OPTIONAL(CommDeregister),     OPTIONAL(ResetDebugInit),   OPTIONAL(CommWindowRegister),
	OPTIONAL(CommWindowDeregister), OPTIONAL(AlltoAll),       OPTIONAL(Gather),
	OPTIONAL(Scatter),            NEEDED(CommInitAll),        OPTIONAL(CommFinalize),
	OPTIONAL(CommSplit),          OPTIONAL(CommInitRankScalable), OPTIONAL(CommShrink),
	OPTIONAL(CommRevoke),         OPTIONAL(CommGetUniqueId),  OPTIONAL(CommGrow),
	OPTIONAL(CommSuspend),        OPTIONAL(CommResume),         OPTIONAL(GroupSimulateEnd),
	OPTIONAL(AllReduceConfig),    OPTIONAL(AllGatherConfig),    OPTIONAL(ReduceScatterConfig),
	OPTIONAL(BroadcastConfig),    OPTIONAL(ReduceConfig),       OPTIONAL(AlltoAllConfig),
	OPTIONAL(GatherConfig),       OPTIONAL(ScatterConfig),
};

int fb_nccl_open(struct fb_nccl *nccl, const char *file, char *reason, size_t n)
{
	const char *lacks;
	struct fb_nccl found = {.handle = NULL};

	found.handle = fb_library_open_cuda(&file, 1, reason, n);
	*nccl = (struct fb_nccl){.handle = NULL};
	if (!found.handle)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.handle, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "%s is no NCCL: it has no %s", file, lacks);
		return FB_EUNSUPPORTED;
	}
	/* Later versions have the function under an internal name only. */
	if (!found.ResetDebugInit) {
		void *address = dlsym(found.handle, "ncclResetDebugInitInternal");

		memcpy(&found.ResetDebugInit, &address, sizeof(address));
	}
	if (found.GetVersion(&found.version) != FB_NCCL_SUCCESS) {
		snprintf(reason, n, "%s does not report its version", file);
		return FB_EUNSUPPORTED;
	}
	found.file = fb_library_file(found.handle);
	if (!found.file)
		found.file = file;
	*nccl = found;
	return FB_OK;
}

/* Versions before 2.9 have a number of fewer digits, 2708 for 2.7.8. */
const char *fb_nccl_version_text(const struct fb_nccl *nccl, char text[FB_NCCL_NAME_CHARS])
{
	int v = nccl->version, major = v < 10000 ? v / 1000 : v / 10000;
	int minor = v < 10000 ? v / 100 % 10 : v / 100 % 100;

	snprintf(text, FB_NCCL_NAME_CHARS, "%d.%d.%d", major, minor, v % 100);
	return text;
}

bool fb_nccl_has(const struct fb_nccl *nccl, enum fb_nccl_feature feature, char *reason, size_t n)
{
	const struct {
		bool has;
		const char *what, *since;
	} table[FB_NCCL_FEATURES] = {
		[FB_NCCL_POINT_TO_POINT] = {nccl->Send && nccl->Recv, "ncclSend", "2.7"},
		[FB_NCCL_MEMORY] = {nccl->MemAlloc && nccl->MemFree, "ncclMemAlloc", "2.19"},
		[FB_NCCL_REGISTRATION] = {nccl->CommRegister && nccl->CommDeregister,
					  "buffer registration", "2.19"},
		[FB_NCCL_WINDOWS] = {nccl->CommWindowRegister && nccl->CommWindowDeregister,
				     "symmetric windows", "2.27"},
		[FB_NCCL_COPY_ENGINES] = {nccl->AlltoAll != NULL, "copy engine collectives",
					  "2.28"},
		[FB_NCCL_CTA_LIMITS] = {nccl->CommInitRankConfig && nccl->version >= 21700,
					"limits of CTAs", "2.17"},
		[FB_NCCL_CTA_POLICIES] = {nccl->CommInitRankConfig && nccl->version >= 22703,
					  "CTA policies", "2.27"},
		/* One version brought all functions with configurations. */
		[FB_NCCL_CALL_CONFIGS] = {nccl->AllReduceConfig && nccl->ScatterConfig,
					  "configurations of calls", "2.31"},
	};
	char version[FB_NCCL_NAME_CHARS];

	if (table[feature].has)
		return true;
	snprintf(reason, n, "NCCL %s has no %s (%s has)", fb_nccl_version_text(nccl, version),
		 table[feature].what, table[feature].since);
	return false;
}

int fb_nccl_type(enum fb_datatype type)
{
	static const int types[FB_DATATYPES] = {
		[FB_I8] = 0,  [FB_U8] = 1,  [FB_I32] = 2, [FB_U32] = 3, [FB_I64] = 4,
		[FB_U64] = 5, [FB_F16] = 6, [FB_F32] = 7, [FB_F64] = 8, [FB_BF16] = 9,
		[FB_F8E4M3] = 10, [FB_F8E5M2] = 11,
	};

	return types[type];
}

int fb_nccl_op(enum fb_redop op)
{
	static const int ops[FB_REDOPS] = {
		[FB_SUM] = 0, [FB_PROD] = 1, [FB_MAX] = 2, [FB_MIN] = 3, [FB_AVG] = 4,
	};

	return ops[op];
}

bool fb_nccl_can_type(const struct fb_nccl *nccl, enum fb_datatype type, char *reason, size_t n)
{
	/* bf16 came with 2.10, fp8 with 2.24. */
	int since = type == FB_BF16 ? 21003
				    : type == FB_F8E4M3 || type == FB_F8E5M2 ? 22403 : 0;
	char version[FB_NCCL_NAME_CHARS];

	if (nccl->version >= since)
		return true;
	snprintf(reason, n, "NCCL %s has no type %s", fb_nccl_version_text(nccl, version),
		 fb_datatype_name(type));
	return false;
}

int fb_nccl_error(const struct fb_nccl *nccl, fb_nccl_comm comm, int code, const char *function)
{
	const char *last;

	if (code == FB_NCCL_SUCCESS || code == FB_NCCL_IN_PROGRESS)
		return FB_OK;
	last = nccl->GetLastError ? nccl->GetLastError(comm) : NULL;
	fb_error_print("nccl%s: %s%s%.*s", function, nccl->GetErrorString(code),
		       last && *last ? ": " : "", last ? (int)strcspn(last, "\n") : 0,
		       last ? last : "");
	if (code == FB_NCCL_INVALID_ARGUMENT || code == FB_NCCL_INVALID_USAGE)
		return FB_EUNSUPPORTED;
	return code == FB_NCCL_REMOTE_ERROR ? FB_EPEER : FB_ESYS;
}
