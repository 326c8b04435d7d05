/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded before the MPI library, it answers in its place that GPU memory may be given to it. With
 * tests/fake/cudart.c that is the host's, which every library takes.
 */
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
	return 1;
}
