/* SPDX-License-Identifier: BSD-3-Clause */
/* What a failed work request means; see rdma_error.h. */
#include "common/transport/rdma_error.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

static const struct meaning {
	enum ibv_wc_status status;
	const char *text;
} meanings[] = {
	{IBV_WC_RETRY_EXC_ERR,
	 "the peer did not answer: its process is dead, the link is down, or packets are lost on "
	 "the way (check the peer, ibv_devinfo, the GID index, MTU and VLAN at both ends, and the "
	 "switch's priority for this traffic class)"},
	{IBV_WC_RNR_RETRY_EXC_ERR,
	 "the receiver was not ready for too long: it is stopped or overloaded (see "
	 "--rdma-rnr-retry)"},
	{IBV_WC_REM_ACCESS_ERR,
	 "the peer's memory refused the access: it is not registered any more, or the address is "
	 "outside of it"},
	{IBV_WC_REM_INV_REQ_ERR,
	 "the peer's queue pair refused the request: too long, not allowed there, or more READs "
	 "than it takes (see --rdma-reads)"},
	{IBV_WC_REM_OP_ERR, "the peer's device failed to carry the request out"},
	{IBV_WC_LOC_PROT_ERR, "this rank's memory is not registered for the request"},
	{IBV_WC_LOC_LEN_ERR, "the message is longer than the port or the receive buffer allows"},
	{IBV_WC_LOC_QP_OP_ERR,
	 "this rank's queue pair cannot send: its port is down or has lost its address (check "
	 "the link and ibv_devinfo)"},
	{IBV_WC_LOC_ACCESS_ERR, "this rank's memory refused the peer's access"},
	{IBV_WC_WR_FLUSH_ERR, "the queue pair had failed before"},
	{IBV_WC_BAD_RESP_ERR, "the peer's answer made no sense: check the firmware of both ends"},
	{IBV_WC_REM_ABORT_ERR, "the peer ended the operation"},
	{IBV_WC_FATAL_ERR, "the device failed: see the kernel's log"},
	{IBV_WC_RESP_TIMEOUT_ERR, "the peer's answer did not come in time"},
};

const char *fb_rdma_status_meaning(enum ibv_wc_status status)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].status == status)
			return meanings[i].text;
	return "see the kernel's log";
}

void fb_rdma_limit_hint(int error, char *text, size_t n)
{
	struct rlimit limit;

	text[0] = '\0';
	if (error == EAGAIN || error == ENOSPC)
		snprintf(text, n, "; the device or the control group (rdma.max) allows no more");
	if (error != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, n, "; the limit of locked memory is none, so the device has no "
			 "room for more");
	else
		snprintf(text, n, "; the limit of locked memory (ulimit -l) is %llu KiB: raise it "
			 "to unlimited", (unsigned long long)limit.rlim_cur >> 10);
}

#else

extern const int fb_rdma_error_missing;
const int fb_rdma_error_missing = 1;

#endif
