/* Why a rank left: a finding's id goes with it, and what others say makes none. */
#include "bench/ranks/reason.h"
#include "lib/core/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void is(const char *news, const char *check, const char *told)
{
	AUTO(arena_done) struct arena a = {0};
	const char *said, *got = reason_check(&a, news, &said);

	if (check)
		assert_string_equal(got, check);
	else
		assert_null(got);
	assert_string_equal(said, told);
}

static void there_and_back(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *made = reason_make(&a, "nccl.init", "ncclCommInitRank failed: x: y", NULL);

	assert_string_equal(reason_make(&a, NULL, "rank 2 died", "dmesg"), "rank 2 died");
	is(made, "nccl.init", "ncclCommInitRank failed: x: y");
	is("[nccl.init] NCCL says: system error (run with NCCL_DEBUG=INFO): no space", "nccl.init",
	   "NCCL says: system error (run with NCCL_DEBUG=INFO): no space");
	is(arena_printf(&a, "rank 1 (node1, 10.0.0.2): %s", made), "nccl.init",
	   "rank 1 (node1, 10.0.0.2): ncclCommInitRank failed: x: y");
	is(arena_printf(&a, "rank 0 (a, b): [gpu.work] rank 1 (c, d): broken"), "gpu.work",
	   "rank 0 (a, b): rank 1 (c, d): broken");
}

/* Of who left, what it would do itself comes along: whole, or not at all. */
static void with_what_to_do(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *words = reason_make(&a, "nccl.init", "it failed [x]", "- look at [eth0]");
	const char *command = reason_make(&a, "nccl.init", "it failed", "ifprobe --check");
	const char *news = arena_printf(&a, "rank 1 (node1, 10.0.0.2): %s", words), *told;
	char longer[600];

	is(words, "nccl.init", "it failed [x]");
	is(news, "nccl.init", "rank 1 (node1, 10.0.0.2): it failed [x]");
	assert_string_equal(reason_carried(&a, news), "- look at [eth0]");
	news = arena_printf(&a, "rank 1 (node1, 10.0.0.2): %s", command);
	assert_string_equal(reason_carried(&a, news), "ifprobe --check   # on node1");
	news = arena_printf(&a, "rank 1 (node1, 10.0.0.2): %s",
			    reason_make(&a, "a.b", "it failed", "x   # on both"));
	assert_string_equal(reason_carried(&a, news), "x   # on both");
	/* of a sick GPU everybody knows what to do, and where */
	assert_null(reason_carried(&a, reason_make(&a, "gpu.work", "it failed", "dmesg")));
	assert_null(reason_carried(&a, reason_make(&a, "nccl.init", "it failed", NULL)));
	assert_null(reason_carried(&a, "rank 1 (b): it failed  [fix: rm]"));
	/* cut on its way at any place */
	for (size_t n = strlen(command) - 1; n > strlen("[nccl.init] it failed"); n--) {
		news = arena_strndup(&a, command, n);
		assert_null(reason_carried(&a, news));
		assert_string_equal(reason_check(&a, news, &told), "nccl.init");
	}
	is(arena_strndup(&a, command, strlen(command) - 1), "nccl.init", "it failed");
	/* and so is what would take the room of the sentence */
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	is(reason_make(&a, "nccl.init", "it failed", longer), "nccl.init", "it failed");
	assert_null(reason_carried(&a, reason_make(&a, "nccl.init", longer, "ifprobe")));
}

static void what_is_none(void **state UNUSED)
{
	static const char *const none[] = {
		"",
		"rank 1 (node1, 10.0.0.2) died: killed by signal 9 (SIGKILL)",
		"rank 1 (node1, 10.0.0.2): cannot allocate memory",
		"rank 1 (node1, 10.0.0.2): libnccl.so: it is not there",
		"rank 1 (node1, 10.0.0.2): [] none",
		"rank 1 (node1, 10.0.0.2): [Nccl.Init] not ours",
		"rank 1 (node1, 10.0.0.2): [nccl init] nor this",
		"rank 1 (node1, 10.0.0.2): [nccl.init]",
		"rank 1 (node1, 10.0.0.2): [nccl.init",
		"rank 1 (node1, 10.0.0.2): [fe80::1]:29500 refused",
		"rank 1 (node1, 10.0.0.2): [0] MPI startup: none",
		"rank 1 (node1, 10.0.0.2): [0.5] nor that",
		"rank 1 (node1, 10.0.0.2): [.init] it begins with a letter",
		"rank 1 (node1, 10.0.0.2): [a.bcdefghijklmnopqrstuvwxyzabcdef] too long for one",
		"rank 1 (node1, 10.0.0.2): it says (x): [nccl.init] what somebody quotes",
		"the rendezvous at (x): [nccl.init] none",
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		is(none[i], NULL, none[i]);
}

static void essence(void **state UNUSED)
{
	static const char last[] = "rank 3 (d) died: out (of memory): rank 9 (x) was not asked";

	assert_null(reason_essence(NULL));
	assert_string_equal(reason_essence(last), last);
	assert_string_equal(reason_essence("rank 1 (b): rank 0 (a) did nothing for 1 s"),
			    "rank 0 (a) did nothing for 1 s");
	assert_string_equal(reason_essence("rank 0 (a): rank 1 (b): rank 2 (c): no memory"),
			    "rank 2 (c): no memory");
	assert_string_equal(reason_essence("rank 1 (b): [nccl.init] x (y): rank 0 has left"),
			    "rank 1 (b): [nccl.init] x (y): rank 0 has left");
	assert_string_equal(reason_essence("the rendezvous (a): rank 0 (b) left"),
			    "the rendezvous (a): rank 0 (b) left");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(with_what_to_do),
		cmocka_unit_test(what_is_none), cmocka_unit_test(essence)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
