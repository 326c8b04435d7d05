/* SPDX-License-Identifier: BSD-3-Clause */
/* The same library as an older version. */
#define FAKE_OLD 1
#include "tests/fake/libfake_nccl.c" /* NOLINT(bugprone-suspicious-include) */
