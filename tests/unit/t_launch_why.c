/* Why a host takes no part: how its agent ended, and whose program is another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/launch_agents.h"
#include "lib/core/version.h"

#include <signal.h>

static struct arena a;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static struct agent_host *host(struct launch *L, bool local)
{
	*L = (struct launch){
		.a = &a, .rsh = {.name = "myrsh", .typed = "myrsh -x"}, .loop.epfd = -1};
	return agents_add(L, local ? "localhost" : "node1", local);
}

/* ---- how it ended ---- */
static void of_what_it_ended(void **state UNUSED)
{
	static const struct {
		bool local, up;
		int status, sig;
		const char *tail, *want;
	} rows[] = {
		{true, true, -1, SIGKILL, "",
		 "the agent on this machine was killed by signal 9 (SIGKILL)"},
		{true, true, AGENT_KILLED + SIGSEGV, 0, "",
		 "the agent on this machine was killed by signal 11 (SIGSEGV)"},
		{true, true, 3, 0, "no room\n",
		 "the agent on this machine ended with exit code 3: no room"},
		{true, true, 0, 0, "", "the agent on this machine has ended"},
		{true, false, -1, SIGKILL, "",
		 "localhost: the agent on this machine was killed by signal 9 (SIGKILL) before it "
		 "was ready"},
		{true, false, 0, 0, "", "localhost: the agent ended before it was ready"},
		{false, true, AGENT_KILLED + SIGKILL, 0, "",
		 "lost n1: the agent there was killed by signal 9 (SIGKILL), or what it runs in "
		 "was stopped"},
		{false, true, AGENT_KILLED + SIGSEGV, 0, "",
		 "lost n1: the agent there was killed by signal 11 (SIGSEGV)"},
		{false, true, -1, SIGTERM, "",
		 "lost n1: myrsh here was killed by signal 15 (SIGTERM)"},
		{false, true, 255, 0, "a\nconnection reset\n",
		 "lost n1: the connection to it ended: connection reset"},
		{false, true, 0, 0, "", "lost n1: the connection to it ended"},
		{false, false, 1, 0, "oh",
		 "node1: myrsh ended with exit code 1 before t_launch_why there had answered, and "
		 "said \"oh\""},
		{false, true, 1, 0, "error: lost connection to pod\n",
		 "lost n1: myrsh ended with exit code 1: error: lost connection to pod"},
		{false, false, AGENT_KILLED + SIGKILL, 0, "",
		 "node1: the agent there was killed by signal 9 (SIGKILL) before it was ready, or "
		 "what it runs in was stopped"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct launch L;
		struct agent_host *h = host(&L, rows[i].local);

		h->h->hostname = "n1";
		h->state = rows[i].up ? AGENT_UP : AGENT_STARTING;
		h->status = rows[i].status;
		h->sig = rows[i].sig;
		h->tail_n = strlen(rows[i].tail);
		memcpy(h->tail, rows[i].tail, h->tail_n);
		assert_string_equal(agent_why_gone(h), rows[i].want);
	}
}

/* How it ended then is our own doing. */
static void who_took_nothing_is_lost_for_that(void **state UNUSED)
{
	for (int local = 0; local < 2; local++) {
		struct launch L;
		struct agent_host *h = host(&L, local);

		h->h->hostname = "n1";
		h->state = AGENT_UP;
		h->status = AGENT_KILLED + SIGTERM;
		h->link.doom = "it takes nothing";
		assert_string_equal(
			agent_why_gone(h),
			local ? "the agent on this machine is given up: it takes nothing"
			      : "lost n1: it takes nothing");
	}
}

/* A machine that joined and goes is a failure of the cluster: whatever code its way has for it. */
static void who_is_cut_off(void **state UNUSED)
{
	static const struct {
		const char *way;
		int status, sig;
		bool local, want;
	} rows[] = {
		{"ssh", 255, 0, false, true},
		{"ssh", 255, 0, true, false},
		{"ssh", 0, 0, false, false},
		{"/usr/bin/ssh", 1, 0, false, false}, /* of our own there: ssh passes it on */
		{"ssh", AGENT_KILLED + SIGKILL, 0, false, false},
		{"ssh", -1, SIGTERM, false, false}, /* here */
		{"kubectl", 1, 0, false, true},
		{"kubectl", 255, 0, false, true},
		{"corp-ssh", 77, 0, false, true},
		{"kubectl", 0, 0, false, false},
		{"kubectl", EXIT_UNABLE, 0, false, false}, /* the agent's own */
		{"kubectl", AGENT_KILLED + SIGKILL, 0, false, false},
		{"kubectl", -1, SIGTERM, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct launch L;
		struct agent_host *h = host(&L, rows[i].local);

		L.rsh.name = rows[i].way;
		h->h->trouble = "gone";
		h->status = rows[i].status;
		h->sig = rows[i].sig;
		assert_int_equal(agent_is_cut_off(h), rows[i].want);
	}
}

/* ---- another build ---- */
static void greet(struct agent_host *h, uint32_t protocol, const char *version)
{
	unsigned char buf[256];
	struct wire_out w = {buf, 0, sizeof(buf), false};
	struct wire_in in;

	wire_put_u32(&w, protocol);
	wire_put_str(&w, version);
	wire_put_str(&w, "n1");
	wire_put_str(&w, "10.0.0.2");
	in = (struct wire_in){buf, w.n, false};
	assert_int_equal(h->link.on_message(&h->link, SAY_HELLO, &in), 0);
}

static const char *refused(uint32_t protocol, const char *version)
{
	struct launch L;
	struct agent_host *h = host(&L, false);
	struct err e = {0};

	assert_int_equal(loop_init(&L.loop, &e), 0);
	assert_int_equal(agent_watch_link(h, &e), 0);
	greet(h, protocol, version);
	loop_done(&L.loop);
	assert_int_equal(h->state, AGENT_GONE);
	return h->h->trouble;
}

/* Of two equal numbers none is the one to install. */
static void two_builds_of_one_version(void **state UNUSED)
{
	const char *said = refused(AGENT_PROTOCOL - 1, WINDSOCK_VERSION);
	const char *own = agent_own_path(&a);

	assert_null(strstr(said, "install the same"));
	assert_string_equal(
		said, arena_printf(&a,
				   "node1 has another build of version %s than this (they speak "
				   "protocols %d and %d): copy %s there, or let --copy-self carry "
				   "it",
				   WINDSOCK_VERSION, AGENT_PROTOCOL - 1, AGENT_PROTOCOL, own));
}

static void two_versions(void **state UNUSED)
{
	const char *want = "node1 has version 9.9 and this is " WINDSOCK_VERSION
			   ": install the same on both, or let --copy-self carry this one";

	assert_string_equal(refused(AGENT_PROTOCOL, "9.9"), want);
	assert_string_equal(refused(AGENT_PROTOCOL + 1, "9.9"), want);
}

/* Its way is right: what is typed brings this one there, or looks at what it lacks. */
static void who_answered_needs_no_other_way(void **state UNUSED)
{
	const char *own = agent_own_path(&a);
	struct launch L;
	struct agent_host *h = host(&L, false);
	host_list hosts = {0};

	assert_string_equal(agent_fix_other(h),
			    arena_printf(&a,
					 "myrsh -x node1 'cat >%s.new && chmod +x %s.new && mv "
					 "%s.new %s' <%s   # from here",
					 own, own, own, own, own));
	*LIST_ADD(&a, &hosts) = (struct host){.name = "node1"};
	L.o.hosts = &hosts;
	assert_string_equal(agent_fix_other(h),
			    "t_launch_why --copy-self   # brings it along"); /* as it was typed */
	assert_return_code(setenv(WORLD_NO_RANK, "1", 1), 0); /* a part of another command's run */
	assert_non_null(strstr(agent_fix_other(h), " --hosts node1 --copy-self "));
	assert_return_code(unsetenv(WORLD_NO_RANK), 0);
	h->joined = true;
	assert_null(agent_fix_other(h));
	agent_advise_short(h, "cannot make pipes: Too many open files");
	assert_string_equal(launch_fix(h->h, &a), "ulimit -a; free -m; df -h   # on node1");
	agent_advise_short(h, "cannot start x: No such file or directory");
	assert_non_null(strstr(h->h->fix, "command -v windsock "));
	h->h->fix = NULL;
	h->local = true;
	agent_advise_short(h, "x");
	assert_null(h->h->fix);
}

/* A sibling that is not beside the agent there: this very command, which brings it. */
static void what_it_lacks_of_ours_is_brought(void **state UNUSED)
{
	struct launch L;
	struct agent_host *h = host(&L, false);
	host_list hosts = {0};

	*LIST_ADD(&a, &hosts) = (struct host){.name = "node1"};
	L.o.hosts = &hosts;
	agent_advise_short(h, "cannot start x: No such file or directory");
	assert_null(h->h->fix);
	assert_non_null(strstr(launch_fix(h->h, &a), " --copy-self "));
	*h->h = (struct launch_host){.name = "node1"};
	L.o.copy_self = true; /* it was, and did not help */
	agent_advise_short(h, "cannot start x: No such file or directory");
	assert_non_null(strstr(launch_fix(h->h, &a), "make install   # on node1"));
	agent_advise_short(h, "cannot start x: Permission denied");
	assert_non_null(strstr(launch_fix(h->h, &a), ", a container; on node1"));
	h->h->fix = "- a newer driver"; /* as an agent says it */
	assert_string_equal(launch_fix(h->h, &a), "- a newer driver (on node1)");
}

/* Who joins is told, and knows neither our path nor what to do about a number it has too. */
static void who_joins_is_told(void **state UNUSED)
{
	struct launch L;
	struct agent_host *h = host(&L, false);

	h->visitor = true;
	assert_string_equal(agent_why_other(h, "9.9", AGENT_PROTOCOL),
			    "this is version 9.9 and that run is of " WINDSOCK_VERSION
			    ": install the same");
	assert_string_equal(
		agent_why_other(h, WINDSOCK_VERSION, 2),
		arena_printf(&a,
			     "this is another build of version %s than that run's (they speak "
			     "protocols 2 and %d): copy that host's %s here",
			     WINDSOCK_VERSION, AGENT_PROTOCOL, agent_own_path(&a)));
}

/* ---- at the end ---- */
static struct agent_host *up_with_a_rank(struct launch *L, int i, bool ended)
{
	struct agent_host *h = agents_add(L, arena_printf(&a, "node%d", i), false);

	h->state = AGENT_UP;
	h->h->hostname = h->h->name;
	h->h->first = i;
	h->h->ranks = 1;
	h->lines = arena_alloc(&a, 2 * sizeof(*h->lines));
	memset(h->lines, 0, 2 * sizeof(*h->lines));
	L->r->ranks[i] = (struct launch_rank){.host = h->h, .ended = ended};
	return h;
}

/* Whose ranks have ended did what it was told: one that hangs is no reproach to the others. */
static void only_who_has_ranks_left_is_late(void **state UNUSED)
{
	struct launch_rank ranks[2];
	struct launch_result r = {.nranks = 2, .ranks = ranks};
	struct launch L = {.a = &a, .r = &r, .next = 2, .loop.epfd = -1};
	struct agent_host *done, *hangs;
	struct err e = {0};

	assert_int_equal(loop_init(&L.loop, &e), 0);
	L.out = L.err = outlet_to(-1, &L.loop);
	done = up_with_a_rank(&L, 0, true);
	hangs = up_with_a_rank(&L, 1, false);
	ranks_watch(&L);
	L.alive = 1;
	L.late.fire(&L.loop, &L.late);
	assert_null(done->h->trouble);
	assert_string_equal(hangs->h->trouble, "node1 no longer answers");
	assert_true(ranks[1].ended);
	loop_done(&L.loop);
}

/* What its host lacks is said in the words of the rank, where the code alone says nothing. */
static void a_rank_that_cannot_work_is_quoted(void **state UNUSED)
{
	struct line l = {0};
	struct outlet nowhere = {.fd = -1, .broken = true};
	static const char said[] = "Welcome\nx: cannot start a thread: no\033[2J\n  -> raise it\n";

	line_add(&l, &nowhere, "", said, sizeof(said) - 1, false);
	line_add(&l, &nowhere, "", NULL, 0, true);
	assert_string_equal(l.last, "x: cannot start a thread: no?[2J");
}

/* Not every shortage is of memory, files or room. */
static void what_is_forbidden_is_no_shortage(void **state UNUSED)
{
	static const struct {
		const char *lacks, *fix;
	} rows[] = {
		{"cannot open a socket at 127.0.0.1: Permission denied", "id; dmesg | grep "},
		{"cannot ask the kernel: Operation not permitted", "id; dmesg | grep "},
		{"cannot open a socket: Too many open files", "ulimit -a; "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct launch L;
		struct agent_host *h = host(&L, false);

		agent_advise_short(h, rows[i].lacks);
		assert_true(starts_with(h->h->fix, rows[i].fix));
	}
}

/* What it lacks it has said itself; who found no rendezvous lacks nothing. */
static void who_ended_before_it_joined(void **state UNUSED)
{
	static const struct {
		const char *failure, *hint;
	} rows[] = {
		{"rank 1 (b) ended before it joined: exit code 3 (cannot find librdma.so)",
		 "what it said itself is above: its host lacks that"},
		{"rank 1 (b) ended before it joined: exit code 3 (no rendezvous at 10.0.0.1:29500 "
		 "for "
		 "5 s; the last try: no answer from 10.0.0.1)",
		 "what it said itself is above"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct launch_host on = {0};
		struct launch_rank r = {.host = &on, .ended = true, .status = EXIT_UNABLE};
		const struct launch_result l = {.unjoined = &r, .failure = rows[i].failure};
		struct err e = {0};

		assert_true(launch_unable(&l, &e));
		assert_string_equal(e.msg, rows[i].failure);
		assert_string_equal(e.hint, rows[i].hint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(only_who_has_ranks_left_is_late, forget),
		cmocka_unit_test_teardown(a_rank_that_cannot_work_is_quoted, forget),
		cmocka_unit_test_teardown(of_what_it_ended, forget),
		cmocka_unit_test_teardown(who_took_nothing_is_lost_for_that, forget),
		cmocka_unit_test_teardown(two_builds_of_one_version, forget),
		cmocka_unit_test_teardown(two_versions, forget),
		cmocka_unit_test_teardown(who_joins_is_told, forget),
		cmocka_unit_test_teardown(who_answered_needs_no_other_way, forget),
		cmocka_unit_test_teardown(what_it_lacks_of_ours_is_brought, forget),
		cmocka_unit_test_teardown(what_is_forbidden_is_no_shortage, forget),
		cmocka_unit_test_teardown(who_is_cut_off, forget),
		cmocka_unit_test(who_ended_before_it_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
