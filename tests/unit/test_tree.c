/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees as graphs: parents and children agree, everybody but the root has one parent, depths are
 * right, and of the twin binary trees no rank but the root forwards in both.
 */
#include "collectives/algorithm/tree.h"
#include "tests/unit/check.h"

static const struct {
	enum fb_tree_kind kind;
	int children; /* the most a rank may have; 0: no limit beyond the type's */
} kinds[] = {
	{FB_TREE_CHAIN, 1},
	{FB_TREE_BINOMIAL, 0},
	{FB_TREE_BINARY, 2},
	{FB_TREE_BINARY_TWIN, 2},
};

static void check_tree(const struct fb_tree *tree, int most)
{
	int edges = 0, deepest = 0;
	bool good = true;

	for (int r = 0; r < tree->nranks; r++) {
		struct fb_tree_place p, child;

		fb_tree_place(tree, r, &p);
		edges += p.nchildren;
		deepest = p.depth > deepest ? p.depth : deepest;
		good &= (p.parent < 0) == (r == tree->root);
		good &= !most || p.nchildren <= most;
		for (int i = 0; i < p.nchildren; i++) {
			fb_tree_place(tree, p.child[i], &child);
			good &= child.parent == r && child.depth == p.depth + 1;
		}
	}
	if (!check_that(good && edges == tree->nranks - 1 && deepest == fb_tree_depth(tree),
			"a tree", __FILE__, __LINE__))
		printf("\tkind %d, %d ranks, root %d\n", tree->kind, tree->nranks, tree->root);
}

static void check_twins(int nranks, int root)
{
	struct fb_tree tree = {FB_TREE_BINARY, nranks, root};
	struct fb_tree twin = {FB_TREE_BINARY_TWIN, nranks, root};
	int both = 0;

	for (int r = 0; r < nranks; r++) {
		struct fb_tree_place p, q;

		fb_tree_place(&tree, r, &p);
		fb_tree_place(&twin, r, &q);
		both += r != root && p.nchildren && q.nchildren;
	}
	CHECK_INT(both, 0);
}

int main(void)
{
	struct fb_tree chain = {FB_TREE_CHAIN, 5, 2}, binomial = {FB_TREE_BINOMIAL, 8, 0};

	CHECK_INT(fb_tree_depth(&chain), 4);
	CHECK_INT(fb_tree_depth(&binomial), 3);
	for (int n = 1; n <= 200; n++)
		for (int root = 0; root < n; root += n / 3 + 1) {
			for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
				struct fb_tree tree = {kinds[k].kind, n, root};

				check_tree(&tree, kinds[k].children);
			}
			check_twins(n, root);
		}
	return check_done("tree");
}
