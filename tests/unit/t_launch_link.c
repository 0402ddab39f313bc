/* Between a launcher and an agent: messages over pipes, and connections carried through them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/agent.h"
#include "lib/core/units.h"

#include <fcntl.h>
#include <sys/socket.h>

static struct arena a;
static struct err e;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

/* ---- messages ---- */
struct end {
	struct link link;
	size_t messages, bytes;
	uint16_t type;
	uint32_t sum;
	bool closed;
	char why[64];
	struct end *drop; /* closes itself at the first message */
};

static int count(struct link *l, uint16_t type, struct wire_in *in)
{
	struct end *x = CONTAINER_OF(l, struct end, link);

	x->messages++;
	x->bytes += in->n;
	x->type = type;
	for (size_t i = 0; i < in->n; i++)
		x->sum = x->sum * 31 + in->p[i];
	if (x->drop)
		link_close(l);
	return type == 99 ? -1 : 0;
}

static void gone(struct link *l, const char *why)
{
	struct end *x = CONTAINER_OF(l, struct end, link);

	x->closed = true;
	snprintf(x->why, sizeof(x->why), "%s", why ? why : "");
}

/* Two links, mouth to ear. */
static void two_ends(struct loop *loop, struct end *x, struct end *y, bool greeting)
{
	int there[2], back[2];

	*x = *y = (struct end){.link = {.on_message = count, .on_closed = gone}};
	assert_int_equal(loop_init(loop, &e), 0);
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	if (greeting)
		assert_true(dprintf(there[1], "Welcome!\n%s", link_greeting()) > 0);
	assert_int_equal(link_open(&x->link, loop, back[0], there[1], false, &e), 0);
	assert_int_equal(link_open(&y->link, loop, there[0], back[1], greeting, &e), 0);
}

static void messages_arrive_as_sent(void **state UNUSED)
{
	static const size_t sizes[] = {0, 1, 7, 4096, 70000, SECURE_MAX_MESSAGE};
	unsigned char *big = arena_alloc(&a, SECURE_MAX_MESSAGE);
	size_t sent = 0;
	struct loop loop;
	struct end x, y;

	memset(big, 0x5a, SECURE_MAX_MESSAGE);
	two_ends(&loop, &x, &y, true);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		link_send(&x.link, (uint16_t)i, big, sizes[i]);
		sent += sizes[i];
	}
	link_send(&x.link, 50, big, SECURE_MAX_MESSAGE + 1); /* never leaves */
	for (int i = 0; i < 10000 && y.bytes < sent; i++) {
		link_drain(&y.link);
		x.link.out.ready(&loop, &x.link.out, 0);
	}
	assert_int_equal(y.messages, ARRAY_LEN(sizes));
	assert_int_equal(y.bytes, sent);
	link_close(&x.link);
	link_drain(&y.link);
	assert_true(y.closed);
	assert_string_equal(y.why, "");
	loop_done(&loop);
}

/* Its owner may be in the middle of something when it sends, and hears of it from the loop. */
static void who_takes_nothing_is_given_up(void **state UNUSED)
{
	const size_t fit = LINK_QUEUE_MAX / SECURE_MAX_MESSAGE;
	unsigned char *big = arena_alloc(&a, SECURE_MAX_MESSAGE);
	struct loop loop;
	struct end x, y;

	two_ends(&loop, &x, &y, false);
	for (size_t i = 0; i < fit; i++)
		link_send(&x.link, 1, big, SECURE_MAX_MESSAGE - 64);
	assert_null(x.link.doom);
	for (size_t i = 0; i < 2; i++)
		link_send(&x.link, 1, big, SECURE_MAX_MESSAGE);
	assert_true(bytes_left(&x.link.queue) <= LINK_QUEUE_MAX);
	assert_false(x.closed);
	assert_int_equal(loop_run(&loop, &e), 0);
	assert_true(x.closed && y.closed);
	assert_string_equal(x.why, "it does not take what is sent to it");
	loop_done(&loop);
}

static void nonsense_closes_a_link(void **state UNUSED)
{
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
		{"\xff\xff\xff\xff\1\0\0\0", 8}, /* too long */
		{"\0\0\0\0\0\0\1\0", 8},	 /* no such type */
		{"\0\0\0\0\1\0\0\0.", 9},	 /* not where it should end */
		{"\0\0\0\0\x63\0\0\0\n", 9},	 /* 99: the owner refuses it */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct loop loop;
		struct end x, y;

		two_ends(&loop, &x, &y, false);
		assert_int_equal(write(x.link.out.fd, cases[i].bytes, cases[i].n), cases[i].n);
		link_drain(&y.link);
		assert_true(y.closed);
		assert_string_equal(y.why, "what it says makes no sense");
		link_close(&x.link);
		loop_done(&loop);
	}
}

static void a_call_may_close_its_link(void **state UNUSED)
{
	struct loop loop;
	struct end x, y;

	two_ends(&loop, &x, &y, false);
	y.drop = &y;
	link_send(&x.link, 1, "a", 1);
	link_send(&x.link, 2, "b", 1);
	link_drain(&y.link);
	assert_int_equal(y.messages, 1);
	assert_false(y.closed); /* it knows */
	link_close(&x.link);
	loop_done(&loop);
}

static void only_noise_is_no_agent(void **state UNUSED)
{
	char noise[4096];
	struct loop loop;
	struct end x, y;

	memset(noise, '.', sizeof(noise));
	two_ends(&loop, &x, &y, false);
	y.link.greeted = false;
	for (int i = 0; i < 100 && !y.closed; i++) {
		assert_true(write(x.link.out.fd, noise, sizeof(noise)) > 0);
		link_drain(&y.link);
	}
	assert_string_equal(y.why, "its login prints without end, or another program answers");
	link_close(&x.link);
	loop_done(&loop);
}

/* ---- streams ---- */
static struct streams near, far;
static int far_fd;

static int at_near(struct link *l UNUSED, uint16_t type, struct wire_in *in)
{
	return streams_message(&near, type, in);
}

static int at_far(struct link *l, uint16_t type, struct wire_in *in)
{
	int v[2];

	if (type != STREAM_OPEN)
		return streams_message(&far, type, in);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, v), 0);
	far_fd = v[0];
	(void)l;
	return stream_new(&far, v[1], wire_u32(in), &e);
}

static void on_time(struct loop *l, struct timer *t UNUSED) { loop_stop(l); }

static void run_for(struct loop *l, uint64_t ms)
{
	struct timer t = {.fire = on_time};

	assert_int_equal(loop_arm(l, &t, ms * NS_PER_MS, &e), 0);
	assert_int_equal(loop_run(l, &e), 0);
}

static size_t received(int fd)
{
	char buf[64 << 10];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += (size_t)n;
	return sum;
}

static void a_connection_is_carried_both_ways(void **state UNUSED)
{
	static char big[100000];
	size_t sent = 0, got = 0;
	struct loop loop;
	struct end x, y;
	int v[2];

	two_ends(&loop, &x, &y, false);
	x.link.on_message = at_near;
	y.link.on_message = at_far;
	near = (struct streams){.link = &x.link, .loop = &loop};
	far = (struct streams){.link = &y.link, .loop = &loop};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, v), 0);
	assert_int_equal(stream_new(&near, v[1], 0, &e), 0);
	run_for(&loop, 20);
	assert_int_equal(far.n, 1);
	assert_int_equal(write(far_fd, "back", 4), 4);
	for (int i = 0; i < 20; i++) {
		ssize_t n = write(v[0], big, sizeof(big));

		sent += n > 0 ? (size_t)n : 0;
		run_for(&loop, 5);
		got += received(far_fd);
	}
	assert_true(sent > 4 * sizeof(big));
	run_for(&loop, 50);
	got += received(far_fd);
	assert_int_equal(got, sent);
	assert_int_equal(received(v[0]), 4);
	(void)close(v[0]); /* a rank died: the far end must see the same, behind all it had said */
	run_for(&loop, 20);
	assert_int_equal(near.n + far.n, 0);
	assert_int_equal(read(far_fd, big, 1), 0);
	(void)close(far_fd);
	link_close(&x.link);
	link_close(&y.link);
	loop_done(&loop);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_as_sent),
		cmocka_unit_test(who_takes_nothing_is_given_up),
		cmocka_unit_test(nonsense_closes_a_link),
		cmocka_unit_test(a_call_may_close_its_link),
		cmocka_unit_test(only_noise_is_no_agent),
		cmocka_unit_test(a_connection_is_carried_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
