/* Channels on loopback: a talk and its end, who is refused and how it is said, owners that drop. */
#include "tests/unit/channel_world.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/in_range.h"

#define WORLD(w) AUTO(world_end) struct world w = {0}
#define PEER(p) AUTO(peer_drop) struct peer p = {0}

static void peer_drop(struct peer *p) { channel_drop(&p->c); }

static void says(const struct peer *p, const char *what)
{
	if (!strstr(p->why.msg, what))
		fail_msg("\"%s\" does not say \"%s\"", p->why.msg, what);
}

static int echo(struct peer *p, uint16_t type, const void *data, size_t n)
{
	return channel_send(&p->c, type, data, n);
}

static int good_bye(struct peer *p, uint16_t type, const void *data, size_t n)
{
	(void)type, (void)data, (void)n;
	channel_finish(&p->c, NS_PER_S);
	return 0;
}

static void say_hello(struct peer *p) { assert_int_equal(channel_send(&p->c, 7, "hello", 5), 0); }

static void t_talk(void **state)
{
	static const struct token *const tokens[] = {&world_token, NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		WORLD(w);
		PEER(p);

		w.pattern.on_message = echo;
		world_begin(&w, tokens[i]);
		p.on_open = say_hello;
		p.on_message = good_bye;
		p.on_closed = peer_stop;
		world_connect(&w, &p, tokens[i]);
		assert_int_equal(channel_send(&p.c, 1, "early", 5), -1);
		assert_true(world_run(&w, 5000));
		assert_int_equal(p.opened, 1);
		assert_int_equal(p.got, 1);
		assert_int_equal(p.bytes, 5);
		assert_int_equal(p.closed, 1);
		assert_int_equal(p.why.kind, ERR_NONE);
		assert_int_equal(p.c.error, 0);
		/* The other end knows it for the end it was, not for a cut. */
		assert_int_equal(w.nclosed, 1);
		assert_int_equal(w.last.why.kind, ERR_NONE);
		assert_true(w.last.c.ended && w.last.c.open);
		assert_int_equal(channel_send(&p.c, 1, "late", 4), -1);
	}
}

static void t_options_of_the_socket(void **state)
{
	WORLD(w);
	PEER(p);
	int nodelay = 0;
	socklen_t n = sizeof(nodelay);

	(void)state;
	world_begin(&w, &world_token);
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(getsockopt(p.c.io.fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &n), 0);
	assert_true(nodelay);
	assert_true(addr_equal(&p.c.peer, &w.listener.at));
	assert_int_equal(addr_port(&p.c.peer), addr_port(&w.listener.at));
}

/* The peer vanishes without the end of its stream. */
static void drop(struct peer *p) { channel_drop(&p->c); }

static void t_cut(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	w.pattern.on_open = drop;
	world_begin(&w, &world_token);
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.why.kind, ERR_SYS);
	assert_false(p.c.ended);
	assert_int_equal(p.c.error, 0);
	says(&p, "closed the connection");
	assert_int_equal(w.nclosed, 0); /* who drops is not told */
	world_forget(w.accepted[0]);
}

static void t_refused(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	listener_close(&w.listener);
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_int_equal(p.closed, 0); /* never from within */
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.closed, 1);
	assert_int_equal(p.c.error, ECONNREFUSED);
	assert_true(p.c.connecting && !p.c.open);
	says(&p, "cannot connect to 127.0.0.1:");
	says(&p, "Connection refused");
}

/* The kernel says no inside connect(2): that too comes from the loop. */
static void t_no_at_once(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	listener_close(&w.listener);
	w.listener.at.v4.sin_addr.s_addr = INADDR_BROADCAST;
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_int_equal(p.closed, 0);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.closed, 1);
	assert_int_not_equal(p.c.error, 0);
	assert_true(p.c.connecting);
	says(&p, "cannot connect to 255.255.255.255:");
}

static void t_wrong_token(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	p.on_closed = peer_stop;
	world_connect(&w, &p, &other_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.opened, 0);
	assert_int_equal(p.c.error, EPROTO);
	says(&p, "127.0.0.1:");
	says(&p, "another token");
	assert_false(world_run(&w, 50));
	assert_int_equal(w.nclosed, 1);
	assert_int_equal(w.nproven, 0);
	says(&w.last, "before it had proved itself");
}

/* The end that lacks the token hears from the other what it lacks. */
static void t_no_token(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	p.on_closed = peer_stop;
	world_connect(&w, &p, NULL);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.opened, 0);
	says(&p, "requires the token");
	assert_non_null(strstr(p.why.hint, "WINDSOCK_TOKEN"));
	says(&w.last, "has no token");
}

/* Something listens and is silent; and something whose queue of connections is full. */
static void t_deadlines(void **state)
{
	(void)state;
	for (int full = 0; full < 2; full++) {
		AUTO_CLOSE int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int fill[8];
		WORLD(w);
		PEER(p);
		socklen_t n = sizeof(w.listener.at);
		uint64_t start;

		w.deadline_ns = 100 * NS_PER_MS;
		world_begin(&w, &world_token);
		listener_close(&w.listener);
		w.listener.at = loopback(0);
		assert_int_equal(bind(silent, &w.listener.at.sa, sizeof(w.listener.at.v4)), 0);
		assert_int_equal(listen(silent, full ? 0 : 16), 0);
		assert_int_equal(getsockname(silent, &w.listener.at.sa, &n), 0);
		for (size_t i = 0; full && i < ARRAY_LEN(fill); i++) {
			fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
			(void)!connect(fill[i], &w.listener.at.sa, n);
		}
		p.on_closed = peer_stop;
		start = now_ns();
		world_connect(&w, &p, &world_token);
		assert_true(world_run(&w, 5000));
		assert_uint_in_range(now_ns() - start, 99 * NS_PER_MS, 4 * NS_PER_S);
		assert_int_equal(p.closed, 1);
		assert_int_equal(p.c.error, ETIMEDOUT);
		assert_int_equal(p.c.connecting, full);
		says(&p, full ? "did not answer within 100 ms" : "did not prove itself within");
		for (size_t i = 0; full && i < ARRAY_LEN(fill); i++)
			(void)close(fill[i]);
	}
}

/* --- owners that drop, finish and free within their calls ------------------ */
static unsigned heard;
static int drop_at_second(struct peer *p, uint16_t type, const void *data, size_t n)
{
	(void)type, (void)data, (void)n;
	if (++heard == 2) {
		struct world *w = p->world;

		channel_drop(&p->c);
		world_forget(p);
		loop_stop(&w->loop);
	}
	return 0;
}

static void say_three(struct peer *p)
{
	for (uint16_t i = 0; i < 3; i++)
		assert_int_equal(channel_send(&p->c, i, "x", 1), 0);
}

static void t_dropped_in_message(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	heard = 0;
	w.pattern.on_message = drop_at_second;
	world_begin(&w, &world_token);
	p.on_open = say_three;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(heard, 2); /* the third was there and is nobody's any more */
}

static void drop_and_free(struct peer *p)
{
	struct world *w = p->world;

	channel_drop(&p->c);
	world_forget(p);
	loop_stop(&w->loop);
}

static void t_dropped_in_open(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	w.pattern.on_open = drop_and_free;
	world_begin(&w, &world_token);
	p.on_open = say_three;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(w.naccepted, 1);
}

static int finish_at_second(struct peer *p, uint16_t type, const void *data, size_t n)
{
	if (p->got == 2)
		return good_bye(p, type, data, n);
	return 0;
}

/* From the call on, no more messages, though they are there. */
static void t_finished_in_message(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	w.pattern.on_message = finish_at_second;
	world_begin(&w, &world_token);
	p.on_open = say_three;
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.why.kind, ERR_NONE);
	assert_false(world_run(&w, 50));
	assert_int_equal(w.nclosed, 1);
	assert_int_equal(w.last.got, 2);
	assert_int_equal(w.last.why.kind, ERR_NONE);
}

static int nonsense(struct peer *p, uint16_t type, const void *data, size_t n)
{
	(void)p, (void)type, (void)data, (void)n;
	return -1;
}

static void t_nonsense(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	w.pattern.on_message = nonsense;
	world_begin(&w, &world_token);
	p.on_open = say_three;
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(w.last.got, 1);
	assert_int_equal(w.last.closed, 1);
	assert_int_equal(w.last.c.error, EPROTO);
	says(&w.last, "makes no sense");
}

/* As one does that waits for a server to come up. */
static void again(struct peer *p)
{
	struct err e;
	const union addr at = p->world->listener.at;

	if (p->closed == 3)
		assert_int_equal(listener_open(&p->world->listener, &p->world->loop, &at, &e), 0);
	world_connect(p->world, p, &world_token);
}

static void t_connected_anew(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	listener_close(&w.listener);
	p.on_closed = again;
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.closed, 3);
	assert_int_equal(p.opened, 1);
}

static void t_unused(void **state)
{
	struct channel c = {0};
	struct listener s = {0};

	(void)state;
	channel_drop(&c);
	channel_finish(&c, 1);
	assert_int_equal(channel_send(&c, 1, "", 0), -1);
	listener_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_talk),
		cmocka_unit_test(t_options_of_the_socket),
		cmocka_unit_test(t_cut),
		cmocka_unit_test(t_refused),
		cmocka_unit_test(t_no_at_once),
		cmocka_unit_test(t_wrong_token),
		cmocka_unit_test(t_no_token),
		cmocka_unit_test(t_deadlines),
		cmocka_unit_test(t_dropped_in_message),
		cmocka_unit_test(t_dropped_in_open),
		cmocka_unit_test(t_finished_in_message),
		cmocka_unit_test(t_nonsense),
		cmocka_unit_test(t_connected_anew),
		cmocka_unit_test(t_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
