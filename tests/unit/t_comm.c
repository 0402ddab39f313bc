/* The communicator when things go wrong: ranks that die, stop, leave, never come; strangers;
 * abort. Every survivor has to name the culprit, in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

enum { COUNT = 1 << 20 }; /* floats */

struct fault {
	enum { DIES, STOPS, LEAVES } what;
	int who;
	size_t count;
	int after; /* collectives */
	enum coll_kind kind;
};
static int pause_ms; /* of rank 0, before each collective */

static const char *expect_culprit(struct comm *c, const struct fault *f, const struct err *e,
				  uint64_t took_ns, uint64_t deadline_ns)
{
	static char text[1024];
	char name[32];
	bool gone = false;
	int who = comm_culprit(c, &gone);

	(void)snprintf(name, sizeof(name), "rank %d (here, 127.0.0.1", f->who);
	if (who != f->who || !strstr(e->msg, name) || gone != (f->what != STOPS)) {
		(void)snprintf(text, sizeof(text), "named rank %d, gone %d: '%s'", who, gone,
			       e->msg);
		return text;
	}
	if (!pause_ms && took_ns > (f->what == STOPS ? deadline_ns + 2 * local_slowness() * NS_PER_S
						     : deadline_ns / 2)) {
		(void)snprintf(text, sizeof(text), "took %llu ms",
			       (unsigned long long)(took_ns / NS_PER_MS));
		return text;
	}
	return NULL;
}

static const char *until_fault(struct comm *c, struct local *w, void *arg)
{
	const struct fault *f = arg;
	static float buffer[COUNT], other[COUNT];
	struct comm_request q = {.kind = f->kind,
				 .send = buffer,
				 .recv = other,
				 .count = f->count,
				 .type = DT_FLOAT};
	struct err e = {0}, again = {0};
	uint64_t start = now_ns();

	for (int i = 0; i < 100000; i++) {
		if (c->rank == f->who && i == f->after) {
			if (f->what == LEAVES)
				_exit(0);
			(void)raise(f->what == DIES ? SIGKILL : SIGSTOP);
		}
		if (i < f->after)
			start = now_ns();
		if (!c->rank && pause_ms)
			(void)poll(NULL, 0, pause_ms);
		if (!comm_run(c, &q, &e))
			continue;
		if (!comm_run(c, &q, &again) || !streq(again.msg, e.msg))
			return "it went on after a failure";
		return expect_culprit(c, f, &e, now_ns() - start, w->deadline_ns);
	}
	return "nothing happened";
}

static void fault(struct fault f, int ranks)
{
	/* a connection that closes needs no deadline, however busy the machine is */
	struct ranks r = {.fn = until_fault,
			  .arg = &f,
			  .deadline_ns = (f.what == STOPS ? local_slowness() : 10) * NS_PER_S};
	const char *wrong = ranks_run(&r, ranks);

	if (wrong)
		fail_msg("%s", wrong);
	for (int i = 1; i < ranks; i++)
		if (i != f.who && r.ended[i])
			fail_msg("rank %d of %d ended with %d", i, ranks, r.ended[i]);
	assert_int_equal(r.ended[f.who], f.what == LEAVES ? 0 : -SIGKILL);
}

static void a_killed_rank_is_named(void **state)
{
	(void)state;
	for (int again = 0; again < 3; again++) {
		fault((struct fault){DIES, 1, 2, 50, COLL_ALL_REDUCE}, 2);
		fault((struct fault){DIES, 1, COUNT, 3, COLL_ALL_REDUCE}, 2);
		fault((struct fault){DIES, 2, COUNT, 2, COLL_ALL_REDUCE}, 4);
		fault((struct fault){DIES, 3, 2, 20, COLL_ALL_REDUCE}, 4);
		fault((struct fault){DIES, 2, 1000, 5, COLL_SENDRECV}, 5);
		fault((struct fault){DIES, 1, COUNT, 2, COLL_BROADCAST}, 4);
	}
}

static void a_rank_that_leaves_is_named(void **state)
{
	(void)state;
	fault((struct fault){LEAVES, 1, 100, 4, COLL_ALL_REDUCE}, 3);
}

static void a_stopped_rank_is_named(void **state)
{
	(void)state;
	fault((struct fault){STOPS, 1, 2, 10, COLL_ALL_REDUCE}, 2);
	fault((struct fault){STOPS, 2, COUNT, 2, COLL_ALL_REDUCE}, 4);
	/* a chain: most ranks wait for one that waits for another */
	fault((struct fault){STOPS, 3, COUNT, 2, COLL_BROADCAST}, 6);
	fault((struct fault){STOPS, 2, COUNT, 2, COLL_SENDRECV}, 5);
	fault((struct fault){STOPS, 1, 1, 9, COLL_BARRIER}, 5);
}

/* Sockets hold much: the beginning of a chain goes on long after its end is stuck. */
static void a_stopped_rank_is_named_by_who_goes_on(void **state)
{
	(void)state;
	pause_ms = 150 * (int)local_slowness();
	fault((struct fault){STOPS, 3, 64 << 10, 2, COLL_BROADCAST}, 4);
	pause_ms = 0;
}

/* --- strangers -------------------------------------------------------------------------- */

struct stranger {
	const char *data;
	size_t n;
};

/* The only listening socket of this process. */
static union addr own_door(void)
{
	for (int fd = 3; fd < 256; fd++) {
		int listens = 0;
		socklen_t n = sizeof(listens);
		union addr at = {0};

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) || !listens)
			continue;
		n = sizeof(at);
		if (!getsockname(fd, &at.sa, &n))
			return at;
	}
	return (union addr){0};
}

static int stranger_fds[200], nstrangers;

static int exchange_with_strangers(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	static const char junk[4096] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
	static const struct stranger strangers[] = {{junk, 4096}, {junk, 1}, {junk, 16}, {NULL, 0}};
	union addr at = own_door();

	for (int i = 0; i < 200; i++) {
		const struct stranger *s = &strangers[i % 4];
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(fd, &at.sa, addr_len(&at)))
			return err_sys(e, "no door");
		(void)!send(fd, s->data, s->n, MSG_NOSIGNAL);
		stranger_fds[nstrangers++] = fd;
	}
	return local_exchange(arg, mine, n, all, e);
}

static void strangers_cost_nothing(void **state)
{
	struct err e = {0};
	struct local w;
	struct comm *c;
	float x = 1, sum = 0;
	int culprit;

	(void)state;
	assert_int_equal(local_start(&w, 3, 5 * NS_PER_S, &e), 0);
	struct tcp_opts o = {.rank = w.rank,
			     .size = 3,
			     .deadline_ns = 5 * NS_PER_S,
			     .stop_fds = {-1, -1},
			     .exchange = exchange_with_strangers,
			     .arg = &w};
	if (addr_parse("127.0.0.1", &o.at))
		_exit(9);
	c = tcp_comm_new(&o, &culprit, &e);
	if (c &&
	    comm_run(c,
		     &(struct comm_request){.send = &x, .recv = &sum, .count = 1, .type = DT_FLOAT},
		     &e))
		sum = 0;
	comm_free(c);
	if (w.rank)
		_exit(sum != 3);
	for (int i = 0; i < nstrangers; i++)
		(void)close(stranger_fds[i]);
	int ended[3];
	local_end(&w, ended);
	assert_true(sum == 3);
	assert_int_equal(ended[1], 0);
	assert_int_equal(ended[2], 0);
}

/* --- ranks that never come ----------------------------------------------------------------- */

static int absent;
static int exchange_and_die(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	struct local *w = arg;
	int result = local_exchange(arg, mine, n, all, e);

	if (w->rank == absent)
		(void)raise(SIGSTOP); /* its door is open, but nobody is there */
	return result;
}

static void a_rank_that_never_connects_is_named(void **state)
{
	(void)state;
	for (absent = 1; absent < 3; absent++) {
		struct err e = {0};
		struct local w;
		uint64_t start = now_ns();
		int culprit, ended[3];

		assert_int_equal(local_start(&w, 3, NS_PER_S, &e), 0);
		struct tcp_opts o = {.rank = w.rank,
				     .size = 3,
				     .deadline_ns = NS_PER_S,
				     .host = "here",
				     .stop_fds = {-1, -1},
				     .exchange = exchange_and_die,
				     .arg = &w};
		if (addr_parse("127.0.0.1", &o.at))
			_exit(9);
		struct comm *c = tcp_comm_new(&o, &culprit, &e);
		comm_free(c);
		if (w.rank)
			_exit(c || culprit != absent);
		local_end(&w, ended);
		if (c || culprit != absent)
			fail_msg("named %d, not %d: %s", culprit, absent, e.msg);
		assert_true(now_ns() - start < 5 * NS_PER_S);
		assert_int_equal(ended[absent == 1 ? 2 : 1], 0);
	}
}

/* --- abort ------------------------------------------------------------------------------------ */

static void *abort_soon(void *comm)
{
	struct timespec t = {.tv_nsec = 100000000};

	(void)nanosleep(&t, NULL);
	comm_abort(comm, "the reactor is too hot");
	return NULL;
}

static const char *wait_for_nothing(struct comm *c, struct local *w, void *arg)
{
	struct err e = {0};
	pthread_t thread;
	int x = 0;
	struct comm_request q = {.kind = COLL_BROADCAST,
				 .send = &x,
				 .recv = &x,
				 .count = 1,
				 .type = DT_INT32,
				 .root = 2};
	const char *wrong = NULL;

	(void)w;
	(void)arg;
	if (c->rank == 1 && pthread_create(&thread, NULL, abort_soon, c))
		return "no thread";
	if (c->rank == 2) { /* the root never sends: it waits for something else */
		q.root = 1;
	}
	if (!comm_run(c, &q, &e) || !strstr(e.msg, "the reactor is too hot"))
		wrong = "not aborted";
	else if (comm_culprit(c, NULL) != -1)
		wrong = "somebody was blamed";
	if (c->rank == 1)
		(void)pthread_join(thread, NULL);
	return wrong;
}

static void abort_ends_all(void **state)
{
	struct ranks r = {.fn = wait_for_nothing};
	uint64_t start = now_ns();

	(void)state;
	ranks_all_well(&r, 4);
	assert_true(now_ns() - start < 3 * NS_PER_S);
}

/* --- asynchronous -------------------------------------------------------------------------------
 */

static const char *overlap(struct comm *c, struct local *w, void *arg)
{
	static float a[COUNT / 4], b[COUNT / 4], sum[COUNT / 4];
	struct comm_request q = {.send = a, .recv = b, .count = COUNT / 4, .type = DT_FLOAT};
	struct comm_request then = {.send = b, .recv = sum, .count = COUNT / 4, .type = DT_FLOAT};
	uint64_t until = now_ns() + 10 * NS_PER_S;
	bool finished = false;
	struct err e = {0};
	float want = (float)(c->size * c->size);

	(void)w;
	(void)arg;
	for (size_t i = 0; i < q.count; i++)
		a[i] = 1;
	if (comm_start(c, &q, &e) || comm_start(c, &then, &e))
		return "cannot start";
	while (!finished && now_ns() < until)
		if (comm_test(c, &finished, &e))
			return "test failed";
	for (size_t i = 0; i < q.count; i++)
		if (sum[i] != want)
			return "wrong sum";
	return finished ? NULL : "never finished";
}

static void requests_finish_in_order(void **state)
{
	struct ranks r = {.fn = overlap};

	(void)state;
	ranks_all_well(&r, 3);
}

static const char *nonsense(struct comm *c, struct local *w, void *arg)
{
	struct comm_request bad[] = {
		{.kind = COLL_KINDS}, {.type = DT_COUNT}, {.op = OP_COUNT},
		{.root = -1},	      {.root = c->size},  {.count = SIZE_MAX / 8},
	};
	struct err e;

	(void)w;
	(void)arg;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = (struct err){0};
		if (!comm_run(c, &bad[i], &e) || !*e.msg)
			return "accepted";
	}
	e = (struct err){0};
	if (comm_can_capture(c) || !comm_capture_begin(c, &e) || e.kind != ERR_ABSENT)
		return "keeps requests";
	comm_capture_forget(c);
	return comm_barrier(c, &e) ? "not alive after it" : NULL;
}

static void nonsense_is_refused(void **state)
{
	struct ranks r = {.fn = nonsense};

	(void)state;
	ranks_all_well(&r, 2);
}

static uint64_t bytes_of(enum coll_kind k, int ranks)
{
	static const size_t sent[] = {1, 2, 3, 4}, got[] = {5, 5, 5, 5};
	const struct comm_request q = {
		.kind = k, .count = 10, .type = DT_FLOAT, .send_counts = sent, .recv_counts = got};

	return comm_bytes(&q, ranks);
}

/* More ranks are no reason to wait longer for the same buffer. */
static void what_a_request_moves(void **state)
{
	(void)state;
	assert_int_equal(bytes_of(COLL_ALL_REDUCE, 1000), 80);
	assert_int_equal(bytes_of(COLL_BROADCAST, 1000), 40);
	assert_int_equal(bytes_of(COLL_REDUCE, 1000), 40);
	assert_int_equal(bytes_of(COLL_SENDRECV, 1000), 40);
	assert_int_equal(bytes_of(COLL_ALL_GATHER, 1000), 40000);
	assert_int_equal(bytes_of(COLL_ALLTOALL, 1000), 40000);
	assert_int_equal(bytes_of(COLL_ALLTOALLV, 4), 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_rank_is_named),
		cmocka_unit_test(a_rank_that_leaves_is_named),
		cmocka_unit_test(a_stopped_rank_is_named),
		cmocka_unit_test(a_stopped_rank_is_named_by_who_goes_on),
		cmocka_unit_test(strangers_cost_nothing),
		cmocka_unit_test(a_rank_that_never_connects_is_named),
		cmocka_unit_test(abort_ends_all),
		cmocka_unit_test(requests_finish_in_order),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(what_a_request_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
