/*
 * Ten thousand hostile connections from another process against a listener
 * that has one honest peer: its talk goes on, nobody else gets in, nothing
 * is left behind and memory stays flat.
 */
#include "lib/net/hello.h"
#include "tests/unit/channel_world.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum {
	MAX_UNPROVEN = 128,
	PATIENT = 1000, /* so few at once that all have the time they are given */
	PATIENT_AT_ONCE = 100,
	HOSTILE = 10000, /* so many that most must make room */
	AT_ONCE = 256,
	PROVE_MS = 300,
	LINGER_MS = 2000, /* so long that slow machines, too, run out of room before time */
	DRIP_MS = 100,
	PATIENCE_S = 240,
};

/* --- the attacker, a process of its own -------------------------------------- */
enum kind { LEAVES, SILENT, GARBAGE, WEB, STALLS, DRIPS, GUESSES, HUGE_LENGTH, UNSEALED, KINDS };

struct attack {
	enum kind kind;
	int fd; /* -1: none */
	size_t sent;
	bool guessed;
	uint64_t drip_at;
	struct hello hello;
};

static void throw(const struct attack *a, const void *data, size_t n)
{
	(void)!send(a->fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void first_blow(struct attack *a)
{
	unsigned char junk[4096];

	randombytes_buf(junk, sizeof(junk));
	if (a->kind == GARBAGE)
		throw(a, junk, sizeof(junk));
	if (a->kind == WEB)
		throw(a, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
	if (a->kind == STALLS || a->kind == GUESSES || a->kind == UNSEALED)
		throw(a, a->hello.bytes, HELLO_SIZE);
	if (a->kind == HUGE_LENGTH) { /* where a proof belongs, in the same breath */
		memset(junk, 0xff, sizeof(junk));
		memcpy(junk, a->hello.bytes, HELLO_SIZE);
		throw(a, junk, sizeof(junk));
	}
}

static void attack_end(struct attack *a)
{
	(void)close(a->fd);
	a->fd = -1;
}

static bool attack_begin(struct attack *a, unsigned number, const union addr *at)
{
	*a = (struct attack){.kind = number % KINDS};
	a->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	hello_make(&a->hello, SECURE_CONNECTOR, a->kind != UNSEALED);
	if (a->fd < 0 || connect(a->fd, &at->sa, addr_len(at)))
		return false;
	first_blow(a);
	if (a->kind == LEAVES)
		attack_end(a);
	return true;
}

/* Reads what comes; with a hello and a proof in hand, guesses. Ends when thrown out. */
static void attack_read(struct attack *a)
{
	unsigned char buf[1024];
	ssize_t n = recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		attack_end(a);
		return;
	}
	if (a->kind == GUESSES && !a->guessed) {
		a->guessed = true;
		if (n > HELLO_SIZE + 56 - 1 && a->hello.bytes[HELLO_NONCE_AT] & 1)
			throw(a, buf + HELLO_SIZE, 56); /* its own proof back */
		else
			throw(a, buf, 56);
	}
}

static void attack_drip(struct attack *a, uint64_t now)
{
	if (a->kind != DRIPS || a->fd < 0 || now < a->drip_at)
		return;
	throw(a, a->hello.bytes + a->sent++ % HELLO_SIZE, 1);
	a->drip_at = now + DRIP_MS * NS_PER_MS;
}

static int attack_all(const union addr *at, unsigned total, unsigned at_once)
{
	static struct attack v[AT_ONCE];
	struct pollfd p[AT_ONCE];
	unsigned begun = 0, alive = 1;
	uint64_t give_up = now_ns() + PATIENCE_S * NS_PER_S;

	for (int i = 0; i < (int)at_once; i++)
		v[i].fd = -1;
	while (alive || begun < total) {
		alive = 0;
		for (int i = 0; i < (int)at_once; i++) {
			if (v[i].fd < 0 && begun < total && !attack_begin(&v[i], begun++, at))
				return 1;
			attack_drip(&v[i], now_ns());
			p[i] = (struct pollfd){.fd = v[i].fd, .events = POLLIN};
			alive += v[i].fd >= 0;
		}
		if (now_ns() > give_up || poll(p, at_once, alive == at_once ? 20 : 5) < 0)
			return 2;
		for (int i = 0; i < (int)at_once; i++)
			if (p[i].revents)
				attack_read(&v[i]);
	}
	return 0;
}

/* --- the honest one ------------------------------------------------------------ */
static struct timer beat;
static struct peer honest;
static uint64_t last_answer, longest_gap;
static uint64_t last_cpu, longest_cpu; /* our own work between answers: a busy machine adds none */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int echo(struct peer *p, uint16_t type, const void *data, size_t n)
{
	return channel_send(&p->c, type, data, n);
}

static void send_beat(struct loop *l, struct timer *t)
{
	struct err e;

	(void)l, (void)t;
	(void)!loop_arm(l, &beat, NS_PER_MS, &e);
	if (channel_send(&honest.c, 1, "still there?", 12))
		loop_stop(l);
}

static int note_gap(struct peer *p, uint16_t type, const void *data, size_t n)
{
	uint64_t now = now_ns(), cpu = cpu_ns();

	(void)p, (void)type, (void)data, (void)n;
	if (now - last_answer > longest_gap)
		longest_gap = now - last_answer;
	if (cpu - last_cpu > longest_cpu)
		longest_cpu = cpu - last_cpu;
	last_answer = now;
	last_cpu = cpu;
	return 0;
}

/* --- what is measured ------------------------------------------------------------ */
struct usage {
	size_t heap, rss;
};

static struct usage usage(void)
{
	AUTO_FILE FILE *f = fopen("/proc/self/statm", "re");
	size_t size = 0, rss = 0;

	if (!f || fscanf(f, "%zu %zu", &size, &rss) != 2)
		abort();
	return (struct usage){mallinfo2().uordblks, rss * (size_t)sysconf(_SC_PAGESIZE)};
}

static bool sanitized(void)
{
#ifdef __has_feature
#if __has_feature(address_sanitizer)
	return true;
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
	return true;
#endif
	return false;
}

static void child_ended(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	loop_del(l, io);
	loop_stop(l);
}

/* From a process of its own; returns when all are gone. */
static void attack(struct world *w, unsigned total, unsigned at_once)
{
	struct io child = {.ready = child_ended};
	struct err e;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(attack_all(&w->listener.at, total, at_once));
	child.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_int_equal(loop_add(&w->loop, &child, EPOLLIN, &e), 0);
	assert_true(world_run(w, (PATIENCE_S + 10) * 1000));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(child.fd);
	assert_int_equal(status, 0);
	for (int i = 0; i < 100 && w->listener.nunproven; i++)
		(void)world_run(w, 20);
}

static void t_ten_thousand(void **state)
{
	AUTO(world_end)
	struct world w = {
		.deadline_ns = PROVE_MS * NS_PER_MS,
		.bound = true,
		.pattern.on_message = echo,
		.listener.max_unproven = MAX_UNPROVEN,
	};
	struct usage first, last;
	uint64_t start = now_ns();
	struct err e;

	(void)state;
	world_begin(&w, &world_token);
	honest.on_open = peer_stop;
	honest.on_message = note_gap;
	honest.on_closed = peer_stop;
	world_connect(&w, &honest, &world_token);
	assert_true(world_run(&w, 5000));
	beat.fire = send_beat;
	assert_int_equal(loop_arm(&w.loop, &beat, 0, &e), 0);
	last_answer = now_ns();
	last_cpu = cpu_ns();

	attack(&w, PATIENT, PATIENT_AT_ONCE);
	assert_int_equal(w.nclosed, PATIENT);
	assert_int_equal(w.nroom, 0);
	assert_true(w.nlate > PATIENT / KINDS * 2);
	first = usage();
	w.deadline_ns = LINGER_MS * NS_PER_MS;
	attack(&w, HOSTILE, AT_ONCE);
	last = usage();

	print_message("%u connections in %.1f s (%u late, %u made room): longest silence %.1f ms "
		      "(%.1f of our own work) in "
		      "%u answers, memory in use %+zd bytes, resident %+zd KiB\n",
		      w.naccepted, (double)(now_ns() - start) / 1e9, w.nlate, w.nroom,
		      (double)longest_gap / 1e6, (double)longest_cpu / 1e6, honest.got,
		      (ssize_t)(last.heap - first.heap),
		      ((ssize_t)last.rss - (ssize_t)first.rss) / 1024);
	assert_int_equal(w.naccepted, PATIENT + HOSTILE + 1);
	assert_int_equal(w.nclosed, PATIENT + HOSTILE);
	assert_int_equal(w.nproven, 0);
	assert_true(w.nroom > HOSTILE / KINDS);
	assert_int_equal(honest.closed, 0);
	assert_true(honest.got > 100);
	assert_true(longest_cpu < 100 * NS_PER_MS);
	assert_true(longest_gap < 20 * NS_PER_S);
	/* A leak of the smallest block per connection would be fifteen times that. */
	assert_true(last.heap <= first.heap + 16384);
	assert_true(sanitized() || last.rss < first.rss + (1u << 20));
	channel_drop(&honest.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(t_ten_thousand)};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
