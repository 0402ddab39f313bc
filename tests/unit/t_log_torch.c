/* What torch and torchrun say of endpoints, of ranks that ended and of ranks that never came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "probes/log/explain.h"

struct read {
	struct arena a;
	struct why w;
	struct explanation x;
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct read));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct read *r = *state;

	why_done(&r->w);
	arena_done(&r->a);
	free(r);
	return 0;
}

static const struct cause *read_text(struct read *r, const char *text)
{
	struct why_stream s;

	why_done(&r->w);
	why_init(&r->w);
	why_open(&s, &r->w, "log");
	why_feed(&s, text, strlen(text));
	why_close(&s);
	explain(&r->w, &r->a, &r->x);
	assert_true(r->x.causes.n > 0);
	return &r->x.causes.v[0];
}

/* Nothing of @words is in any advice or meaning. */
static void assert_unsaid(const struct read *r, const char *words)
{
	for (size_t i = 0; i < r->x.causes.n; i++) {
		const struct cause *c = &r->x.causes.v[i];

		assert_null(strstr(c->meaning, words));
		assert_null(c->because ? strstr(c->because, words) : NULL);
		for (size_t k = 0; k < c->confirm.n; k++)
			assert_null(strstr(c->confirm.v[k], words));
		for (size_t k = 0; k < c->fix.n; k++)
			assert_null(strstr(c->fix.v[k], words));
	}
}

#define NAMELESS                                                                                   \
	"[W1122 23:37:12.1 socket.cpp:207] [c10d] The hostname of the client socket cannot be "    \
	"retrieved. err=-3\n"
#define FALSE_6(host, why)                                                                         \
	host "[W1122 23:37:15.2 socket.cpp:764] [c10d] The client socket has failed to connect "   \
	     "to [100::e073:e1c8:6a7f:0]:20716 (errno: " why ").\n"
#define FALSE_4(host, why)                                                                         \
	host "[W1122 23:37:18.3 socket.cpp:764] [c10d] The client socket has failed to connect "   \
	     "to 176.85.0.0:20719 (errno: " why ").\n"
#define PLAIN(host)                                                                                \
	host "[E1122 23:37:18.4 socket.cpp:818] [c10d] The client socket has failed to connect "   \
	     "to any network address of (10.77.9.9, 29500).\n"

static void memory_is_no_address(void **state)
{
	struct read *r = *state;
	const struct cause *c =
		read_text(r, NAMELESS FALSE_6("node1: ", "113 - No route to host")
				     FALSE_4("node1: ", "113 - No route to host") PLAIN("node1: "));

	assert_string_equal(c->sig->id, "PT-004");
	assert_non_null(strstr(c->meaning, "10.77.9.9, port 29500"));
	assert_string_equal(c->confirm.v[0], "portcheck 10.77.9.9:29500");
	assert_int_equal(c->port, 29500);
	assert_unsaid(r, "100::");
	assert_unsaid(r, "176.85");
	assert_unsaid(r, "2071");
	/* the host's own link is down: the same, and the address of the store is named */
	c = read_text(r,
		      NAMELESS FALSE_6("node1: ", "101 - Network is unreachable") PLAIN("node1: "));
	assert_string_equal(c->sig->id, "CON-021");
	assert_string_equal(c->confirm.v[0], "ip route get 10.77.9.9");
	/* nobody names it plainly */
	c = read_text(r, NAMELESS FALSE_4("", "101 - Network is unreachable"));
	assert_string_equal(c->sig->id, "CON-021");
	assert_unsaid(r, "176.85");
	assert_unsaid(r, "20719");
}

/* Where names are found, what torch prints is an address. */
static void an_address_is_one(void **state)
{
	struct read *r = *state;
	const struct cause *c = read_text(r, FALSE_6("", "101 - Network is unreachable"));

	assert_non_null(strstr(c->meaning, "100::e073:e1c8:6a7f:0"));
	/* and where its port is the store's, whatever else is said */
	c = read_text(r, NAMELESS "[W1122 23:37:15.2 socket.cpp:764] [c10d] The client socket has "
				  "failed to connect to [fd00::7]:29500 (errno: 101 - Network is "
				  "unreachable).\n" PLAIN(""));
	assert_non_null(strstr(c->meaning, "fd00::7"));
}

#define FAILED(when, agent, code, local, pid)                                                      \
	"E1122 23:36:" when " " agent " torch/distributed/elastic/multiprocessing/api.py:1002] "   \
	"failed (exitcode: " code ") local_rank: " local " (pid: " pid ") of binary: /py\n"
#define GLOO_CLOSED                                                                                \
	"[rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:561] Connection closed by peer "    \
	"[10.77.0.1]:10135.\n"
#define ROOT_CAUSE(rank, code, pid)                                                                \
	"Root Cause (first observed failure):\n[0]:\n"                                             \
	"  time      : 2026-11-22_23:27:39\n  host      : node0\n"                                 \
	"  rank      : " rank " (local_rank: 1)\n  exitcode  : " code " (pid: " pid ")\n"

/* How it ended is all that there is. */
static void a_rank_ended_without_a_word(void **state)
{
	static const struct {
		const char *text, *id, *because;
	} all[] = {
		{GLOO_CLOSED FAILED("01.1", "20", "-6", "1", "26") ROOT_CAUSE("9", "-6", "26"),
		 "PT-057", "rank 9 ended with SIGABRT"},
		{GLOO_CLOSED FAILED("01.1", "20", "-15", "1", "26") ROOT_CAUSE("9", "-15", "26"),
		 "PT-038", "rank 9 ended with SIGTERM"},
		{GLOO_CLOSED FAILED("01.1", "20", "3", "1", "26") ROOT_CAUSE("9", "3", "26"),
		 "APP-001", "rank 9 ended with exit 3"},
		{"node1: " FAILED("01.1", "20", "143", "1", "26"), "PT-038",
		 "local rank 1 of node1 ended with SIGTERM"},
		{GLOO_CLOSED FAILED("01.1", "20", "-1", "1", "26"), "PT-038",
		 "local rank 1 ended with SIGHUP"},
		{GLOO_CLOSED FAILED("01.1", "20", "-9", "1", "26"), "SHM-004",
		 "local rank 1 ended with SIGKILL"},
		{"node0: " FAILED("01.1", "20", "1", "0", "25") "node1: " FAILED("01.9", "21", "3",
										 "1", "26"),
		 "APP-001", "local rank 1 of node1 ended with exit 3"},
	};
	struct read *r = *state;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct cause *c = read_text(r, all[i].text);

		assert_string_equal(c->sig->id, all[i].id);
		assert_true(c->weight >= CONFIDENT);
		assert_non_null(c->because);
		assert_non_null(strstr(c->because, all[i].because));
		assert_true(c->first->line > 0);
	}
}

/* A message that says why is the cause, and no exit code. */
static void a_message_says_more(void **state)
{
	struct read *r = *state;
	const struct cause *c =
		read_text(r, "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to "
			     "allocate 2.00 GiB\n" FAILED("01.1", "20", "-6", "1", "26"));

	assert_string_equal(c->sig->id, "GPU-017");
	for (size_t i = 0; i < r->x.causes.n; i++)
		assert_false(streq(r->x.causes.v[i].sig->id, "PT-057") &&
			     r->x.causes.v[i].weight >= CONFIDENT);
}

/* Nobody else failed there, so whoever closed the connection left with exit 0. */
static void a_peer_left_well(void **state)
{
	struct read *r = *state;
	const struct cause *c = read_text(
		r, GLOO_CLOSED FAILED(
			   "01.1", "20", "1", "0",
			   "25") "Failures:\n  <NO_OTHER_FAILURES>\n" ROOT_CAUSE("0", "1", "25"));

	assert_string_equal(c->sig->id, "CON-010");
	assert_non_null(strstr(c->because, "its peer left with exit 0"));
	assert_string_equal(r->x.causes.v[1].sig->id, "PT-067");
	c = read_text(r, GLOO_CLOSED FAILED("01.1", "20", "1", "0",
					    "25") "Failures:\n[1]:\n" ROOT_CAUSE("0", "1", "25"));
	assert_string_equal(c->sig->id, "CON-010");
	assert_null(c->because);
}

#define STALE(host)                                                                                \
	host "[E1122 23:36:11.1 ProcessGroupGloo.cpp:69] Gloo connectFullMesh failed with "        \
	     "[/x/gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection "     \
	     "refused, remote=[10.77.0.1]:42883$0\n"

/* The second attempt meets what is left of the first. */
static void the_first_attempt_counts(void **state)
{
	struct read *r = *state;
	const struct cause *c =
		read_text(r, GLOO_CLOSED FAILED("01.3", "20", "-9", "1", "26") STALE("")
				     FAILED("12.1", "20", "1", "0", "47"));

	assert_string_equal(c->sig->id, "SHM-004");
	/* on two hosts, each of which tells of its own */
	c = read_text(r, "node1: " FAILED("01.3", "28", "-9", "0",
					  "34") "node0: " FAILED("04.3", "27", "1", "0", "35")
				 STALE("node1: ") "node1: " FAILED("12.1", "28", "1", "0", "44"));
	assert_string_equal(c->sig->id, "SHM-004");
	assert_true(r->x.has_first);
	assert_string_equal(r->x.first.host, "node1");
	/* one attempt: two hosts, or two that do not say who they are */
	c = read_text(r, "node1: " FAILED("01.3", "28", "-9", "0", "34")
				 STALE("node0: ") "node0: " FAILED("04.3", "27", "1", "0", "35"));
	assert_string_equal(c->sig->id, "IF-016");
	/* an older torchrun, which does not say who it is, but that it starts again */
	c = read_text(r,
		      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) "
		      "local_rank: 1 (pid: 26) of binary: /py\n"
		      "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group "
		      "FAILED. 3/3 attempts left; will restart worker group\n" STALE(""));
	assert_string_equal(c->sig->id, "SHM-004");
	/* the first attempt gave no reason */
	c = read_text(r, FAILED("01.3", "20", "1", "1", "26") STALE("")
				 FAILED("12.1", "20", "1", "0", "47"));
	assert_string_equal(c->sig->id, "IF-016");
}

/* So many that torchrun had to end by force, and how it tells of the last one. */
static const char *many_killed(struct arena *a, int n)
{
	struct text t;

	text_init(&t, a);
	text_add(&t, GLOO_CLOSED);
	for (int pid = 100; pid < 100 + n; pid++)
		text_addf(&t,
			  "node%d: Unable to shutdown process %d via 15, forcefully exiting via "
			  "9\n",
			  (pid - 100) / 8, pid);
	text_addf(&t, "node%d:   traceback : Signal 9 (SIGKILL) received by PID %d\n", (n - 1) / 8,
		  99 + n);
	return t.s;
}

/* torchrun kills whom it waited for in vain: no memory was short. */
static void torchrun_killed_it(void **state)
{
	static const char last[] = "  exitcode  : -9 (pid: 26)  (SIGKILL)\n"
				   "  traceback : Signal 9 (SIGKILL) received by PID 26\n";
	struct read *r = *state;
	const struct cause *c = read_text(r, last);

	assert_string_equal(c->sig->id, "SHM-004");
	(void)read_text(r,
			arena_printf(&r->a,
				     "%sW1122 23:28:52.9 20 torch/distributed/elastic/"
				     "multiprocessing/api.py:1047] Unable to shutdown process 26 "
				     "via 15, forcefully exiting via 9\n%s",
				     GLOO_CLOSED, last));
	for (size_t i = 0; i < r->x.causes.n; i++)
		assert_string_not_equal(r->x.causes.v[i].sig->id, "SHM-004");
	/* containers have the same pids: that was another host's */
	(void)read_text(r, arena_printf(&r->a,
					"node1: Unable to shutdown process 26 via 15, forcefully "
					"exiting via 9\nnode0: %s",
					"traceback : Signal 9 (SIGKILL) received by PID 26\n"));
	assert_string_equal(r->x.causes.v[0].sig->id, "SHM-004");
	/* a large job: each of many, said before all of them are dead */
	(void)read_text(r, many_killed(&r->a, 5000));
	for (size_t i = 0; i < r->x.causes.n; i++)
		assert_string_not_equal(r->x.causes.v[i].sig->id, "SHM-004");
	/* another process was killed by somebody else */
	(void)read_text(r, arena_printf(&r->a,
					"Unable to shutdown process 27 via 15, forcefully "
					"exiting via 9\n%s",
					last));
	assert_string_equal(r->x.causes.v[0].sig->id, "SHM-004");
}

#define WAITED(host, rank)                                                                         \
	host "torch.distributed.DistStoreError: wait timeout after 12000ms, keys: "                \
	     "/default_pg/0//cpu//0/" rank "\n"
#define UNANSWERED(host)                                                                           \
	host "[E1122 23:47:57.7 ProcessGroupGloo.cpp:69] Gloo connectFullMesh failed with "        \
	     "[/x/gloo/transport/tcp/pair.h:311] Connect timeout [none]\n"

static void who_never_came_to_gloo(void **state)
{
	struct read *r = *state;
	const struct cause *c = read_text(r, WAITED("node1: ", "2") UNANSWERED("node0: "));

	assert_string_equal(c->sig->id, "CON-014");
	assert_non_null(strstr(c->because, "node1 waited for rank 2, but node0 for nobody"));
	c = read_text(r, WAITED("node1: ", "2") WAITED("node0: ", "2"));
	assert_string_equal(c->sig->id, "PT-012");
	assert_non_null(strstr(c->because, "rank 2, which never came"));
	c = read_text(r, UNANSWERED("node1: ") UNANSWERED("node0: "));
	assert_string_equal(c->head->id, "CON-004");
	assert_non_null(strstr(c->because, "several hosts say so"));
	c = read_text(r, UNANSWERED("node0: "));
	assert_null(c->because);
}

#define GLOO_RAN_OUT(rank)                                                                         \
	"[rank" rank "]: RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "    \
	"waiting 1800000ms for recv operation to complete\n"
#define GLOO_PEERS(n)                                                                              \
	"[Gloo] Rank 0 is connected to " n " peer ranks. Expected number of connected peer "       \
	"ranks is : " n "\n"
#define GLOO_PAIR(self, pair)                                                                      \
	"RuntimeError: [/x/gloo/transport/tcp/pair.cc:584] TIMEOUT self_rank = " self              \
	" pair_rank = " pair " peer_str = [10.0.0.2]:39067\n"

/* A barrier that ran out names nobody: those who do not speak of it are missing. */
static void who_did_not_wait_for_gloo(void **state)
{
	static const struct {
		const char *text, *because; /* NULL: nobody can be named */
	} all[] = {
		{GLOO_PEERS("3") GLOO_RAN_OUT("0") GLOO_RAN_OUT("1") GLOO_RAN_OUT("3"),
		 "3 of 4 ranks waited in it; rank 2 never said that it did"},
		{GLOO_PEERS("5") GLOO_PEERS("1") GLOO_RAN_OUT("0") GLOO_RAN_OUT("1")
			 GLOO_RAN_OUT("3") GLOO_RAN_OUT("4"),
		 "ranks 2, 5 never said that they did"},
		{GLOO_PEERS("3") GLOO_RAN_OUT("0") GLOO_RAN_OUT("1") GLOO_RAN_OUT("2")
			 GLOO_RAN_OUT("3"),
		 NULL},
		{GLOO_PEERS("7") GLOO_RAN_OUT("0"), NULL},
		{GLOO_RAN_OUT("0") GLOO_RAN_OUT("1"), NULL},
		{GLOO_PEERS("99999999999999999999") GLOO_RAN_OUT("0"), NULL},
		{GLOO_PEERS("3") GLOO_RAN_OUT("64") GLOO_RAN_OUT("65") GLOO_RAN_OUT("66"), NULL},
		{GLOO_PAIR("0", "1") GLOO_PAIR("1", "2"),
		 "rank 1 waited for rank 2, which does not"},
		{GLOO_PAIR("0", "1") GLOO_PAIR("1", "0"), NULL},
		/* more lines than are kept: what the last of them say is not known */
		{GLOO_PAIR("0", "8") GLOO_PAIR("1", "0") GLOO_PAIR("2", "1") GLOO_PAIR("3", "2")
			 GLOO_PAIR("4", "3") GLOO_PAIR("5", "4") GLOO_PAIR("6", "5")
				 GLOO_PAIR("7", "6") GLOO_PAIR("8", "7"),
		 NULL},
	};
	struct read *r = *state;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct cause *c = read_text(r, all[i].text);

		assert_string_equal(c->sig->id, "CON-024");
		if (all[i].because)
			assert_non_null(c->because ? strstr(c->because, all[i].because) : NULL);
		else
			assert_null(c->because);
	}
}

/* Who came to a monitored barrier can say only whom to ask. */
static void who_was_not_let_out(void **state)
{
	static const char came[] =
		"[rank1]: RuntimeError: Rank 1 successfully reached monitoredBarrier, but received "
		"errors while waiting for send/recv from rank 0. Please check rank 0 logs for "
		"faulty rank.\n";
	struct read *r = *state;
	const struct cause *c = read_text(r, came);

	assert_string_equal(c->sig->id, "PT-027");
	assert_non_null(strstr(c->because, "rank 1 came, and waited for rank 0"));
	c = read_text(r, arena_printf(&r->a,
				      "%s[rank0]: RuntimeError: [Rank 0]: Rank 3 failed to "
				      "pass monitoredBarrier in 60000 ms\n",
				      came));
	assert_null(c->because);
	assert_non_null(strstr(c->meaning, "Rank 3"));
}

/* Rank 0 gave up before the other asked for it; the other way round nothing is known. */
static void who_came_too_late(void **state)
{
	static const char gave_up[] = "node0: torch.distributed.DistStoreError: Timed out after 13 "
				      "seconds waiting for clients. 1/2 clients joined.\n",
			  asked[] = "node1: [E1122 23:53:55.5 socket.cpp:1028] [c10d] The client "
				    "socket has timed out after 12000ms while trying to connect to "
				    "(node0, 29500).\n";
	struct read *r = *state;
	const struct cause *c = read_text(r, arena_printf(&r->a, "%s%s", gave_up, asked));

	assert_string_equal(c->head->id, "PT-012");
	c = read_text(r, arena_printf(&r->a, "%s%s", asked, gave_up));
	assert_string_equal(c->head->id, "PT-004");
}

/* The node that failed is in a line of its own; who tells of it is well. */
static void the_node_that_failed(void **state)
{
	struct read *r = *state;
	const struct cause *c = read_text(
		r, "slurmstepd-node1: error: *** STEP 13.0 ON node1 CANCELLED AT "
		   "2026-11-22T23:47:33 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
		   "srun: error: Node failure on node2\n");

	assert_string_equal(c->sig->id, "SLM-003");
	assert_string_equal(c->fix.v[0], "sbatch --exclude=node2 ...");
	assert_false(r->x.has_first);
}

/* A process of JAX that was killed stops answering; what srun kills afterwards does not. */
static void killed_before_it_fell_silent(void **state)
{
	static const char lost[] = "E1122 23:55:18.6 24 coordination_service.cc:1549] UNAVAILABLE: "
				   "The following tasks are unhealthy (stopped sending "
				   "heartbeats):\n";
	struct read *r = *state;
	const struct cause *c = read_text(
		r,
		arena_printf(&r->a, "%sbash: line 6:    22 Killed                  python -c \"\n",
			     lost));

	assert_string_equal(c->sig->id, "SHM-004");
	c = read_text(r, arena_printf(&r->a, "%ssrun: error: node2: task 1: Killed\n", lost));
	assert_string_equal(c->sig->id, "JAX-001");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(memory_is_no_address),
		TEST(an_address_is_one),
		TEST(a_rank_ended_without_a_word),
		TEST(a_message_says_more),
		TEST(a_peer_left_well),
		TEST(the_first_attempt_counts),
		TEST(torchrun_killed_it),
		TEST(who_never_came_to_gloo),
		TEST(who_did_not_wait_for_gloo),
		TEST(who_was_not_let_out),
		TEST(who_came_too_late),
		TEST(the_node_that_failed),
		TEST(killed_before_it_fell_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
