/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's log of a call; see tuning.h. */
#include "collectives/engine/nccl/tuning.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LOG_BYTES = 1 << 16 };

/* The word at `text` in lower case without '_': "COLLNET_DIRECT" becomes "collnetdirect". */
static void copy_word(const char *text, char word[FB_NCCL_NAME_CHARS])
{
	size_t n = 0;

	for (; (isalnum((unsigned char)*text) || *text == '_') && n + 1 < FB_NCCL_NAME_CHARS;
	     text++)
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
	int low, high;

	if (!algorithm)
		return false;
	protocol = strstr(algorithm, " proto ");
	if (!protocol)
		return false;
	*ran = (struct fb_nccl_ran){.channels = 0};
	copy_word(algorithm + strlen("Bytes -> Algo "), ran->algorithm);
	copy_word(protocol + strlen(" proto "), ran->protocol);
	name_number(ran->algorithm, algorithms, sizeof(algorithms) / sizeof(algorithms[0]));
	name_number(ran->protocol, protocols, sizeof(protocols) / sizeof(protocols[0]));
	channels = strstr(protocol, "={");
	if (channels && sscanf(channels, "={%d..%d}", &low, &high) == 2 && high >= low)
		ran->channels = high - low + 1;
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

void fb_nccl_ran_parse(const char *log, struct fb_nccl_ran *ran)
{
	*ran = (struct fb_nccl_ran){.channels = 0};
	while (*log) {
		size_t n = strcspn(log, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)(n < 511 ? n : 511), log);
		if (!parse_classic(line, ran) && !parse_symmetric(line, ran) &&
		    strstr(line, "[Copy Engine]:"))
			*ran = (struct fb_nccl_ran){.algorithm = "copyengine"};
		log += n + (log[n] == '\n');
	}
}

bool fb_nccl_ran_as(const struct fb_nccl_ran *ran, const struct fb_nccl_choice *choice)
{
	if (!*ran->algorithm || !fb_nccl_is_forced(choice))
		return true;
	if (strcmp(ran->algorithm, choice->algorithm))
		return false;
	return !strcmp(choice->protocol, "library") || !strcmp(ran->protocol, choice->protocol);
}

void fb_nccl_log_begin(struct fb_nccl_log *log, const struct fb_nccl *nccl)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	*log = (struct fb_nccl_log){.nccl = NULL};
	if (!nccl->ResetDebugInit || getenv("NCCL_DEBUG") || getenv("NCCL_DEBUG_SUBSYS"))
		return;
	if (!folder || strlen(folder) > 32)
		folder = "/tmp";
	snprintf(log->file, sizeof(log->file), "%s/fabricbench-XXXXXX", folder);
	fd = mkstemp(log->file);
	if (fd < 0)
		return;
	close(fd);
	(void)setenv("NCCL_DEBUG", "INFO", 1);
	(void)setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
	(void)setenv("NCCL_DEBUG_FILE", log->file, 1);
	nccl->ResetDebugInit();
	log->nccl = nccl;
}

void fb_nccl_log_end(struct fb_nccl_log *log, struct fb_nccl_ran *ran)
{
	char *text;
	FILE *f;

	*ran = (struct fb_nccl_ran){.channels = 0};
	if (!log->nccl)
		return;
	(void)unsetenv("NCCL_DEBUG");
	(void)unsetenv("NCCL_DEBUG_SUBSYS");
	(void)unsetenv("NCCL_DEBUG_FILE");
	log->nccl->ResetDebugInit();
	log->nccl = NULL;
	f = fopen(log->file, "r");
	text = calloc(1, MOST_LOG_BYTES);
	if (f && text && fread(text, 1, MOST_LOG_BYTES - 1, f) > 0)
		fb_nccl_ran_parse(text, ran);
	free(text);
	if (f)
		fclose(f);
	(void)unlink(log->file);
}
