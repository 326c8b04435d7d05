/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of libcurl that mover object needs, found at run time. Its header is not needed, because
 * the numbers of options never change, and the version is read as text.
 */
#ifndef FB_COMMON_LIBRARY_CURL_H
#define FB_COMMON_LIBRARY_CURL_H

#include <stddef.h>

/* CURLOPT_*: numbers and flags below 10000, pointers from there, functions from 20000. */
enum {
	FB_CURL_FAILONERROR = 45,
	FB_CURL_UPLOAD = 46,
	FB_CURL_TIMEOUT = 13,
	FB_CURL_INFILESIZE = 14,
	FB_CURL_CONNECTTIMEOUT = 78,
	FB_CURL_NOSIGNAL = 99,
	FB_CURL_WRITEDATA = 10001,
	FB_CURL_URL = 10002,
	FB_CURL_USERPWD = 10005,
	FB_CURL_RANGE = 10007,
	FB_CURL_READDATA = 10009,
	FB_CURL_HTTPHEADER = 10023,
	FB_CURL_CUSTOMREQUEST = 10036,
	FB_CURL_PRIVATE = 10103,
	FB_CURL_AWS_SIGV4 = 10305, /* from 7.75 on; older ones refuse it */
	FB_CURL_WRITEFUNCTION = 20011,
	FB_CURL_READFUNCTION = 20012,
	FB_CURL_INFO_PRIVATE = 0x100000 + 21,
	FB_CURL_INFO_STATUS = 0x200000 + 2,
	FB_CURL_DONE = 1, /* CURLMSG_DONE */
};

/* CURLMsg */
struct fb_curl_message {
	int what;
	void *easy;
	union {
		void *other;
		int result;
	} of;
};

/* Functions as the library's manual has them; handles are opaque. */
struct fb_curl {
	int (*global_init)(long flags);
	char *(*version)(void);
	void *(*easy_init)(void);
	void (*easy_cleanup)(void *easy);
	void (*easy_reset)(void *easy);
	int (*easy_perform)(void *easy);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_getinfo)(void *easy, int info, ...);
	const char *(*easy_strerror)(int code);
	void *(*multi_init)(void);
	int (*multi_cleanup)(void *multi);
	int (*multi_add_handle)(void *multi, void *easy);
	int (*multi_remove_handle)(void *multi, void *easy);
	int (*multi_perform)(void *multi, int *running);
	struct fb_curl_message *(*multi_info_read)(void *multi, int *left);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
	char version_text[32]; /* "7.88.1" */
};

/*
 * Local: loads the file that FB_CURL_LIBRARY names, or libcurl.so.4, and initialises the library,
 * which stays loaded. 0, or FB_EUNSUPPORTED with the reason (not printed).
 */
int fb_curl_open(struct fb_curl *curl, char *reason, size_t n);

#endif
