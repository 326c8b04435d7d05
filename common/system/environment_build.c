/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about this build of the program; see environment.h. The texts are version.c's. */
#include "common/base/version.h"
#include "common/system/environment.h"

void fb_environment_build(struct fb_facts *facts)
{
	fb_facts_add(facts, "build.version", "%s", fb_version_text());
	fb_facts_add(facts, "build.revision", "%s", fb_version_revision());
	fb_facts_add(facts, "build.compiler", "%s", fb_version_compiler());
	fb_facts_add(facts, "build.flags", "%s", fb_version_flags());
}
