/* SPDX-License-Identifier: BSD-3-Clause */
/* Version 2.11.0, which is too old. */
#define FAKE_OLD 1
#include "tests/fake/libfake_nvshmem.c" /* NOLINT(bugprone-suspicious-include) */
