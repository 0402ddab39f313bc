/* What is data for programs, and what is a log with junk in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/binary.h"
#include "lib/core/text.h"

static const char said[] = "node1:41:52 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE\n";

/* All bytes alike often, as in what is packed or drawn; and small numbers between NULs. */
static void data_is_no_text(void **state UNUSED)
{
	char even[4096], numbers[4096] = "\177ELF\2\1\1";
	unsigned x = 7;

	for (size_t i = 0; i < sizeof(even); i++) {
		x = x * 1664525U + 1013904223U;
		even[i] = (char)(x >> 24);
	}
	for (size_t i = 64; i < sizeof(numbers); i += 4) {
		numbers[i] = (char)(i % 9);
		numbers[i + 1] = (char)(i >> 4);
	}
	assert_true(binary_begins(even, sizeof(even)));
	assert_true(binary_begins(numbers, sizeof(numbers)));
	assert_false(binary_begins(even, 32)); /* too little to tell */
}

/* As a container's engine keeps them: which stream, and how long; then the text. */
static void framed(struct text *t, const char *line)
{
	const char head[8] = {1, 0, 0, 0, 0, 0, 0, (char)strlen(line)};

	text_addn(t, head, sizeof(head));
	text_add(t, line);
}

static void a_log_with_junk_is_a_log(void **state UNUSED)
{
	static const char *const logs[] = {
		"\033[32m 41%|\342\226\210\342\226\210\342\226\214     | 41/100\r "
		"42%|\033[0m\a\b\b\n",
		"\316\322\303\307 \265\304 \277\250 \263\366\264\355 \301\313, \307\353 "
		"\262\351\277\264\n",				/* GBK */
		"d\351marrage termin\351 en 3 s; \351tape 4\n", /* Latin-1 */
		said, NULL};

	for (size_t i = 0; logs[i]; i++) {
		AUTO(arena_done) struct arena a = {0};
		struct text t, frames, cut;

		text_init(&t, &a);
		text_init(&frames, &a);
		text_init(&cut, &a);
		text_addn(&cut, (char[2000]){0}, 2000);
		for (size_t k = 0; k < 40; k++) {
			text_add(&t, logs[i]);
			text_add(&cut, logs[i]);
			framed(&frames, said);
		}
		assert_false(binary_begins(t.s, t.n));
		assert_false(binary_begins(cut.s, cut.n));
		assert_false(binary_begins(frames.s, frames.n));
	}
}

static void wide_characters_are_text(void **state UNUSED)
{
	char wide[2 * sizeof(said)] = {0};

	for (size_t i = 0; i < sizeof(said); i++)
		wide[2 * i] = said[i];
	assert_false(binary_begins(wide, sizeof(wide)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_no_text),
		cmocka_unit_test(a_log_with_junk_is_a_log),
		cmocka_unit_test(wide_characters_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
