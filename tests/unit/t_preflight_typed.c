/* What a pre-flight says is to be typed goes to the hosts on the way that it went itself; and how
 * long it waits for one that does not begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"
#include "probes/preflight/preflight.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

static struct arena a;
static struct report *r;
static char out[64];

static int begin(void **state UNUSED)
{
	r = report_file_new(out, "windsock", "json");
	return 0;
}

static int forget(void **state UNUSED)
{
	(void)report_file_done(r, out);
	arena_done(&a);
	return 0;
}

static struct preflight over_ssh(void)
{
	struct preflight p = {.a = &a,
			      .r = r,
			      .deadline_ns = 10 * NS_PER_S,
			      .tier = TIER_FULL,
			      .given = "n[0-1]",
			      .rsh = "ssh -p 22022",
			      .copy_self = true};

	p.t.a = &a;
	p.t.r = r;
	return p;
}

static void the_way_is_the_same(void **state UNUSED)
{
	struct preflight p = over_ssh();

	assert_string_equal(preflight_to(&p, "n 0"),
			    "--rsh 'ssh -p 22022' --hosts 'n 0' --copy-self");
	p.rsh = "";
	p.copy_self = false;
	assert_string_equal(preflight_to(&p, "n0"), "--hosts n0");
	p.rsh = NULL;
	assert_string_equal(preflight_to(&p, "n0"), "--hosts n0");
}

static void a_longer_budget(void **state UNUSED)
{
	struct preflight p = over_ssh();

	p.budget_ns = 5 * NS_PER_S;
	p.until_ns = 1;
	assert_false(preflight_has_time(&p, S_SWEEP));
	assert_true(starts_with(p.t.items.v[0].f->fix.v[0],
				"windsock --full --rsh 'ssh -p 22022' --hosts 'n[0-1]' --copy-self "
				"--budget "));
}

static void each_machine_once(void **state UNUSED)
{
	struct preflight p = over_ssh();
	struct answer two[2] = {{.host = "n0", .hostname = "gpu"},
				{.host = "n1", .hostname = "gpu"}};
	struct answers all = {.v = two, .n = 2};

	for (int i = 0; i < 2; i++) {
		two[i].doc = cJSON_CreateObject();
		two[i].data = cJSON_AddObjectToObject(two[i].doc, "data");
		cJSON_AddStringToObject(two[i].doc, "boot", "one");
		cJSON_AddStringToObject((cJSON *)(uintptr_t)two[i].data, "boot", "one");
	}
	drift_names(&p, &all);
	assert_int_equal(p.t.items.n, 1);
	assert_string_equal(p.t.items.v[0].f->fix.v[0],
			    "windsock --rsh 'ssh -p 22022' --hosts n0 --copy-self   # each machine "
			    "once");
	for (int i = 0; i < 2; i++)
		cJSON_Delete(two[i].doc);
}

/* The command under it waits 20 s more than its deadline for a host to begin, and names it then. */
static void who_does_not_begin_is_waited_for(void **state UNUSED)
{
	struct preflight p = over_ssh();

	for (p.deadline_ns = NS_PER_S; p.deadline_ns <= 32 * NS_PER_S; p.deadline_ns *= 2)
		assert_true(preflight_cap(&p, S_REACH) > p.deadline_ns + 22 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_way_is_the_same, begin, forget),
		cmocka_unit_test_setup_teardown(a_longer_budget, begin, forget),
		cmocka_unit_test_setup_teardown(each_machine_once, begin, forget),
		cmocka_unit_test_setup_teardown(who_does_not_begin_is_waited_for, begin, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
