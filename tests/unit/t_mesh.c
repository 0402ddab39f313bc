/* While ranks connect: what is told meanwhile ends the waiting at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/eventfd.h>

#include "bench/comm/tcp.h"
#include "lib/core/units.h"
#include "tests/unit/local.h"

/* The other one has told us where it is, and then could not go on. */
static int exchange(void *arg UNUSED, const void *mine, size_t n, void *all, struct err *e UNUSED)
{
	memcpy(all, mine, n);
	memcpy((char *)all + n, mine, n);
	return 0;
}

static void wait_in_vain(uint64_t deadline_ns, uint64_t bad_news, int *ret_culprit,
			 uint64_t *ret_took_ns)
{
	struct tcp_opts o = {.size = 2,
			     .host = "here",
			     .deadline_ns = deadline_ns,
			     .stop_fds = {-1, eventfd((unsigned)bad_news, EFD_CLOEXEC)},
			     .exchange = exchange};
	uint64_t began = now_ns();
	struct err e = {0};

	assert_false(addr_parse("127.0.0.1", &o.at));
	assert_null(tcp_comm_new(&o, ret_culprit, &e));
	assert_non_null(strstr(e.msg, "no connection with rank 1"));
	*ret_took_ns = now_ns() - began;
	(void)close(o.stop_fds[1]);
}

static void bad_news_are_heard(void **state)
{
	uint64_t took;
	int culprit;

	(void)state;
	wait_in_vain(60 * NS_PER_S, 1, &culprit, &took);
	assert_true(took < 10 * local_slowness() * NS_PER_S);
	assert_int_equal(culprit, -1); /* who told knows whose fault it is */
}

static void without_any_the_missing_one_is_named(void **state)
{
	uint64_t took;
	int culprit;

	(void)state;
	wait_in_vain(NS_PER_S / 2, 0, &culprit, &took);
	assert_true(took >= NS_PER_S / 2);
	assert_int_equal(culprit, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_news_are_heard),
		cmocka_unit_test(without_any_the_missing_one_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
