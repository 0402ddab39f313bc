/*
 * Whose fault it is that a rank cannot go on, as its own process hears it: a finding of whoever
 * asks, or an error. Every way in which another one is lost, from the join on, is the former;
 * what a rank lacks itself, a refusal and a Ctrl-C are the latter.
 */
#include "lib/core/interrupt.h"
#include "tests/unit/rdzv_world.h"

#include <fcntl.h>
#include <sys/eventfd.h>

static const uint64_t PATIENT = 5 * NS_PER_S, HEARTBEAT = 800 * NS_PER_MS;
static const uint64_t SHORT = 500 * NS_PER_MS, LIMIT = 20 * NS_PER_S;

/* ---- what a rank says at its end ---- */
static const char *word(enum rdzv_why why)
{
	static const char *const words[] = {"unable", "gave up", "lost", "interrupted"};

	return words[why];
}

static void tell(struct process *p, const char *why, const char *sentence)
{
	char text[SAID_MAX];

	snprintf(text, sizeof(text), "%s: %s", why, sentence);
	say(p, text);
}

static void says(int rank, const char *text)
{
	if (!strstr(L.v[rank].said, text))
		print_error("# rank %d: '%s', not '%s'\n", rank, L.v[rank].said, text);
	assert_non_null(strstr(L.v[rank].said, text));
}

/* Joins, which fails. */
static void waits_for_all(struct process *p)
{
	bool missing = false;
	struct err e = {0};
	struct rdzv *r;

	L.join.ret_missing = &missing;
	r = enter(p, &e);
	tell(p, missing ? "missing" : "error", r ? "joined" : e.msg);
	rdzv_leave(r, NULL);
}

static void meets(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);

	if (r && (rdzv_barrier(r, &e) < 0 || rdzv_barrier(r, &e) < 0))
		tell(p, word(rdzv_why(r)), e.msg);
	rdzv_leave(r, *e.msg ? e.msg : NULL);
}

/* Its thread beats, and it does nothing. */
static void hangs(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);
	struct pollfd fd = {.fd = rdzv_failure_fd(r), .events = POLLIN};

	(void)poll(&fd, 1, 10000);
	rdzv_leave(r, NULL);
}

/* ---- before all are here: rank 2 never comes ---- */
static struct timer tries;
static void (*fault)(void);

static void kill_rank_1(void) { assert_int_equal(kill(L.v[1].pid, SIGKILL), 0); }
static void interrupt_rank_1(void) { assert_int_equal(kill(L.v[1].pid, SIGINT), 0); }
static void hush_server(void) { (void)poll(NULL, 0, (int)(2 * HEARTBEAT / NS_PER_MS)); }

static void end_server(void)
{
	rdzv_server_free(L.server);
	L.server = NULL;
}

static void once_joined(struct loop *l, struct timer *t)
{
	struct err e = {0};

	if (rdzv_server_member(L.server, 0)->joined && rdzv_server_member(L.server, 1)->joined)
		fault();
	else
		assert_int_equal(loop_arm(l, t, 10 * NS_PER_MS, &e), 0);
}

static void heeds_ctrl_c(struct process *p)
{
	(void)dup3(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), interrupt_fd(), O_CLOEXEC);
	interrupt_install();
	waits_for_all(p);
}

static void two_of_three(void (*first)(struct process *p), void (*strike)(void))
{
	struct err e = {0};

	fault = strike;
	tries = (struct timer){.fire = once_joined};
	L.join.size = 3;
	start_rank(0, first);
	start_rank(1, heeds_ctrl_c);
	assert_int_equal(loop_arm(&L.loop, &tries, 10 * NS_PER_MS, &e), 0);
	launch_watch(LIMIT);
	assert_int_equal(L.left, 0);
}

static void t_a_rank_is_lost_while_others_are_missing(void **state)
{
	(void)state;
	launch_begin(3, PATIENT, false, NULL);
	two_of_three(waits_for_all, kill_rank_1);
	says(0, "missing: rank 1 (node0, 127.0.0.1) died: connection lost");
	launch_end(NULL);
	launch_begin(3, PATIENT, false, NULL);
	two_of_three(waits_for_all, interrupt_rank_1);
	says(0, "error: rank 1 (node0, 127.0.0.1): interrupted by SIGINT");
	says(1, "error: interrupted by SIGINT");
}

static void hosts_it(struct process *p)
{
	L.join.hosts = true;
	waits_for_all(p);
}

/* To whose rank it belongs, that one is at fault itself. */
static void t_the_server_is_lost_while_others_are_missing(void **state)
{
	static const struct {
		void (*first)(struct process *p), (*strike)(void);
		const char *says;
	} row[] = {{waits_for_all, end_server, "missing: the rendezvous at"},
		   {waits_for_all, hush_server, "missing: the rendezvous at"},
		   {hosts_it, end_server, "error: the rendezvous at"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		launch_begin(3, HEARTBEAT, false, NULL);
		two_of_three(row[i].first, row[i].strike);
		says(0, row[i].says);
		says(1, "missing: the rendezvous at");
		launch_end(NULL);
	}
}

static void t_nobody_there(void **state)
{
	(void)state;
	launch_begin(2, PATIENT, false, NULL);
	end_server();
	L.join.deadline_ns = SHORT;
	start_rank(1, waits_for_all);
	launch_watch(LIMIT);
	says(0, "missing: no rendezvous at 127.0.0.1");
}

static void t_refused(void **state)
{
	(void)state;
	launch_begin(2, PATIENT, false, NULL);
	L.join.size = 3;
	start_rank(1, waits_for_all);
	launch_watch(LIMIT);
	says(0, "error: rank 1 on node0 was told of a world of 3, but 2 ranks are to meet here");
}

static void t_too_late(void **state)
{
	(void)state;
	launch_begin(2, PATIENT, false, NULL);
	rdzv_server_report_exit(L.server, 0, "killed by signal 9");
	start_rank(1, waits_for_all);
	launch_watch(LIMIT);
	says(0, "missing: rank 0 ended before it joined: killed by signal 9");
}

/* ---- when all are here ---- */
static void t_a_rank_hangs(void **state)
{
	(void)state;
	launch_begin(3, PATIENT, false, NULL);
	start_rank(0, meets);
	start_rank(1, hangs);
	L.join.deadline_ns = SHORT;
	start_rank(2, meets); /* it gives up first, for the same reason */
	launch_watch(LIMIT);
	says(2, "lost: rank 1 of 3 (node0) missing at a barrier");
	says(0, "lost: rank 2 (node1, 127.0.0.1): rank 1 of 3 (node0) missing at a barrier");
}

static void gives_up(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);

	if (!r || rdzv_barrier(r, &e) < 0) /* so that all know that all are here */
		say(p, e.msg);
	rdzv_leave(r, "no space left on device");
}

static void t_a_rank_gives_up(void **state)
{
	(void)state;
	launch_begin(2, PATIENT, false, NULL);
	start_rank(0, meets);
	start_rank(1, gives_up);
	launch_watch(LIMIT);
	says(0, "gave up: rank 1 (node0, 127.0.0.1): no space left on device");
}

/* What came of one call says nothing about the next. */
static void asks_twice(struct process *p)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	struct rdzv *r = enter(p, &e);
	const void *value;
	size_t n;

	if (!r || !rdzv_get(r, "never", &a, &value, &n, &e) || rdzv_why(r) != RDZV_LOST)
		say(p, "no value is nobody's fault");
	if (r && !rdzv_set(r, "", "", 0, &e))
		say(p, "an empty key");
	if (r && (rdzv_set(r, "k", "", 0, &e) || rdzv_why(r) != RDZV_UNABLE))
		say(p, "it is still remembered");
	rdzv_leave(r, NULL);
}

static void t_a_value_that_nobody_sets(void **state)
{
	(void)state;
	launch_begin(1, PATIENT, false, NULL);
	L.join.deadline_ns = SHORT;
	start_rank(0, asks_twice);
	launch_watch(LIMIT);
	assert_string_equal(L.v[0].said, "");
}

#define T(f) cmocka_unit_test_teardown(f, launch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(t_a_rank_is_lost_while_others_are_missing),
		T(t_the_server_is_lost_while_others_are_missing),
		T(t_nobody_there),
		T(t_refused),
		T(t_too_late),
		T(t_a_rank_hangs),
		T(t_a_rank_gives_up),
		T(t_a_value_that_nobody_sets),
	};

	return cmocka_run_group_tests_name("rdzv_why", tests, NULL, NULL);
}
