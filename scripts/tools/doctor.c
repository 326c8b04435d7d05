/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor: finds what makes communication slow, or fail, on the nodes of a job, from their facts and
 * a few measured rates. scripts/doctor collects these first.
 */
#include "common/base/error.h"
#include "common/base/fold.h"
#include "common/option/option.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <stdio.h>
#include <string.h>

struct settings {
	bool all;
	struct fb_least least;
	double expect_rate;
};

#define FLAG(field, short_, name, help) FB_OPTION_FLAG(struct settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to show"),
	FLAG(all, 'a', "all", "what is good, too"),
	FB_OPTION_RATIO(struct settings, least.bound, 0, "least", "30%", 1e-3, 1,
			"share of the bound that a rate of a collective has to reach"),
	FB_OPTION_RATIO(struct settings, least.link, 0, "link-least", "70%", 1e-3, 1,
			"share of its link's rate that a pair of ranks has to reach"),
	FB_OPTION_RATIO(struct settings, least.collective, 0, "collective-least", "40%", 1e-3, 1,
			"the same of a collective of GPUs"),
	FB_OPTION_DOUBLE(struct settings, expect_rate, 0, "expect-rate", "N", "0", 0, 1e6,
			 "Gbit/s that every active RDMA port has to have; 0: not known"),
	FB_OPTION_END,
};

static const char description[] =
	"doctor [option...] DIR\n\n"
	"Reads the environment.csv and the result files of a folder, and says which facts of the "
	"nodes make communication slow or fail, what it costs and what mends it: ports, PCIe "
	"lanes, limits, modules, left-over variables, facts that differ between nodes, and rates "
	"far below their bound. scripts/doctor makes such a folder.\n\n"
	"Exit code: 0 nothing is bad; 1 something is; 3 the folder cannot be used.";

static const char *const levels[FB_LEVELS] = {"good", "doubt", "bad"};

static void print(FILE *out, const struct fb_finding *f)
{
	fprintf(out, "%-5s  %s%s%s\n", levels[f->level], *f->host ? f->host : "",
		*f->host ? ": " : "", f->check);
	fprintf(out, "       found   %s\n", f->found);
	if (f->level == FB_LEVEL_GOOD)
		return;
	fprintf(out, "       wanted  %s\n", f->wanted);
	fprintf(out, "       %s\n", f->advice);
}

static int report(const struct settings *settings, const struct fb_node_facts *facts,
		  const struct fb_findings *findings)
{
	size_t count[FB_LEVELS] = {0};
	struct fb_fold fold;
	int err = fb_fold_open(&fold);

	if (err)
		return fb_exit_code(err);
	/* The worst first. */
	for (int level = FB_LEVELS - 1; level >= 0; level--)
		for (size_t i = 0; i < findings->count; i++) {
			const struct fb_finding *f = &findings->item[i];

			if ((int)f->level != level)
				continue;
			count[level]++;
			if (level != FB_LEVEL_GOOD || settings->all)
				print(fold.stream, f);
		}
	fprintf(fold.stream, "%zu node%s: %zu checks good, %zu in doubt, %zu bad\n", facts->hosts,
		facts->hosts == 1 ? "" : "s", count[FB_LEVEL_GOOD], count[FB_LEVEL_DOUBT],
		count[FB_LEVEL_BAD]);
	err = fb_fold_close(&fold, stdout);
	if (err)
		return FB_EXIT_FAULT;
	return count[FB_LEVEL_BAD] ? FB_EXIT_REGRESSION : FB_EXIT_OK;
}

static int read_rates(const char *folder, const struct settings *settings,
		      const struct fb_node_facts *facts, struct fb_findings *findings)
{
	struct fb_names names = {.count = 0};
	int err = fb_is_folder(folder) ? fb_folder_names(folder, ".csv", &names) : FB_OK;

	for (size_t i = 0; i < names.count && !err; i++) {
		const char *path = fb_new_text("%s/%s", folder, names.name[i]);

		if (!strcmp(names.name[i], "environment.csv"))
			continue;
		err = fb_doctor_rates(facts, path, &settings->least, findings);
	}
	return err;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	struct fb_findings findings = {.count = 0};
	struct fb_node_facts facts;
	int err;

	if (count != 1) {
		fb_error(FB_EINPUT, "%zu folders: expected one results folder; see --help", count);
		return FB_EXIT_INPUT;
	}
	err = fb_node_facts_read(&facts, words[0]);
	facts.least_Gbps = settings->expect_rate;
	if (!err) {
		fb_doctor_rules(&facts, &findings);
		err = read_rates(words[0], settings, &facts, &findings);
	}
	if (!err)
		err = read_rates(fb_new_text("%s/rates", words[0]), settings, &facts, &findings);
	return err ? fb_exit_code(err) : report(settings, &facts, &findings);
}

static const struct fb_tool tool = {
	.name = "doctor",
	.summary = "what of the nodes makes communication slow",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
