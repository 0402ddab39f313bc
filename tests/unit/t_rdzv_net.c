/* Ranks as real processes: joining, what they share, what a wrong one is told. */
#include "lib/cluster/rdzv_rank.h" /* a patience that begins when all have met */
#include "tests/unit/rdzv_world.h"

#include "tests/unit/in_range.h"

enum { N = 8, BIG = 40000 };

#define WELL(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			snprintf(e.msg + strlen(e.msg), sizeof(e.msg) - strlen(e.msg),             \
				 " [not: %s]", #x);                                                \
			say(p, e.msg);                                                             \
			rdzv_leave(r, e.msg);                                                      \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static void share(struct process *p)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE unsigned char *big = malloc(BIG), *all = malloc((size_t)BIG * N);
	struct err e = {0};
	struct rdzv *r = enter(p, &e);
	const struct rdzv_member *m;
	int ranks[N];
	size_t n;
	const void *value;
	char key[16];

	WELL(r && rdzv_rank(r) == p->rank && !rdzv_failure(r));
	WELL(rdzv_members(r, &m, &n, &e) == 0 && n == N);
	WELL(m[5].rank == 5 && m[5].local_rank == 1 && streq(m[5].host, "node2") &&
	     streq(m[5].data_addr, "127.0.0.1"));
	WELL(rdzv_all_gather(r, &p->rank, sizeof(p->rank), ranks, &e) == 0);
	for (int i = 0; i < N; i++)
		WELL(ranks[i] == i);
	memset(big, 'a' + p->rank, BIG);
	WELL(rdzv_all_gather(r, big, BIG, all, &e) == 0); /* many pages */
	for (int i = 0; i < N * BIG; i++)
		WELL(all[i] == 'a' + i / BIG);
	snprintf(key, sizeof(key), "from %d", p->rank);
	WELL(rdzv_set(r, key, big, (size_t)p->rank * 1000, &e) == 0);
	snprintf(key, sizeof(key), "from %d", (p->rank + 1) % N);
	WELL(rdzv_get(r, key, &a, &value, &n, &e) == 0 && n == (size_t)(p->rank + 1) % N * 1000);
	for (int i = 0; i < 100; i++)
		WELL(rdzv_barrier(r, &e) == 0);
	rdzv_leave(r, NULL);
}

static void all_said(const char *text)
{
	assert_int_equal(L.left, 0);
	for (int i = 0; i < L.n; i++)
		assert_string_equal(L.v[i].said, text);
}

static void t_share(void **state)
{
	(void)state;
	for (int sealed = 0; sealed < 2; sealed++) {
		launch_begin(N, 0, true, sealed ? &test_token : NULL);
		for (int i = 0; i < N; i++)
			start_rank(i, share);
		launch_watch(20 * NS_PER_S);
		all_said("");
		assert_null(rdzv_server_failure(L.server));
		assert_true(rdzv_server_finished(L.server));
		assert_null(rdzv_server_member(L.server, 3)->cause);
		launch_end(NULL);
	}
}

static void just_join(struct process *p)
{
	struct err e = {0};
	struct rdzv *r = enter(p, &e);

	say(p, r ? "joined" : e.msg);
	rdzv_leave(r, NULL);
}

static void with_wrong_token(struct process *p)
{
	static const struct token other = {{9}};

	L.join.token = &other;
	just_join(p);
}

static void as_world_of_one(struct process *p)
{
	L.join.size = 1;
	p->rank = 0;
	just_join(p);
}

static void too_early(struct process *p)
{
	L.join.deadline_ns = 600 * NS_PER_MS;
	just_join(p);
}

static void of_another_run(struct process *p)
{
	L.join.run = "another";
	just_join(p);
}

/* A wrong one is told why at once, and the right ones meet all the same. */
static void t_wrong_ones(void **state)
{
	(void)state;
	launch_begin(2, 0, false, &test_token);
	start_rank(1, with_wrong_token);
	start_rank(1, as_world_of_one);
	start_rank(0, just_join);
	start_rank(1, just_join);
	start_rank(1, of_another_run);
	launch_watch(20 * NS_PER_S);
	assert_int_equal(L.left, 0);
	assert_non_null(strstr(L.v[0].said, "another token"));
	assert_non_null(strstr(L.v[4].said, "belongs to run 'another'"));
	assert_non_null(strstr(L.v[1].said, "2 worlds of 1 were started"));
	assert_string_equal(L.v[2].said, "joined");
	assert_string_equal(L.v[3].said, "joined");
}

static void t_deadlines(void **state)
{
	uint64_t started = now_ns();

	(void)state;
	launch_begin(3, 0, false, NULL);
	start_rank(0, too_early);
	launch_watch(20 * NS_PER_S);
	assert_int_equal(L.left, 0);
	assert_non_null(strstr(L.v[0].said, "ranks 1-2 of 3 missing: nobody has joined for "));
	assert_uint_in_range(L.v[0].ended_ns - started, 600 * NS_PER_MS, 18 * NS_PER_S);
	assert_non_null(rdzv_server_failure(L.server)); /* it said why it left */
	launch_end(NULL);

	launch_begin(3, 0, false, NULL);
	L.join.server = loopback(1); /* nobody listens there */
	start_rank(0, too_early);
	launch_watch(20 * NS_PER_S);
	assert_non_null(strstr(L.v[0].said, "no rendezvous at 127.0.0.1:1 for 600 ms; the last "
					    "try: cannot connect to 127.0.0.1:1: Connection "
					    "refused"));
}

/* A name has several addresses: one that refuses and one that is silent do not keep us out, and
 * what is said of us is what the one that answers can reach. */
static void by_another_way(struct process *p)
{
	union addr refuses = loopback(1), silent = loopback(1), ours = L.join.server;
	struct rdzv_way others[] = {{silent, "127.0.0.2"}, {ours, "127.0.0.3"}};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(others[0].server);
	const struct rdzv_member *m;
	struct rdzv *r = NULL;
	struct err e = {0};
	size_t n;

	addr_set_port(&silent, 0);
	WELL(!bind(fd, &silent.sa, addr_len(&silent)) && !listen(fd, 8) &&
	     !getsockname(fd, &others[0].server.sa, &len));
	L.join.server = refuses;
	L.join.others = others;
	L.join.nothers = ARRAY_LEN(others) - (L.join.deadline_ns < NS_PER_S);
	L.join.rank = p->rank;
	L.join.data_addr = "127.0.0.1";
	r = rdzv_join(&L.join, &e);
	WELL(r && rdzv_members(r, &m, &n, &e) == 0 && n == 1);
	say(p, m->data_addr);
	rdzv_leave(r, NULL);
}

static void t_addresses(void **state)
{
	const char *said = L.v[0].said;

	(void)state;
	launch_begin(1, 0, false, &test_token);
	start_rank(0, by_another_way);
	launch_watch(20 * NS_PER_S);
	assert_string_equal(said, "127.0.0.3");
	launch_end(NULL);

	launch_begin(1, 0, false, &test_token);
	L.join.deadline_ns = 600 * NS_PER_MS; /* without the last one */
	start_rank(0, by_another_way);
	launch_watch(20 * NS_PER_S);
	assert_true(starts_with(said, "no rendezvous at 127.0.0.1:1 for 600 ms; the last tries: "
				      "cannot connect to 127.0.0.1:1: Connection refused; "));
	assert_non_null(strstr(strstr(said, "refused; "), "127.0.0.1:"));
}

/* Rank 2 lives and never comes; whose patience ends first tells all the others. */
static void late_at_barrier(struct process *p)
{
	struct err e = {0};
	struct rdzv *r;

	L.join.deadline_ns = 20 * NS_PER_S;
	r = enter(p, &e);
	if (r && p->rank == 2) {
		struct pollfd news = {.fd = rdzv_failure_fd(r), .events = POLLIN};

		(void)poll(&news, 1, 20000);
		err_set(&e, ERR_SYS, "%s", rdzv_failure(r) ? rdzv_failure(r) : "not told");
	} else if (r) {
		r->o.deadline_ns = 500 * NS_PER_MS;
		(void)!rdzv_barrier(r, &e);
	}
	say(p, e.msg);
	rdzv_leave(r, e.msg);
}

/* Alone, so that nobody else's news comes first. */
static void waits_for_a_key(struct process *p)
{
	struct err e = {0};
	struct rdzv *r;

	L.join.deadline_ns = 20 * NS_PER_S;
	r = enter(p, &e);
	if (r) {
		r->o.deadline_ns = 500 * NS_PER_MS;
		(void)!rdzv_get(r, "nothing", &(struct arena){0}, &(const void *){NULL},
				&(size_t){0}, &e);
	}
	say(p, e.msg);
	rdzv_leave(r, NULL);
}

static void t_late_at_barrier(void **state)
{
	(void)state;
	launch_begin(3, 0, false, NULL);
	for (int i = 0; i < 3; i++)
		start_rank(i, late_at_barrier);
	launch_watch(40 * NS_PER_S);
	assert_int_equal(L.left, 0);
	for (int i = 0; i < 3; i++)
		if (!strstr(L.v[i].said,
			    "rank 2 of 3 (node1) missing at a barrier: nobody has come for "))
			fail_msg("rank %d said: %s", i, L.v[i].said);
	launch_end(NULL);

	launch_begin(1, 0, false, NULL);
	start_rank(0, waits_for_a_key);
	launch_watch(20 * NS_PER_S);
	assert_string_equal(L.v[0].said, "nobody has set 'nothing' for 500 ms");
}

/* Rank 0 under a foreign launcher; the first port of two is somebody else's. */
static void t_host(void **state)
{
	struct rdzv_server_opts o = {.size = 4, .run = "test", .ports = 3, .at = loopback(0)};
	struct listener busy = {0};
	struct rdzv_host h, other;
	struct err e = {0};

	(void)state;
	launch_begin(4, 0, false, NULL);
	assert_int_equal(listener_open(&busy, &L.loop, &o.at, &e), 0);
	o.at = loopback(addr_port(&busy.at));
	assert_int_equal(rdzv_host_start(&h, &o, &e), 0);
	assert_true(h.port != addr_port(&busy.at));
	L.join.server = o.at;
	L.join.ports = 3;
	listener_close(&busy);
	o.run = "other"; /* takes the first port now: the ranks have to look on */
	assert_int_equal(rdzv_host_start(&other, &o, &e), 0);
	assert_int_equal(other.port, addr_port(&o.at));
	for (int i = 0; i < 4; i++)
		start_rank(i, just_join);
	launch_watch(20 * NS_PER_S);
	all_said("joined");
	rdzv_host_done(&h);
	(void)kill(other.pid, SIGKILL);
	rdzv_host_done(&other);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);

	assert_int_equal(listener_open(&busy, &L.loop, &o.at, &e), 0);
	o.ports = 1;
	assert_int_equal(rdzv_host_start(&h, &o, &e), -1);
	assert_non_null(strstr(e.msg, "cannot listen on 127.0.0.1:"));
	listener_close(&busy);
}

#define T(f) cmocka_unit_test_teardown(f, launch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(t_share),	T(t_wrong_ones),      T(t_deadlines),
		T(t_addresses), T(t_late_at_barrier), T(t_host),
	};

	return cmocka_run_group_tests_name("rdzv_net", tests, NULL, NULL);
}
