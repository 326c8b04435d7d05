/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether a person reads the output on a terminal; see screen.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/run/screen.h"
#include "common/system/launcher.h"

enum { MOST_ANCESTORS = 8, PATH_CHARS = 64 };

static bool is_launcher(const char *name)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool writes_to_terminal(int pid)
{
	char path[PATH_CHARS], target[PATH_CHARS];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/1", pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !strncmp(target, "/dev/pts/", 9) || !strncmp(target, "/dev/tty", 8);
}

bool fb_screen_is_terminal(void)
{
	int pid = (int)getpid(), launcher = 0;

	for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++) {
		char name[FB_PROCESS_CHARS];
		int parent = 0;

		if (fb_process_state(pid, &parent, name) != '-' && is_launcher(name))
			launcher = pid;
		pid = parent;
	}
	if (launcher)
		return writes_to_terminal(launcher);
	/* Started by Slurm or another launcher: the reader of the output is not known. */
	return !getenv("SLURM_PROCID") && !getenv("PMI_RANK") && !getenv("PMIX_RANK") &&
	       isatty(STDOUT_FILENO) == 1;
}
