/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of ranks along a ring: node after node, rotated within nodes by channel. */
#include "collectives/algorithm/ring.h"

#include <stdlib.h>

#include "collectives/algorithm/compose.h"

int *fb_ring_order(const struct fb_shape *shape)
{
	int n = shape->nranks, nodes = fb_nodes(shape);
	int *order = malloc(sizeof(*order) * (size_t)n);
	int *first = calloc((size_t)nodes + 1, sizeof(*first)); /* position, by node */

	if (!order || !first)
		goto free_first;
	for (int rank = 0; rank < n; rank++)
		first[fb_node_of(shape, rank) + 1]++;
	for (int node = 0; node < nodes; node++)
		first[node + 1] += first[node];
	for (int rank = 0; rank < n; rank++) {
		int node = fb_node_of(shape, rank), size = first[node + 1] - first[node];
		int turn = nodes > 1 ? shape->channel % size : 0;
		int place = (fb_local_of(shape, rank) + size - turn) % size;

		order[first[node] + place] = rank;
	}
	free(first);
	return order;
free_first:
	free(first);
	free(order);
	return NULL;
}

int fb_ring_position(const int *order, int n, int rank)
{
	for (int i = 0; i < n; i++)
		if (order[i] == rank)
			return i;
	return -1;
}
