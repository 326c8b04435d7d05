/* SPDX-License-Identifier: BSD-3-Clause */
/* What carries NCCL's bytes; see wire.h. */
#include "common/library/nccl/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_CHARS = 1024, WAY_CHARS = 64 };

/* The text behind `before` in the line, up to one of `ends`; false: the line has it not. */
static bool text_behind(const char *line, const char *before, const char *ends, char *text,
			size_t n)
{
	const char *at = strstr(line, before);

	if (!at)
		return false;
	at += strlen(before);
	snprintf(text, n, "%.*s", (int)strcspn(at, ends), at);
	return true;
}

/* The device of that number in "[0]mlx5_0:1/RoCE [RO]; ..."; the number itself where not told. */
static void name_device(const struct fb_nccl_wire *wire, int number, char *name, size_t n)
{
	char mark[16];

	snprintf(mark, sizeof(mark), "[%d]", number);
	if (!text_behind(wire->devices, mark, ": /;[", name, n) || !*name)
		snprintf(name, n, "%d", number);
}

/*
 * "IB/0/GDRDMA", "IB/1(3)/GDRDMA/Shared", "Socket/0" with the number as a name: the number in
 * parentheses is a GPU through which the bytes go to the device.
 */
static void name_network(const struct fb_nccl_wire *wire, const char *text, char way[WAY_CHARS])
{
	const char *slash = strchr(text, '/');
	char device[32], *end;
	long number;

	snprintf(way, WAY_CHARS, "NET/%.*s", slash ? (int)(slash - text) : 32, text);
	if (!slash)
		return;
	number = strtol(slash + 1, &end, 10);
	if (end == slash + 1)
		return;
	name_device(wire, (int)number, device, sizeof(device));
	snprintf(way, WAY_CHARS, "NET/%.*s/%s%s%s", slash - text > 16 ? 16 : (int)(slash - text),
		 text, device, *end == '(' ? "/PXN" : "",
		 strstr(end, "GDRDMA") ? "/GDRDMA" : "");
}

static void add_way(struct fb_nccl_wire *wire, const char *way)
{
	size_t used = strlen(wire->via), n = strlen(way);
	const char *at = strstr(wire->via, way);

	/* As a whole word of the list. */
	while (at && ((at > wire->via && at[-1] != ' ') || (at[n] && at[n] != ',')))
		at = strstr(at + 1, way);
	if (!at && used + n + 3 < sizeof(wire->via))
		snprintf(wire->via + used, sizeof(wire->via) - used, "%s%s", used ? ", " : "", way);
}

/* "Channel 00/0 : 0[0] -> 1[1] [send] via ..."; what it receives on is the sender's to tell. */
static void parse_channel(const char *line, struct fb_nccl_wire *wire)
{
	char text[WAY_CHARS], way[WAY_CHARS];

	if (strstr(line, "[receive]") || !text_behind(line, " via ", " \n", text, sizeof(text)))
		return;
	if (!strncmp(text, "NET/", 4) || !strncmp(text, "COLLNET/", 8)) {
		name_network(wire, strchr(text, '/') + 1, way);
		add_way(wire, way);
	} else if (!strncmp(text, "P2P/", 4) || !strncmp(text, "SHM/", 4)) {
		add_way(wire, text);
	}
}

/* In versions that tell of it at level INFO only. */
static const char *const slower[] = {"unable to enable P2P", "falling back", "Falling back"};

static void parse_warning(const char *line, struct fb_nccl_wire *wire)
{
	const char *text = strstr(line, "NCCL WARN ");

	for (size_t i = 0; i < sizeof(slower) / sizeof(slower[0]) && !text; i++)
		if (strstr(line, slower[i]) && strstr(line, "NCCL INFO "))
			text = strstr(line, "NCCL INFO ");
	if (!text)
		return;
	if (!wire->warnings++)
		snprintf(wire->warning, sizeof(wire->warning), "%s", text + strlen("NCCL WARN "));
}

void fb_nccl_wire_parse(const char *log, struct fb_nccl_wire *wire)
{
	while (*log) {
		size_t n = strcspn(log, "\n");
		char line[LINE_CHARS], text[sizeof(wire->devices)] = "[";

		snprintf(line, sizeof(line), "%.*s",
			 (int)(n < LINE_CHARS ? n : LINE_CHARS - 1), log);
		log += n + (log[n] == '\n');
		if (strstr(line, "NET/") &&
		    text_behind(line, ": Using [", "\n", text + 1, sizeof(text) - 1))
			snprintf(wire->devices, sizeof(wire->devices), "%s", text);
		else if (!text_behind(line, "Using network ", " \n", wire->network,
				      sizeof(wire->network)))
			parse_channel(line, wire);
		parse_warning(line, wire);
	}
}
