/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control by priority, as rtnetlink reports it; see environment_dcb.h. */
#include "common/system/environment_dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 8192, NAME_CHARS = 16 };

/* The attribute of a kind among those in [at, at + length), or NULL. */
static const struct rtattr *find(const void *at, size_t length, int type)
{
	const char *byte = at;

	while (length >= sizeof(struct rtattr)) {
		const struct rtattr *attribute = (const void *)byte;
		size_t step = RTA_ALIGN(attribute->rta_len);

		if (attribute->rta_len < sizeof(*attribute) || attribute->rta_len > length)
			return NULL;
		if ((attribute->rta_type & NLA_TYPE_MASK) == type)
			return attribute;
		if (step > length)
			return NULL;
		byte += step;
		length -= step;
	}
	return NULL;
}

bool fb_dcb_pfc_of(const void *answer, size_t length, unsigned *priorities)
{
	const size_t head = NLMSG_LENGTH(sizeof(struct dcbmsg));
	const struct nlmsghdr *message = answer;
	const struct rtattr *ieee, *pfc;

	if (length < head || message->nlmsg_type != RTM_GETDCB || message->nlmsg_len < head ||
	    message->nlmsg_len > length)
		return false;
	ieee = find((const char *)answer + head, message->nlmsg_len - head, DCB_ATTR_IEEE);
	pfc = ieee ? find(RTA_DATA(ieee), RTA_PAYLOAD(ieee), DCB_ATTR_IEEE_PFC) : NULL;
	if (!pfc || RTA_PAYLOAD(pfc) < sizeof(struct ieee_pfc))
		return false;
	/* Attributes begin at multiples of 4, and the structure holds numbers of 8 bytes. */
	*priorities = ((const uint8_t *)RTA_DATA(pfc))[offsetof(struct ieee_pfc, pfc_en)];
	return true;
}

bool fb_dcb_pfc(const char *interface, unsigned *priorities)
{
	struct {
		struct nlmsghdr head;
		struct dcbmsg dcb;
		struct rtattr attribute;
		char name[NAME_CHARS];
	} ask = {.head = {.nlmsg_type = RTM_GETDCB, .nlmsg_flags = NLM_F_REQUEST},
		 .dcb = {.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET},
		 .attribute = {.rta_type = DCB_ATTR_IFNAME}};
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	const struct timeval patience = {.tv_usec = 100000};
	size_t length = strlen(interface) + 1;
	ssize_t got = -1;
	int fd;

	if (length > sizeof(ask.name))
		return false;
	memcpy(ask.name, interface, length);
	ask.attribute.rta_len = (unsigned short)RTA_LENGTH(length);
	ask.head.nlmsg_len = (unsigned)(NLMSG_LENGTH(sizeof(ask.dcb)) + RTA_SPACE(length));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &ask, ask.head.nlmsg_len, 0) == (ssize_t)ask.head.nlmsg_len)
		got = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	return got > 0 && fb_dcb_pfc_of(answer, (size_t)got, priorities);
}
