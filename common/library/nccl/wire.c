/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the network that carries NCCL's bytes; see wire.h. */
#include "common/library/nccl/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/library/nccl/defaults.h"
#include "common/library/nccl/plugin.h"
#include "common/session.h"

enum { LINE_CHARS = 1024, WAY_CHARS = 64 };

/* The text behind `before` in the line, up to one of `ends`; false: the line has no `before`. */
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

/* "[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE" as "mlx5_0:1+mlx5_1:1". */
static void name_parts(const char *parts, char *name, size_t n)
{
	for (*name = '\0'; (parts = strstr(parts, "] ")) != NULL; parts += strcspn(parts, ",")) {
		size_t used = strlen(name);

		parts += strlen("] ");
		snprintf(name + used, n - used, "%s%.*s", used ? "+" : "",
			 (int)strcspn(parts, "/,"), parts);
	}
}

/*
 * The device of that number in "[0]mlx5_0:1/RoCE [RO]; ...", with its port, or the interface in
 * "[0]eth0:10.0.0.1<0>"; the number itself where the log has no name. The port may be followed by
 * its rail and plane, "mlx5_0:1:3:2" (2.30), and a device may have two ports (2.20 to 2.23):
 * "[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}".
 */
static void name_device(const struct fb_nccl_setup *setup, bool port, int number, char *name,
			size_t n)
{
	char mark[16], parts[WAY_CHARS], *rail;

	snprintf(mark, sizeof(mark), "[%d]={", number);
	if (text_behind(setup->devices, mark, "}", parts, sizeof(parts))) {
		name_parts(parts, name, n);
		return;
	}
	mark[strcspn(mark, "=")] = '\0';
	if (!text_behind(setup->devices, mark, port ? " /;[" : ": /;[", name, n) || !*name)
		snprintf(name, n, "%d", number);
	rail = strchr(name, ':');
	if (rail)
		rail[1 + strcspn(rail + 1, ":")] = '\0';
}

/*
 * "IB/0/GDRDMA", "IB/1(3)/GDRDMA/Shared", "Socket/0" with the number as a name: the number in
 * parentheses is a GPU through which the bytes go to the device. "GDRDMA(PCI)" (2.27): the device
 * reads the GPU's memory by PCIe where a processor with C2C is beside it (the direct NIC path).
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
	name_device(&wire->setup, !strncmp(text, "IB/", 3), (int)number, device, sizeof(device));
	snprintf(way, WAY_CHARS, "NET/%.*s/%s%s%s", slash - text > 16 ? 16 : (int)(slash - text),
		 text, device, *end == '(' ? "/PXN" : "",
		 strstr(end, "GDRDMA(PCI)") ? "/GDRDMA/PCI" : strstr(end, "GDRDMA") ? "/GDRDMA"
										    : "");
}

static void add_path(struct fb_nccl_wire *wire, const char *way)
{
	size_t used = strlen(wire->via), n = strlen(way);
	const char *at = strstr(wire->via, way);

	/* Looks for the way as a whole item of the list. */
	while (at && ((at > wire->via && at[-1] != ' ') || (at[n] && at[n] != ',')))
		at = strstr(at + 1, way);
	if (!at && used + n + 3 < sizeof(wire->via))
		snprintf(wire->via + used, sizeof(wire->via) - used, "%s%s", used ? ", " : "", way);
}

/* "Channel 00/0 : 0[0] -> 1[1] [send] via ...". Lines of receives are skipped: senders log them. */
static void parse_channel(const char *line, struct fb_nccl_wire *wire)
{
	char text[WAY_CHARS], way[WAY_CHARS];

	if (strstr(line, "[receive]") || !text_behind(line, " via ", " \n", text, sizeof(text)))
		return;
	if (!strncmp(text, "NET/", 4) || !strncmp(text, "COLLNET/", 8)) {
		name_network(wire, strchr(text, '/') + 1, way);
		add_path(wire, way);
	} else if (!strncmp(text, "P2P/", 4) || !strncmp(text, "SHM/", 4)) {
		add_path(wire, text);
	}
}

/* Texts by which some versions report a slower path at level INFO only. */
static const char *const slower[] = {"unable to enable P2P", "falling back", "Falling back"};

static void parse_warning(const char *line, struct fb_nccl_wire *wire)
{
	const char *text = strstr(line, "NCCL WARN ");

	for (size_t i = 0; i < sizeof(slower) / sizeof(slower[0]) && !text; i++)
		if (strstr(line, slower[i]) && strstr(line, "NCCL INFO "))
			text = strstr(line, "NCCL INFO ");
	/* The topology search has a default for each unknown word. No row uses one-sided calls. */
	if (!text || strstr(text, "KV Convert to int") || strstr(text, "WARN RMA/"))
		return;
	if (!wire->warnings++)
		snprintf(wire->warning, sizeof(wire->warning), "%s", text + strlen("NCCL WARN "));
}

/* Takes the text behind `before`, without blanks at its ends, unless an earlier line had it. */
static bool take(const char *line, const char *before, const char *ends, char *text, size_t n)
{
	char found[LINE_CHARS];
	size_t length;

	if (!text_behind(line, before, ends, found, sizeof(found)))
		return false;
	length = strlen(found);
	while (length && found[length - 1] == ' ')
		found[--length] = '\0';
	if (!*text)
		snprintf(text, n, "%s", found + strspn(found, " "));
	return true;
}

/* "Channel 00/24 :    0   7   6   5", of rank 0, or "Ring 00 : 3 -> 0 -> 1" (subsystem GRAPH). */
static bool parse_ring(const char *line, struct fb_nccl_setup *setup)
{
	const char *at = strstr(line, "Channel 00/");
	char order[sizeof(setup->ring)] = "", ring[sizeof(setup->ring)] = "";
	size_t used = 0;

	if (!at || strstr(line, "->"))
		return take(line, "Ring 00 : ", "\n", setup->ring, sizeof(setup->ring));
	if (!text_behind(at, " : ", "\n", order, sizeof(order)))
		return false;
	/* Ranks stand in columns. */
	for (const char *word = order; *(word += strspn(word, " ")); word += strcspn(word, " "))
		used += (size_t)snprintf(ring + used, sizeof(ring) - used, "%s%.*s",
					 used ? " " : "", (int)strcspn(word, " "), word);
	if (!*setup->ring)
		snprintf(setup->ring, sizeof(setup->ring), "%s", ring);
	return true;
}

/* "24 coll channels, 24 collnet channels, 16 nvls channels, ..." without the word that repeats. */
static bool parse_channels(const char *line, struct fb_nccl_setup *setup)
{
	static const char word[] = " channels";
	const char *at = strstr(line, " coll channels"), *next;
	size_t used = 0;

	if (!at)
		return false;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	for (setup->channels[0] = '\0'; *at && used + 1 < sizeof(setup->channels); at = next) {
		const char *end = strstr(at, word);
		size_t length = end ? (size_t)(end - at) : strlen(at);

		next = end ? end + strlen(word) : at + length;
		used += (size_t)snprintf(setup->channels + used, sizeof(setup->channels) - used,
					 "%.*s", (int)length, at);
	}
	return true;
}

/*
 * "NCCL_IB_HCA set by environment to mlx5_0." Variables that this program itself sets, for a
 * communicator or for the log, are not settings of the launch.
 */
static bool parse_setting(const char *line, struct fb_nccl_setup *setup)
{
	static const char *const own[] = {"NCCL_ALGO=", "NCCL_PROTO=", "NCCL_DEBUG",
					  "NCCL_TOPO_DUMP_FILE=", "NCCL_GRAPH_DUMP_FILE=",
					  "NCCL_PROFILER_PLUGIN=STATIC_PLUGIN"};
	const char *said = strstr(line, " set by environment to "), *name = said;
	char setting[256], value[192];
	size_t used = strlen(setup->settings), length;

	if (!said || !text_behind(said, " to ", "\n", value, sizeof(value)))
		return false;
	while (name > line && name[-1] != ' ')
		name--;
	length = strlen(value);
	if (length && value[length - 1] == '.')
		value[length - 1] = '\0';
	snprintf(setting, sizeof(setting), "%.*s=%s", (int)(said - name), name, value);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strncmp(setting, own[i], strlen(own[i])))
			return true;
	if (!strncmp(setting, "NCCL_TUNER_PLUGIN=", 18) && fb_nccl_plugin_in_use())
		return true;
	if (strstr(setup->settings, setting))
		return true;
	if (used + strlen(setting) + 2 < sizeof(setup->settings))
		snprintf(setup->settings + used, sizeof(setup->settings) - used, "%s%s",
			 used ? ";" : "", setting);
	else
		setup->settings_cut = true;
	return true;
}

/* "NET/IB: Data Direct DMA Interface is detected for device mlx5_0", each device once. */
static bool parse_direct(const char *line, struct fb_nccl_setup *s)
{
	char name[32], word[40], known[sizeof(s->data_direct) + 2];
	size_t used = strlen(s->data_direct);

	if (!text_behind(line, "Data Direct DMA Interface is detected for device ", " \n", name,
			 sizeof(name)))
		return false;
	snprintf(word, sizeof(word), " %s ", name);
	snprintf(known, sizeof(known), " %s ", s->data_direct);
	if (!strstr(known, word) && used + strlen(name) + 2 < sizeof(s->data_direct))
		snprintf(s->data_direct + used, sizeof(s->data_direct) - used, "%s%s",
			 used ? " " : "", name);
	return true;
}

/*
 * "NET/IB : Made virtual device [4] name=mlx5_0+mlx5_1 speed=400000 ndevs=2" (2.24): several ports
 * that are used as one device of this number. Appended to the list, which has the single ports.
 */
static bool parse_merged(const char *line, struct fb_nccl_setup *s)
{
	char number[16], name[WAY_CHARS];
	size_t used = strlen(s->devices);

	if (!text_behind(line, "Made virtual device ", " \n", number, sizeof(number)) ||
	    !text_behind(line, " name=", " \n", name, sizeof(name)))
		return false;
	if (strchr(name, '+') && !strstr(s->devices, number) &&
	    used + strlen(number) + strlen(name) + 2 < sizeof(s->devices))
		snprintf(s->devices + used, sizeof(s->devices) - used, " %s%s", number, name);
	return true;
}

/* Whether the line is about the setup. Versions write "Bootstrap :" or "Bootstrap:". */
static bool parse_setup(const char *line, struct fb_nccl_setup *s)
{
	char devices[sizeof(s->devices)] = "[";

	if (strstr(line, "NET/") &&
	    text_behind(line, ": Using [", "\n", devices + 1, sizeof(devices) - 1)) {
		snprintf(s->devices, sizeof(s->devices), "%s", devices);
		return true;
	}
	return text_behind(line, "Using network ", " \n", s->network, sizeof(s->network)) ||
	       take(line, "Bootstrap : Using ", "\n", s->bootstrap, sizeof(s->bootstrap)) ||
	       take(line, "Bootstrap: Using ", "\n", s->bootstrap, sizeof(s->bootstrap)) ||
	       take(line, "NVLS multicast support is ", "\n", s->multicast,
		    sizeof(s->multicast)) ||
	       take(line, "Loaded collnet plugin ", "\n", s->collnet, sizeof(s->collnet)) ||
	       take(line, "NCCL WARN RMA/", "\n", s->rma, sizeof(s->rma)) ||
	       take(line, "Trees [0] ", " \n", s->tree, sizeof(s->tree)) ||
	       /* Pattern 4 is the ring in all versions. */
	       take(line, "Pattern 4, ", "\n", s->graph, sizeof(s->graph)) ||
	       parse_merged(line, s) || parse_direct(line, s) || parse_ring(line, s) ||
	       parse_channels(line, s) || parse_setting(line, s);
}

void fb_nccl_wire_parse(const char *log, struct fb_nccl_wire *wire)
{
	while (*log) {
		size_t n = strcspn(log, "\n");
		char line[LINE_CHARS];

		snprintf(line, sizeof(line), "%.*s",
			 (int)(n < LINE_CHARS ? n : LINE_CHARS - 1), log);
		log += n + (log[n] == '\n');
		if (!parse_setup(line, &wire->setup))
			parse_channel(line, wire);
		parse_warning(line, wire);
	}
}

void fb_nccl_wire_facts(const struct fb_session *session, int version,
			const struct fb_nccl_setup *setup)
{
	const struct {
		const char *key, *text;
	} facts[] = {
		{"nccl.network", setup->network},     {"nccl.devices", setup->devices},
		{"nccl.bootstrap", setup->bootstrap}, {"nccl.channels", setup->channels},
		{"nccl.ring", setup->ring},	      {"nccl.tree", setup->tree},
		{"nccl.graph", setup->graph},	      {"nccl.rma", setup->rma},
		{"nccl.multicast", setup->multicast}, {"nccl.collnet", setup->collnet},
		{"nccl.data_direct", setup->data_direct},
		{"nccl.settings", setup->settings},
	};
	char *text = malloc(FB_NCCL_DEFAULTS_CHARS);
	/* If the settings were cut, nobody knows which variables have their defaults. */
	int source = text && !setup->settings_cut
			     ? fb_nccl_defaults(version, setup->settings, text,
						FB_NCCL_DEFAULTS_CHARS)
			     : 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (*facts[i].text)
			fb_launch_fact(session, facts[i].key, "%s", facts[i].text);
	if (source)
		fb_launch_fact(session, "nccl.defaults", "of NCCL %d.%d.%d's source: %s",
			       source / 10000, source / 100 % 100, source % 100, text);
	free(text);
}
