/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about interfaces that no file has: subnets of this machine, and what rtnetlink says. */
#include "common/system/environment.h"
#include "common/system/environment_dcb.h"
#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

/* Every interface with an address that is not the loop's or link-local has a subnet. */
static void test_subnets(void)
{
	struct fb_facts facts = {.item = NULL};
	struct ifaddrs *list;
	char key[64], text[64];

	fb_environment_network(&facts, "");
	if (!CHECK_INT(getifaddrs(&list), 0))
		return;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		const struct sockaddr_in *address = (const void *)a->ifa_addr;
		const struct sockaddr_in *mask = (const void *)a->ifa_netmask;
		struct in_addr net;

		if (!address || address->sin_family != AF_INET || !mask ||
		    a->ifa_flags & IFF_LOOPBACK)
			continue;
		net.s_addr = address->sin_addr.s_addr & mask->sin_addr.s_addr;
		snprintf(key, sizeof(key), "network.%s.subnets", a->ifa_name);
		snprintf(text, sizeof(text), "%s/%d", inet_ntoa(net),
			 __builtin_popcount(mask->sin_addr.s_addr));
		if (CHECK(fb_facts_get(&facts, key)))
			CHECK(strstr(fb_facts_get(&facts, key), text));
	}
	freeifaddrs(list);
	CHECK(fb_facts_get(&facts, "network.lo.subnets") == NULL);
	fb_facts_free(&facts);
}

/* The kernel's answer about flow control by priority, by bytes; and cut short anywhere. */
static void test_pfc(void)
{
	struct answer {
		struct nlmsghdr head;
		struct dcbmsg dcb;
		struct rtattr name;
		char interface[8];
		struct rtattr ieee, other;
		char value[4];
		struct rtattr pfc;
		struct ieee_pfc set;
	} answer = {
		.head = {.nlmsg_len = sizeof(answer), .nlmsg_type = RTM_GETDCB},
		.name = {.rta_len = 4 + 5, .rta_type = DCB_ATTR_IFNAME},
		.interface = "eth2",
		.ieee = {.rta_len = 4 + 8 + 4 + sizeof(struct ieee_pfc),
			 .rta_type = DCB_ATTR_IEEE | NLA_F_NESTED},
		.other = {.rta_len = 4 + 4, .rta_type = DCB_ATTR_IEEE_ETS},
		.pfc = {.rta_len = 4 + sizeof(struct ieee_pfc), .rta_type = DCB_ATTR_IEEE_PFC},
		.set = {.pfc_cap = 8, .pfc_en = 1 << 3},
	};
	unsigned priorities = 0;

	_Static_assert(offsetof(struct answer, set) == offsetof(struct answer, pfc) + 4,
		       "a value is right behind its head");
	CHECK(fb_dcb_pfc_of(&answer, sizeof(answer), &priorities));
	CHECK_INT(priorities, 1 << 3);
	for (size_t n = 0; n < sizeof(answer); n++) {
		answer.head.nlmsg_len = (unsigned)n;
		CHECK(!fb_dcb_pfc_of(&answer, sizeof(answer), &priorities));
	}
	answer.head.nlmsg_len = sizeof(answer);
	answer.pfc.rta_len = 0;
	CHECK(!fb_dcb_pfc_of(&answer, sizeof(answer), &priorities));
	CHECK(!fb_dcb_pfc("lo", &priorities));
}

int main(void)
{
	test_subnets();
	test_pfc();
	return check_done("environment_network");
}
