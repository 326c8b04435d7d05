/* SPDX-License-Identifier: BSD-3-Clause */
/* See tool.h. */
#include "scripts/tools/lib/tool.h"

#include <stdio.h>

#include "common/base/error.h"
#include "common/base/version.h"
#include "scripts/tools/lib/arguments.h"
#include "scripts/tools/lib/memory.h"

struct other {
	bool help, man, version;
};

static const struct fb_option table[] = {
	FB_OPTION_GROUP("Other"),
	FB_OPTION_FLAG(struct other, help, 'h', "help", "this text"),
	FB_OPTION_FLAG(struct other, man, 0, "man", "this text as a manual page"),
	FB_OPTION_FLAG(struct other, version, 'V', "version", "version and revision"),
	FB_OPTION_END,
};

int fb_tool_main(const struct fb_tool *tool, void *settings, int argc, char **argv)
{
	struct other other = {0};
	const struct fb_option_chain last = {.table = table, .values = &other};
	const struct fb_option_chain chain = {
		.table = tool->table, .values = settings, .next = &last};
	const struct fb_option_about about = {
		.program = tool->name,
		.summary = tool->summary,
		.description = tool->description,
		.version = fb_version_text(),
	};
	/* Flags take no value: the tool's own table is enough to separate words from options. */
	size_t count = fb_arguments_split(tool->table, argc, argv);
	int code;

	if (fb_option_parse(&chain, argc - (int)count, argv, stderr))
		return FB_EXIT_INPUT;
	if (other.help) {
		fb_option_help(&chain, &about, stdout);
		if (tool->more_help)
			tool->more_help();
		return FB_EXIT_OK;
	}
	if (other.man) {
		fb_option_man(&chain, &about, stdout);
		return FB_EXIT_OK;
	}
	if (other.version) {
		printf("%s (fabricbench) %s, revision %s%s\n", tool->name, fb_version_text(),
		       fb_version_revision(), tool->libraries ? tool->libraries : "");
		return FB_EXIT_OK;
	}
	if (tool->input && count == 0) {
		fb_error(FB_EINPUT, "no input: expected %s; see --help", tool->input);
		return FB_EXIT_INPUT;
	}
	code = tool->run(settings, argv + argc - count, count);
	if (fflush(stdout) || ferror(stdout))
		code = fb_exit_code(fb_error(FB_EIO, "standard output could not be written"));
	fb_memory_end();
	return code;
}
