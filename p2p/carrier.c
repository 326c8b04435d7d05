/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of carriers; see carrier.h. */
#include "p2p/carrier.h"

#include <stdio.h>
#include <string.h>

void fb_p2p_add(char *text, size_t n, const char *more)
{
	size_t used = strlen(text);

	if (*more && used + strlen(more) + (used ? 2 : 0) < n)
		snprintf(text + used, n - used, "%s%s", used ? ", " : "", more);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool fb_p2p_expect_too(char names[FB_P2P_EXPECTED_CHARS], const char *more)
{
	size_t used, length;

	for (; *more; more += length + (more[length] == ' ')) {
		bool has = false;

		length = strcspn(more, " ");
		for (const char *at = names; *at && !has; at += *at == ' ') {
			has = strcspn(at, " ") == length && !strncmp(at, more, length);
			at += strcspn(at, " ");
		}
		if (has)
			continue;
		used = strlen(names);
		if (used + length + 2 > FB_P2P_EXPECTED_CHARS)
			return false;
		snprintf(names + used, FB_P2P_EXPECTED_CHARS - used, "%s%.*s", used ? " " : "",
			 (int)length, more);
	}
	return true;
}

/* "mlx5_0:1 RoCE v2, IPv4 10.0.0.1 mtu 4096+mlx5_1:1 ..." */
static bool expect_rails(const char *rails, char names[FB_P2P_EXPECTED_CHARS])
{
	char name[FB_P2P_EXPECTED_CHARS];
	bool room = true;

	for (; rails && *rails && room; rails = strchr(rails, '+')) {
		rails += *rails == '+';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(rails, " "), rails);
		room = fb_p2p_expect_too(names, name);
	}
	return room;
}

bool fb_p2p_expected(const char *carrier, char names[FB_P2P_EXPECTED_CHARS])
{
	char name[FB_P2P_EXPECTED_CHARS];

	names[0] = '\0';
	if (!strcmp(carrier, "shm"))
		return true;
	if (begins(carrier, "shm+"))
		carrier += strlen("shm+");
	if (begins(carrier, "rdma "))
		return expect_rails(carrier + strlen("rdma "), names);
	if (!begins(carrier, "tcp "))
		return false;
	carrier += strlen("tcp ");
	/* What follows a colon is the label of an address: "eth0:1". */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(carrier, " :"), carrier);
	return fb_p2p_expect_too(names, name);
}
