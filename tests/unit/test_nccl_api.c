/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL found at run time: what is missing is said, versions differ in what they have, and the
 * numbers declared by hand are those of nccl.h where that is installed.
 */
#include <stdlib.h>

#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_nccl.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(FB_NCCL_SUCCESS, ncclSuccess);
SAME(FB_NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(FB_NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(FB_NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(FB_NCCL_IN_PROGRESS, ncclInProgress);
SAME(FB_NCCL_UNDEFINED_INT, NCCL_CONFIG_UNDEF_INT);
SAME(sizeof(struct fb_nccl_id), sizeof(ncclUniqueId));
SAME(offsetof(struct fb_nccl_config, magic), offsetof(ncclConfig_t, magic));
SAME(offsetof(struct fb_nccl_config, version), offsetof(ncclConfig_t, version));
SAME(offsetof(struct fb_nccl_config, blocking), offsetof(ncclConfig_t, blocking));
SAME(offsetof(struct fb_nccl_config, cga_cluster_size), offsetof(ncclConfig_t, cgaClusterSize));
SAME(offsetof(struct fb_nccl_config, min_ctas), offsetof(ncclConfig_t, minCTAs));
SAME(offsetof(struct fb_nccl_config, max_ctas), offsetof(ncclConfig_t, maxCTAs));
SAME(offsetof(struct fb_nccl_config, net_name), offsetof(ncclConfig_t, netName));
SAME(offsetof(struct fb_nccl_config, split_share), offsetof(ncclConfig_t, splitShare));
#if NCCL_VERSION_CODE >= 22703
SAME(offsetof(struct fb_nccl_config, traffic_class), offsetof(ncclConfig_t, trafficClass));
SAME(offsetof(struct fb_nccl_config, comm_name), offsetof(ncclConfig_t, commName));
SAME(offsetof(struct fb_nccl_config, collnet_enable), offsetof(ncclConfig_t, collnetEnable));
SAME(offsetof(struct fb_nccl_config, cta_policy), offsetof(ncclConfig_t, CTAPolicy));
SAME(offsetof(struct fb_nccl_config, shrink_share), offsetof(ncclConfig_t, shrinkShare));
SAME(offsetof(struct fb_nccl_config, nvls_ctas), offsetof(ncclConfig_t, nvlsCTAs));
#endif
#if NCCL_VERSION_CODE >= 23203
SAME(sizeof(struct fb_nccl_config), sizeof(ncclConfig_t));
SAME(offsetof(struct fb_nccl_config, channels_per_peer),
     offsetof(ncclConfig_t, nChannelsPerNetPeer));
SAME(offsetof(struct fb_nccl_config, host_cft), offsetof(ncclConfig_t, hostCftMode));
SAME(offsetof(struct fb_nccl_config, nvls_host), offsetof(ncclConfig_t, nvlsHostMode));
SAME(FB_NCCL_NVLS_HOST_OFF, ncclNvlsHostModeDisable);
#endif
#if NCCL_VERSION_CODE >= 23100
SAME(offsetof(struct fb_nccl_call_config, extensions), offsetof(ncclCollConfig_t, ext));
SAME(offsetof(struct fb_nccl_call_config, min_ctas), offsetof(ncclCollConfig_t, minCTAs));
SAME(offsetof(struct fb_nccl_call_config, max_ctas), offsetof(ncclCollConfig_t, maxCTAs));
SAME(offsetof(struct fb_nccl_call_config, selection), offsetof(ncclCollConfig_t, algSelection));
SAME(offsetof(struct fb_nccl_call_config, cta_policy), offsetof(ncclCollConfig_t, CTAPolicy));
SAME(offsetof(struct fb_nccl_call_config, profiler_tag),
     offsetof(ncclCollConfig_t, userProfilerTag));
#endif
#if NCCL_VERSION_CODE >= 22203
SAME(sizeof(struct fb_nccl_estimate), sizeof(ncclSimInfo_t));
SAME(offsetof(struct fb_nccl_estimate, magic), offsetof(ncclSimInfo_t, magic));
SAME(offsetof(struct fb_nccl_estimate, us), offsetof(ncclSimInfo_t, estimatedTime));
#endif
#ifdef NCCL_CTA_POLICY_ZERO
SAME(FB_NCCL_CTA_POLICY_ZERO, NCCL_CTA_POLICY_ZERO);
#endif
#ifdef NCCL_WIN_COLL_SYMMETRIC
SAME(FB_NCCL_WINDOW_SYMMETRIC, NCCL_WIN_COLL_SYMMETRIC);
#endif

static void test_header(void)
{
	const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	CHECK(config.magic == FB_NCCL_CONFIG_MAGIC);
#if NCCL_VERSION_CODE >= 22203
	CHECK(((ncclSimInfo_t)NCCL_SIM_INFO_INITIALIZER).magic == FB_NCCL_ESTIMATE_MAGIC);
#endif
	CHECK_INT(fb_nccl_type(FB_I8), ncclInt8);
	CHECK_INT(fb_nccl_type(FB_U8), ncclUint8);
	CHECK_INT(fb_nccl_type(FB_I32), ncclInt32);
	CHECK_INT(fb_nccl_type(FB_U32), ncclUint32);
	CHECK_INT(fb_nccl_type(FB_I64), ncclInt64);
	CHECK_INT(fb_nccl_type(FB_U64), ncclUint64);
	CHECK_INT(fb_nccl_type(FB_F16), ncclFloat16);
	CHECK_INT(fb_nccl_type(FB_BF16), ncclBfloat16);
	CHECK_INT(fb_nccl_type(FB_F32), ncclFloat32);
	CHECK_INT(fb_nccl_type(FB_F64), ncclFloat64);
#if NCCL_VERSION_CODE >= 22403
	CHECK_INT(fb_nccl_type(FB_F8E4M3), ncclFloat8e4m3);
	CHECK_INT(fb_nccl_type(FB_F8E5M2), ncclFloat8e5m2);
#endif
	CHECK_INT(fb_nccl_op(FB_SUM), ncclSum);
	CHECK_INT(fb_nccl_op(FB_PROD), ncclProd);
	CHECK_INT(fb_nccl_op(FB_MIN), ncclMin);
	CHECK_INT(fb_nccl_op(FB_MAX), ncclMax);
	CHECK_INT(fb_nccl_op(FB_AVG), ncclAvg);
}
#else
static void test_header(void)
{
	CHECK_INT(fb_nccl_type(FB_F32), 7);
}
#endif

static void test_missing(void)
{
	struct fb_nccl nccl;
	char why[192], path[PATH_MAX];

	CHECK_INT(fb_nccl_open(&nccl, "/nowhere/libnccl.so.2", why, sizeof(why)), FB_EUNSUPPORTED);
	CHECK(nccl.handle == NULL);
	CHECK(!strncmp(why, "/nowhere/libnccl.so.2 not found: ", 33));
	CHECK(strstr(why, "No such file") != NULL);
	CHECK_INT(fb_nccl_open(&nccl, "libnccl-is-not-here.so.2", why, sizeof(why)),
		  FB_EUNSUPPORTED);
	CHECK(!strncmp(why, "libnccl-is-not-here.so.2 not found: ", 36));
	/* Something else than NCCL, and no library at all. */
	CHECK_INT(fb_nccl_open(&nccl, "libc.so.6", why, sizeof(why)), FB_EUNSUPPORTED);
	CHECK_STR(why, "libc.so.6 is no NCCL: it has no ncclGetVersion");
	CHECK_INT(fb_nccl_open(&nccl, "/proc/self/cmdline", why, sizeof(why)), FB_EUNSUPPORTED);
	/* A name without a folder is also looked for in CUDA's. */
	setenv("CUDA_HOME", "/nowhere/cuda", 1);
	CHECK_INT(fb_nccl_open(&nccl, "libfake_nccl.so", why, sizeof(why)), FB_EUNSUPPORTED);
	unsetenv("CUDA_HOME");
	CHECK_INT(fb_nccl_open(&nccl, beside_program("libfake_nccl.so", path), why, sizeof(why)),
		  0);
	CHECK_STR(nccl.file, path);
}

static void test_versions(void)
{
	struct fb_nccl new, old;
	char why[192], path[PATH_MAX], text[FB_NCCL_NAME_CHARS];

	/* Two versions in one process do not mix. */
	if (!CHECK_INT(fb_nccl_open(&new, beside_program("libfake_nccl.so", path), why,
				    sizeof(why)), 0) ||
	    !CHECK_INT(fb_nccl_open(&old, beside_program("libfake_nccl_2_18.so", path), why,
				    sizeof(why)), 0))
		return;
	CHECK_STR(fb_nccl_version_text(&new, text), "2.28.9");
	CHECK_STR(fb_nccl_version_text(&old, text), "2.18.5");
	CHECK(fake_calls_of(&new) != fake_calls_of(&old));
	for (int f = 0; f < FB_NCCL_CALL_CONFIGS; f++)
		CHECK(fb_nccl_has(&new, (enum fb_nccl_feature)f, why, sizeof(why)));
	CHECK(fb_nccl_has(&old, FB_NCCL_POINT_TO_POINT, why, sizeof(why)));
	CHECK(!fb_nccl_has(&old, FB_NCCL_WINDOWS, why, sizeof(why)));
	CHECK_STR(why, "NCCL 2.18.5 has no symmetric windows (2.27 has)");
	CHECK(!fb_nccl_has(&old, FB_NCCL_MEMORY, why, sizeof(why)));
	CHECK(!fb_nccl_has(&old, FB_NCCL_REGISTRATION, why, sizeof(why)));
	CHECK(!fb_nccl_can_type(&old, FB_F8E4M3, why, sizeof(why)));
	CHECK_STR(why, "NCCL 2.18.5 has no type f8e4m3");
	CHECK(fb_nccl_can_type(&old, FB_BF16, why, sizeof(why)));
	CHECK(fb_nccl_can_type(&new, FB_F8E5M2, why, sizeof(why)));
	CHECK(old.AlltoAll == NULL && new.AlltoAll != NULL);
	CHECK(!fb_nccl_has(&new, FB_NCCL_CALL_CONFIGS, why, sizeof(why)));
	old.version = 2708;
	CHECK_STR(fb_nccl_version_text(&old, text), "2.7.8");
}

/* What a communicator that was made with `nccl`'s plain configuration was told of multicast. */
static int multicast_told(const struct fb_nccl *nccl)
{
	struct fb_nccl_config config = fb_nccl_config_plain(nccl);
	struct fb_nccl_id id;
	fb_nccl_comm comm = NULL;

	fake_calls_of(nccl)->nvls_host_mode = -1;
	CHECK_INT(nccl->GetUniqueId(&id), 0);
	CHECK_INT(nccl->CommInitRankConfig(&comm, 1, id, 0, &config), 0);
	if (comm)
		(void)nccl->CommAbort(comm);
	return fake_calls_of(nccl)->nvls_host_mode;
}

static void test_multicast(void)
{
	const struct {
		const char *file;
		size_t size;
		int told;
	} version[] = {{"libfake_nccl.so", 72, FB_NCCL_UNDEFINED_INT},
		       {"libfake_nccl_2_31.so", 72, FB_NCCL_UNDEFINED_INT},
		       {"libfake_nccl_2_32.so", 120, FB_NCCL_NVLS_HOST_OFF}};

	for (size_t i = 0; i < sizeof(version) / sizeof(version[0]); i++) {
		char why[192], path[PATH_MAX];
		struct fb_nccl nccl;

		if (!CHECK_INT(fb_nccl_open(&nccl, beside_program(version[i].file, path), why,
					    sizeof(why)), 0))
			continue;
		CHECK_INT(fb_nccl_config_plain(&nccl).size, version[i].size);
		CHECK_INT(multicast_told(&nccl), version[i].told);
		nccl.multicast = true;
		CHECK_INT(multicast_told(&nccl), FB_NCCL_UNDEFINED_INT);
	}
}

static void test_errors(void)
{
	struct fb_nccl nccl;
	char why[192], path[PATH_MAX];

	if (!CHECK_INT(fb_nccl_open(&nccl, beside_program("libfake_nccl.so", path), why,
				    sizeof(why)), 0))
		return;
	CHECK_INT(fb_nccl_error(&nccl, NULL, 0, "AllReduce"), 0);
	CHECK_INT(fb_nccl_error(&nccl, NULL, FB_NCCL_IN_PROGRESS, "AllReduce"), 0);
	CHECK_INT(fb_nccl_error(&nccl, NULL, FB_NCCL_INVALID_USAGE, "AllReduce"), FB_EUNSUPPORTED);
	CHECK_INT(fb_nccl_error(&nccl, NULL, FB_NCCL_REMOTE_ERROR, "AllReduce"), FB_EPEER);
	CHECK_INT(fb_nccl_error(&nccl, NULL, 1, "AllReduce"), FB_ESYS);
}

int main(void)
{
	test_header();
	test_missing();
	test_versions();
	test_multicast();
	test_errors();
	return check_done("nccl_api");
}
