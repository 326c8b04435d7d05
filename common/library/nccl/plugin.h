/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This project's tuner plugin (tuner.h), loaded by a program that names before each call which
 * algorithm and protocol NCCL is to use. So calls of one communicator can be forced one by one in
 * versions before 2.31, which have no configurations of calls.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_PLUGIN_H
#define FB_COMMON_LIBRARY_NCCL_PLUGIN_H

#include "common/library/nccl/api.h"
#include "common/library/nccl/force.h"
#include "common/record/traits.h"
#include "common/session.h"

/* Functions of the plugin; see tuner.h. NULL: it is not in use. */
struct fb_nccl_plugin {
	int (*force)(const char *algorithm, const char *protocol);
	unsigned (*obeyed)(void);
};

/*
 * Collective, before the process makes its first communicator, because NCCL looks for a tuner
 * plugin then: loads the plugin and, if all ranks have it, names it to NCCL (NCCL_TUNER_PLUGIN),
 * unless the user has set that variable, NCCL_ALGO or NCCL_PROTO, in the environment or in a file
 * that NCCL reads (NCCL_CONF_FILE, ~/.nccl.conf, /etc/nccl.conf). The library is what
 * FB_NCCL_PLUGIN names, or else lies beside the programs' folder. With --nccl-force-by auto it is
 * not loaded where another plugin of the machine may bring a tuner, which this one would replace
 * for all calls. The same on all ranks: 0, or FB_EUNSUPPORTED with the reason and *plugin zeroed.
 */
int fb_nccl_plugin_use(struct fb_nccl_plugin *plugin, const struct fb_nccl *nccl,
		       const struct fb_session *session, const struct fb_group *group,
		       char why[FB_REASON_CHARS]);

/* Local: whether NCCL_TUNER_PLUGIN is what this process has set, not the user. */
bool fb_nccl_plugin_in_use(void);

/* Local: sets what later calls use; with NULL, or a choice that is not forced, NCCL chooses. */
void fb_nccl_plugin_force(const struct fb_nccl_plugin *plugin,
			  const struct fb_nccl_algo_proto *choice);

#endif
