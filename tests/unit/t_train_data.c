/* What a rank trains on: the sampler's shards, loaders that change nothing, and the
 * formats of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/loader.h"
#include "bench/train/sampler.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the sampler -------------------------------------------------------------------- */

static void shards_are_a_partition_but_for_the_padding(void **state)
{
	const size_t sizes[] = {1, 2, 7, 64, 1000};
	struct err e;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
		for (int ranks = 1; ranks <= 9; ranks++) {
			struct sampler s = {
				.seed = 3, .samples = sizes[k], .ranks = ranks, .shuffle = true};
			unsigned seen[1000] = {0};
			size_t twice = 0, per_rank = sampler_per_rank(&s);

			assert_int_equal(sampler_begin(&s, 5, &e), 0);
			for (int r = 0; r < ranks; r++)
				for (size_t i = 0; i < per_rank; i++)
					seen[sampler_at(&s, r, i)]++;
			for (size_t i = 0; i < s.samples; i++) {
				assert_true(seen[i] >= 1);
				twice += seen[i] - 1;
			}
			assert_int_equal(twice, sampler_padding(&s));
			assert_int_equal(per_rank * (size_t)ranks, s.samples + twice);
			sampler_done(&s);
		}
}

static void drop_last_repeats_nothing(void **state)
{
	struct sampler s = {.samples = 100, .ranks = 7, .shuffle = true, .drop_last = true};
	unsigned seen[100] = {0};
	struct err e;

	(void)state;
	assert_int_equal(sampler_begin(&s, 0, &e), 0);
	assert_int_equal(sampler_per_rank(&s), 14);
	assert_int_equal(sampler_dropped(&s), 2);
	assert_int_equal(sampler_padding(&s), 0);
	for (int r = 0; r < 7; r++)
		for (size_t i = 0; i < 14; i++)
			assert_int_equal(seen[sampler_at(&s, r, i)]++, 0);
	sampler_done(&s);
}

/* --- loaders ------------------------------------------------------------------------- */

static size_t backwards(const void *arg, size_t i) { return *(const size_t *)arg - 1 - i; }

static void loaders_read_the_same(void **state)
{
	static float first[30][28 * 28];
	const struct data made = {.is_made = true, .seed = 4};
	const size_t n = 30;
	struct err e;

	(void)state;
	for (unsigned workers = 0; workers < 5; workers++) {
		const struct loader_opts o = {&made, 1, 28, 7, workers};
		const struct loader_job job = {DATA_TRAIN, n, backwards, &n};
		struct loader *l = loader_new(&o, &e);

		assert_non_null(l);
		for (int epoch = 0; epoch < 20; epoch++) {
			struct loaded in;
			size_t at = 0;

			loader_start(l, &job);
			if (epoch % 3 == 2) { /* leaves in the middle */
				in = loader_next(l);
				assert_int_equal(in.n, 7);
				continue;
			}
			for (; (in = loader_next(l)).n; at += in.n)
				for (size_t i = 0; i < in.n; i++) {
					if (!workers && !epoch)
						memcpy(first[at + i], in.pixels + i * 784,
						       sizeof(first[0]));
					assert_memory_equal(first[at + i], in.pixels + i * 784,
							    sizeof(first[0]));
				}
			assert_int_equal(at, n);
		}
		loader_free(l);
	}
}

/* --- formats ------------------------------------------------------------------------- */

static uint8_t images[16 + 2 * 9] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3};
static uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 9};

static int parse(size_t nimages, size_t nlabels, struct chunk *c, struct image_shape *s)
{
	struct err e;

	return idx_parse(&(struct file_bytes){images, nimages, "images"},
			 &(struct file_bytes){labels, nlabels, "labels"}, c, s, &e);
}

static void idx_is_read_and_checked(void **state)
{
	struct image_shape s;
	struct chunk c;
	float out[9];

	(void)state;
	images[16 + 9 + 4] = 255; /* the middle of the second image */
	assert_int_equal(parse(sizeof(images), sizeof(labels), &c, &s), 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(s.side, 3);
	assert_int_equal(chunk_image(&c, &s, 0, 1, 3, out), 7);
	assert_int_equal(chunk_image(&c, &s, 1, 1, 3, out), 9);
	for (int i = 0; i < 9; i++)
		assert_true(fabsf(out[i] - (i == 4 ? 0.55f : -0.45f) / 0.25f) < 1e-5f);
	for (size_t n = 0; n < sizeof(images); n++)
		assert_int_equal(parse(n, sizeof(labels), &c, &s), -1);
	for (size_t n = 0; n < sizeof(labels); n++)
		assert_int_equal(parse(sizeof(images), n, &c, &s), -1);
	images[7] = 0; /* none */
	assert_int_equal(parse(16, sizeof(labels), &c, &s), -1);
	images[7] = 2;
	labels[9] = 10;
	assert_int_equal(parse(sizeof(images), sizeof(labels), &c, &s), -1);
	labels[9] = 9;
}

static void put_idx(const char *folder, const char *name, const uint32_t *head, size_t words,
		    size_t n)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	for (size_t i = 0; i < words; i++) {
		uint32_t w = htobe32(head[i]);

		assert_int_equal(fwrite(&w, sizeof(w), 1, f), 1);
	}
	while (n--)
		assert_int_equal(fputc(0, f), 0);
	assert_int_equal(fclose(f), 0);
}

/* Ten images each, so large to train on, and so large to validate with. */
static int open_pair(uint32_t side, uint32_t other, struct err *e)
{
	static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
					    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
	const char *tmp = getenv("TMPDIR");
	char folder[200], spec[220], path[256];
	struct data d;
	int result;

	(void)snprintf(folder, sizeof(folder), "%s/mnist.XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 4; i++) {
		uint32_t s = i < 2 ? side : other, head[] = {i % 2 ? 0x801 : 0x803, 10, s, s};

		put_idx(folder, names[i], head, i % 2 ? 2 : 4, i % 2 ? 10 : 10 * s * s);
	}
	(void)snprintf(spec, sizeof(spec), "mnist:%s", folder);
	result = data_open(&d, spec, 1, 0, 0, e);
	if (!result)
		data_close(&d);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	return result;
}

/* Else those of the smaller file would be read as if they were as large. */
static void both_files_have_images_of_one_size(void **state)
{
	struct err e = {0};

	(void)state;
	assert_int_equal(open_pair(8, 8, &e), 0);
	assert_int_equal(open_pair(8, 200, &e), -1);
	assert_non_null(strstr(e.msg, "200 pixels wide, those to train on 8"));
	assert_int_equal(open_pair(28, 8, &e), -1);
}

/* STL-10 stores columns, CIFAR-10 rows; both have three channels, one after the other. */
static void colours_and_columns(void **state)
{
	static uint8_t stl[3 * 96 * 96], cifar[3073], one = 10;
	static float out[3 * 96 * 96];
	struct chunk c;
	struct err e;

	(void)state;
	stl[96 * 96 + 5 * 96 + 2] = 255; /* green, column 5, row 2 */
	assert_int_equal(stl_parse(&(struct file_bytes){stl, sizeof(stl), "images"},
				   &(struct file_bytes){&one, 1, "labels"}, &c, &e),
			 0);
	assert_int_equal(chunk_image(&c, &(const struct image_shape){3, 96, true}, 0, 3, 96, out),
			 9);
	for (int i = 0; i < 3 * 96 * 96; i++)
		assert_int_equal(out[i] > 0, i == 96 * 96 + 2 * 96 + 5);
	cifar[0] = 4;
	cifar[1 + 2 * 1024 + 3 * 32 + 30] = 255; /* blue, row 3, column 30 */
	assert_int_equal(cifar_parse(&(struct file_bytes){cifar, sizeof(cifar), "file"}, &c, &e),
			 0);
	assert_int_equal(chunk_image(&c, &(const struct image_shape){3, 32, false}, 0, 3, 32, out),
			 4);
	for (int i = 0; i < 3 * 1024; i++)
		assert_int_equal(out[i] > 0, i == 2 * 1024 + 3 * 32 + 30);
}

/* A flat image stays flat, whatever its size becomes; a ramp stays one. */
static void resizing_keeps_what_is_straight(void **state)
{
	static uint8_t ramp[3 * 32 * 32];
	static float out[3 * 96 * 96];
	const struct image_shape shape = {3, 32, false};
	const int sides[] = {1, 7, 28, 32, 96};
	uint8_t label = 0;
	struct chunk c = {ramp, &label, 1, sizeof(ramp), 1, 0};

	(void)state;
	for (int i = 0; i < 3 * 1024; i++)
		ramp[i] = (uint8_t)(i % 32 * 8);
	for (size_t k = 0; k < ARRAY_LEN(sides); k++)
		for (int channels = 1; channels <= 3; channels += 2) {
			int side = sides[k];

			(void)chunk_image(&c, &shape, 0, channels, side, out);
			for (int x = 0; x < side; x++) {
				float at = ((float)x + 0.5f) * 32 / (float)side - 0.5f;
				float clamped = at < 0 ? 0 : at > 31 ? 31 : at;
				float want = (clamped * 8 / 255 - 0.45f) / 0.25f;

				assert_true(fabsf(out[x] - want) < 1e-4f);
				assert_true(fabsf(out[channels * side * side - side + x] - want) <
					    1e-4f);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_are_a_partition_but_for_the_padding),
		cmocka_unit_test(drop_last_repeats_nothing),
		cmocka_unit_test(loaders_read_the_same),
		cmocka_unit_test(idx_is_read_and_checked),
		cmocka_unit_test(both_files_have_images_of_one_size),
		cmocka_unit_test(colours_and_columns),
		cmocka_unit_test(resizing_keeps_what_is_straight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
