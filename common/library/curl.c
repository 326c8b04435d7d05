/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libcurl; see curl.h. */
#include "common/library/curl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

#define FUNCTION(member) { "curl_" #member, offsetof(struct fb_curl, member), false }

int fb_curl_open(struct fb_curl *curl, char *reason, size_t n)
{
	static const struct fb_library_symbol table[] = {
		FUNCTION(global_init), FUNCTION(version), FUNCTION(easy_init),
		FUNCTION(easy_cleanup), FUNCTION(easy_reset), FUNCTION(easy_perform),
		FUNCTION(easy_setopt), FUNCTION(easy_getinfo), FUNCTION(easy_strerror),
		FUNCTION(multi_init), FUNCTION(multi_cleanup), FUNCTION(multi_add_handle),
		FUNCTION(multi_remove_handle), FUNCTION(multi_perform), FUNCTION(multi_info_read),
		FUNCTION(slist_append), FUNCTION(slist_free_all)};
	const char *named = getenv("FB_CURL_LIBRARY"), *lacks;
	const char *file = named && *named ? named : "libcurl.so.4";
	void *library = fb_library_open(file, NULL, 0, reason, n);

	if (!library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(library, table, sizeof(table) / sizeof(table[0]), curl);
	if (lacks)
		snprintf(reason, n, "%s has no %s", file, lacks);
	else if (curl->global_init(3)) /* sockets and TLS */
		snprintf(reason, n, "%s does not start", file);
	else
		sscanf(curl->version(), "libcurl/%31[0-9.]", curl->version_text);
	return *curl->version_text ? FB_OK : FB_EUNSUPPORTED;
}
