/* The event loop: order of deadlines, deletion from callbacks, stopping, signals. */
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct err err;
static unsigned calls;

static void auto_loop(struct loop *l) { loop_done(l); }

static struct io event(void (*ready)(struct loop *, struct io *, uint32_t), unsigned value)
{
	struct io io = {eventfd(value, EFD_NONBLOCK | EFD_CLOEXEC), ready};

	assert_true(io.fd >= 0);
	return io;
}

struct alarm {
	struct timer timer;
	unsigned n;
};
static unsigned fired[1000], nfired;

static void note(struct loop *l, struct timer *t)
{
	(void)l;
	fired[nfired++] = CONTAINER_OF(t, struct alarm, timer)->n;
}

static void t_timers_in_order(void **state)
{
	enum { N = 1000 };
	static struct alarm v[N];
	AUTO(auto_loop) struct loop l;
	unsigned left = 0, seed = 12345;

	(void)state;
	nfired = 0;
	assert_int_equal(loop_init(&l, &err), 0);
	for (unsigned i = 0; i < N; i++) {
		seed = seed * 1103515245u + 12345u;
		v[i] = (struct alarm){.timer = {.fire = note}, .n = i};
		assert_int_equal(loop_arm(&l, &v[i].timer, seed % 20 * NS_PER_MS, &err), 0);
	}
	for (unsigned i = 0; i < N; i += 3) /* moved: counted once */
		assert_int_equal(loop_arm(&l, &v[i].timer, (i % 7) * NS_PER_MS, &err), 0);
	for (unsigned i = 0; i < N; i += 2)
		loop_disarm(&l, &v[i].timer);
	loop_disarm(&l, &v[0].timer);
	assert_int_equal(loop_run(&l, &err), 0);
	for (unsigned i = 0; i < N; i++)
		left += v[i].timer.pos != 0;
	assert_int_equal(left, 0);
	assert_int_equal(nfired, N / 2);
	for (unsigned i = 0; i < nfired; i++) {
		assert_int_equal(fired[i] % 2, 1);
		assert_true(!i || v[fired[i - 1]].timer.at_ns <= v[fired[i]].timer.at_ns);
		assert_true(v[fired[i]].timer.at_ns <= now_ns());
	}
}

static struct alarm first, second;

static void disarm_second(struct loop *l, struct timer *t)
{
	note(l, t);
	loop_disarm(l, &second.timer);
}

static void t_timer_disarms_another_due(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	nfired = 0;
	first = (struct alarm){.timer = {.fire = disarm_second}, .n = 1};
	second = (struct alarm){.timer = {.fire = note}, .n = 2};
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_arm(&l, &first.timer, 0, &err), 0);
	assert_int_equal(loop_arm(&l, &second.timer, 0, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(nfired, 1);
}

static void t_far_deadline(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	nfired = 0;
	first = (struct alarm){.timer = {.fire = disarm_second}, .n = 1};
	second = (struct alarm){.timer = {.fire = note}, .n = 2};
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_arm(&l, &second.timer, UINT64_MAX, &err), 0);
	assert_true(second.timer.at_ns == UINT64_MAX);
	assert_int_equal(loop_arm(&l, &first.timer, NS_PER_MS, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0); /* ends: nothing is armed any more */
	assert_int_equal(nfired, 1);
}

static void stop_now(struct loop *l, struct timer *t)
{
	note(l, t);
	loop_stop(l);
}

static void t_stop_between_due_timers(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	nfired = 0;
	first = (struct alarm){.timer = {.fire = stop_now}, .n = 1};
	second = (struct alarm){.timer = {.fire = note}, .n = 2};
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_arm(&l, &first.timer, 0, &err), 0);
	assert_int_equal(loop_arm(&l, &second.timer, 0, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(nfired, 1);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(nfired, 2);
}

enum { MANY = 100 };
static struct io *many[MANY];

/* The first to be called deletes and frees all the others, some of them in the same batch. */
static void free_others(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	calls++;
	for (unsigned i = 0; i < MANY; i++) {
		loop_del(l, many[i]);
		(void)close(many[i]->fd);
		if (many[i] != io)
			free(many[i]);
	}
	free(io);
}

static void t_deleting_all_others(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	calls = 0;
	assert_int_equal(loop_init(&l, &err), 0);
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = malloc(sizeof(*many[i]));
		*many[i] = event(free_others, 1);
		assert_int_equal(loop_add(&l, many[i], EPOLLIN, &err), 0);
	}
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(l.nio, 0);
}

static struct io a, b;

/* @b was fetched as readable in the same batch; its owner does not want that any more. */
static void mute_other(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	calls++;
	assert_int_equal(loop_change(l, io == &a ? &b : &a, 0, &err), 0);
	loop_del(l, io);
	loop_stop(l);
}

static void t_changing_another(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	calls = 0;
	a = event(mute_other, 1);
	b = event(mute_other, 1);
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_add(&l, &a, EPOLLIN, &err), 0);
	assert_int_equal(loop_add(&l, &b, EPOLLIN, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(l.nio, 1);
	(void)close(a.fd);
	(void)close(b.fd);
}

static void count(struct loop *l, struct io *io, uint32_t events)
{
	(void)io;
	(void)events;
	if (++calls == 5)
		loop_stop(l);
}

static void t_stop_and_again(void **state)
{
	AUTO(auto_loop) struct loop l;
	struct io io = event(count, 1);

	(void)state;
	calls = 0;
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0); /* nothing to wait for */
	loop_del(&l, &io);			 /* never added */
	assert_int_equal(loop_add(&l, &io, EPOLLIN, &err), 0);
	assert_int_equal(loop_add(&l, &io, EPOLLIN, &err), -1);
	assert_int_equal(l.nio, 1);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(calls, 5);
	calls = 3;
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(calls, 5);
	(void)close(io.fd);
}

/* As a machine that has no time for us: the deadline is over, and what it waited for has come. */
static void be_late(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	loop_del(l, io);
	assert_int_equal(eventfd_write(b.fd, 1), 0);
	while (now_ns() <= first.timer.at_ns)
		;
}

static void in_time(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	loop_disarm(l, &first.timer);
	loop_del(l, io);
}

static void t_what_came_in_time(void **state)
{
	AUTO(auto_loop) struct loop l;

	(void)state;
	nfired = 0;
	first = (struct alarm){.timer = {.fire = note}};
	a = event(be_late, 1);
	b = event(in_time, 0);
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_add(&l, &a, EPOLLIN, &err), 0);
	assert_int_equal(loop_add(&l, &b, EPOLLIN, &err), 0);
	assert_int_equal(loop_arm(&l, &first.timer, NS_PER_MS, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(nfired, 0);
	(void)close(a.fd);
	(void)close(b.fd);
}

static void once(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	calls++;
	loop_del(l, io);
}

static void always(struct loop *l, struct io *io, uint32_t events)
{
	(void)l;
	(void)io;
	(void)events;
	calls++;
}

/* A deadline that is due, and more that is ready than is fetched at once: how often was that told?
 */
static unsigned before_deadline(void (*ready)(struct loop *, struct io *, uint32_t))
{
	AUTO(auto_loop) struct loop l;
	struct io v[MANY];

	nfired = calls = 0;
	first = (struct alarm){.timer = {.fire = stop_now}};
	assert_int_equal(loop_init(&l, &err), 0);
	for (unsigned i = 0; i < MANY; i++) {
		v[i] = event(ready, 1);
		assert_int_equal(loop_add(&l, &v[i], EPOLLIN, &err), 0);
	}
	assert_int_equal(loop_arm(&l, &first.timer, 0, &err), 0);
	assert_int_equal(loop_run(&l, &err), 0);
	assert_int_equal(nfired, 1);
	for (unsigned i = 0; i < MANY; i++)
		(void)close(v[i].fd);
	return calls;
}

static void t_a_deadline_among_many(void **state)
{
	(void)state;
	assert_int_equal(before_deadline(once), MANY);
	assert_in_range(before_deadline(always), MANY, 4 * MANY); /* and it does fire */
}

static void t_errors_say_so(void **state)
{
	AUTO(auto_loop) struct loop l;
	struct io io = {.fd = -1, .ready = count};

	(void)state;
	assert_int_equal(loop_init(&l, &err), 0);
	assert_int_equal(loop_add(&l, &io, EPOLLIN, &err), -1);
	assert_non_null(strstr(err.msg, "descriptor"));
	assert_int_equal(loop_change(&l, &io, EPOLLIN, &err), -1);
	loop_del(&l, &io);
	assert_int_equal(l.nio, 0);
	loop_done(&l);
	loop_done(&(struct loop){0});
}

static void send_signal(struct loop *l, struct timer *t)
{
	(void)l;
	(void)t;
	(void)raise(SIGTERM);
}

static void never(struct loop *l, struct timer *t)
{
	(void)l;
	(void)t;
	_exit(9);
}

/* In a child: the state "a signal was caught" stays for the life of a process. */
static void interrupted_child(void)
{
	struct timer soon = {.fire = send_signal}, late = {.fire = never};
	struct loop l;

	interrupt_install();
	if (loop_init(&l, &err) || loop_arm(&l, &soon, 20 * NS_PER_MS, &err) ||
	    loop_arm(&l, &late, 5 * NS_PER_S, &err) || loop_run(&l, &err))
		_exit(1);
	if (interrupt_pending() != SIGTERM || loop_run(&l, &err))
		_exit(2);
	loop_done(&l);
	_exit(0);
}

static void t_signal_ends_the_run(void **state)
{
	uint64_t start = now_ns();
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		interrupted_child();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(now_ns() - start < 3 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_timers_in_order),
		cmocka_unit_test(t_timer_disarms_another_due),
		cmocka_unit_test(t_far_deadline),
		cmocka_unit_test(t_stop_between_due_timers),
		cmocka_unit_test(t_deleting_all_others),
		cmocka_unit_test(t_changing_another),
		cmocka_unit_test(t_stop_and_again),
		cmocka_unit_test(t_what_came_in_time),
		cmocka_unit_test(t_a_deadline_among_many),
		cmocka_unit_test(t_errors_say_so),
		cmocka_unit_test(t_signal_ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
