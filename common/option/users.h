/* SPDX-License-Identifier: BSD-3-Clause */
/* Which programs use which of the common options; an option that a program ignores is refused. */
#ifndef FB_COMMON_OPTION_USERS_H
#define FB_COMMON_OPTION_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the program uses the option. A program that the table does not know uses them all. */
bool fb_option_used(const char *option, const char *program);

/* The names of the programs that use the option, separated by ", ". Returns buf. */
const char *fb_option_users(const char *option, char *buf, size_t n);

#endif
