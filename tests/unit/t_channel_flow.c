/* How much, how fast and to whom: queues, peers that do not read, last words. */
#include "tests/unit/channel_world.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/in_range.h"

#define WORLD(w) AUTO(world_end) struct world w = {0}
#define PEER(p) AUTO(peer_drop) struct peer p = {0}

enum { KIB = 1024, MIB = 1024 * KIB };
static char block[MIB];

static void peer_drop(struct peer *p) { channel_drop(&p->c); }

static void says(const struct peer *p, const char *what)
{
	if (!strstr(p->why.msg, what))
		fail_msg("\"%s\" does not say \"%s\"", p->why.msg, what);
}

/* --- much, in both directions ---------------------------------------------- */
enum { MUCH = 48 };

static int answer_as_much(struct peer *p, uint16_t type, const void *data, size_t n)
{
	if (n != MIB || type != p->got || memcmp(data, block, n) != 0)
		return -1;
	return channel_send(&p->c, type, data, n);
}

static void begin(struct peer *p) { assert_int_equal(channel_send(&p->c, 1, block, MIB), 0); }

static int ping(struct peer *p, uint16_t type, const void *data, size_t n)
{
	if (type != p->got || n != MIB || memcmp(data, block, n) != 0)
		return -1;
	if (p->got < MUCH)
		return channel_send(&p->c, (uint16_t)(type + 1), block, MIB);
	channel_finish(&p->c, 5 * NS_PER_S);
	return 0;
}

static void t_much(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 7 + i / 256);
	w.pattern.on_message = answer_as_much;
	world_begin(&w, &world_token);
	p.on_open = begin;
	p.on_message = ping;
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 30000));
	assert_int_equal(p.got, MUCH);
	assert_int_equal(p.why.kind, ERR_NONE);
	assert_int_equal(w.last.got, MUCH);
}

/* What the kernel does not take at once waits, and is sent before the end. */
static void six_and_bye(struct peer *p)
{
	for (int i = 0; i < 6; i++)
		assert_int_equal(channel_send(&p->c, 1, block, MIB), 0);
	channel_finish(&p->c, 5 * NS_PER_S);
}

static void t_queue_before_finish(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	p.on_open = six_and_bye;
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 10000));
	assert_int_equal(p.why.kind, ERR_NONE);
	assert_int_equal(w.last.got, 6);
	assert_int_equal(w.last.bytes, 6 * MIB);
	assert_true(w.last.c.ended);
}

/* --- a peer that does not read --------------------------------------------- */
static void stop_reading(struct peer *p) { loop_del(&p->world->loop, &p->c.io); }

static void t_peer_that_does_not_read(void **state)
{
	WORLD(w);
	PEER(p);
	int sent = 0;

	(void)state;
	w.pattern.on_open = stop_reading;
	world_begin(&w, &world_token);
	p.c.max_queue = 2 * MIB;
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	p.on_closed = peer_stop;
	while (channel_send(&p.c, 1, block, 64 * KIB) == 0)
		assert_uint_in_range(++sent, 1, 64 * MIB / (64 * KIB));
	assert_true(sent >= 2 * MIB / (64 * KIB));
	assert_int_equal(p.closed, 0); /* not from within */
	assert_int_equal(channel_send(&p.c, 1, "", 0), -1);
	assert_true(world_run(&w, 1000));
	assert_int_equal(p.closed, 1);
	assert_int_equal(p.c.error, ENOBUFS);
	says(&p, "does not take what is sent to it");
}

static void t_finish_has_a_deadline(void **state)
{
	WORLD(w);
	PEER(p);
	uint64_t start;

	(void)state;
	w.pattern.on_open = stop_reading;
	world_begin(&w, &world_token);
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	p.on_closed = peer_stop;
	p.c.max_queue = 64 * MIB;
	for (int i = 0; i < 32; i++)
		assert_int_equal(channel_send(&p.c, 1, block, MIB), 0);
	channel_finish(&p.c, 100 * NS_PER_MS);
	channel_finish(&p.c, 100 * NS_PER_S); /* the first counts */
	start = now_ns();
	assert_true(world_run(&w, 5000));
	assert_uint_in_range(now_ns() - start, 90 * NS_PER_MS, 4 * NS_PER_S);
	assert_int_equal(p.c.error, ETIMEDOUT);
	says(&p, "did not take the last messages");
}

static void t_finish_before_open(void **state)
{
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	channel_finish(&p.c, NS_PER_S);
	assert_int_equal(p.closed, 0);
	assert_true(world_run(&w, 1000));
	assert_int_equal(p.closed, 1);
	assert_int_equal(p.opened, 0);
	assert_int_equal(p.why.kind, ERR_NONE);
}

static void t_too_long(void **state)
{
	AUTO_FREE char *data = calloc(1, SECURE_MAX_MESSAGE + 1);
	WORLD(w);
	PEER(p);

	(void)state;
	world_begin(&w, &world_token);
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(channel_send(&p.c, 1, data, SECURE_MAX_MESSAGE + 1), -1);
	assert_int_equal(channel_send(&p.c, 1, data, SECURE_MAX_MESSAGE), 0);
}

/* --- a peer that is gone ---------------------------------------------------- */
static int keep_words(struct peer *p, uint16_t type, const void *data, size_t n)
{
	(void)p;
	return type == 9 && n == 11 && memcmp(data, "rank 3 died", n) == 0 ? 0 : -1;
}

/*
 * What we still write to it breaks the connection under our hands, without a
 * SIGPIPE; what it said before it went is heard all the same.
 */
static void last_words(bool in_order, struct peer *p)
{
	WORLD(w);
	int sent = 0;

	w.pattern.on_open = peer_stop;
	world_begin(&w, &world_token);
	p->on_message = keep_words;
	world_connect(&w, p, &world_token);
	assert_true(world_run(&w, 5000));
	assert_int_equal(channel_send(&w.accepted[0]->c, 9, "rank 3 died", 11), 0);
	if (in_order)
		channel_finish(&w.accepted[0]->c, NS_PER_S);
	channel_drop(&w.accepted[0]->c);
	p->on_closed = peer_stop;
	while (channel_send(&p->c, 1, block, 64 * KIB) == 0)
		sent++;
	assert_uint_in_range(sent, 1, CHANNEL_QUEUE_MAX / (64 * KIB) + 1);
	assert_int_equal(p->closed, 0);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p->closed, 1);
	assert_int_equal(p->got, 1);
	assert_int_equal(p->c.ended, in_order);
}

static void t_last_words(void **state)
{
	struct peer p = {0}, q = {0};

	(void)state;
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	last_words(false, &p);
	assert_true(p.c.error == EPIPE || p.c.error == ECONNRESET);
	assert_int_equal(p.why.kind, ERR_SYS);
	says(&p, "broke");
	last_words(true, &q);
	assert_int_equal(q.why.kind, ERR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_much),
		cmocka_unit_test(t_queue_before_finish),
		cmocka_unit_test(t_peer_that_does_not_read),
		cmocka_unit_test(t_finish_has_a_deadline),
		cmocka_unit_test(t_finish_before_open),
		cmocka_unit_test(t_too_long),
		cmocka_unit_test(t_last_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
