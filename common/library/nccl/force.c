/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's algorithms and protocols; see force.h. */
#include "common/library/nccl/force.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/nccl/api.h"
#include "common/option/option.h"

enum { LL = 1, LL128 = 2, SIMPLE = 4, ALL_PROTOCOLS = LL | LL128 | SIMPLE };

enum { COLLECTIVE_BITS = 5 }; /* only these have a choice */

static const enum fb_collective tuned[COLLECTIVE_BITS] = {
	FB_ALL_REDUCE, FB_ALL_GATHER, FB_REDUCE_SCATTER, FB_BROADCAST, FB_REDUCE,
};

enum { AR = 1, AG = 2, RS = 4, BC = 8, RE = 16 }; /* bits of the same */

/*
 * As NCCL 2.28 generates its kernels (src/device/generate.py) and tunes them. The name is also the
 * token of NCCL_ALGO.
 */
static const struct algorithm {
	const char *name, *tag; /* tag: of the configuration of a call */
	int protocols, collectives;
	bool multicast;       /* uses NVLink multicast */
	bool between_nodes;   /* needs several nodes */
	const char *variable; /* that has to be 1, or NULL */
} algorithms[] = {
	{"ring", "RING", ALL_PROTOCOLS, AR | AG | RS | BC | RE, false, false, NULL},
	{"tree", "TREE", ALL_PROTOCOLS, AR, false, false, NULL},
	{"pat", "PAT", SIMPLE, AG | RS, false, false, "NCCL_PAT_ENABLE"},
	{"collnetdirect", "COLLNET_DIRECT", SIMPLE, AR | AG | RS, false, true,
	 "NCCL_COLLNET_ENABLE"},
	{"collnetchain", "COLLNET_CHAIN", SIMPLE, AR, false, true, "NCCL_COLLNET_ENABLE"},
	{"nvls", "NVLS", SIMPLE, AR | AG | RS, true, false, NULL},
	{"nvlstree", "NVLSTREE", SIMPLE, AR, true, true, NULL},
};

enum { ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

static const struct {
	const char *name, *token, *tag;
	int bit;
} protocols[] = {
	{"simple", "Simple", "SIMPLE", SIMPLE}, {"ll", "LL", "LL", LL},
	{"ll128", "LL128", "LL128", LL128},
};

enum { PROTOCOLS = sizeof(protocols) / sizeof(protocols[0]) };

/*
 * Kernels of symmetric windows, as calls name them from 2.31 on (SYMK_...); those with MC work by
 * multicast. Of NCCL 2.32.3.
 */
static const struct symmetric {
	const char *name, *tag;
	int collectives;
	bool multicast;
} symmetric[] = {
	{"agxll_r", "AGxLL_R", AR, false}, {"agxllmc_r", "AGxLLMC_R", AR, true},
	{"rsxld_agxst", "RSxLD_AGxST", AR, false},
	{"rsxtmald_agxtmast", "RSxTmaLD_AGxTmaST", AR, false},
	{"rsxldmc_agxstmc", "RSxLDMC_AGxSTMC", AR, true},
	{"ll", "LL", AG | RS, false}, {"llmc", "LLMC", AG, true},
	{"st", "ST", AG, false}, {"tmast", "TmaST", AG, false}, {"stmc", "STMC", AG, true},
	{"tmastmc", "TmaSTMC", AG, true}, {"railring_lsastmc", "RailRing_LsaSTMC", AG, true},
	{"ld", "LD", RS, false}, {"tmald", "TmaLD", RS, false}, {"ldmc", "LDMC", RS, true},
	{"raila2a_lsald", "RailA2A_LsaLD", RS, false},
	{"raila2a_lsaldmc", "RailA2A_LsaLDMC", RS, true},
};

enum { SYMMETRIC = sizeof(symmetric) / sizeof(symmetric[0]) };

static const char library[] = "library", grouped[] = "grouped", symk[] = "symk";

/* NULL: there is none of that name. */
static const struct symmetric *find_symmetric(const char *name)
{
	for (size_t i = 0; i < SYMMETRIC; i++)
		if (!strcmp(symmetric[i].name, name))
			return &symmetric[i];
	return NULL;
}

static const struct algorithm *find(const char *name, size_t n)
{
	for (size_t i = 0; i < ALGORITHMS; i++)
		if (strlen(algorithms[i].name) == n && !strncmp(algorithms[i].name, name, n))
			return &algorithms[i];
	return NULL;
}

static bool parse(const char *item, struct fb_nccl_algo_proto *choice)
{
	size_t n = strcspn(item, ":");
	const struct algorithm *a = find(item, n);

	*choice = (struct fb_nccl_algo_proto){library, library};
	if (!strcmp(item, grouped))
		choice->algorithm = grouped;
	if (!strcmp(item, grouped) || !strcmp(item, library))
		return true;
	if (n == strlen(symk) && !strncmp(item, symk, n)) {
		const struct symmetric *kernel = item[n] ? find_symmetric(item + n + 1) : NULL;

		*choice = (struct fb_nccl_algo_proto){symk, kernel ? kernel->name : library};
		return kernel != NULL;
	}
	if (!a)
		return false;
	choice->algorithm = a->name;
	for (size_t i = 0; item[n] && i < PROTOCOLS; i++)
		if (!strcmp(item + n + 1, protocols[i].name) && (a->protocols & protocols[i].bit))
			choice->protocol = protocols[i].name;
	return !item[n] || choice->protocol != library;
}

static int reject(const char *item, FILE *errors)
{
	char accepted[1024] = "all, or a list of: library, grouped";
	size_t end;

	for (size_t i = 0; i < ALGORITHMS; i++) {
		size_t used = strlen(accepted);

		snprintf(accepted + used, sizeof(accepted) - used, ", %s", algorithms[i].name);
		for (size_t p = 0; p < PROTOCOLS; p++) {
			used = strlen(accepted);
			if (algorithms[i].protocols & protocols[p].bit)
				snprintf(accepted + used, sizeof(accepted) - used, "[:%s]",
					 protocols[p].name);
		}
	}
	end = strlen(accepted);
	snprintf(accepted + end, sizeof(accepted) - end, ", %s", symk);
	for (size_t i = 0; i < SYMMETRIC; i++) {
		end = strlen(accepted);
		snprintf(accepted + end, sizeof(accepted) - end, "%s%s", i ? "|" : ":",
			 symmetric[i].name);
	}
	return fb_option_reject(errors, "nccl-force", item, accepted);
}

/* The library's own, grouped, and each algorithm with each of its protocols. */
static int all_choices(struct fb_nccl_algo_proto *choices)
{
	int n = 0;

	choices[n++] = (struct fb_nccl_algo_proto){library, library};
	choices[n++] = (struct fb_nccl_algo_proto){grouped, library};
	for (size_t i = 0; i < ALGORITHMS; i++)
		for (size_t p = 0; p < PROTOCOLS; p++)
			if (algorithms[i].protocols & protocols[p].bit)
				choices[n++] = (struct fb_nccl_algo_proto){algorithms[i].name,
									   protocols[p].name};
	return n;
}

int fb_nccl_algo_proto_list(const char *list,
			    struct fb_nccl_algo_proto choices[FB_NCCL_MOST_ALGO_PROTOS],
			    FILE *errors)
{
	char item[64];
	int n = 0, more;

	if (!strcmp(list, "all"))
		return all_choices(choices);
	while ((more = fb_option_next_item(&list, item, sizeof(item))) > 0) {
		struct fb_nccl_algo_proto choice;

		if (!parse(item, &choice))
			return reject(item, errors);
		for (int i = 0; i < n; i++)
			if (!strcmp(choices[i].algorithm, choice.algorithm) &&
			    !strcmp(choices[i].protocol, choice.protocol))
				return fb_option_reject(errors, "nccl-force", item,
							"every item once");
		if (n == FB_NCCL_MOST_ALGO_PROTOS)
			return reject(item, errors);
		choices[n++] = choice;
	}
	return more < 0 || n == 0 ? reject(list, errors) : n;
}

struct fb_nccl_algo_proto fb_nccl_algo_proto_named(const char *algorithm, const char *protocol)
{
	struct fb_nccl_algo_proto found = {library, library};
	bool any = !strcmp(protocol, library);
	char item[64];

	snprintf(item, sizeof(item), "%s%s%s", algorithm, any ? "" : ":", any ? "" : protocol);
	if (!parse(item, &found))
		found = (struct fb_nccl_algo_proto){library, library};
	return found;
}

bool fb_nccl_is_forced(const struct fb_nccl_algo_proto *choice)
{
	return strcmp(choice->algorithm, library) && strcmp(choice->algorithm, grouped) &&
	       !fb_nccl_is_symmetric(choice);
}

bool fb_nccl_is_symmetric(const struct fb_nccl_algo_proto *choice)
{
	return !strcmp(choice->algorithm, symk);
}

static bool can_group(enum fb_collective collective, char *reason, size_t n)
{
	if (collective == FB_ALL_TO_ALL || collective == FB_GATHER || collective == FB_SCATTER)
		return true;
	if (collective == FB_ALL_TO_ALL_V || collective == FB_SEND_RECV)
		snprintf(reason, n, "NCCL groups sends for %s anyway: use library",
			 fb_collective_info(collective)->name);
	else if (fb_collective_info(collective)->unequal)
		snprintf(reason, n, "NCCL groups %s for %s: use library",
			 fb_collective_info(collective)->reduces ? "reductions" : "broadcasts",
			 fb_collective_info(collective)->name);
	else
		snprintf(reason, n, "NCCL has a function for %s",
			 fb_collective_info(collective)->name);
	return false;
}

static bool variable_says(const char *name)
{
	const char *value = getenv(name);

	return value && !strcmp(value, "1");
}

static bool algorithm_can(const struct algorithm *a, const struct fb_nccl_place *place,
			  char *reason, size_t n)
{
	if (a->multicast && !place->multicast)
		snprintf(reason, n, "multicast off");
	else if (place->nranks == 1)
		snprintf(reason, n, "one rank: NCCL only copies");
	else if (a->between_nodes && place->nnodes == 1)
		snprintf(reason, n, "NCCL's %s needs several nodes", a->name);
	else if (!strcmp(a->name, "pat") && place->nnodes != place->nranks &&
		 !variable_says(a->variable))
		snprintf(reason, n, "NCCL's pat needs one rank per node, or %s=1", a->variable);
	else if (!strncmp(a->name, "collnet", 7) && !variable_says(a->variable))
		snprintf(reason, n, "NCCL's %s needs a plugin and %s=1", a->name, a->variable);
	else
		return true;
	return false;
}

static bool symmetric_can(const struct symmetric *kernel, int bit,
			  const struct fb_nccl_place *place, char *reason, size_t n)
{
	if (!(kernel->collectives & bit))
		snprintf(reason, n, "NCCL has no symmetric kernel %s for this call", kernel->name);
	else if (kernel->multicast && !place->multicast)
		snprintf(reason, n, "multicast off");
	else if (place->nranks == 1)
		snprintf(reason, n, "one rank: NCCL only copies");
	else
		return true;
	return false;
}

bool fb_nccl_algo_proto_can(const struct fb_nccl_algo_proto *choice, enum fb_collective collective,
			    const struct fb_nccl_place *place, char *reason, size_t n)
{
	const struct algorithm *a = find(choice->algorithm, strlen(choice->algorithm));
	int bit = 0;

	if (collective == FB_BARRIER) {
		snprintf(reason, n, "NCCL has no barrier");
		return false;
	}
	/* With 2.28.3 such a launch returned only after the blocking kernel had given up. */
	if (place->held) {
		snprintf(reason, n, "NCCL's graphs are not launched behind a blocking kernel");
		return false;
	}
	if (!strcmp(choice->algorithm, grouped))
		return can_group(collective, reason, n);
	for (int i = 0; i < COLLECTIVE_BITS; i++)
		bit |= tuned[i] == collective ? 1 << i : 0;
	if (fb_nccl_is_symmetric(choice))
		return symmetric_can(find_symmetric(choice->protocol), bit, place, reason, n);
	if (!a)
		return true;
	if (!(a->collectives & bit)) {
		snprintf(reason, n, "NCCL has no %s for %s", a->name,
			 fb_collective_info(collective)->name);
		return false;
	}
	return algorithm_can(a, place, reason, n);
}

void fb_nccl_selection(const struct fb_nccl_algo_proto *choice, char text[FB_NCCL_SELECTION_CHARS])
{
	const struct algorithm *a = find(choice->algorithm, strlen(choice->algorithm));

	text[0] = '\0';
	if (fb_nccl_is_symmetric(choice))
		snprintf(text, FB_NCCL_SELECTION_CHARS, "SYMK_%s",
			 find_symmetric(choice->protocol)->tag);
	for (size_t p = 0; a && p < PROTOCOLS; p++) {
		size_t used = strlen(text);

		if ((a->protocols & protocols[p].bit) &&
		    (!strcmp(choice->protocol, library) ||
		     !strcmp(choice->protocol, protocols[p].name)))
			snprintf(text + used, FB_NCCL_SELECTION_CHARS - used, "%s%s_%s",
				 used ? "," : "", a->tag, protocols[p].tag);
	}
}

const char *const fb_nccl_policies[] = {"auto", "default", "efficiency", "zero", NULL};
const char *const fb_nccl_polls[] = {"usual", "never", "each", NULL};
const char *const fb_nccl_clusters[] = {"auto", "0", "1", "2", "4", "8", NULL};

int fb_nccl_policy_number(const struct fb_nccl_ctas *ctas)
{
	return ctas->policy ? ctas->policy - 1 : FB_NCCL_UNDEFINED_INT;
}

int fb_nccl_cluster_number(const struct fb_nccl_ctas *ctas)
{
	return ctas->cluster ? atoi(fb_nccl_clusters[ctas->cluster]) : FB_NCCL_UNDEFINED_INT;
}

static char *copy_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

static void put_back(const char *name, const char *value)
{
	if (value)
		(void)setenv(name, value, 1);
	else
		(void)unsetenv(name);
}

int fb_nccl_force_begin(const struct fb_nccl_algo_proto *choice, struct fb_nccl_saved *saved)
{
	int err = 0;

	*saved = (struct fb_nccl_saved){copy_of("NCCL_ALGO"), copy_of("NCCL_PROTO")};
	if (!fb_nccl_is_forced(choice))
		return FB_OK;
	err |= setenv("NCCL_ALGO", choice->algorithm, 1);
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (!strcmp(choice->protocol, protocols[i].name))
			err |= setenv("NCCL_PROTO", protocols[i].token, 1);
	return err ? fb_error(FB_ENOMEM, "out of memory for NCCL_ALGO and NCCL_PROTO") : FB_OK;
}

void fb_nccl_force_end(struct fb_nccl_saved *saved)
{
	put_back("NCCL_ALGO", saved->algorithm);
	put_back("NCCL_PROTO", saved->protocol);
	free(saved->algorithm);
	free(saved->protocol);
	*saved = (struct fb_nccl_saved){NULL, NULL};
}
