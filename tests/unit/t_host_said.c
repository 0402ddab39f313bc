/* What a host calls itself goes into messages, and into commands that a person pastes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/cluster/hostlist.h"
#include "lib/cluster/rdzv_messages.h"
#include "lib/cluster/rendezvous.h"
#include "lib/core/quote.h"

static const struct {
	const char *said, *is;
} names[] = {
	{"node-1.example.com", "node-1.example.com"},
	{"fe80::1%eth0", "fe80::1%eth0"},
	{"", ""},
	{"x; rm -rf ~", "x__rm_-rf__"},
	{"$(id)`id`'\"", "__id__id___"},
	{"-oProxyCommand=id", "_oProxyCommand_id"},
	{"a\nb\033[31m\r", "a_b__31m_"},
	{"\xc2\x9b\xe2\x80\xae", "_____"},
};

static bool is_word(const char *s)
{
	AUTO(arena_done) struct arena a = {0};

	return *s != '-' && (!*s || streq(shell_quote(&a, s), s));
}

static void only_characters_of_names(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *got = host_said(&a, names[i].said);

		assert_string_equal(got, names[i].is);
		assert_true(is_word(got));
	}
}

/* A rank joins, and the others hear of it. */
static void ranks_are_heard_so(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		unsigned char buf[1024];
		struct wire_out out = {.p = buf, .cap = sizeof(buf)};
		struct wire_in in;
		struct rdzv_join_msg m = {.host = names[i].said, .size = 1}, got;
		struct rdzv_member member = {.host = names[i].said}, seen;
		uint32_t protocol;

		rdzv_put_join(&out, &m);
		in = (struct wire_in){.p = buf, .n = out.n};
		assert_int_equal(rdzv_read_join(&in, &a, &protocol, &got), 0);
		assert_true(is_word(got.host) && !*got.host == !*names[i].is);
		out = (struct wire_out){.p = buf, .cap = sizeof(buf)};
		rdzv_put_member(&out, &member);
		in = (struct wire_in){.p = buf, .n = out.n};
		assert_int_equal(rdzv_read_members(&in, &a, &seen, 1), 0);
		assert_true(is_word(seen.host) && !*seen.host == !*names[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_characters_of_names),
		cmocka_unit_test(ranks_are_heard_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
