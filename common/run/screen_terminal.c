/* SPDX-License-Identifier: BSD-3-Clause */
/* Who reads what is written; see screen.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/run/screen.h"

enum { MOST_ANCESTORS = 8, PATH_CHARS = 64 };

/* The parent of a process, and its name; 0: none. */
static long parent_of(long pid, char name[PATH_CHARS])
{
	char path[PATH_CHARS], line[256], *end;
	long parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	name[0] = '\0';
	if (fgets(line, sizeof(line), file)) {
		/* "PID (NAME) STATE PPID ..."; a name may hold anything but its own end. */
		char *begin = strchr(line, '(');

		end = strrchr(line, ')');
		if (begin && end && end > begin && strlen(end) > 4) {
			snprintf(name, PATH_CHARS, "%.*s", (int)(end - begin - 1), begin + 1);
			parent = strtol(end + 4, NULL, 10);
		}
	}
	fclose(file);
	return parent;
}

static bool is_launcher(const char *name)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool writes_to_terminal(long pid)
{
	char path[PATH_CHARS], target[PATH_CHARS];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%ld/fd/1", pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !strncmp(target, "/dev/pts/", 9) || !strncmp(target, "/dev/tty", 8);
}

bool fb_screen_is_terminal(void)
{
	char name[PATH_CHARS];
	long pid = getpid(), launcher = 0;

	for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++) {
		long parent = parent_of(pid, name);

		if (is_launcher(name))
			launcher = pid;
		pid = parent;
	}
	if (launcher)
		return writes_to_terminal(launcher);
	/* Started by Slurm or from elsewhere: nobody knows who reads. */
	return !getenv("SLURM_PROCID") && !getenv("PMI_RANK") && !getenv("PMIX_RANK") &&
	       isatty(STDOUT_FILENO) == 1;
}
