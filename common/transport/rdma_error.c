/* SPDX-License-Identifier: BSD-3-Clause */
/* The meaning of a failed work request; see rdma_error.h. */
#include "common/transport/rdma_error.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

/* One entry for each status. `check` is printed behind "check ". */
static const struct {
	const char *meaning, *check;
} statuses[] = {
	[IBV_WC_LOC_LEN_ERR] = {
		"the message is longer than the port or the receive buffer allows",
		"ibv_devinfo -v (max_msg_sz), and that both ends run the same build and options"},
	[IBV_WC_LOC_QP_OP_ERR] = {
		"this rank's queue pair cannot send: its port is down or has lost its address",
		"the link and ibv_devinfo"},
	[IBV_WC_LOC_EEC_OP_ERR] = {
		"a context for reliable datagrams failed, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_LOC_PROT_ERR] = {
		"this rank's memory is not registered for the request",
		"whether it works without --rdma-odp, or on GPU memory with --gpu-direct no, and "
		"the kernel's log (dmesg)"},
	[IBV_WC_WR_FLUSH_ERR] = {
		"the queue pair had failed before, or the peer has closed it",
		"the first failure that any rank has printed, and whether the peer lives"},
	[IBV_WC_MW_BIND_ERR] = {
		"a memory window was refused, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_BAD_RESP_ERR] = {"the peer's answer made no sense", "the firmware of both ends"},
	[IBV_WC_LOC_ACCESS_ERR] = {
		"this rank's memory refused the peer's access",
		"whether it works without --rdma-odp, or on GPU memory with --gpu-direct no, and "
		"the kernel's log (dmesg)"},
	[IBV_WC_REM_INV_REQ_ERR] = {
		"the peer's queue pair refused the request: too long, not allowed there, or more "
		"READs than it takes",
		"--rdma-reads against ibv_devinfo -v (max_qp_rd_atom) of the peer"},
	[IBV_WC_REM_ACCESS_ERR] = {
		"the peer's memory refused the access: it is not registered any more, or the "
		"address is outside of it",
		"what the peer printed, that both ends run the same build, and whether it works "
		"without --rdma-odp, or on GPU memory with --gpu-direct no"},
	[IBV_WC_REM_OP_ERR] = {
		"the peer's device failed to carry the request out",
		"what the peer printed, and the kernel's log (dmesg) of its host"},
	[IBV_WC_RETRY_EXC_ERR] = {
		"the peer did not answer: its process is dead, the link is down, or packets are "
		"lost on the way",
		"the peer, ibv_devinfo, the GID index, MTU and VLAN at both ends, and the switch's "
		"priority for this traffic class"},
	[IBV_WC_RNR_RETRY_EXC_ERR] = {
		"the receiver was not ready for too long: it is stopped or overloaded",
		"the peer's process and its processors, and --rdma-rnr-retry"},
	[IBV_WC_LOC_RDD_VIOL_ERR] = {
		"domains of reliable datagrams differ, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_REM_INV_RD_REQ_ERR] = {
		"the peer refused a reliable datagram, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_REM_ABORT_ERR] = {
		"the peer ended the operation",
		"whether the peer lives, and what it printed"},
	[IBV_WC_INV_EECN_ERR] = {
		"the number of a context for reliable datagrams is wrong, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_INV_EEC_STATE_ERR] = {
		"a context for reliable datagrams is in a wrong state, which nobody uses here",
		"the kernel's log (dmesg) and the device's firmware"},
	[IBV_WC_FATAL_ERR] = {
		"the device failed",
		"the kernel's log (dmesg), and whether ibv_devinfo still shows the device"},
	[IBV_WC_RESP_TIMEOUT_ERR] = {
		"the peer's answer did not come in time",
		"the peer, the link's errors (perfquery, ethtool -S), and --rdma-timeout"},
	[IBV_WC_GENERAL_ERR] = {
		"the device gives no reason",
		"the vendor's code, the kernel's log (dmesg) and the device's firmware"},
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

const char *fb_rdma_status_meaning(enum ibv_wc_status status)
{
	const char *text = (unsigned)status < STATUSES ? statuses[status].meaning : NULL;

	return text ? text : "a status that this program does not know";
}

const char *fb_rdma_status_check(enum ibv_wc_status status)
{
	const char *text = (unsigned)status < STATUSES ? statuses[status].check : NULL;

	return text ? text : "the kernel's log (dmesg) and the device's firmware";
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

#endif
