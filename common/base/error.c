/* SPDX-License-Identifier: BSD-3-Clause */
/* Error texts and their output; see error.h for the rules. */
#include "common/base/error.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const struct {
	int err;
	int exit_code;
	const char *text;
} errors[] = {
	{FB_OK, FB_EXIT_OK, "no error"},
	{FB_EINPUT, FB_EXIT_INPUT, "the input or environment cannot be used"},
	{FB_ENOMEM, FB_EXIT_FAULT, "out of memory"},
	{FB_ESYS, FB_EXIT_FAULT, "a system call failed"},
	{FB_EDATA, FB_EXIT_WRONG, "the data is wrong"},
	{FB_EUNSUPPORTED, FB_EXIT_INPUT, "not supported here"},
	{FB_ETIMEOUT, FB_EXIT_FAULT, "timed out"},
	{FB_EPEER, FB_EXIT_FAULT, "another rank failed"},
	{FB_EMPI, FB_EXIT_FAULT, "an MPI call failed"},
	{FB_EIO, FB_EXIT_FAULT, "a result file could not be written"},
	{FB_EPLAN, FB_EXIT_FAULT, "the plan is not correct"},
};

const char *fb_strerror(int err)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].err == err)
			return errors[i].text;
	return "unknown error";
}

int fb_exit_code(int err)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].err == err)
			return errors[i].exit_code;
	return FB_EXIT_FAULT;
}

__attribute__((format(printf, 2, 0))) static void print_line(const char *prefix, const char *fmt,
							     va_list args)
{
	char line[2048];
	int n = snprintf(line, sizeof(line) - 1, "%s", prefix);
	int m = vsnprintf(line + n, sizeof(line) - 1 - (size_t)n, fmt, args);

	n = m < 0 ? n : n + m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	fflush(stdout);
	/* stderr is unbuffered, but stdio may still split the line: one write keeps it whole. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

/* One text for each thread, since a thread of a transport may fail at the same time. */
static _Thread_local char last[192];

void fb_error_print(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last, sizeof(last), fmt, args);
	va_end(args);
	va_start(args, fmt);
	print_line("fabricbench: ", fmt, args);
	va_end(args);
}

const char *fb_error_last(void)
{
	return last;
}

void fb_error_recall(const char *text)
{
	snprintf(last, sizeof(last), "%s", text);
}

void fb_error_forget(void)
{
	last[0] = '\0';
}

const char *fb_error_cause(int err)
{
	return *last ? last : fb_strerror(err);
}

void fb_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_line("fabricbench: warning: ", fmt, args);
	va_end(args);
}
