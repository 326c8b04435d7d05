/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher's variables, and the job's processes as /proc shows them; see launcher.h.
 *
 * Processes belong to the same job when they have the same value of a variable that is the job's
 * own, else when they have the same parent, which is the launcher's daemon.
 */
#include "common/system/launcher.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 64, ENVIRONMENT_BYTES = 1 << 17, RANKS_MOST = 4096 };
enum { SHOWN_MOST = 4 };

static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
					 "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					 "MV2_COMM_WORLD_SIZE"};
static const char *const local_names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
static const char *const job_names[] = {"FABRICBENCH_LAUNCH", "PMIX_NAMESPACE"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The state of a rank of this host: the most advanced of its processes. */
struct seen {
	int pid;
	bool started, stopped;
	char name[FB_PROCESS_CHARS];
};

/* The value of a variable in a block of NAME=VALUE strings, or NULL. */
static const char *find(const char *block, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	for (size_t at = 0; at < bytes; at += strlen(block + at) + 1)
		if (!strncmp(block + at, name, length) && block[at + length] == '=')
			return block + at + length + 1;
	return NULL;
}

static int number(const char *text)
{
	char *end;
	long value = text && isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;

	return value < 0 || value > 1 << 24 || *end ? -1 : (int)value;
}

/* The number in the first variable of a list that the block (NULL: this process) has, or -1. */
static int first_number(const char *block, size_t bytes, const char *const *names, size_t count,
			const char **variable)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = block ? find(block, bytes, names[i]) : getenv(names[i]);

		if (!text)
			continue;
		if (variable)
			*variable = names[i];
		return number(text);
	}
	return -1;
}

int fb_launcher_rank(void)
{
	return first_number(NULL, 0, rank_names, COUNT(rank_names), NULL);
}

int fb_launcher_size(const char **variable)
{
	static const char *const step[] = {"SLURM_STEP_NUM_TASKS"};
	int size = first_number(NULL, 0, size_names, COUNT(size_names), variable);

	if (size < 0)
		size = first_number(NULL, 0, step, COUNT(step), variable);
	return size < 0 ? 0 : size;
}

/* Reads a file of /proc as far as it fits, with a NUL behind it; returns its bytes. */
static size_t slurp(const char *path, char *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	while (fd >= 0 && used + 1 < n && (got = read(fd, buf + used, n - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	buf[used] = '\0';
	return used;
}

char fb_process_state(int pid, int *parent, char name[FB_PROCESS_CHARS])
{
	char path[PATH_CHARS], line[512], *open_, *close_;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	slurp(path, line, sizeof(line));
	open_ = strchr(line, '(');
	close_ = strrchr(line, ')');
	if (!open_ || !close_ || strlen(close_) < 4)
		return '-';
	/* A name may hold anything but its own end: the last bracket counts. */
	*close_ = '\0';
	snprintf(name, FB_PROCESS_CHARS, "%.*s", FB_PROCESS_CHARS - 1, open_ + 1);
	*parent = (int)strtol(close_ + 4, NULL, 10);
	return close_[2];
}

static bool has_started(int pid)
{
	char path[PATH_CHARS * 2], name[FB_PROCESS_CHARS];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/comm", pid, entry->d_name);
		slurp(path, name, sizeof(name));
		found = !strcmp(name, FB_LAUNCHER_STARTED "\n");
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Whether a process is of this job. */
static bool is_ours(const char *block, size_t bytes, int parent)
{
	for (size_t i = 0; i < COUNT(job_names); i++) {
		const char *mine = getenv(job_names[i]);
		const char *other = mine ? find(block, bytes, job_names[i]) : NULL;

		if (mine)
			return other && !strcmp(mine, other);
	}
	return parent == (int)getppid();
}

/* Fills seen[] by rank, at most `ranks` of them; returns how many ranks there are. */
static int look(struct seen *seen, int ranks)
{
	char *block = malloc(ENVIRONMENT_BYTES);
	DIR *dir = block ? opendir("/proc") : NULL;
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir))) {
		int pid = number(entry->d_name), parent = 0, rank;
		char path[PATH_CHARS], name[FB_PROCESS_CHARS], state;
		size_t bytes;

		if (pid <= 0)
			continue;
		state = fb_process_state(pid, &parent, name);
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		bytes = slurp(path, block, ENVIRONMENT_BYTES);
		rank = first_number(block, bytes, rank_names, COUNT(rank_names), NULL);
		if (rank < 0 || rank >= ranks || strchr("-ZX", state) ||
		    !is_ours(block, bytes, parent))
			continue;
		count += seen[rank].pid ? 0 : 1;
		/* A rank's wrapper has the same variables: the process that has started counts. */
		if (seen[rank].pid && !has_started(pid))
			continue;
		seen[rank] = (struct seen){.pid = pid,
					   .started = has_started(pid),
					   .stopped = state == 'T' || state == 't'};
		snprintf(seen[rank].name, sizeof(seen[rank].name), "%s", name);
	}
	if (dir)
		closedir(dir);
	free(block);
	return count;
}

/* One rank that is missing: the first few by name. */
static void put_rank(FILE *out, int rank, const struct seen *seen, int shown)
{
	if (shown >= SHOWN_MOST)
		return;
	fprintf(out, "%srank %d", shown ? "; " : "", rank);
	if (!seen->pid)
		fprintf(out, " has ended");
	else if (seen->stopped)
		fprintf(out, " (process %d) is stopped", seen->pid);
	else
		fprintf(out, " (process %d) still is in '%s' before main()", seen->pid, seen->name);
}

int fb_launcher_missing(char *text, size_t n)
{
	int size = fb_launcher_size(NULL), speaker = -1, missing = 0, count;
	int local = first_number(NULL, 0, local_names, COUNT(local_names), NULL);
	int ranks = size > 0 && size < RANKS_MOST ? size : RANKS_MOST;
	struct seen *seen = calloc((size_t)ranks, sizeof(*seen));
	FILE *out = fmemopen(text, n, "w");

	text[0] = '\0';
	if (!seen || !out)
		goto free_seen;
	count = look(seen, ranks);
	for (int r = 0; r < ranks; r++) {
		bool gone = !seen[r].pid;

		if (gone ? local != size || r >= size : seen[r].started && !seen[r].stopped)
			speaker = speaker < 0 && !gone ? r : speaker;
		else
			put_rank(out, r, &seen[r], missing++);
	}
	if (missing > SHOWN_MOST)
		fprintf(out, "; and %d more", missing - SHOWN_MOST);
	if (!missing && count < local)
		fprintf(out, "%d of the %d ranks of this host have ended", local - count, local);
	else if (!missing)
		fprintf(out, "all ranks of this host have begun%s",
			local == size ? "" : ": look at the other hosts");
free_seen:
	if (out)
		fclose(out);
	free(seen);
	return speaker;
}

bool fb_launcher_ends(void)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, SIGUSR1) == 1;
}
