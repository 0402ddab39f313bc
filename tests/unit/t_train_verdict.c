/* Ranks that somebody started one by one wait for rank 0's verdict: for as long as it gives signs.
 */
#include "bench/train/verdict.h"
#include "lib/cluster/rdzv_rank.h"
#include "tests/unit/rdzv_world.h"

#include <stdlib.h>

enum { PATIENCE = 60 }; /* deadlines without a sign, as verdict.c has it */
static const uint64_t SHORT = 20 * NS_PER_MS, PATIENT = 5 * NS_PER_S;
static bool gives_signs;

static struct world_run joined(struct process *p)
{
	struct world_run w = {.world = {.launcher = LAUNCHER_INIT, .rank = p->rank, .size = 2}};
	struct err e = {0};

	w.rdzv = enter(p, &e);
	if (!w.rdzv) {
		say(p, e.msg);
		_exit(1);
	}
	return w;
}

/* Rank 0 proves for twice as long as the other one waits for a sign. */
static void prove(struct process *p)
{
	struct world_run w = joined(p);
	const struct verdict all_well = {0};
	const uint64_t until = now_ns() + 2 * PATIENCE * SHORT;

	do {
		verdict_is_coming(&w, SHORT);
		(void)poll(NULL, 0, gives_signs ? 10 : (int)((until - now_ns()) / NS_PER_MS) + 1);
	} while (now_ns() < until);
	verdict_tell(&w, &all_well);
	rdzv_leave(w.rdzv, NULL);
}

static void hear(struct process *p)
{
	const struct report_opts o = {.command = "ddpsmoke", .format = "github"};
	struct world_run w = joined(p);
	struct err e = {0};
	struct report *r = report_new(&o, &e);
	const char *lost;

	w.rdzv->o.deadline_ns = SHORT; /* those before had time */
	if (verdict_share(&w, r, &lost, &e))
		say(p, e.msg);
	report_answer(r, "", 0);
	(void)report_end(r, &(struct err){0});
	rdzv_leave(w.rdzv, NULL);
}

static const char *what_is_heard(bool signs)
{
	gives_signs = signs;
	launch_begin(2, PATIENT, true, &test_token);
	start_rank(0, prove);
	start_rank(1, hear);
	launch_watch(4 * PATIENT);
	assert_int_equal(L.left, 0);
	assert_string_equal(L.v[0].said, "");
	return L.v[1].said;
}

static void who_gives_signs_is_waited_for(void **state UNUSED)
{
	assert_string_equal(what_is_heard(true), "");
	(void)launch_end(NULL);
}

static void who_gives_one_and_then_none_is_not(void **state UNUSED)
{
	assert_non_null(strstr(what_is_heard(false), "rank 0 (node0, 127.0.0.1) did not say for "));
	(void)launch_end(NULL);
}

static char fix[512];

static void note_fix(struct finding *f) { (void)snprintf(fix, sizeof(fix), "%s", f->fix.v[0]); }

/* What to type, as a rank started by hand says it. */
static PRINTF(1, 2) const char *fix_of(const char *fmt, ...)
{
	const struct report_opts o = {
		.command = "ddpsmoke", .format = "github", .review = note_fix};
	struct err e = {0}, said = {.kind = ERR_SYS};
	struct report *r = report_new(&o, &e);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(said.msg, sizeof(said.msg), fmt, ap);
	va_end(ap);
	assert_int_equal(verdict_missing(r, false, &said), 0);
	report_answer(r, "", 0);
	(void)report_end(r, &(struct err){0});
	return fix;
}

/* Machines of one image have one name, which leads here. */
static void where_it_was_says_the_address(void **state UNUSED)
{
	char own[256] = "";

	unsetenv("WINDSOCK_RSH");
	(void)gethostname(own, sizeof(own) - 1);
	assert_non_null(strstr(fix_of("rank 1 (b, 192.0.2.77) died: connection lost"), "ssh b "));
	assert_non_null(strstr(fix_of("rank 1 (%s, 192.0.2.77) died: connection lost", own),
			       "ssh 192.0.2.77 "));
	assert_null(strstr(fix_of("rank 1 (%s, 127.0.0.1) died: connection lost", own), "ssh"));
	assert_null(strstr(fix_of("rank 1 (%s) died: connection lost", own), "ssh"));
	assert_non_null(
		strstr(fix_of("the rendezvous at 192.0.2.77:29500 was lost"), "ssh 192.0.2.77 "));
	assert_null(strstr(fix_of("the rendezvous at [::1]:29500 was lost"), "ssh"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gives_signs_is_waited_for),
		cmocka_unit_test(who_gives_one_and_then_none_is_not),
		cmocka_unit_test(where_it_was_says_the_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
