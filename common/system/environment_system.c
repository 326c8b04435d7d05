/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the host and its operating system; see environment.h. */
#include "common/system/environment_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The line of CPU features in /proc/cpuinfo is the longest that is read here. */
enum { FLAGS_CHARS = 8192 };

static void add_kernel(struct fb_facts *facts)
{
	struct utsname names;

	if (uname(&names))
		return;
	fb_facts_add(facts, "hostname", "%s", names.nodename);
	fb_facts_add(facts, "os.kernel", "%s %s", names.sysname, names.release);
	fb_facts_add(facts, "os.kernel_build", "%s", names.version);
	fb_facts_add(facts, "machine.architecture", "%s", names.machine);
}

void fb_environment_system(struct fb_facts *facts, const char *root)
{
	char text[FLAGS_CHARS];

	add_kernel(facts);
	if (fb_read_tagged(root, "/etc/os-release", "PRETTY_NAME", text, sizeof(text)))
		fb_facts_add(facts, "os.name", "%s", text);
	fb_facts_add_file(facts, "machine.vendor", root, "/sys/class/dmi/id/sys_vendor");
	fb_facts_add_file(facts, "machine.product", root, "/sys/class/dmi/id/product_name");
	fb_facts_add_file(facts, "machine.firmware", root, "/sys/class/dmi/id/bios_version");
	fb_facts_add_file(facts, "clock.source", root,
			  "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	fb_facts_add_file(facts, "network.tcp_congestion", root,
			  "/proc/sys/net/ipv4/tcp_congestion_control");
	fb_facts_add_file(facts, "network.tcp_rmem", root, "/proc/sys/net/ipv4/tcp_rmem");
	fb_facts_add_file(facts, "network.tcp_wmem", root, "/proc/sys/net/ipv4/tcp_wmem");
	if (fb_read_tagged(root, "/proc/cpuinfo", "flags", text, sizeof(text)))
		fb_facts_add(facts, "machine.virtual", "%s",
			     strstr(text, " hypervisor") ? "yes" : "no");
	/* Three averages, then counts that change while one looks. */
	if (fb_read_line(root, "/proc/loadavg", text, sizeof(text))) {
		float one, five, fifteen;

		if (sscanf(text, "%f %f %f", &one, &five, &fifteen) == 3)
			fb_facts_add(facts, "host.load_average", "%.2f %.2f %.2f", (double)one,
				     (double)five, (double)fifteen);
	}
}
