/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NCCL ran; see ran.h. The path says "NCCL 2.28.9 ncclAllReduce: ring ll128 via P2P/CUMEM".
 */
#include "scripts/tools/lib/text.h"
#include "scripts/tools/summary/ran.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Copies what stands between two texts, where both are there. */
static void between(const char *text, const char *before, const char *ends, char *to, size_t n)
{
	const char *at = strstr(text, before);

	snprintf(to, n, "%s", "");
	if (at)
		snprintf(to, n, "%.*s", (int)strcspn(at + strlen(before), ends),
			 at + strlen(before));
}

struct fb_ran fb_ran_parse(const struct fb_result *row)
{
	const char *path = fb_result_text(row, "path"), *zero = "zero CTAs, ";
	const char *at = strstr(path, ": ");
	struct fb_ran ran = {.channels =
				     (unsigned)strtoul(fb_result_text(row, "channels"), NULL, 10)};
	size_t n;

	if (!at)
		return ran;
	at += 2;
	ran.zero_ctas = !strncmp(at, zero, strlen(zero));
	at += ran.zero_ctas ? strlen(zero) : 0;
	n = strcspn(at, " ,");
	if (n != strlen("untold") || strncmp(at, "untold", n))
		snprintf(ran.algorithm, sizeof(ran.algorithm), "%.*s", (int)n, at);
	at += n;
	if (*at == ' ' && strncmp(at, " via ", 5) && strncmp(at, " clusters ", 10))
		snprintf(ran.protocol, sizeof(ran.protocol), "%.*s", (int)strcspn(at + 1, " ,"),
			 at + 1);
	between(path, " clusters of ", " ,", ran.via, sizeof(ran.via));
	ran.cluster = (unsigned)strtoul(ran.via, NULL, 10);
	between(path, " via ", ";", ran.via, sizeof(ran.via));
	/* "P2P/CUMEM, NET/IB/mlx5_0, network IB, 2 warnings: ...": names of ways are upper case. */
	for (char *end = strchr(ran.via, ','); end; end = strchr(end + 1, ','))
		if (!isupper((unsigned char)end[strspn(end, ", ")]))
			*end = '\0';
	between(path, ", network ", ",;", ran.network, sizeof(ran.network));
	return ran;
}

/* Whether a word stands in a list, whatever its case: "ring" in "Ring,Tree". */
static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ",")) {
		list += *list == ',';
		if (!strncasecmp(list, word, n) && (!list[n] || list[n] == ','))
			return true;
	}
	return false;
}

/*
 * What NCCL_ALGO or NCCL_PROTO say of an operation: "allreduce:ring,tree;allgather:ring", where a
 * part without a function is for all others. False: nothing.
 */
static bool part_for(const char *value, const char *operation, char list[FB_RAN_CHARS])
{
	static const char parting[] = "%3B"; /* as `variant` has ';' */
	char function[FB_RAN_CHARS] = "";
	bool found = false;

	for (size_t used = 0; *operation; operation++)
		if (*operation != '_' && used + 1 < sizeof(function))
			function[used++] = *operation;
	while (*value) {
		const char *end = strstr(value, parting), *colon = strchr(value, ':');
		size_t n = end ? (size_t)(end - value) : strlen(value), name = 0;
		bool own;

		if (colon && colon < value + n)
			name = (size_t)(colon - value);
		own = name == strlen(function) && !strncasecmp(value, function, name);
		if (own || (!name && !found))
			snprintf(list, FB_RAN_CHARS, "%.*s", (int)(n - name - (name > 0)),
				 value + name + (name > 0));
		if (own)
			return true;
		found |= !name;
		value += n + (end ? strlen(parting) : 0);
	}
	return found;
}

/* Whether a word is what such a part allows: "^" before a list leaves its words out. */
static bool allows(const char *list, const char *word)
{
	return *list == '^' ? !listed(list + 1, word) : listed(list, word);
}

enum fb_outcome fb_ran_as(bool known, bool right)
{
	return !known ? FB_RAN_UNTOLD : right ? FB_RAN_AS_ASKED : FB_RAN_OTHERWISE;
}

/* Whether NCCL has a form of the operation for copy engines, which needs windows. */
static bool may_copy(const struct fb_result *row)
{
	return !strncmp(fb_result_text(row, "registration"), "window", 6) &&
	       listed("all_gather,all_to_all,gather,scatter", fb_result_text(row, "operation"));
}

/* Whether NCCL followed a variable that concerns symmetric windows or copy engines. */
static enum fb_outcome window_variable(const struct fb_result *row, const char *name,
				       const char *value, const struct fb_ran *ran,
				       const char **instead)
{
	bool window = !strncmp(fb_result_text(row, "registration"), "window", 6);
	bool symmetric = !strcmp(ran->algorithm, "symmetric");
	bool other; /* the kernel of another function is named: "AllGather_ST" of an all_reduce */
	const char *kernel = strchr(ran->protocol, '_');
	unsigned long number = strtoul(value, NULL, 10);

	*instead = symmetric ? ran->protocol : ran->algorithm;
	if (!window || !*ran->algorithm)
		return FB_RAN_UNTOLD;
	if (!strcmp(name, "NCCL_WIN_ENABLE"))
		return fb_ran_as(!number, !symmetric);
	if (!strcmp(name, "NCCL_CTA_POLICY"))
		return fb_ran_as(number == 2 && may_copy(row),
				 !strcmp(ran->algorithm, "copyengine"));
	other = kernel && strncmp(value, ran->protocol, (size_t)(kernel - ran->protocol) + 1);
	return fb_ran_as(symmetric && !other, !strcmp(value, ran->protocol));
}

/* A number in words, valid until the next call. */
static const char *counted(const char *before, unsigned count, const char *after)
{
	static char text[32];

	snprintf(text, sizeof(text), "%s%u%s", before, count, after);
	return text;
}

/*
 * `least`, `most`: limits of channels, 0: none. NCCL uses fewer channels than the least for a small
 * message that does not fill them, so only larger messages show whether NCCL follows the limit.
 */
static enum fb_outcome channels(const struct fb_result *row, unsigned long least,
				unsigned long most, const struct fb_ran *ran)
{
	const double filled_bytes = 256 << 10; /* of a channel, well above NCCL's thresholds */
	bool fills = fb_result_number(row, "bytes") >= (double)least * filled_bytes;

	if (ran->channels < least && !fills && !most)
		return FB_RAN_UNTOLD;
	return fb_ran_as(ran->channels,
			 (!most || ran->channels <= most) && (ran->channels >= least || !fills));
}

static enum fb_outcome cluster(unsigned long asked, const struct fb_ran *ran, const char **instead)
{
	*instead = counted("clusters of ", ran->cluster, "");
	return fb_ran_as(ran->cluster, ran->cluster == (asked ? asked : 1));
}

/* Whether NCCL followed a variable whose effect its log reports. */
enum fb_outcome fb_ran_variable(const struct fb_result *row, const char *name, const char *value,
				const struct fb_ran *ran, const char **instead)
{
	static const struct {
		const char *name, *absent;
		bool at; /* the value, as a switch, at which that must not be there */
	} disables[] = {{"NCCL_P2P_DISABLE", "P2P/", true},
			{"NCCL_SHM_DISABLE", "SHM/", true},
			{"NCCL_IB_DISABLE", "NET/IB", true},
			{"NCCL_CUMEM_ENABLE", "CUMEM", false}};
	char list[FB_RAN_CHARS];
	const char *operation = fb_result_text(row, "operation");
	bool copies = !strcmp(ran->algorithm, "copyengine");
	/* Sends and receives have no algorithm; all_gather is the one copied operation that has. */
	bool named = strcmp(ran->algorithm, "sendrecv") &&
		     (!copies || !strcmp(operation, "all_gather")) &&
		     part_for(value, operation, list);
	unsigned long number = strtoul(value, NULL, 10);

	*instead = ran->via;
	for (size_t i = 0; i < FB_COUNT_OF(disables); i++)
		if (!strcmp(name, disables[i].name))
			return fb_ran_as(*ran->via, (number > 0) != disables[i].at ||
							    !strstr(ran->via, disables[i].absent));
	if (!strcmp(name, "NCCL_P2P_LEVEL"))
		return fb_ran_as(*ran->via && !strcmp(value, "LOC"), !strstr(ran->via, "P2P/"));
	*instead = ran->network;
	if (!strcmp(name, "NCCL_NET"))
		return fb_ran_as(*ran->network, listed(value, ran->network));
	*instead = ran->algorithm;
	if (!strcmp(name, "NCCL_ALGO"))
		return fb_ran_as(named && *ran->algorithm,
				 named && !copies && allows(list, ran->algorithm));
	if (!strcmp(name, "NCCL_NVLS_ENABLE"))
		return fb_ran_as(*ran->algorithm, number || strncmp(ran->algorithm, "nvls", 4));
	*instead = copies ? ran->algorithm : ran->protocol;
	if (!strcmp(name, "NCCL_PROTO"))
		return fb_ran_as(named && **instead,
				 named && !copies && allows(list, ran->protocol));
	*instead = counted("", ran->channels, " channels");
	if (!strcmp(name, "NCCL_MAX_CTAS") || !strcmp(name, "NCCL_MAX_NCHANNELS"))
		return channels(row, 0, number, ran);
	if (!strcmp(name, "NCCL_MIN_CTAS") || !strcmp(name, "NCCL_MIN_NCHANNELS"))
		return channels(row, number, 0, ran);
	if (!strcmp(name, "NCCL_SYM_CTAS"))
		return fb_ran_as(ran->channels && !strcmp(ran->algorithm, "symmetric"),
				 ran->channels == number);
	if (!strcmp(name, "NCCL_WIN_ENABLE") || !strcmp(name, "NCCL_CTA_POLICY") ||
	    !strcmp(name, "NCCL_SYM_KERNEL"))
		return window_variable(row, name, value, ran, instead);
	return strcmp(name, "NCCL_CGA_CLUSTER_SIZE") ? FB_RAN_UNTOLD
						     : cluster(number, ran, instead);
}

/* What becomes of a key that says how many CTAs NCCL's kernels may have, or which kind. */
enum fb_outcome fb_ran_ctas(const struct fb_result *row, const char *key, const char *value,
			    const struct fb_ran *ran, const char **instead)
{
	unsigned long number = strtoul(value, NULL, 10);
	unsigned long least = strcmp(key, "nccl_max_ctas") ? number : 0;
	unsigned long most = strcmp(key, "nccl_min_ctas") ? number : 0;

	*instead = ran->algorithm;
	if (!strcmp(key, "nccl_cta_policy"))
		return fb_ran_as(*ran->algorithm && !strcmp(value, "zero") && may_copy(row),
				 !strcmp(ran->algorithm, "copyengine"));
	if (!strcmp(key, "nccl_cluster"))
		return cluster(number, ran, instead);
	*instead = counted("", ran->channels, " channels");
	return channels(row, least, most, ran);
}
