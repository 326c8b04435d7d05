/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as a profiler recorded it, in any format: when devices and hosts did what, and how much of
 * the communication was exposed.
 */
#ifndef FB_SCRIPTS_TOOLS_OVERLAP_OF_PROFILE_H
#define FB_SCRIPTS_TOOLS_OVERLAP_OF_PROFILE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_activity {
	FB_DOES_COMPUTE,       /* a kernel */
	FB_DOES_COMMUNICATION, /* a kernel, or a copy between devices */
	FB_DOES_COPY,	       /* between host and device, or a fill: neither of the two */
	FB_DOES_SYNC,	       /* a call in which the host waits for a device */
	FB_DOES_STEP,	       /* a mark: a step of the job on the host */
	FB_DOES_LAUNCH,	       /* a call that starts something on a device */
};

struct fb_activity_event {
	enum fb_activity kind;
	double begin_us, end_us;
	uint64_t process;     /* who did it, or for whom a device did */
	int64_t device;	      /* of what devices do */
	uint64_t correlation; /* equal for a launch and what it started; 0: not known */
};

/* By which names are classified: extended regular expressions that ignore case. */
struct fb_profile_names {
	regex_t communication, step, sync;
};

struct fb_profile {
	const struct fb_profile_names *names;
	struct fb_activity_event *event; /* [count] */
	size_t count;
};

bool fb_name_is(const regex_t *pattern, const char *name);

/* Communication or computing, by a kernel's name. */
enum fb_activity fb_kernel_kind(const struct fb_profile *profile, const char *name);

/*
 * Reads a Chrome trace (Kineto, as PyTorch's profiler writes it, or any other), or the SQLite file
 * that `nsys export` made. Returns 0, FB_EINPUT or FB_EUNSUPPORTED (no library); printed.
 */
int fb_profile_read_chrome(struct fb_profile *profile, const char *path);
int fb_profile_read_nsight(struct fb_profile *profile, const char *path);

/* One step on one device, in us; a share of NAN: there was no communication. */
struct fb_step_times {
	uint64_t process;
	int64_t device;
	size_t step; /* from 0 */
	double step_us, compute_us, communication_us, exposed_us, hidden_share, tail_us, gap_us;
	double syncs, sync_us;
};

/*
 * Measures all steps, in the order of processes, devices and steps. What a device does belongs to
 * the step in which the host launched it; if that is not known, to the step during which it begins.
 * A step lasts from the end of the step before it, on that device, to the end of the last activity
 * of the device in it. Without marks the whole profile is one step. Returns 0 or FB_EINPUT (no
 * activity of a device; printed).
 */
int fb_profile_measure(struct fb_profile *profile, struct fb_step_times **list, size_t *count);

#endif
