/* SPDX-License-Identifier: BSD-3-Clause */
/* The same library as a version whose communicators can do without NVLink multicast. */
#define FAKE_NEWEST 1
#include "tests/fake/libfake_nccl_2_31.c" /* NOLINT(bugprone-suspicious-include) */
