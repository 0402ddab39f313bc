/* Logs of a few lines, whole: what failed first, and what is harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "probes/log/explain.h"

static void read_log(struct why *w, struct arena *a, const char *name, const char *text, size_t n,
		     struct explanation *ret)
{
	struct why_stream s;

	why_init(w);
	why_open(&s, w, name);
	why_feed(&s, text, n);
	why_close(&s);
	explain(w, a, ret);
}

/* @want: an entry, or "the shared id/an entry of its family"; behind " = " who failed first. */
static bool is_it(struct arena *a, const struct cause *c, const char *want)
{
	const char *slash, *who = strstr(want, " = ");

	if (who && (!c->first || !streq(who_text(a, &c->first->who), who + 3)))
		return false;
	if (who)
		want = arena_strndup(a, want, (size_t)(who - want));
	slash = strchr(want, '/');
	if (!slash)
		return streq(c->sig->id, want);
	return streq(c->sig->id, slash + 1) && strlen(c->head->id) == (size_t)(slash - want) &&
	       starts_with(want, c->head->id);
}

/* Behind " -> " of what a log must have: words of what shows it, or is advised first. */
static const char *split_advice(struct arena *a, const char **want)
{
	const char *arrow = strstr(*want, " -> ");

	if (arrow)
		*want = arena_strndup(a, *want, (size_t)(arrow - *want));
	return arrow ? arrow + strlen(" -> ") : NULL;
}

static void advises(const char *name, const struct cause *c, const char *words)
{
	const char *first = c->fix.n ? c->fix.v[0] : "nothing";

	if (!strstr(first, words) && !(c->because && strstr(c->because, words)))
		fail_msg("%s: advised is first '%s', not '%s'", name, first, words);
}

static void judge(const char *name, const char *want, const char *text, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(why_done) struct why w = {0};
	const char *advice = split_advice(&a, &want);
	struct explanation x;
	const struct cause *c;

	read_log(&w, &a, name, text, n, &x);
	c = x.causes.n ? &x.causes.v[0] : NULL;
	if (streq(want, "nothing")) {
		if (c)
			fail_msg("%s: %s is suspected", name, c->sig->id);
	} else if (streq(want, "-")) {
		for (size_t i = 0; i < x.causes.n; i++)
			if (x.causes.v[i].weight >= CONFIDENT)
				fail_msg("%s: %s is said with %d %%", name, x.causes.v[i].sig->id,
					 x.causes.v[i].weight);
	} else if (!c || !is_it(&a, c, want) || c->weight < CONFIDENT) {
		fail_msg("%s: first is %s of %s with %d %%, not %s", name,
			 c ? c->sig->id : "nothing",
			 c && c->first ? who_text(&a, &c->first->who) : "nobody", c ? c->weight : 0,
			 want);
	} else if (advice) {
		advises(name, c, advice);
	}
}

static bool is_known(struct arena *a, const char *want)
{
	const char *ids = arena_strndup(a, want, strcspn(want, " ")), *slash = strchr(ids, '/');

	return streq(want, "-") || streq(want, "nothing") ||
	       signature_find(slash ? slash + 1 : ids) >= 0;
}

static void every_case(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	size_t n, cases = 0;
	char *text, *p;

	assert_int_equal(file_read("tests/logs/cases.txt", 1 << 20, &a, &text, &n, &e), 0);
	for (p = strstr(text, "\n@@ "); p;) {
		char *name = p + 4, *end = strchr(name, '\n'), *want, *next;

		assert_non_null(end);
		next = strstr(end, "\n@@ ");
		*end = '\0';
		want = strchr(name, ' ');
		assert_non_null(want);
		*want++ = '\0';
		if (!is_known(&a, want))
			fail_msg("%s: no signature is called %s", name, want);
		judge(name, want, end + 1, next ? (size_t)(next - end) : strlen(end + 1));
		cases++;
		p = next;
	}
	assert_true(cases >= 120);
}

/* The exception's cause names the program's own line, not the library's in which it was raised. */
static void where_the_program_was(void **state UNUSED)
{
	static const char log[] =
		"Traceback (most recent call last):\n"
		"  File \"/work/train.py\", line 120, in <module>\n"
		"    main()\n"
		"  File \"/work/model/head.py\", line 9, in forward\n"
		"    return self.net(x)\n"
		"  File \"/env/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1, "
		"in "
		"_call\n"
		"ValueError: not so\n";
	AUTO(arena_done) struct arena a = {0};
	AUTO(why_done) struct why w = {0};
	struct explanation x;

	read_log(&w, &a, "log", log, strlen(log), &x);
	assert_true(x.causes.n == 1);
	assert_string_equal(x.causes.v[0].because, "the program was in head.py line 9, in forward");
}

/* Right where all ranks are on one host; where they are not, Gloo's loopback is the cause: second.
 */
static void loopback_of_gloo(void **state UNUSED)
{
	static const char log[] =
		"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:799] "
		"connect [127.0.0.1]:14221: Connection refused\n";
	AUTO(arena_done) struct arena a = {0};
	AUTO(why_done) struct why w = {0};
	struct explanation x;

	read_log(&w, &a, "log", log, strlen(log), &x);
	assert_true(x.causes.n == 2);
	assert_string_equal(x.causes.v[0].sig->id, "CON-003");
	assert_string_equal(x.causes.v[1].sig->id, "IF-017");
}

/* What the end of the log clears is a remark that says who had failed. */
static void restarted_and_finished(void **state UNUSED)
{
	static const char log[] =
		"failed (exitcode: -9) local_rank: 5 (pid: 41) of binary: python\n"
		"[default] Worker group FAILED. 1/2 attempts left; will restart worker group\n"
		"[default] worker group successfully finished. Waiting for other agents\n";
	AUTO(arena_done) struct arena a = {0};
	AUTO(why_done) struct why w = {0};
	struct explanation x;

	read_log(&w, &a, "log", log, strlen(log), &x);
	assert_true(x.causes.n > 0 && !x.in_trouble);
	for (size_t i = 0; i < x.causes.n; i++)
		assert_true(x.causes.v[i].is_settled && x.causes.v[i].weight < CONFIDENT);
	assert_string_equal(x.causes.v[0].because,
			    "local rank 5 ended with signal 9, the ranks were started again, and "
			    "ended well");
}

/* What a start-up waited for is no news of a job that trains; of one that does not, it is. */
static void hints_of_a_job_that_works(void **state UNUSED)
{
#define TRAINS "step 1 loss: 3.1\nstep 2 loss: 3.0\nstep 3 loss: 2.9\n"
	static const char *const logs[] = {
		"[W1128 10:00:03.2 socket.cpp:697] [c10d] The client socket has failed to connect "
		"to [node0]:29500 (errno: 111 - Connection refused).\n" TRAINS,
		"[W1128 10:00:03.2 socket.cpp:752] [c10d] The IPv6 network addresses of (job-0, "
		"29500) cannot be retrieved (gai error: -2 - Name or service not known).\n" TRAINS,
		"node0:1:2 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_2:1 Got async error "
		"event: SM change\n" TRAINS};
#undef TRAINS

	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		for (int trains = 0; trains < 2; trains++) {
			AUTO(arena_done) struct arena a = {0};
			AUTO(why_done) struct why w = {0};
			struct explanation x;

			read_log(&w, &a, "log", logs[i],
				 trains ? strlen(logs[i])
					: (size_t)(strchr(logs[i], '\n') + 1 - logs[i]),
				 &x);
			assert_int_equal(x.causes.n, !trains);
		}
}

/* Cut to nothing while somebody writes it, a log begins with NULs, few or more than one read. */
static void holes_are_no_wide_text(void **state UNUSED)
{
	static const char boom[] = "[rank3]: RuntimeError: CUDA error: invalid device ordinal\n";
	static const size_t holes[] = {1, 2, 17, 300, 4096, 4097, 600001};

	for (size_t i = 0; i < ARRAY_LEN(holes); i++)
		for (size_t step = 1; step < 3; step++) {
			AUTO(arena_done) struct arena a = {0};
			size_t n = step * strlen(boom);
			char *log = arena_alloc(&a, holes[i] + n);

			for (size_t k = 0; k < n; k += step) /* as UTF-16 where it is 2 */
				log[holes[i] + k] = boom[k / step];
			judge("hole", "GPU-003 = rank 3", log, holes[i] + n);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_case),
					   cmocka_unit_test(where_the_program_was),
					   cmocka_unit_test(restarted_and_finished),
					   cmocka_unit_test(loopback_of_gloo),
					   cmocka_unit_test(hints_of_a_job_that_works),
					   cmocka_unit_test(holes_are_no_wide_text)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
