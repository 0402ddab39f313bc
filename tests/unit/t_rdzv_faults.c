/*
 * A rank dies in every way there is, again and again: all the others end in
 * time with the right sentence. REPEAT=200 for a long run.
 */
#include "lib/core/interrupt.h"
#include "tests/unit/rdzv_world.h"

#include "tests/unit/in_range.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/time.h>

enum { N = 4 };
/* Short where a test waits for it, long where a busy machine may not be taken for a silent one. */
static const uint64_t HEARTBEAT = 800 * NS_PER_MS, PATIENT = 5 * NS_PER_S;
static const uint64_t TOLD_NS = 2 * NS_PER_S; /* what everybody is promised */

static struct fault {
	const char *name;
	int victim;
	int sig; /* to it; 0: it does it itself */
	bool agent;
	const char *sentence;
	uint64_t silence_ns; /* as the victim asks for when it joins */
	enum rdzv_why why;
} now_fault;

static const struct fault faults[] = {
	{"kill -9, seen by its agent", 2, SIGKILL, true,
	 "rank 2 (node1, 127.0.0.1) died: killed by signal 9", 0, RDZV_LOST},
	{"kill -9, nobody saw it", 3, SIGKILL, false,
	 "rank 3 (node1, 127.0.0.1) died: connection lost", 0, RDZV_LOST},
	{"kill -9 of rank 0", 0, SIGKILL, true,
	 "rank 0 (node0, 127.0.0.1) died: killed by signal 9", 0, RDZV_LOST},
	{"stopped", 1, SIGSTOP, true, "rank 1 (node0, 127.0.0.1) has been silent for 800 ms", 0,
	 RDZV_LOST},
	{"stopped, and its machine is crowded", 1, SIGSTOP, true,
	 "rank 1 (node0, 127.0.0.1) has been silent for 1.2 s", 1200 * NS_PER_MS, RDZV_LOST},
	{"exit without leaving", 2, 0, true, "rank 2 (node1, 127.0.0.1) died: exit code 7", 0,
	 RDZV_LOST},
	{"leaves with a reason", 1, 0, true, "rank 1 (node0, 127.0.0.1): the sums are wrong", 0,
	 RDZV_GAVE_UP},
	{"Ctrl-C", 0, 0, true,
	 "rank 0 (node0, 127.0.0.1): interrupted by SIGINT; what was finished is reported", 0,
	 RDZV_INTERRUPTED},
	{"leaves others at a barrier", 3, 0, true,
	 "rank 3 (node1, 127.0.0.1) has left and others wait for it at a barrier", 0, RDZV_LOST},
};

/* The victim waits where only a fault gets it out; the others at a barrier, or for news. */
static void work(struct process *p)
{
	struct err e = {0};
	struct rdzv *r;
	bool victim = p->rank == now_fault.victim;
	struct pollfd fd = {.events = POLLIN};

	if (streq(now_fault.name, "Ctrl-C")) {
		/* It was made before the fork: our Ctrl-C must not be our parent's. */
		(void)dup3(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), interrupt_fd(), O_CLOEXEC);
		interrupt_install();
	}
	L.join.silence_ns = victim ? now_fault.silence_ns : 0;
	r = enter(p, &e);
	if (!r || rdzv_barrier(r, &e) < 0) {
		say(p, e.msg);
		_exit(1);
	}
	if (victim && streq(now_fault.name, "exit without leaving"))
		_exit(7);
	if (victim && streq(now_fault.name, "Ctrl-C")) {
		(void)raise(SIGINT);
		(void)!rdzv_barrier(r, &e); /* gets out, and the others hear why */
		rdzv_leave(r, e.msg);
		_exit(3);
	}
	if (victim && !now_fault.sig) {
		(void)poll(NULL, 0, 50); /* the others are at the barrier by now */
		rdzv_leave(r, strstr(now_fault.name, "reason") ? "the sums are wrong" : NULL);
		_exit(0);
	}
	fd.fd = rdzv_failure_fd(r);
	if (victim || p->rank == (now_fault.victim + 1) % N)
		(void)poll(&fd, 1, 10000);
	else
		(void)!rdzv_barrier(r, &e);
	say(p, !rdzv_failure(r)		      ? "no failure"
	       : rdzv_why(r) == now_fault.why ? rdzv_failure(r)
					      : "for another reason");
	rdzv_leave(r, NULL);
}

static uint64_t struck_ns;

static void wake(struct loop *l, struct timer *t)
{
	(void)l, (void)t;
	(void)kill(L.v[now_fault.victim].pid, SIGCONT);
}

static struct timer later;

static uint64_t silence_of(const struct fault *f)
{
	return f->silence_ns ? f->silence_ns : HEARTBEAT;
}

static void strike(struct loop *l, struct timer *t)
{
	struct err e = {0};

	if (!rdzv_server_ready(L.server)) {
		assert_int_equal(loop_arm(l, t, 10 * NS_PER_MS, &e), 0);
		return;
	}
	struck_ns = now_ns();
	assert_int_equal(kill(L.v[now_fault.victim].pid, now_fault.sig), 0);
	if (now_fault.sig == SIGSTOP) /* what slept wakes up and hears the same */
		assert_int_equal(loop_arm(l, &later, silence_of(&now_fault) + HEARTBEAT, &e), 0);
}

static void run_fault(const struct fault *f)
{
	struct err e = {0};

	now_fault = *f;
	later = (struct timer){.fire = wake};
	struck_ns = now_ns();
	print_message("# %s\n", f->name);
	launch_begin(N, f->sig == SIGSTOP ? HEARTBEAT : PATIENT, f->agent, &test_token);
	for (int i = 0; i < N; i++)
		start_rank(i, work);
	L.fault.fire = strike;
	if (f->sig)
		assert_int_equal(loop_arm(&L.loop, &L.fault, 10 * NS_PER_MS, &e), 0);
	launch_watch(10 * NS_PER_S);
	assert_int_equal(L.left, 0);
	if (!rdzv_server_finished(L.server)) /* the last goodbye lies unread */
		launch_watch(2 * NS_PER_S);
	for (int i = 0; i < N; i++) {
		if (i == f->victim && f->sig != SIGSTOP)
			continue;
		assert_string_equal(L.v[i].said, f->sentence);
		if (i != f->victim)
			assert_uint_in_range(L.v[i].ended_ns - struck_ns, 0,
					     (f->sig == SIGSTOP ? silence_of(f) : 0) + TOLD_NS);
	}
	assert_string_equal(rdzv_server_failure(L.server), f->sentence);
	assert_true(rdzv_server_finished(L.server));
	launch_end(NULL);
}

static void t_faults(void **state)
{
	const char *repeat = getenv("REPEAT");
	uint64_t n = 10;

	(void)state;
	if (repeat)
		assert_int_equal(parse_uint(repeat, &n), 0);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		for (uint64_t k = 0; k < n; k++)
			run_fault(&faults[i]);
}

/* This process as one rank more, so that it knows when all are there. */
static struct rdzv *meet_them(void)
{
	struct err e = {0};
	struct rdzv *r = enter(&(struct process){.rank = N}, &e);

	assert_non_null(r);
	assert_int_equal(rdzv_barrier(r, &e), 0);
	return r;
}

/* The server itself: killed, stopped. */
static void t_server(void **state)
{
	static const int sig[] = {SIGKILL, SIGSTOP};
	static const char *const says[] = {"is gone: connection lost",
					   "has been silent for 800 ms"};
	struct rdzv_host h;

	(void)state;
	now_fault = (struct fault){.name = "", .victim = 0, .why = RDZV_LOST};
	for (size_t i = 0; i < ARRAY_LEN(sig); i++) {
		struct rdzv_server_opts o = {
			.size = N + 1, .heartbeat_ns = HEARTBEAT, .at = loopback(0)};
		struct err e = {0};
		struct rdzv *r;

		assert_int_equal(rdzv_host_start(&h, &o, &e), 0);
		launch_begin(N + 1, HEARTBEAT, false, NULL);
		now_fault.sig = sig[i];
		L.join.server = loopback(h.port);
		for (int k = 0; k < N; k++)
			start_rank(k, work);
		r = meet_them();
		assert_int_equal(kill(h.pid, sig[i]), 0);
		launch_watch(5 * NS_PER_S);
		rdzv_leave(r, NULL);
		assert_int_equal(L.left, 0);
		for (int k = 0; k < N; k++)
			assert_non_null(strstr(L.v[k].said, says[i]));
		(void)kill(h.pid, SIGKILL);
		launch_end(NULL);
		rdzv_host_done(&h);
	}
}

static void stay_a_while(struct process *p)
{
	struct pollfd fd = {.events = POLLIN};
	struct err e = {0};
	struct rdzv *r = enter(p, &e);

	if (r) {
		fd.fd = rdzv_failure_fd(r);
		(void)poll(&fd, 1, 300);
	}
	say(p, !r ? e.msg : rdzv_failure(r) ? rdzv_failure(r) : "");
	rdzv_leave(r, NULL);
}

static void on_alarm(int sig) { (void)sig; }

/* A second Ctrl-C while rank 0 waits for its server: who is still there is not cut off. */
static void t_an_impatient_end(void **state)
{
	const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
	struct sigaction sa = {.sa_handler = on_alarm}, old;
	struct rdzv_server_opts o = {.size = 1, .heartbeat_ns = PATIENT, .at = loopback(0)};
	struct rdzv_host h;
	struct err e = {0};

	(void)state;
	assert_int_equal(rdzv_host_start(&h, &o, &e), 0);
	launch_begin(1, PATIENT, false, NULL);
	L.join.server = loopback(h.port);
	start_rank(0, stay_a_while);
	(void)poll(NULL, 0, 100); /* the server is told of our end, and its rank is there */
	assert_int_equal(sigaction(SIGALRM, &sa, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	rdzv_host_done(&h);
	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)sigaction(SIGALRM, &old, NULL);
	launch_watch(10 * NS_PER_S);
	assert_string_equal(L.v[0].said, "");
	launch_end(NULL);
}

/* Rank 0, which made the server's process, is killed: the others hear of it, nothing stays. */
static void host_and_die(struct process *p)
{
	struct rdzv_server_opts o = {.size = N + 1, .heartbeat_ns = PATIENT, .at = L.join.server};
	struct rdzv_host h;
	struct err e = {0};

	if (rdzv_host_start(&h, &o, &e) < 0)
		say(p, e.msg);
	now_fault.sig = SIGKILL;
	work(p);
}

static void t_parent_of_server(void **state)
{
	struct listener l = {0};
	union addr at = loopback(0);
	struct err e = {0};
	struct rdzv *r;

	(void)state;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch_begin(N + 1, PATIENT, false, NULL);
	assert_int_equal(listener_open(&l, &L.loop, &at, &e), 0);
	L.join.server = l.at; /* a port that is free in a moment */
	listener_close(&l);
	now_fault = (struct fault){.name = "", .victim = 0, .why = RDZV_LOST, .sig = SIGKILL};
	start_rank(0, host_and_die);
	for (int i = 1; i < N; i++)
		start_rank(i, work);
	r = meet_them();
	assert_int_equal(kill(L.v[0].pid, SIGKILL), 0);
	launch_watch(5 * NS_PER_S);
	rdzv_leave(r, NULL);
	assert_int_equal(L.left, 0);
	for (int i = 1; i < N; i++)
		assert_string_equal(L.v[i].said, "rank 0 (node0, 127.0.0.1) died: connection lost");
	assert_true(waitpid(-1, NULL, 0) > 0); /* its server has come to us, and has ended */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#define T(f) cmocka_unit_test_teardown(f, launch_end)

int main(void)
{
	const struct CMUnitTest tests[] = {T(t_faults), T(t_server), T(t_an_impatient_end),
					   T(t_parent_of_server)};

	return cmocka_run_group_tests_name("rdzv_faults", tests, NULL, NULL);
}
