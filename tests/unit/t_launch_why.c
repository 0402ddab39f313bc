/* Why a host takes no part: how its agent ended, and whose program is another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/launch_agents.h"
#include "lib/core/opt.h"

#include <signal.h>

static struct arena a;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static struct agent_host *host(struct launch *L, bool local)
{
	*L = (struct launch){.a = &a, .rsh = {"myrsh", "myrsh -x"}, .loop.epfd = -1};
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
		 "lost n1: the agent there was killed by signal 9 (SIGKILL)"},
		{false, true, -1, SIGTERM, "",
		 "lost n1: myrsh here was killed by signal 15 (SIGTERM)"},
		{false, true, 255, 0, "a\nconnection reset\n",
		 "lost n1: the connection to it ended: connection reset"},
		{false, true, 0, 0, "", "lost n1: the connection to it ended"},
		{false, false, 1, 0, "oh", "node1: myrsh ended before it was ready: oh"},
		{false, false, AGENT_KILLED + SIGKILL, 0, "",
		 "node1: the agent there was killed by signal 9 (SIGKILL) before it was ready"},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(of_what_it_ended, forget),
		cmocka_unit_test_teardown(two_builds_of_one_version, forget),
		cmocka_unit_test_teardown(two_versions, forget),
		cmocka_unit_test_teardown(who_joins_is_told, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
