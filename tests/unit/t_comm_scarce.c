/* A rank whose host runs out of something while all connect: it says so of itself, at once, and
 * holds nobody else to be at fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_core.h"
#include "tests/unit/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

enum { RANKS = 3 };
static int poor;   /* the rank that has too little */
static int beside; /* descriptors that it may still open */

/* From now on there is room for so many descriptors. */
static void leave_few(int n)
{
	struct rlimit l;
	int fd = fcntl(0, F_DUPFD, 3);

	(void)close(fd);
	(void)getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = (rlim_t)(fd + n);
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	const struct local *w = arg;
	int rc = local_exchange(arg, mine, n, all, e);

	if (w->rank == poor)
		leave_few(beside);
	return rc;
}

/* What is wrong with how it ended, or NULL. */
static const char *judge(int rank, bool connected, int culprit, const struct err *e, uint64_t took,
			 const char *words)
{
	if (rank != poor)
		return connected ? "one that is not connected seems to be" : NULL;
	if (connected)
		return "connected";
	if (culprit >= 0)
		return "blames another rank";
	if (!strstr(e->msg, words) || !strstr(e->msg, strerror(EMFILE)))
		return "says something else";
	if (!strstr(e->hint, "ulimit -n"))
		return "says not what to do";
	return took > 5 * local_slowness() * NS_PER_S ? "waits for its deadline" : NULL;
}

static void run(int rank, int may_open, const char *words)
{
	struct rlimit before;
	struct local w;
	struct err e = {0};
	int culprit = -1, status[RANKS];
	uint64_t began = now_ns();
	const char *wrong;
	struct comm *c;
	struct tcp_opts o = {.size = RANKS,
			     .host = "here",
			     .sockets = 4,
			     .deadline_ns = 20 * NS_PER_S,
			     .stop_fds = {-1, -1},
			     .exchange = exchange,
			     .arg = &w};

	poor = rank;
	beside = may_open;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(addr_parse("127.0.0.1", &o.at), 0);
	assert_int_equal(local_start(&w, RANKS, o.deadline_ns, &e), 0);
	o.rank = w.rank;
	if (w.rank != poor)
		o.deadline_ns = NS_PER_S / 2; /* nobody tells it */
	c = tcp_comm_new(&o, &culprit, &e);
	wrong = judge(w.rank, c != NULL, culprit, &e, now_ns() - began, words);
	if (wrong)
		fprintf(stderr, "rank %d: %s: %s (%s)\n", w.rank, wrong, e.msg, e.hint);
	comm_free(c);
	if (w.rank)
		_exit(wrong != NULL);
	(void)setrlimit(RLIMIT_NOFILE, &before);
	local_end(&w, status);
	assert_null(wrong);
	for (int i = 1; i < RANKS; i++)
		assert_int_equal(status[i], 0);
}

static void no_descriptor_for_a_connection_that_comes(void **state)
{
	(void)state;
	run(0, 3, "cannot take a connection of another rank");
}

static void no_descriptor_for_one_of_its_own(void **state)
{
	(void)state;
	run(2, 3, "cannot open a socket to another rank");
}

static void what_is_the_hosts_own(void **state)
{
	(void)state;
	assert_non_null(strstr(tcp_scarce(EADDRNOTAVAIL), "ip_local_port_range"));
	assert_non_null(strstr(tcp_scarce(ENOBUFS), "tcp_mem"));
	assert_non_null(strstr(tcp_scarce(ENFILE), "fs.file-max"));
	assert_null(tcp_scarce(ECONNREFUSED));
	assert_null(tcp_scarce(ETIMEDOUT));
	assert_null(tcp_scarce(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_descriptor_for_a_connection_that_comes),
		cmocka_unit_test(no_descriptor_for_one_of_its_own),
		cmocka_unit_test(what_is_the_hosts_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
