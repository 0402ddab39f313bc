/* Listening: addresses and families, who makes room for whom, no descriptors left. */
#include "tests/unit/channel_world.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#define WORLD(w) AUTO(world_end) struct world w = {0}
#define PEER(p) AUTO(peer_drop) struct peer p = {0}

static struct err err;

static void peer_drop(struct peer *p) { channel_drop(&p->c); }

static int stranger(const struct world *w)
{
	const union addr *at = &w->listener.at;
	int fd = socket(at->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &at->sa, addr_len(at)), 0);
	return fd;
}

static void t_port_in_use(void **state)
{
	WORLD(w);
	struct listener second = {.on_accept = world_accept};

	(void)state;
	world_begin(&w, &world_token);
	assert_int_not_equal(addr_port(&w.listener.at), 0);
	assert_int_equal(listener_open(&second, &w.loop, &w.listener.at, &err), -1);
	assert_non_null(strstr(err.msg, "cannot listen on 127.0.0.1:"));
	assert_non_null(strstr(err.hint, "ss -ltnp"));
	assert_null(second.loop);
	listener_close(&second);
}

static void t_not_our_address(void **state)
{
	WORLD(w);
	struct listener second = {.on_accept = world_accept};
	union addr at;

	(void)state;
	world_begin(&w, &world_token);
	assert_int_equal(addr_parse("192.0.2.1", &at), 0);
	assert_int_equal(listener_open(&second, &w.loop, &at, &err), -1);
	assert_non_null(strstr(err.msg, "192.0.2.1"));
}

/* In a process of its own: it is nobody from then on. */
static void a_port_of_roots(void **state)
{
	WORLD(w);
	struct listener low = {.on_accept = world_accept};
	union addr at;
	char text[16] = "";
	AUTO_FILE FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	pid_t pid;
	int status;

	(void)state;
	if (!f || !fgets(text, sizeof(text), f) || strtoul(text, NULL, 10) <= 80)
		skip(); /* there is no such port here */
	world_begin(&w, &world_token);
	assert_int_equal(addr_parse("127.0.0.1", &at), 0);
	addr_set_port(&at, 80);
	pid = fork();
	if (!pid) {
		if (!geteuid() && seteuid(65534))
			_exit(2);
		_exit(listener_open(&low, &w.loop, &at, &err) == -1 &&
				      strstr(err.hint, "are root's")
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The port of a run that just ended, with a connection still fading out. */
static void t_port_again(void **state)
{
	WORLD(w);
	PEER(p);
	union addr at;

	(void)state;
	world_begin(&w, &world_token);
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000));
	at = w.listener.at;
	listener_close(&w.listener);
	channel_drop(&w.accepted[0]->c); /* the server's side fades out */
	world_forget(w.accepted[0]);
	channel_drop(&p.c);
	assert_int_equal(listener_open(&w.listener, &w.loop, &at, &err), 0);
}

static void t_both_families(void **state)
{
	static const char *const from[] = {"127.0.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		WORLD(w);
		PEER(p);
		union addr any;

		world_begin(&w, &world_token);
		listener_close(&w.listener);
		assert_int_equal(addr_parse("::", &any), 0);
		if (listener_open(&w.listener, &w.loop, &any, &err))
			skip(); /* no IPv6 in this kernel */
		any = w.listener.at;
		assert_int_equal(addr_parse(from[i], &w.listener.at), 0);
		addr_set_port(&w.listener.at, addr_port(&any));
		p.on_open = p.on_closed = peer_stop;
		world_connect(&w, &p, &world_token);
		assert_true(world_run(&w, 5000));
		assert_int_equal(p.opened, 1);
		/* A mapped address is the IPv4 address. */
		assert_true(addr_equal(&w.accepted[0]->c.peer, &w.listener.at));
	}
}

static void t_oldest_makes_room(void **state)
{
	enum { MAX = 4, N = 6 };
	int fds[N];
	WORLD(w);
	PEER(p);

	(void)state;
	w.bound = true;
	w.listener.max_unproven = MAX;
	world_begin(&w, &world_token);
	p.on_open = peer_stop;
	world_connect(&w, &p, &world_token);
	assert_true(world_run(&w, 5000)); /* who proved itself does not count, and stays */
	while (!w.accepted[0]->opened)
		assert_false(world_run(&w, 10));
	for (int i = 0; i < N; i++)
		fds[i] = stranger(&w);
	assert_false(world_run(&w, 100));
	assert_int_equal(w.naccepted, N + 1);
	assert_int_equal(w.nclosed, N - MAX);
	for (int i = 0; i <= N; i++)
		assert_int_equal(w.accepted[i] == NULL, i == 1 || i == 2);
	assert_non_null(strstr(w.last.why.msg, "make room"));
	assert_int_equal(w.listener.nunproven, MAX);
	/* And one that can prove itself gets in past them. */
	listener_close(&w.listener);
	assert_int_equal(w.listener.nunproven, 0);
	for (int i = 0; i < N; i++)
		(void)close(fds[i]);
	assert_false(world_run(&w, 50));
	assert_int_equal(w.nclosed, N);
	assert_int_equal(p.closed, 0);
}

/* --- no descriptors left ----------------------------------------------------- */
static struct rlimit before;

/* Not under valgrind, which keeps its own limit and closes what it lets in. */
static void no_descriptors(void)
{
	struct rlimit none;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(next >= 0);
	(void)close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){(rlim_t)next, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void many_descriptors(void) { assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0); }

static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Nobody to drop: it pauses instead of spinning, and goes on when there are some again. */
static void t_pause(void **state)
{
	WORLD(w);
	PEER(p);
	uint64_t cpu;

	(void)state;
	world_begin(&w, &world_token);
	p.on_open = p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	no_descriptors();
	cpu = cpu_ns();
	assert_false(world_run(&w, 350));
	cpu = cpu_ns() - cpu;
	many_descriptors();
	assert_int_equal(w.naccepted, 0);
	assert_true(cpu < 50 * NS_PER_MS);
	assert_true(world_run(&w, 5000));
	assert_int_equal(p.opened, 1);
}

static void t_stranger_makes_room(void **state)
{
	WORLD(w);
	PEER(p);
	AUTO_CLOSE int fd = -1;

	(void)state;
	w.bound = true;
	world_begin(&w, &world_token);
	fd = stranger(&w);
	assert_false(world_run(&w, 50));
	assert_int_equal(w.naccepted, 1);
	p.on_open = p.on_closed = peer_stop;
	world_connect(&w, &p, &world_token);
	no_descriptors();
	assert_true(world_run(&w, 2000));
	many_descriptors();
	assert_int_equal(p.opened, 1);
	assert_int_equal(w.nclosed, 1);
}

static void stop_listening(struct listener *s, int fd, const union addr *from)
{
	struct world *w = CONTAINER_OF(s, struct world, listener);

	(void)from;
	(void)close(fd);
	listener_close(s);
	w->naccepted++;
}

static void t_closed_from_within(void **state)
{
	WORLD(w);
	int fds[3];

	(void)state;
	world_begin(&w, &world_token);
	w.listener.on_accept = stop_listening;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = stranger(&w);
	assert_false(world_run(&w, 50));
	assert_int_equal(w.naccepted, 1);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		(void)close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_port_in_use),
		cmocka_unit_test(t_not_our_address),
		cmocka_unit_test(a_port_of_roots),
		cmocka_unit_test(t_port_again),
		cmocka_unit_test(t_both_families),
		cmocka_unit_test(t_oldest_makes_room),
		cmocka_unit_test(t_pause),
		cmocka_unit_test(t_stranger_makes_room),
		cmocka_unit_test(t_closed_from_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
