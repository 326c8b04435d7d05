/* SPDX-License-Identifier: BSD-3-Clause */
/* Which programs use which of the common options; an option that a program ignores is refused. */
#ifndef FB_COMMON_OPTION_USERS_H
#define FB_COMMON_OPTION_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether the program uses the option. A program that the table does not know uses them all. */
bool fb_option_used(const char *option, const char *program);

/*
 * Whether the program has rows of all these ways to wait (bits 1 << enum fb_rdma_wait), or there is
 * one. 0, or FB_EINPUT with a line to `errors` (may be NULL).
 */
int fb_option_check_waits(uint64_t waits, const char *program, FILE *errors);

/* The names of the programs that use the option, separated by ", ". Returns buf. */
const char *fb_option_users(const char *option, char *buf, size_t n);

#endif
