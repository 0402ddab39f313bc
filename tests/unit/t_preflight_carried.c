/* What went away from hosts in the middle of a stage, and no time to begin it again: a host whose
 * way broke is lost, and its machine is a finding; a copy that was killed is a failure of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/units.h"
#include "probes/preflight/preflight.h"
#include "tests/unit/report_file.h"

#include <sys/socket.h>

#include <cmocka.h>

enum { HOSTS = 3 };
static const char broke[] = "1 lost node1: the connection to it ended: Connection reset by peer";

struct world {
	char out[64]; /* thrown away */
	struct arena a;
	struct preflight p;
	int holder; /* what it says is written here */
};

/* Stands for the process that holds the copies: it is there until we are done with it. */
static pid_t holder(const int ends[2])
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	(void)close(ends[0]);
	(void)!read(ends[1], &c, 1);
	_exit(0);
}

static void world_init(struct world *w)
{
	int ends[2];

	*w = (struct world){0};
	w->p.r = report_file_new(w->out, "windsock", "json");
	w->p.a = w->p.t.a = &w->a;
	w->p.t.r = w->p.r;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	w->p.carry = (struct carry){.n = HOSTS, .fd = ends[0], .pid = holder(ends)};
	assert_true(w->p.carry.pid > 0);
	w->holder = ends[1];
	w->p.carry.hosts = arena_alloc(&w->a, HOSTS * sizeof(*w->p.carry.hosts));
	memset(w->p.carry.hosts, 0, HOSTS * sizeof(*w->p.carry.hosts));
	for (size_t i = 0; i < HOSTS; i++) {
		const char *name = arena_printf(&w->a, "node%zu", i);

		LIST_ADD(&w->a, &w->p.hosts)->name = name;
		*LIST_ADD(&w->a, &w->p.usable) = name;
	}
}

/* A run whose budget is over at once: nothing fits in again. */
static void no_time(struct world *w)
{
	w->p.budget_ns = 20 * NS_PER_S;
	w->p.until_ns = 1;
	w->p.run[S_TRAINING].seconds = 9;
}

static void failed(struct world *w, enum status st)
{
	struct finding *f = tally_add(&w->p.t, S_TRAINING, "training", "rank.alive", "rank 1");

	finding_set(f, st, "died: connection lost");
	finding_fix(f, "ddpsmoke --debug");
}

static void say(struct world *w, const char *text)
{
	assert_int_equal(write(w->holder, text, strlen(text) + 1), (ssize_t)strlen(text) + 1);
}

/* Its exit code. */
static int world_done(struct world *w)
{
	int code;

	tally_emit(&w->p.t);
	code = report_file_done(w->p.r, w->out);
	(void)close(w->holder);
	carry_done(&w->p.carry);
	arena_done(&w->a);
	return code;
}

static void a_host_that_is_lost_is_named(void **state UNUSED)
{
	struct world w;
	const struct finding *f;

	world_init(&w);
	no_time(&w);
	failed(&w, ST_FAIL);
	say(&w, broke);
	assert_false(preflight_uncarried(&w.p, S_TRAINING, 0, true));
	f = w.p.t.items.v[0].f; /* what it failed with is not the host's fault, nor anybody's */
	assert_int_equal(f->status, ST_INFO);
	assert_int_equal(f->fix.n, 0);
	assert_int_equal(w.p.t.items.n, 2);
	f = w.p.t.items.v[1].f;
	assert_string_equal(f->check, "host.answer");
	assert_string_equal(f->host, "node1");
	assert_int_equal(f->status, ST_FAIL);
	assert_non_null(strstr(f->message, "the connection to it ended"));
	assert_int_equal(w.p.t.items.v[1].stage, S_HOSTS); /* ranks before what it explains */
	assert_int_equal(w.p.usable.n, HOSTS - 1);
	assert_int_equal(world_done(&w), 1);
}

static void the_second_time_too(void **state UNUSED)
{
	struct world w;

	world_init(&w); /* no budget: there would be time */
	failed(&w, ST_ERROR);
	say(&w, broke);
	assert_false(preflight_uncarried(&w.p, S_TRAINING, 0, false));
	assert_int_equal(world_done(&w), 1);
}

/* The agent was killed there, or what holds them all here; or nonsense. */
static void a_copy_that_is_lost_is_our_failure(void **state UNUSED)
{
	static const char *const said[] = {"", "3 no such host", "x", "-1 x", " ", NULL};

	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		struct world w;

		world_init(&w);
		no_time(&w);
		failed(&w, ST_FAIL);
		if (said[i])
			say(&w, said[i]);
		else
			assert_int_equal(shutdown(w.holder, SHUT_RDWR), 0);
		assert_false(preflight_uncarried(&w.p, S_TRAINING, 0, true));
		assert_int_equal(w.p.t.items.n, 1);
		assert_int_equal(w.p.t.items.v[0].f->status, ST_ERROR);
		assert_int_equal(w.p.usable.n, HOSTS);
		assert_int_equal(world_done(&w), 3);
	}
}

/* With time it is begun again, which shows who is there: until then nobody is named. */
static void with_time_it_is_tested_again(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	failed(&w, ST_FAIL);
	say(&w, broke);
	assert_true(preflight_uncarried(&w.p, S_TRAINING, 0, true));
	assert_int_equal(w.p.t.items.n, 1);
	assert_int_equal(w.p.usable.n, HOSTS);
	(void)world_done(&w);
}

/* A stage that the budget cut short has failed at nothing; but who went meanwhile is known. */
static void cut_short_by_a_host_that_went(void **state UNUSED)
{
	for (int cut = 0; cut < 2; cut++) {
		struct world w;

		world_init(&w);
		no_time(&w);
		w.p.run[S_TRAINING].cut = cut;
		failed(&w, cut ? ST_SKIP : ST_PASS);
		say(&w, broke);
		assert_false(preflight_uncarried(&w.p, S_TRAINING, 0, true));
		assert_int_equal(w.p.t.items.v[0].f->status, cut ? ST_SKIP : ST_PASS);
		assert_int_equal(world_done(&w), cut ? 1 : 0);
	}
}

/* Several in one go, one of them in two pieces, and before anybody asks. */
static void several(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	no_time(&w);
	failed(&w, ST_FAIL);
	say(&w, "");
	say(&w, "0 gone");
	assert_int_equal(write(w.holder, "2 lo", 4), 4);
	assert_true(carry_lost(&w.p.carry));
	say(&w, "st");
	assert_false(preflight_uncarried(&w.p, S_TRAINING, 0, true));
	assert_int_equal(w.p.t.items.n, 3);
	assert_string_equal(w.p.t.items.v[1].f->host, "node0");
	assert_string_equal(w.p.t.items.v[2].f->host, "node2");
	assert_non_null(strstr(w.p.t.items.v[2].f->message, "lost"));
	assert_int_equal(world_done(&w), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_is_lost_is_named),
		cmocka_unit_test(the_second_time_too),
		cmocka_unit_test(a_copy_that_is_lost_is_our_failure),
		cmocka_unit_test(with_time_it_is_tested_again),
		cmocka_unit_test(cut_short_by_a_host_that_went),
		cmocka_unit_test(several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
