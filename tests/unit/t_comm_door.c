/* The door of a rank: who comes in, and who makes room for whom. */
#include "bench/comm/tcp_door.h"

#include "lib/core/units.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { STRANGERS = 150 };

static struct house {
	struct tcp_door door;
	struct loop loop;
	struct timer soon;
	struct greeting guest;
	int guests;
	union addr at;
} house;
static unsigned char key[CARD_KEY] = "a key of a card";

static void let_in(struct tcp_door *d, const struct greeting *g, int fd)
{
	struct house *h = CONTAINER_OF(d, struct house, door);

	h->guest = *g;
	h->guests++;
	h->door.expected--;
	(void)close(fd);
}

static void failed(struct tcp_door *d UNUSED, const char *what, int error)
{
	fail_msg("%s: %s", what, strerror(error));
}

static void stop(struct loop *l, struct timer *t UNUSED) { loop_stop(l); }

static int begin(void **state UNUSED)
{
	struct tcp_opts o = {.stop_fds = {-1, -1}};
	socklen_t n = sizeof(house.at);
	struct err e = {0};

	house = (struct house){
		.door = {.key = key, .expected = 1, .let_in = let_in, .failed = failed},
		.soon.fire = stop};
	return addr_parse("127.0.0.1", &o.at) || tcp_door_open(&o, &house.door.io.fd, &e) ||
	       getsockname(house.door.io.fd, &house.at.sa, &n) || loop_init(&house.loop, &e) ||
	       tcp_door_watch(&house.door, &house.loop, &e);
}

static int end(void **state UNUSED)
{
	tcp_door_leave(&house.door);
	(void)close(house.door.io.fd);
	loop_done(&house.loop);
	return 0;
}

static void go_on(void)
{
	struct err e;

	assert_int_equal(loop_arm(&house.loop, &house.soon, 50 * NS_PER_MS, &e), 0);
	assert_int_equal(loop_run(&house.loop, &e), 0);
}

static int knock(const void *says, size_t n)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, &house.at.sa, addr_len(&house.at)), 0);
	assert_int_equal(send(fd, says, n, MSG_NOSIGNAL), n);
	return fd;
}

/* One byte is too little to be sent away for. */
static void who_speaks_late_is_let_in_however_many_strangers_knock(void **state UNUSED)
{
	struct greeting ours = {.rank = 7, .lane = 3};
	int fds[STRANGERS], rank = knock(NULL, 0);

	memcpy(ours.key, key, sizeof(key));
	go_on();
	for (size_t i = 0; i < STRANGERS; i++)
		fds[i] = knock("a", i % 2);
	go_on();
	assert_int_equal(house.guests, 0);
	assert_int_equal(send(rank, &ours, sizeof(ours), MSG_NOSIGNAL), sizeof(ours));
	go_on();
	assert_int_equal(house.guests, 1);
	assert_int_equal(house.guest.rank, 7);
	assert_int_equal(house.guest.lane, 3);
	for (size_t i = 0; i < STRANGERS; i++)
		(void)close(fds[i]);
	(void)close(rank);
}

static void who_has_another_key_is_sent_away(void **state UNUSED)
{
	struct greeting theirs = {.key = "another key", .rank = 7};
	int fd = knock(&theirs, sizeof(theirs));
	char nothing;

	go_on();
	assert_int_equal(house.guests, 0);
	assert_true(recv(fd, &nothing, 1, MSG_DONTWAIT) <= 0);
	assert_int_equal(house.door.nstrangers, 0);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			who_speaks_late_is_let_in_however_many_strangers_knock, begin, end),
		cmocka_unit_test_setup_teardown(who_has_another_key_is_sent_away, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
