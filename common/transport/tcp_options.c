/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the tcp transport; see tcp_options.h. */
#include "common/option/tcp_options.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/tcp_address.h"

const struct fb_tcp_settings fb_tcp_defaults = {
	.sockets = 1, .stripe = 64 << 10, .congestion = "auto", .interface = "auto",
};

/* The names that the kernel offers, separated by blanks; "" where it does not say. */
static void list_congestion(char *text, size_t n)
{
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "re");

	text[0] = '\0';
	if (!file)
		return;
	if (!fgets(text, (int)n, file))
		text[0] = '\0';
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	if (!n || strchr(word, ' '))
		return false;
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

int fb_tcp_check_congestion(const char *value, char *accepted, size_t n)
{
	char names[256];

	list_congestion(names, sizeof(names));
	if (!strcmp(value, "auto") || has_word(names, value))
		return FB_OK;
	snprintf(accepted, n, "auto, or of this kernel: %s", names[0] ? names : "none");
	return FB_EINPUT;
}

int fb_tcp_check_interface(const char *value, char *accepted, size_t n)
{
	struct fb_tcp_address net;

	if (strchr(value, '/') ? fb_tcp_parse_subnet(value, &net)
			       : *value && strlen(value) < FB_TCP_INTERFACE)
		return FB_OK;
	snprintf(accepted, n, "auto, an interface, or a subnet like 10.1.0.0/16");
	return FB_EINPUT;
}

bool fb_tcp_wants(const struct fb_tcp_settings *s)
{
	return s->busy_poll_us || s->send_buffer || s->receive_buffer || s->zerocopy ||
	       strcmp(s->congestion, "auto") || strcmp(s->interface, "auto");
}

static void add(char *text, size_t n, const char *key, const char *value, bool wanted)
{
	size_t used = strlen(text);

	if (wanted)
		snprintf(text + used, n - used, "%s%s=%s", used ? ";" : "", key, value);
}

static void add_number(char *text, size_t n, const char *key, uint64_t value, uint64_t fallback)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	add(text, n, key, digits, value != fallback);
}

/* In the order of the keys' names. The interface is not a key: column `path` has it. */
void fb_tcp_variant(const struct fb_tcp_settings *s, char *text, size_t n)
{
	const struct fb_tcp_settings *d = &fb_tcp_defaults;

	text[0] = '\0';
	add_number(text, n, "tcp_busy_poll", s->busy_poll_us, d->busy_poll_us);
	add(text, n, "tcp_congestion", s->congestion, strcmp(s->congestion, d->congestion) != 0);
	add_number(text, n, "tcp_receive_buffer", s->receive_buffer, d->receive_buffer);
	add_number(text, n, "tcp_send_buffer", s->send_buffer, d->send_buffer);
	add_number(text, n, "tcp_sockets", s->sockets, d->sockets);
	add_number(text, n, "tcp_stripe", s->stripe, d->stripe);
	add(text, n, "tcp_zerocopy", "1", s->zerocopy);
}
