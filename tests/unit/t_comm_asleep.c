/* All ranks stand still together, for longer than any of them may wait for another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/ranks.h"

#include <poll.h>
#include <signal.h>

enum { RANKS = 3, ROUNDS = 8, STEPS = 30, STEP_MS = 10, AWAKE_MS = 750, LARGE = 1 << 18 };

static unsigned asleep = 3; /* deadlines */

static void all(const struct local *w, pid_t first, int sig)
{
	(void)kill(first, sig);
	for (int i = 1; i < w->size; i++)
		(void)kill(w->pids[i], sig);
}

/* As if the machine stood still: of all of them nobody sees it happen. */
static pid_t stop_them(const struct local *w)
{
	pid_t first = getpid(), pid = fork();

	if (pid)
		return pid;
	(void)poll(NULL, 0, AWAKE_MS);
	all(w, first, SIGSTOP);
	(void)poll(NULL, 0, (int)(asleep * w->deadline_ns / NS_PER_MS));
	all(w, first, SIGCONT);
	_exit(0);
}

/* In small steps: what is left of them, the others wait for after the stop, too. */
static void compute(void)
{
	for (int i = 0; i < STEPS; i++)
		(void)poll(NULL, 0, STEP_MS);
}

/* Of small operations nobody counts how long they wait for whom. */
static float x[LARGE], sum[LARGE];

static int rounds(struct comm *c, struct err *e)
{
	struct comm_request q = {.send = x, .recv = sum, .count = LARGE, .type = DT_FLOAT};

	for (int i = 0; i < ROUNDS; i++) {
		if (c->rank == 1)
			compute();
		if (comm_run(c, &q, e))
			return -1;
	}
	return 0;
}

/* What the others waited for it while all stood still is not rank 1's. */
static const char *is_waited_for(const struct comm *c, const struct local *w)
{
	const uint64_t computed_ns = (uint64_t)(ROUNDS * STEPS * STEP_MS) * NS_PER_MS;
	struct comm_tally t = {0};

	if (!comm_tally(c, &t))
		return "nothing was counted";
	if (asleep < 3) /* a busy machine computes as much longer */
		return NULL;
	return t.waited_ns[1] < computed_ns + asleep * w->deadline_ns * 2 / 3
		       ? NULL
		       : "rank 1 was waited for while all stood still";
}

/* @arg: the words that it ends with; NULL: it goes on */
static const char *stands_still(struct comm *c, struct local *w, void *arg)
{
	pid_t helper = w->rank ? 0 : stop_them(w);
	static struct err e;
	int rc = rounds(c, &e);

	if (helper)
		(void)waitpid(helper, NULL, 0);
	if (arg)
		return rc && strstr(e.msg, arg) ? NULL : "nothing, or something else, was said";
	return rc ? e.msg : is_waited_for(c, w);
}

static void nobody_is_accused(void **state)
{
	struct ranks r = {.fn = stands_still, .deadline_ns = local_slowness() * NS_PER_S};

	(void)state;
	ranks_all_well(&r, RANKS);
}

/* It ends when it was said to end, and it is nobody's fault. */
static void a_deadline_that_was_given_holds(void **state)
{
	static char words[] = "did not run for";
	struct ranks r = {.fn = stands_still,
			  .arg = words,
			  .deadline_ns = local_slowness() * NS_PER_S,
			  .deadline_given = true};

	(void)state;
	assert_null(ranks_run(&r, RANKS));
}

/* Nor is it where they stood still for hardly longer than that. */
static void nor_is_it_after_a_short_stop(void **state)
{
	asleep = 1;
	nobody_is_accused(state);
	a_deadline_that_was_given_holds(state);
}

/* They meet, and rank 1 comes late: the others wait for its connections when all are stopped. */
static int comes_late(void *arg, const void *mine, size_t n, void *all_of, struct err *e)
{
	struct local *w = arg;
	int rc = local_exchange(w, mine, n, all_of, e);

	if (!w->rank)
		(void)stop_them(w);
	for (int i = 0; w->rank == 1 && i < 3; i++)
		compute();
	return rc;
}

static const char *has_met(struct comm *c, struct local *w, void *arg)
{
	(void)c;
	(void)w;
	(void)arg;
	return NULL;
}

static void nobody_is_accused_while_they_connect(void **state)
{
	struct ranks r = {
		.fn = has_met, .exchange = comes_late, .deadline_ns = local_slowness() * NS_PER_S};

	(void)state;
	asleep = 3;
	ranks_all_well(&r, RANKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_accused),
		cmocka_unit_test(a_deadline_that_was_given_holds),
		cmocka_unit_test(nor_is_it_after_a_short_stop),
		cmocka_unit_test(nobody_is_accused_while_they_connect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
