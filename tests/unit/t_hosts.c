/* /etc/hosts with glibc's rules, names that are numbers, and a resolver that is not waited for. */
#include "lib/core/units.h"
#include "lib/host/hostname.h"
#include "tests/unit/composed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <sys/resource.h>

static const char *joined(struct arena *a, const addr_list *l)
{
	char *s = arena_strdup(a, "");
	struct addr_text t;

	for (size_t i = 0; i < l->n; i++)
		s = arena_printf(a, "%s%s%s", s, i ? " " : "", addr_print(&l->v[i], &t));
	return s;
}

static const struct row {
	const char *text, *name, *addrs, *canonical;
} rows[] = {
	{"10.0.0.5 node0\n", "node0", "10.0.0.5", "node0"},
	{"10.0.0.5 node0", "node0", "10.0.0.5", "node0"},
	{"10.0.0.5\tnode0.cluster  node0\r\n", "node0", "10.0.0.5", "node0.cluster"},
	{"  10.0.0.5 node0\n", "node0", "10.0.0.5", "node0"},
	{"10.0.0.5 NODE0\n", "node0", "10.0.0.5", "NODE0"},
	{"10.0.0.5 a node0 # node1\n", "node1", "", NULL},
	{"10.0.0.5 a#node1\n", "node1", "", NULL},
	{"#10.0.0.5 node0\n", "node0", "", NULL},
	{"127.0.1.1 node0\n10.0.0.5 node0\nfd00::5 node0\n", "node0", "127.0.1.1 10.0.0.5 fd00::5",
	 "node0"},
	{"10.0.0.5 node0\n10.0.0.5 node0 again\n", "node0", "10.0.0.5", "node0"},
	/* an address that glibc does not take makes the line nothing */
	{"010.0.0.5 node0\n", "node0", "", NULL},
	{"10.0.5 node0\n", "node0", "", NULL},
	{"fe80::1%eth0 node0\n", "node0", "", NULL},
	{"10.0.0.5\n", "node0", "", NULL},
	{"10.0.0.5 node00\n", "node0", "", NULL},
	{"10.0.0.5 node\n", "node0", "", NULL},
	{"10.0.0.5 node0\n", "10.0.0.5", "", NULL}, /* the address is no name */
	{"10.0.0.5 node0\n", "", "", NULL},
	{"", "node0", "", NULL},
	{"\n\n\n", "node0", "", NULL},
};

static void hosts_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct name_answer got = {0};

		hosts_lookup(rows[i].text, strlen(rows[i].text), rows[i].name, &a, &got);
		assert_string_equal(joined(&a, &got.addrs), rows[i].addrs);
		assert_int_equal(got.source, *rows[i].addrs ? NAME_HOSTS : NAME_UNKNOWN);
		if (rows[i].canonical)
			assert_string_equal(got.canonical, rows[i].canonical);
		else
			assert_null(got.canonical);
	}
}

/* Every row again, through the real getaddrinfo() over the same file in a mount namespace. */
static int glibc_says(const struct row *row, char *buf, size_t n)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME},
			*list = NULL;
	int code = getaddrinfo(row->name, NULL, &hints, &list);

	if (code)
		return code;
	snprintf(buf, n, "%s", list->ai_canonname);
	freeaddrinfo(list);
	return 0;
}

static void glibc_agrees(void **state)
{
	char path[] = "/tmp/t_hosts.XXXXXX", nss[] = "/tmp/t_nss.XXXXXX";
	int hosts = mkstemp(path), conf = mkstemp(nss);
	const char *why = geteuid() ? "needs root" : NULL;

	(void)state;
	assert_true(hosts >= 0 && conf >= 0);
	assert_true(dprintf(conf, "hosts: files\n") > 0);
	if (!why && unshare(CLONE_NEWNS) < 0)
		why = "no mount namespace";
	if (!why) {
		composed_run((const char *const[]){"mount", "--make-rprivate", "/", NULL});
		composed_run((const char *const[]){"mount", "--bind", path, "/etc/hosts", NULL});
		composed_run(
			(const char *const[]){"mount", "--bind", nss, "/etc/nsswitch.conf", NULL});
	}
	for (size_t i = 0; i < ARRAY_LEN(rows) && !why; i++) {
		char canonical[256] = "";
		int code;

		if (!*rows[i].name || inet_addr(rows[i].name) != INADDR_NONE)
			continue;
		assert_int_equal(ftruncate(hosts, 0), 0);
		assert_true(pwrite(hosts, rows[i].text, strlen(rows[i].text), 0) >= 0);
		code = glibc_says(&rows[i], canonical, sizeof(canonical));
		if ((code == 0) != (*rows[i].addrs != '\0'))
			fail_msg("row %zu: glibc says %d (%s)", i, code, canonical);
		if (rows[i].canonical)
			assert_string_equal(canonical, rows[i].canonical);
	}
	(void)unlink(path), (void)unlink(nss);
	(void)close(hosts), (void)close(conf);
	if (why)
		skip();
}

static void numbers_are_not_looked_up(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct name_answer got;

	(void)state;
	name_from_hosts("05", &a, &got);
	assert_int_equal(got.source, NAME_NUMERIC);
	assert_string_equal(joined(&a, &got.addrs), "0.0.0.5");
	name_from_hosts("10.0.0.5", &a, &got);
	assert_string_equal(joined(&a, &got.addrs), "10.0.0.5");
	name_from_hosts("[::1]", &a, &got);
	assert_int_equal(got.source, NAME_UNKNOWN);
	assert_non_null(got.trouble);
	name_from_hosts("10.0.0.5 ", &a, &got);
	assert_int_equal(got.addrs.n, 0);
}

static void resolver(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct name_answer got;

	(void)state;
	name_resolve("127.0.0.1", 0, &a, &got);
	assert_string_equal(joined(&a, &got.addrs), "127.0.0.1");
	assert_int_equal(got.source, NAME_RESOLVER);
	name_resolve("a name with blanks", 0, &a, &got);
	assert_int_equal(got.addrs.n, 0);
	assert_non_null(strstr(got.trouble, "does not resolve"));
	assert_false(got.timed_out);
}

/* The child is ended and collected, and the caller is not kept. */
static void deadline(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct name_answer got;
	uint64_t began = now_ns();

	(void)state;
	name_resolve("localhost", 1, &a, &got);
	assert_true(got.timed_out || got.addrs.n);
	assert_true(now_ns() - began < 10 * NS_PER_S);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* A limit of ours says nothing about a name: no "does not resolve", and nobody who was slow. */
static void who_cannot_ask_says_so(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct rlimit old, none;
	struct name_answer got;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){3, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	name_resolve("127.0.0.7", 0, &a, &got);
	assert_string_equal(joined(&a, &got.addrs), "127.0.0.7"); /* nobody needs to be asked */
	assert_false(got.unasked);
	name_resolve("localhost", 0, &a, &got);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(got.addrs.n, 0);
	assert_true(got.unasked);
	assert_false(got.timed_out);
	assert_non_null(strstr(got.trouble, "Too many open files"));
	assert_non_null(strstr(got.trouble, "ulimit -n"));
}

static void a_book_asks_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct name_book b = {.deadline_ns = 30 * NS_PER_S};
	const struct name_answer *first, *silent;

	(void)state;
	first = name_ask(&b, "127.0.0.1", &a);
	assert_string_equal(joined(&a, &first->addrs), "127.0.0.1");
	assert_ptr_equal(name_ask(&b, "127.0.0.1", &a), first);
	assert_int_equal(b.asked.n, 1);
	assert_string_equal(joined(&a, &name_ask(NULL, "127.0.0.1", &a)->addrs), "127.0.0.1");
	assert_int_equal(b.asked.n, 1);
	/* one that got no answer is not asked again, and others are waited for less */
	b.deadline_ns = 1;
	silent = name_ask(&b, "127.0.0.2", &a);
	b.asked.v[1]->got.timed_out = true;
	assert_ptr_equal(name_ask(&b, "127.0.0.2", &a), silent);
	b.deadline_ns = 120 * NS_PER_S;
	first = name_ask(&b, "127.0.0.3", &a);
	assert_string_equal(joined(&a, &first->addrs), "127.0.0.3");
}

static void plain_names(void **state)
{
	(void)state;
	assert_true(name_is_plain("gpu-01.example_x"));
	assert_false(name_is_plain(""));
	assert_false(name_is_plain("a b"));
	assert_false(name_is_plain("a'"));
	assert_false(name_is_plain("$(x)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_file),	cmocka_unit_test(numbers_are_not_looked_up),
		cmocka_unit_test(resolver),	cmocka_unit_test(deadline),
		cmocka_unit_test(glibc_agrees), cmocka_unit_test(a_book_asks_once),
		cmocka_unit_test(plain_names),	cmocka_unit_test(who_cannot_ask_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
