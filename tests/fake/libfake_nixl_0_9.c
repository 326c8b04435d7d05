/* SPDX-License-Identifier: BSD-3-Clause */
/* A version before agents had a configuration of their own, which is too old. */
#define FAKE_NIXL_OLD 1
#include "tests/fake/libfake_nixl.c" /* NOLINT(bugprone-suspicious-include) */
