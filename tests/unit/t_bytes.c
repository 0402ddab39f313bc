/* A queue of bytes: what is put in comes out, in order, however it is put and taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/bytes.h"

static struct err e;

/* @n bytes that go on counting from *@at. */
static void put(struct bytes *b, unsigned char *at, size_t n)
{
	unsigned char *to = bytes_room(b, n);

	assert_non_null(to);
	for (size_t i = 0; i < n; i++)
		to[i] = (*at)++;
	b->n += n;
}

static void take(struct bytes *b, unsigned char *at, size_t n)
{
	assert_true(bytes_left(b) >= n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes_first(b)[i], (*at)++);
	bytes_drop(b, n);
}

/* The two run after each other, now and then far apart, as behind a reader that is slow. */
static void what_is_put_in_comes_out(void **state UNUSED)
{
	AUTO(bytes_done) struct bytes b = {0};
	unsigned char in = 0, out = 0;
	size_t has = 0;

	for (size_t i = 0; i < 5000; i++) {
		size_t n = i * 7919 % 700 + 1, m;

		put(&b, &in, n);
		has += n;
		assert_int_equal(bytes_left(&b), has);
		m = i % 100 < 60 ? n / 2 : i % 100 == 99 ? has : has < 500 ? has : 500;
		take(&b, &out, m);
		has -= m;
	}
	take(&b, &out, has);
	assert_int_equal(bytes_left(&b), 0);
}

static void nothing_is_little(void **state UNUSED)
{
	AUTO(bytes_done) struct bytes b = {0};

	assert_int_equal(bytes_add(&b, NULL, 0, &e), 0);
	assert_int_equal(bytes_left(&b), 0);
	bytes_drop(&b, 0);
	assert_int_equal(bytes_add(&b, "ab", 2, &e), 0);
	assert_int_equal(bytes_add(&b, NULL, 0, &e), 0);
	bytes_drop(&b, 0);
	assert_int_equal(bytes_left(&b), 2);
	assert_memory_equal(bytes_first(&b), "ab", 2);
}

/* There may be thousands of them. */
static void an_empty_one_gives_a_large_buffer_back(void **state UNUSED)
{
	AUTO(bytes_done) struct bytes b = {0};
	unsigned char at = 0;

	put(&b, &at, 100);
	bytes_drop(&b, 100);
	assert_true(b.cap > 0); /* a small one is used again */
	put(&b, &at, 1 << 20);
	bytes_drop(&b, (1 << 20) - 1);
	assert_true(b.cap >= 1 << 20);
	bytes_drop(&b, 1);
	assert_int_equal(b.cap, 0);
	assert_null(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_in_comes_out),
		cmocka_unit_test(nothing_is_little),
		cmocka_unit_test(an_empty_one_gives_a_large_buffer_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
