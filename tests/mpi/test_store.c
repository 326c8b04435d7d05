/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The movers between memory and files (common/mover/store.h): what is put in any order, from any
 * places, in pieces of any length comes back to other places byte for byte, in each form and from
 * one form to another; several moves at once count their notices in order; what O_DIRECT cannot
 * do, a transfer with another rank, a file that is too short and a full disk are refused. The
 * argument store_gpu names that mover instead of store, on emulated GPUs, whose memory is the
 * host's.
 * ranks: 1 2
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/cuda/gpu_segment.h"
#include "common/mover/store.h"
#include "tests/unit/check.h"

enum { PART = 1 << 20, BLOCK = 4096, BLOCKS = PART / BLOCK / 2, MOVES = 3 };

struct bench {
	struct fb_session session;
	struct fb_settings settings;
	struct fb_group world;
	struct fb_mover *mover;
	struct fb_segment segment;
	struct fb_region *region;
	struct fb_rng rng;
};

static unsigned char *memory(const struct bench *b)
{
	return (unsigned char *)fb_segment_part(&b->segment, b->world.rank);
}

static int prepare(struct bench *b, enum fb_move_verb verb, const struct fb_piece *piece,
		   uint64_t n, const char *form, struct fb_move **move)
{
	const struct fb_transfer t = {.verb = verb, .peer = b->world.rank, .local = b->region,
				      .remote = b->region, .piece = piece, .pieces = n,
				      .notice = 1};

	return fb_move_prepare(b->mover, &t, 1, form, move);
}

/* A permutation of blocks: what lies in the first half of memory goes anywhere in the file. */
static void shuffled(struct bench *b, uint32_t to[BLOCKS])
{
	for (uint32_t i = 0; i < BLOCKS; i++)
		to[i] = i;
	fb_shuffle(to, BLOCKS, sizeof(*to), &b->rng);
}

/*
 * All blocks by MOVES moves that are under way at once. `odd`: pieces leave out the last `odd`
 * bytes of each block. Memory's half `half` is written or read.
 */
static void pass(struct bench *b, enum fb_move_verb verb, const char *form, const uint32_t *where,
		 const uint32_t *file, uint32_t odd, uint32_t half)
{
	struct fb_piece piece[MOVES][BLOCKS];
	uint64_t n[MOVES] = {0}, base, count;
	struct fb_move *move[MOVES];

	for (uint32_t i = 0; i < BLOCKS; i++)
		piece[i % MOVES][n[i % MOVES]++] = (struct fb_piece){
			(where[i] + (uint64_t)half * BLOCKS) * BLOCK, (uint64_t)file[i] * BLOCK,
			BLOCK - odd};
	CHECK_INT(b->mover->ops->arrived(b->mover, b->world.rank, 1, &base), FB_OK);
	for (int i = 0; i < MOVES; i++)
		if (!CHECK_INT(prepare(b, verb, piece[i], n[i], form, &move[i]), FB_OK))
			return;
	for (int i = 0; i < MOVES; i++)
		CHECK_INT(b->mover->ops->post(move[i]), FB_OK);
	for (int i = 0; i < MOVES; i++) {
		CHECK_INT(fb_move_wait(move[i]), FB_OK);
		CHECK_INT(b->mover->ops->arrived(b->mover, b->world.rank, 1, &count), FB_OK);
		CHECK(count >= base + (uint64_t)i + 1);
	}
	for (int i = 0; i < MOVES; i++)
		b->mover->ops->release(move[i]);
}

static void round_trip(struct bench *b, const char *out, const char *in, uint32_t odd)
{
	uint32_t from[BLOCKS], to[BLOCKS], file[BLOCKS];
	unsigned char *m = memory(b);
	unsigned wrong = 0;

	shuffled(b, from);
	shuffled(b, to);
	shuffled(b, file);
	for (size_t i = 0; i < PART / 2; i++)
		m[i] = (unsigned char)fb_rng_u64(&b->rng);
	memset(m + PART / 2, 0x5a, PART / 2);
	pass(b, FB_MOVE_PUT, out, from, file, odd, 0);
	pass(b, FB_MOVE_GET, in, to, file, odd, 1);
	for (uint32_t i = 0; i < BLOCKS; i++)
		for (uint32_t k = 0; k < BLOCK; k++) {
			unsigned char want = k < BLOCK - odd ? m[from[i] * BLOCK + k] : 0x5a;

			wrong += m[PART / 2 + to[i] * BLOCK + k] != want;
		}
	if (!CHECK_INT(wrong, 0))
		printf("\tout %s, in %s, odd %u\n", out, in, odd);
}

static void test_forms(struct bench *b)
{
	const char *const *forms = b->mover->ops->forms;
	char why[FB_REASON_CHARS];

	for (int out = 0; forms[out]; out++)
		for (int in = 0; forms[in]; in++) {
			bool can = fb_store_can(fb_store_below(b->mover), forms[out], why) &&
				   fb_store_can(fb_store_below(b->mover), forms[in], why);
			bool direct = strstr(forms[out], "direct") || strstr(forms[in], "direct");

			if (!can) {
				CHECK(*why != '\0');
				continue;
			}
			round_trip(b, forms[out], forms[in], 0);
			if (!direct)
				round_trip(b, forms[out], forms[in], 7);
		}
	CHECK_INT(fb_store_depth(fb_store_below(b->mover), 3), FB_OK);
	if (fb_store_can(fb_store_below(b->mover), "uring", why))
		round_trip(b, "uring", "uring", 1);
}

static void test_refused(struct bench *b)
{
	struct fb_piece piece = {0, 0, BLOCK - 1};
	struct fb_transfer t = {.verb = FB_MOVE_PUT, .peer = b->world.rank, .local = b->region,
				.remote = b->region, .piece = &piece, .pieces = 1};
	struct fb_move *move = NULL;

	CHECK_INT(fb_move_prepare(b->mover, &t, 1, "direct", &move), FB_EUNSUPPORTED);
	CHECK(!move);
	piece = (struct fb_piece){b->segment.part_bytes, 0, 1};
	CHECK_INT(fb_move_prepare(b->mover, &t, 1, NULL, &move), FB_EINPUT);
	piece = (struct fb_piece){0, b->segment.part_bytes, 1};
	CHECK_INT(fb_move_prepare(b->mover, &t, 1, NULL, &move), FB_EINPUT);
	piece = (struct fb_piece){0, 0, 1};
	t.peer = (b->world.rank + 1) % b->world.nranks;
	if (t.peer != b->world.rank)
		CHECK_INT(fb_move_prepare(b->mover, &t, 1, NULL, &move), FB_EINPUT);
	t.peer = b->world.rank;
	t.verb = FB_MOVE_SEND;
	CHECK_INT(fb_move_prepare(b->mover, &t, 1, NULL, &move), FB_EINPUT);
}

/* No process may write more than so many bytes to a file, as on a disk that is full. */
static void test_full_disk(struct bench *b)
{
	struct rlimit old, small = {PART / 2, PART / 2};
	struct fb_region *region = NULL;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(b->mover->ops->add(b->mover, &b->segment, &region), FB_ESYS);
	CHECK(!region);
	setrlimit(RLIMIT_FSIZE, &old);
}

/* The region's file, which has no name any more, becomes empty. */
static void truncate_file(const struct bench *b)
{
	for (int fd = 3; fd < 256; fd++) {
		struct stat s;
		int flags = fcntl(fd, F_GETFL);

		if (!fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_nlink == 0 && flags >= 0 &&
		    (flags & O_ACCMODE) == O_RDWR && (size_t)s.st_size == b->segment.part_bytes)
			CHECK_INT(ftruncate(fd, 0), 0);
	}
}

/* The last test: a mover that has failed stays failed. */
static void test_short_read(struct bench *b)
{
	struct fb_piece piece = {0, 0, BLOCK};
	struct fb_move *move = NULL;

	truncate_file(b);
	if (!CHECK_INT(prepare(b, FB_MOVE_GET, &piece, 1, "buffered", &move), FB_OK))
		return;
	CHECK_INT(b->mover->ops->post(move), FB_ESYS);
	CHECK_INT(fb_move_wait(move), FB_ESYS);
	b->mover->ops->release(move);
}

int main(int argc, char **argv)
{
	static struct bench b;
	const struct fb_mover_ops *ops = &fb_mover_store;
	char why[FB_REASON_CHARS] = "";
	struct fb_gpu gpu;
	int code;

	if (fb_group_open(&b.world, &argc, &argv))
		return FB_EXIT_FAULT;
	if (argc > 1 && !strcmp(argv[1], fb_mover_store_gpu.name))
		ops = &fb_mover_store_gpu;
	b.session = (struct fb_session){.program = "test_store", .world = &b.world,
					.settings = &b.settings};
	fb_rng_seed(&b.rng, (uint64_t)b.world.rank + 1);
	if (fb_session_open(&b.session) ||
	    (ops->device && fb_gpu_view_open(&gpu, &b.session, &b.world, why)) ||
	    fb_mover_open(&b.mover, ops, &b.session, &b.world, why) ||
	    (ops->device ? fb_gpu_segment_open(&b.segment, &gpu, FB_GPU_DEVICE, PART)
			 : fb_segment_open(&b.segment, &b.world, PART, FB_PAGES_NORMAL)) ||
	    b.mover->ops->add(b.mover, &b.segment, &b.region)) {
		printf("%s\n", why);
		return FB_EXIT_FAULT;
	}
	test_forms(&b);
	test_refused(&b);
	test_full_disk(&b);
	/* Memory of emulated GPUs is a file without a name, too. */
	if (!ops->device)
		test_short_read(&b);
	b.mover->ops->remove(b.region);
	b.mover->ops->close(b.mover);
	fb_segment_close(&b.segment);
	if (ops->device)
		fb_gpu_view_close(&gpu);
	code = check_done("test_store");
	fb_session_close(&b.session);
	fb_group_close(&b.world);
	return code;
}
