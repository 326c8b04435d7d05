/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's log of a call; see tuning.h. */
#include "collectives/engine/nccl/tuning.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LOG_BYTES = 8 << 20 };

static const char *const variables[FB_NCCL_LOG_VALUES] = {
	"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"};
static const char subsystems[] = "INIT,BOOTSTRAP,ENV,GRAPH,P2P,SHM,NET,TUNING";

/* The word at `text` in lower case without '_': "COLLNET_DIRECT" becomes "collnetdirect". */
static void copy_word(const char *text, char *word, size_t size)
{
	size_t n = 0;

	for (; (isalnum((unsigned char)*text) || *text == '_') && n + 1 < size; text++)
		if (*text != '_')
			word[n++] = (char)tolower((unsigned char)*text);
	word[n] = '\0';
}

/* Versions before 2.24 logged NCCL's own numbers. */
static void name_number(char word[FB_NCCL_NAME_CHARS], const char *const *names, size_t n)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (end != word && !*end && number < n)
		snprintf(word, FB_NCCL_NAME_CHARS, "%s", names[number]);
}

/* "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}" */
static bool parse_classic(const char *line, struct fb_nccl_ran *ran)
{
	static const char *const algorithms[] = {
		"tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"};
	static const char *const protocols[] = {"ll", "ll128", "simple"};
	const char *algorithm = strstr(line, "Bytes -> Algo "), *protocol, *channels;
	const char *cluster;
	int low, high;

	if (!algorithm)
		return false;
	protocol = strstr(algorithm, " proto ");
	if (!protocol)
		return false;
	*ran = (struct fb_nccl_ran){.channels = 0};
	copy_word(algorithm + strlen("Bytes -> Algo "), ran->algorithm, sizeof(ran->algorithm));
	copy_word(protocol + strlen(" proto "), ran->protocol, sizeof(ran->protocol));
	name_number(ran->algorithm, algorithms, sizeof(algorithms) / sizeof(algorithms[0]));
	name_number(ran->protocol, protocols, sizeof(protocols) / sizeof(protocols[0]));
	channels = strstr(protocol, "={");
	if (channels && sscanf(channels, "={%d..%d}", &low, &high) == 2 && high >= low)
		ran->channels = high - low + 1;
	cluster = strstr(protocol, "cgaClusterSize ");
	if (cluster)
		ran->cluster = atoi(cluster + strlen("cgaClusterSize "));
	return true;
}

/* "AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 1 nthreads 512 ..." */
static bool parse_symmetric(const char *line, struct fb_nccl_ran *ran)
{
	const char *kernel = strstr(line, "Bytes -> Kernel "), *channels;

	if (!kernel)
		return false;
	*ran = (struct fb_nccl_ran){.algorithm = "symmetric"};
	kernel += strlen("Bytes -> Kernel ");
	snprintf(ran->kernel, sizeof(ran->kernel), "%.*s",
		 (int)strcspn(kernel, " \n"), kernel);
	channels = strstr(kernel, "nchannels ");
	if (channels)
		ran->channels = atoi(channels + strlen("nchannels "));
	return true;
}

/*
 * "AllGather [Copy Engine]: 64 Bytes -> cudaMemcpy", between nodes "[Hierarchical CE]: 64 Bytes ->
 * RMA proxy + CE" (2.30), and behind that line "[Hierarchical CE]: 64 Bytes -> Rail Ring RMA proxy
 * + CE" or "Rail Direct" (2.32).
 */
static bool parse_copies(const char *line, struct fb_nccl_ran *ran)
{
	bool hierarchical = strstr(line, "[Hierarchical CE]:") != NULL;
	const char *rail = strstr(line, "-> Rail ");

	if (!hierarchical && !strstr(line, "[Copy Engine]:"))
		return false;
	*ran = (struct fb_nccl_ran){.algorithm = "copyengine"};
	if (hierarchical && rail) {
		strcpy(ran->protocol, "rail-");
		copy_word(rail + strlen("-> Rail "), ran->protocol + strlen("rail-"),
			  sizeof(ran->protocol) - strlen("rail-"));
	} else if (hierarchical) {
		strcpy(ran->protocol, "hierarchical");
	}
	return true;
}

static uint64_t bytes_of(const char *line)
{
	const char *at = strstr(line, " Bytes -> ");

	while (at && at > line && isdigit((unsigned char)at[-1]))
		at--;
	return at ? strtoull(at, NULL, 10) : 0;
}

void fb_nccl_ran_parse(const char *log, struct fb_nccl_ran *ran)
{
	uint64_t most = 0;

	*ran = (struct fb_nccl_ran){.channels = 0};
	while (*log) {
		size_t n = strcspn(log, "\n");
		struct fb_nccl_ran here;
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)(n < 511 ? n : 511), log);
		if (bytes_of(line) >= most && (parse_classic(line, &here) ||
		    parse_symmetric(line, &here) || parse_copies(line, &here))) {
			*ran = here;
			most = bytes_of(line);
		}
		log += n + (log[n] == '\n');
	}
}

/* "AllReduce_AGxLL_R" is agxll_r. */
static bool is_kernel(const char *kernel, const char *name)
{
	const char *own = strchr(kernel, '_');

	return own && !strcasecmp(own + 1, name);
}

bool fb_nccl_ran_as(const struct fb_nccl_ran *ran, const struct fb_nccl_algo_proto *choice)
{
	if (*ran->algorithm && fb_nccl_is_symmetric(choice))
		return is_kernel(ran->kernel, choice->protocol);
	if (!*ran->algorithm || !fb_nccl_is_forced(choice))
		return true;
	if (strcmp(ran->algorithm, choice->algorithm))
		return false;
	return !strcmp(choice->protocol, "library") || !strcmp(ran->protocol, choice->protocol);
}

/* "ring;allreduce:tree": a first part without a function is for all that have none. */
static bool names(const char *value, const char *function)
{
	size_t n = strcspn(value, ":;");

	if (*value && value[n] != ':')
		return true;
	for (; *value; value += strcspn(value, ";"), value += *value == ';')
		if (!strncasecmp(value, function, strlen(function)) &&
		    value[strlen(function)] == ':')
			return true;
	return false;
}

bool fb_nccl_ran_ignores(const struct fb_nccl_ran *ran, enum fb_collective collective)
{
	static const char *const functions[FB_COLLECTIVES] = {
		[FB_ALL_REDUCE] = "allreduce", [FB_ALL_GATHER] = "allgather",
		[FB_REDUCE_SCATTER] = "reducescatter",
	};
	const char *algorithm = getenv("NCCL_ALGO"), *protocol = getenv("NCCL_PROTO");

	return functions[collective] && (!strcmp(ran->algorithm, "symmetric") ||
					 !strcmp(ran->algorithm, "copyengine")) &&
	       ((algorithm && names(algorithm, functions[collective])) ||
		(protocol && names(protocol, functions[collective])));
}

void fb_nccl_ran_path(const struct fb_nccl *nccl, const char *call, const char *how,
		      const struct fb_nccl_ran *ran, const struct fb_nccl_wire *wire,
		      char path[FB_PATH_CHARS])
{
	char version[FB_NCCL_NAME_CHARS], cluster[32] = "", warned[256] = "";

	if (ran->cluster)
		snprintf(cluster, sizeof(cluster), " clusters of %d", ran->cluster);
	if (wire->warnings)
		snprintf(warned, sizeof(warned), ", %d warnings: %s", wire->warnings,
			 wire->warning);
	snprintf(path, FB_PATH_CHARS, "NCCL %s nccl%s: %s%s%s%s%s%s%s%s%s%s%s%s%s",
		 fb_nccl_version_text(nccl, version), call, how,
		 *ran->algorithm ? ran->algorithm : "untold", *ran->protocol ? " " : "",
		 ran->protocol, *ran->kernel ? " " : "", ran->kernel, cluster,
		 *wire->via ? " via " : "", wire->via,
		 strstr(wire->via, "NET/") && *wire->setup.network ? ", network " : "",
		 strstr(wire->via, "NET/") ? wire->setup.network : "",
		 !ran->concluded ? "" : !strcmp(ran->algorithm, "sendrecv") ?
		 ", as NCCL has nothing else for it" : ", as NCCL told of no kernel", warned);
}

/* Expands a file name as NCCL does: %h is the host, %p the process. */
static void expand(const char *pattern, char *file, size_t n)
{
	char host[64] = "";
	size_t used = 0;

	(void)gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	for (; *pattern && used + 1 < n; pattern++) {
		if (*pattern != '%' || (pattern[1] != 'h' && pattern[1] != 'p'))
			used += (size_t)snprintf(file + used, n - used, "%c", *pattern);
		else if (*++pattern == 'h')
			used += (size_t)snprintf(file + used, n - used, "%s", host);
		else
			used += (size_t)snprintf(file + used, n - used, "%d", (int)getpid());
	}
}

/* The user's log is in a file: only what is appended from now on will be read. */
static void follow(struct fb_nccl_log *log, const char *pattern)
{
	FILE *f;

	expand(pattern, log->file, sizeof(log->file));
	f = fopen(log->file, "r");
	if (f && !fseek(f, 0, SEEK_END))
		log->from = ftell(f);
	if (f)
		fclose(f);
}

void fb_nccl_log_begin(struct fb_nccl_log *log, const struct fb_nccl *nccl, int rank)
{
	const char *folder = getenv("TMPDIR"), *level = getenv("NCCL_DEBUG");
	const char *asked = getenv("NCCL_DEBUG_SUBSYS"), *file = getenv("NCCL_DEBUG_FILE");
	char all[512];
	int fd;

	*log = (struct fb_nccl_log){.nccl = NULL};
	fb_nccl_watch_begin(false);
	if (level && file) {
		/* If several ranks write into one file, the first rank reads it. */
		if (!rank || strstr(file, "%p"))
			follow(log, file);
		return;
	}
	if (!nccl->ResetDebugInit)
		return;
	if (!folder || strlen(folder) > 200)
		folder = "/tmp";
	snprintf(log->file, sizeof(log->file), "%s/fabricbench-XXXXXX", folder);
	fd = mkstemp(log->file);
	if (fd < 0) {
		log->file[0] = '\0';
		return;
	}
	close(fd);
	for (int i = 0; i < FB_NCCL_LOG_VALUES; i++) {
		const char *value = getenv(variables[i]);

		log->before[i] = value ? strdup(value) : NULL;
	}
	/* A list that begins with ^ would exclude the subsystems that are added here. */
	snprintf(all, sizeof(all), "%s%s%s", level && asked && *asked != '^' ? asked : "",
		 level && asked && *asked != '^' ? "," : "", subsystems);
	if (!level || strcmp(level, "TRACE"))
		(void)setenv("NCCL_DEBUG", "INFO", 1);
	(void)setenv("NCCL_DEBUG_SUBSYS", all, 1);
	(void)setenv("NCCL_DEBUG_FILE", log->file, 1);
	nccl->ResetDebugInit();
	log->nccl = nccl;
}

/* Restores the user's variables, and has NCCL log as they say again. */
static void restore(struct fb_nccl_log *log)
{
	for (int i = 0; i < FB_NCCL_LOG_VALUES; i++) {
		if (log->before[i])
			(void)setenv(variables[i], log->before[i], 1);
		else
			(void)unsetenv(variables[i]);
	}
	log->nccl->ResetDebugInit();
}

static void read_file(struct fb_nccl_log *log, struct fb_nccl_ran *ran, struct fb_nccl_wire *wire)
{
	char *text;
	FILE *f;

	if (log->nccl)
		restore(log);
	f = fopen(log->file, "r");
	text = calloc(1, MOST_LOG_BYTES);
	if (f && text && !fseek(f, log->from, SEEK_SET) &&
	    fread(text, 1, MOST_LOG_BYTES - 1, f) > 0) {
		fb_nccl_ran_parse(text, ran);
		fb_nccl_wire_parse(text, wire);
		/* The user wanted to see it. On stderr, as rows may go to stdout. */
		if (log->nccl && log->before[0])
			fputs(text, stderr);
	}
	free(text);
	if (f)
		fclose(f);
	if (log->nccl)
		(void)unlink(log->file);
	for (int i = 0; i < FB_NCCL_LOG_VALUES; i++)
		free(log->before[i]);
}

/* What the profiler reports of a call that the log does not name. */
static void see(const struct fb_nccl_seen *seen, struct fb_nccl_ran *ran)
{
	if (seen->copies) {
		strcpy(ran->algorithm, "copyengine");
	} else if (seen->kernel && *seen->kernel) {
		strcpy(ran->algorithm, "symmetric");
		snprintf(ran->kernel, sizeof(ran->kernel), "%s", seen->kernel);
	} else if (seen->algorithm) {
		copy_word(seen->algorithm, ran->algorithm, sizeof(ran->algorithm));
		copy_word(seen->protocol ? seen->protocol : "", ran->protocol,
			  sizeof(ran->protocol));
	} else if (seen->p2p) {
		strcpy(ran->algorithm, "sendrecv");
	}
	ran->channels = seen->channels;
	ran->silent = seen->watched && !seen->events;
}

void fb_nccl_ran_conclude(struct fb_nccl_ran *ran, const struct fb_nccl_call *call,
			  const struct fb_nccl_group *group, const char *settings)
{
	enum fb_nccl_registration how = group->need.registration;

	if (*ran->algorithm)
		return;
	if (ran->silent && fb_nccl_call_may_copy(call, how, settings))
		strcpy(ran->algorithm, "copyengine");
	else if (fb_nccl_call_sends(call, how, settings))
		strcpy(ran->algorithm, "sendrecv");
	ran->concluded = *ran->algorithm != '\0';
}

void fb_nccl_log_end(struct fb_nccl_log *log, struct fb_nccl_ran *ran, struct fb_nccl_wire *wire)
{
	bool own = log->nccl != NULL;
	struct fb_nccl_seen seen;

	fb_nccl_watch_end(&seen);
	*ran = (struct fb_nccl_ran){.channels = 0};
	if (*log->file)
		read_file(log, ran, wire);
	if (!*ran->algorithm)
		see(&seen, ran);
	ran->silent = ran->silent && own;
	*log = (struct fb_nccl_log){.nccl = NULL};
}

/* Rank 0 writes the row: it takes over the log of the first rank that has warnings. */
static void share_warnings(const struct fb_group *group, struct fb_nccl_wire *wire)
{
	int own = wire->warnings, first = own ? group->rank : group->nranks, most;
	char text[sizeof(wire->warning)];

	memcpy(text, wire->warning, sizeof(text));
	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, group->comm);
	if (first == group->nranks)
		return;
	MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, group->comm);
	MPI_Bcast(text, sizeof(text), MPI_CHAR, first, group->comm);
	wire->warnings = most;
	if (!own)
		memcpy(wire->warning, text, sizeof(text));
}

void fb_nccl_log_share(struct fb_nccl_log *log, const struct fb_nccl *nccl,
		       const struct fb_session *session, const struct fb_group *group,
		       struct fb_nccl_setup *known, struct fb_nccl_ran *ran,
		       struct fb_nccl_wire *wire)
{
	/* NCCL logs its setup once in a process, so what earlier logs said still holds. */
	wire->setup = *known;
	fb_nccl_log_end(log, ran, wire);
	*known = wire->setup;
	if (group->rank == 0)
		fb_nccl_wire_facts(session, nccl->version, known);
	if (*wire->via)
		fb_launch_fact(session, "rank.nccl", "%s", wire->via);
	MPI_Bcast(ran, sizeof(*ran), MPI_BYTE, 0, group->comm);
	share_warnings(group, wire);
}
