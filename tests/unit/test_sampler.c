/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules for warm-up, batches and stopping, fed with artificial times. */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/measure/sampler.h"
#include "tests/unit/check.h"

struct feed {
	struct fb_sampler sampler;
	double elapsed_s, rep_s; /* rep_s: real time of a repetition */
	double step_us;		 /* of the clock */
	struct fb_rng rng;
	size_t blocks, largest;
};

static const struct fb_sampler_config usual = {
	.ci = 0.01, .min_samples = 50, .max_samples = 2000, .max_time_s = 1};

/* Runs the rule to its end with times from value(feed, i). */
static void sample_all(struct feed *f, const struct fb_sampler_config *config, double rep_s,
		       size_t reserve, double (*value)(struct feed *f, size_t i))
{
	size_t reps;

	CHECK_INT(fb_sampler_open(&f->sampler, config), FB_OK);
	fb_rng_seed(&f->rng, 7);
	fb_sampler_begin(&f->sampler, rep_s, reserve, f->step_us);
	f->elapsed_s = 0;
	f->rep_s = rep_s;
	f->blocks = 0;
	f->largest = 0;
	while ((reps = fb_sampler_next(&f->sampler, f->elapsed_s)) > 0) {
		CHECK(f->sampler.stop == FB_STOP_NONE);
		CHECK(reps <= 100);
		f->blocks++;
		f->largest = reps > f->largest ? reps : f->largest;
		for (size_t i = 0; i < reps; i++) {
			double us = value(f, f->sampler.taken);
			const struct fb_sample s = {us, us / 2, us * 0.75, us / 10};

			fb_sampler_add(&f->sampler, &s, 1);
		}
		f->elapsed_s += (double)reps * rep_s;
		if (f->blocks > 10000)
			break;
	}
	CHECK(f->blocks <= 10000);
	CHECK(f->sampler.n <= f->sampler.config.max_samples);
}

static double steady(struct feed *f, size_t i)
{
	(void)i;
	return 10 + 0.001 * fb_rng_unit(&f->rng);
}

/* Half of the samples at 1, half at 2: the interval of the median never gets tight. */
static double two_modes(struct feed *f, size_t i)
{
	(void)i;
	return fb_rng_unit(&f->rng) < 0.5 ? 1 + 0.01 * fb_rng_unit(&f->rng)
					  : 2 + 0.01 * fb_rng_unit(&f->rng);
}

/* Slow at the start: the first third of 50. */
static double settling(struct feed *f, size_t i)
{
	return (i < 16 ? 20 : 10) + 0.01 * fb_rng_unit(&f->rng);
}

static double rising(struct feed *f, size_t i)
{
	return 10 + 0.01 * (double)i + 0.001 * fb_rng_unit(&f->rng);
}

static void test_stops(void)
{
	struct feed f = {.step_us = 0};
	struct fb_sampler_config config = usual;

	sample_all(&f, &config, 1e-6, 1, steady);
	CHECK_INT(f.sampler.stop, FB_STOP_CI);
	CHECK_INT(f.sampler.n, 50); /* at the first look, not a block later */
	CHECK(!f.sampler.drifts && !f.sampler.dropped);
	CHECK_NEAR(f.sampler.min_us[3], f.sampler.max_us[3] / 2, 1e-12);
	fb_sampler_close(&f.sampler);

	sample_all(&f, &config, 1e-6, 1, two_modes);
	CHECK_INT(f.sampler.stop, FB_STOP_NMAX);
	CHECK_INT(f.sampler.n, 1999); /* one is reserved for the checked repetition */
	CHECK_INT(f.largest, 100);
	fb_sampler_close(&f.sampler);

	sample_all(&f, &config, 0.02, 1, two_modes);
	CHECK_INT(f.sampler.stop, FB_STOP_TIME);
	CHECK(f.sampler.n >= 50 && f.sampler.n <= 51); /* 0.02 adds up to a bit less than 1 */
	CHECK_INT(f.largest, 5);
	fb_sampler_close(&f.sampler);

	sample_all(&f, &config, 0.3, 1, steady);
	CHECK_INT(f.sampler.stop, FB_STOP_TIME);
	CHECK(f.sampler.n >= 3 && f.sampler.n <= 4); /* keeps to the second */
	fb_sampler_close(&f.sampler);

	config.max_samples = 1;
	config.min_samples = 1;
	sample_all(&f, &config, 1e-3, 1, steady);
	CHECK_INT(f.sampler.n, 0);
	CHECK_INT(f.sampler.stop, FB_STOP_NMAX);
	fb_sampler_close(&f.sampler);
}

/* A soak goes on until the time is up, though the interval is tight, and keeps what drifts. */
static void test_whole_time(void)
{
	struct feed f = {.step_us = 0};
	struct fb_sampler_config config = usual;

	config.whole_time = true;
	sample_all(&f, &config, 1e-2, 1, steady);
	CHECK_INT(f.sampler.stop, FB_STOP_TIME);
	CHECK(f.sampler.n >= 99 && f.sampler.n <= 101);
	fb_sampler_close(&f.sampler);

	sample_all(&f, &config, 1e-2, 1, rising);
	CHECK(f.sampler.drifts && !f.sampler.dropped);
	CHECK(f.sampler.n >= 99 && f.sampler.n <= 101);
	fb_sampler_close(&f.sampler);
}

/* 0.60 or 0.61: a step of 10 ns is 1.6% of it, so that no number of samples gets below 1%. */
static double coarse(struct feed *f, size_t i)
{
	(void)i;
	return fb_rng_unit(&f->rng) < 0.5 ? 0.60 : 0.61;
}

/* Slow at the start by one step of 10 ns, which is 2.5%. */
static double settling_a_step(struct feed *f, size_t i)
{
	(void)f;
	return i < 16 ? 0.41 : 0.40;
}

/* The interval may be one step of the clock wide, not two; a move of one step is no drift. */
static void test_clock_steps(void)
{
	struct fb_sampler_config short_run = usual;
	struct feed f = {.step_us = 0};

	short_run.max_samples = 50;
	sample_all(&f, &usual, 1e-6, 1, coarse);
	CHECK_INT(f.sampler.stop, FB_STOP_NMAX);
	fb_sampler_close(&f.sampler);
	f.step_us = 0.01;
	sample_all(&f, &usual, 1e-6, 1, coarse);
	CHECK_INT(f.sampler.stop, FB_STOP_CI);
	CHECK_INT(f.sampler.n, 50);
	fb_sampler_close(&f.sampler);
	f.step_us = 0.005;
	sample_all(&f, &usual, 1e-6, 1, coarse);
	CHECK_INT(f.sampler.stop, FB_STOP_NMAX);
	fb_sampler_close(&f.sampler);
	for (int i = 0; i < 2; i++) {
		f.step_us = i ? 0.01 : 0;
		sample_all(&f, &short_run, 1e-6, 0, settling_a_step);
		CHECK_INT(f.sampler.dropped, !i);
		fb_sampler_close(&f.sampler);
	}
}

/* Count or time may end it before the next look at the interval, which is tight all the same. */
static void test_tight_at_the_end(void)
{
	struct fb_sampler_config config = usual;
	struct feed f = {.step_us = 0};

	config.max_samples = 50; /* 49 and the reserved one: the look at 50 never comes */
	sample_all(&f, &config, 1e-6, 1, steady);
	CHECK_INT(f.sampler.n, 49);
	CHECK_INT(f.sampler.stop, FB_STOP_CI);
	fb_sampler_close(&f.sampler);
	config.max_samples = 2000;
	config.min_samples = 1000;
	sample_all(&f, &config, 0.01, 1, steady); /* tight, but a tenth of what was asked for */
	CHECK_INT(f.sampler.stop, FB_STOP_TIME);
	fb_sampler_close(&f.sampler);
}

static void test_drift(void)
{
	struct fb_sampler_config config = usual;
	struct feed f = {.step_us = 0};

	config.max_samples = 50;
	sample_all(&f, &config, 1e-3, 0, settling);
	CHECK(f.sampler.dropped);
	CHECK(!f.sampler.drifts);
	CHECK_INT(f.sampler.n, 50);
	CHECK_INT(f.sampler.taken, f.sampler.n + 16);
	CHECK(f.sampler.max_us[0] < 11); /* all slow ones are gone, in all three lists */
	CHECK(f.sampler.min_us[0] < 6);
	CHECK(f.sampler.mean_us[0] < 8);
	CHECK(f.sampler.skew_us[0] < 2);
	fb_sampler_close(&f.sampler);

	sample_all(&f, &usual, 1e-4, 0, rising);
	CHECK(f.sampler.dropped);
	CHECK(f.sampler.drifts);
	fb_sampler_close(&f.sampler);
}

static void test_warm_up(void)
{
	double elapsed = 0;
	size_t calls = 0, next;

	/* 1 us calls: 20 ms of them */
	while ((next = fb_warm_up_next(calls, elapsed, 100e-6, 0.5)) > 0) {
		calls += next;
		elapsed += (double)next * 1e-6;
	}
	CHECK(elapsed >= 0.02 && elapsed < 0.04);
	/* 5 ms calls: 10 of them */
	calls = 0;
	elapsed = 0;
	while ((next = fb_warm_up_next(calls, elapsed, 5e-3, 0.5)) > 0) {
		calls += next;
		elapsed += (double)next * 5e-3;
	}
	CHECK_INT(calls, 10);
	/* 300 ms calls: no more than the limit allows, but one at least */
	CHECK_INT(fb_warm_up_next(0, 0, 0.3, 0.5), 1);
	CHECK_INT(fb_warm_up_next(1, 0.3, 0.3, 0.5), 1);
	CHECK_INT(fb_warm_up_next(2, 0.6, 0.3, 0.5), 0);
	CHECK_INT(fb_warm_up_next(0, 0, 30, 0.5), 1);
	/* a first call that took for ever says little about the next */
	CHECK(fb_warm_up_next(0, 0, 0.049, 0.5) >= 4);
	CHECK(fb_warm_up_next(0, 0, 0, 0.5) >= 1);
}

static void test_batches(void)
{
	CHECK_INT(fb_streaming_calls(10e-6, 40e-9, 1, false), 100);
	CHECK_INT(fb_streaming_calls(1e-3, 40e-9, 1, false), 2);
	CHECK_INT(fb_streaming_calls(1e-8, 40e-9, 1, false), 1000);
	/* a slow clock asks for 50 readings */
	CHECK_INT(fb_streaming_calls(10e-6, 40e-6, 1, false), 200);
	CHECK_INT(fb_streaming_calls(0, 0, 1, false), 1000);
	/* on a GPU 4 ms, if so many fit into the row's time; 1 ms in any case */
	CHECK_INT(fb_streaming_calls(10e-6, 40e-9, 1, true), 400);
	CHECK_INT(fb_streaming_calls(10e-6, 40e-9, 3e-3, true), 300);
	CHECK_INT(fb_streaming_calls(10e-6, 40e-9, 1e-4, true), 100);
	CHECK_INT(fb_streaming_calls(1e-8, 40e-9, 1, true), 1000);
	CHECK_INT(fb_streaming_calls(10e-6, 40e-9, 3e-3, false), 100);
}

int main(void)
{
	test_stops();
	test_whole_time();
	test_clock_steps();
	test_tight_at_the_end();
	test_drift();
	test_warm_up();
	test_batches();
	return check_done("sampler");
}
