/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows under way that several processes find at once, on a file system whose locks do not hold
 * between them, as between the hosts of some network file systems: one of them moves the row, and
 * none is lost.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/base/error.h"
#include "common/record/under_way.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

enum { FINDERS = 6, ROUNDS = 100, LAUNCH = 3 };

/* The C library's is not linked where this is. */
int flock(int fd, int operation)
{
	(void)fd;
	(void)operation;
	return 0;
}

/* What the processes share. */
struct meeting {
	_Atomic int come, moved, failed;
};

/* Finds the row of each round at the same moment as all other processes. */
static void find(struct meeting *meeting, const char *dir, int round, const char *reason)
{
	bool moved;

	atomic_fetch_add(&meeting->come, 1);
	while (atomic_load(&meeting->come) < FINDERS * (round + 1))
		sched_yield();
	if (fb_under_way_move(dir, "all_reduce", LAUNCH, NULL, 0, reason, false, &moved))
		atomic_fetch_add(&meeting->failed, 1);
	else if (moved)
		atomic_fetch_add(&meeting->moved, 1);
}

/* Where no process can be started, none waits for it, and the round has a failure. */
static void start(struct meeting *meeting, const char *dir, int round, const char *reason)
{
	switch (fork()) {
	case -1:
		atomic_fetch_add(&meeting->come, 1);
		atomic_fetch_add(&meeting->failed, 1);
		break;
	case 0:
		find(meeting, dir, round, reason);
		_exit(0);
	default:
		break;
	}
}

/* Leaves a row as a rank 0 does that dies. */
static void leave(const char *dir, uint64_t bytes)
{
	struct fb_case key = example_case(bytes);
	struct fb_row row = example_row(&key);
	struct fb_csv csv = {.extra = NULL};
	struct fb_under_way file;

	if (!CHECK_INT(fb_under_way_open(&file, dir, "all_reduce", LAUNCH, false), FB_OK))
		return;
	fb_under_way_set(&file, &csv, &row);
	close(file.fd);
	free(file.path);
}

static void test_found_by_many(const char *dir)
{
	struct meeting *meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[EXAMPLE_PATH_CHARS];

	if (!CHECK(meeting != MAP_FAILED))
		return;
	snprintf(path, sizeof(path), "%s/all_reduce.%d.under_way.taken", dir, LAUNCH);
	for (int round = 0; round < ROUNDS; round++) {
		/* NULL: the next start of the launch, which may find the row too. */
		const char *reason = round % 2 ? NULL : "rank 0 on h0 has died";

		leave(dir, (uint64_t)round);
		for (int i = 0; i < FINDERS; i++)
			start(meeting, dir, round, reason);
		while (wait(NULL) > 0)
			;
		if (!CHECK_INT(meeting->failed, 0) || !CHECK_INT(meeting->moved, round + 1))
			break;
		CHECK(access(path, F_OK));
	}
	munmap(meeting, sizeof(*meeting));
}

int main(void)
{
	char *dir = example_folder();
	int lines = 0;

	if (!CHECK(dir != NULL))
		return check_done("under_way");
	test_found_by_many(dir);
	for (const char *at = example_read(example_path(dir, "all_reduce.csv")); *at; at++)
		lines += *at == '\n';
	CHECK_INT(lines, 1 + ROUNDS);
	example_remove(dir);
	return check_done("under_way");
}
