/* What --copy-self carries, and how it gets in front of the orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/agent.h"
#include "lib/cluster/carry.h"
#include "lib/cluster/child.h"
#include "lib/cluster/parcel.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "tests/unit/apart.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct arena a;
static struct err e;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

/* ---- the parcel ---- */
static struct parcel packed(void)
{
	struct parcel p = {0};

	if (parcel_pack(NULL, &a, &p, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

/* Runs a shell line with the archive on its stdin, in a fresh folder; its exit code. */
static int shell(const struct parcel *p, const char *line)
{
	char dir[] = "/tmp/t_launch_copy.XXXXXX";
	FILE *f;
	int rc;

	assert_non_null(mkdtemp(dir));
	f = popen(arena_printf(&a, "cd %s && { %s; } >out 2>&1", dir, line), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(p->p, 1, p->n, f), p->n);
	rc = pclose(f);
	assert_int_equal(system(arena_printf(&a, "rm -rf %s", dir)), 0);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

static void tar_and_sha256sum_read_it(void **state UNUSED)
{
	struct parcel p = packed();
	const char *own = agent_own_path(&a);

	assert_int_equal(p.n % 512, 0);
	assert_int_equal(shell(&p, "tar -xf - && sha256sum -c SHA256SUMS"), 0);
	assert_int_equal(shell(&p, arena_printf(&a,
						"tar -xf - && cmp bin/t_launch_copy %s && "
						"test -x bin/t_launch_copy",
						own)),
			 0);
	assert_int_equal(
		shell(&p, arena_printf(&a, "cat >/dev/null; echo '%s  %s' | sha256sum -c -",
				       p.own_sum, own)),
		0);
	assert_int_equal(
		shell(&p,
		      arena_printf(&a, "tar -xf - && sha256sum SHA256SUMS | grep -q ^%s", p.sum)),
		0);
	/* one byte wrong is seen */
	assert_int_not_equal(shell(&p, "tar -xf - && printf x >>bin/t_launch_copy && "
				       "sha256sum -c SHA256SUMS"),
			     0);
}

static void the_same_files_give_the_same_bytes(void **state UNUSED)
{
	struct parcel one = packed(), two = packed();

	assert_int_equal(one.n, two.n);
	assert_memory_equal(one.p, two.p, one.n);
	assert_string_equal(one.sum, two.sum);
}

static void what_is_not_there_is_an_error(void **state UNUSED)
{
	static const char *const with[] = {"no-such-program", NULL};
	struct parcel p = {0};

	assert_int_equal(parcel_pack(with, &a, &p, &e), -1);
	assert_non_null(strstr(e.msg, "no-such-program"));
}

static void libraries_are_ours_and_not_the_systems(void **state UNUSED)
{
	str_list l = {0};

	parcel_libraries(&a, &l);
	for (size_t i = 0; i < l.n; i++) {
		assert_int_equal(l.v[i][0], '/');
		assert_int_equal(access(l.v[i], R_OK), 0);
		assert_null(strstr(l.v[i], "/libc.so"));
		assert_null(strstr(l.v[i], "/libm.so"));
		assert_null(strstr(l.v[i], "/ld-linux"));
	}
}

/* A variable that somebody set must not become an `rm -rf`. */
static void only_a_folder_that_we_run_from_is_removed(void **state UNUSED)
{
	static const char *const wrong[] = {"", "/", "/tmp", "/bin", "relative", "/tmp/windsock.x"};
	const char *own = agent_own_path(&a), *slash = strrchr(own, '/');

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(setenv("WINDSOCK_COPY", wrong[i], 1), 0);
		assert_null(parcel_folder(&a));
		assert_null(getenv("WINDSOCK_COPY"));
	}
	/* our folder, but we are not in its bin/ */
	assert_int_equal(setenv("WINDSOCK_COPY", arena_strndup(&a, own, (size_t)(slash - own)), 1),
			 0);
	assert_null(parcel_folder(&a));
	parcel_remove(NULL);
	parcel_remove("/no/such/folder");
}

static void a_folder_is_removed_whole(void **state UNUSED)
{
	char dir[] = "/tmp/t_launch_copy.XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(system(arena_printf(&a,
					     "cd %s && mkdir -p a/b && touch a/b/c d && "
					     "ln -s /etc e && chmod 500 a/b",
					     dir)),
			 0);
	assert_int_equal(chmod(arena_printf(&a, "%s/a/b", dir), 0700), 0);
	parcel_remove(dir);
	assert_int_not_equal(access(dir, F_OK), 0);
	assert_int_equal(access("/etc/passwd", F_OK), 0); /* links are not followed */
}

/* ---- where a run has it ---- */
#define ID "0123456789abcdef0123456789abcdef"
#define SUM ID ID

static const char *found(const char *set, const char *home)
{
	struct text t;
	const char *line;

	assert_int_equal(set ? setenv("WINDSOCK_CARRIED", set, 1) : unsetenv("WINDSOCK_CARRIED"),
			 0);
	line = arena_printf(&a, "cd %s && export HOME=%s TMPDIR=/no/such/folder; %secho elsewhere",
			    home, home, carry_look(&a, "tool", "\"$0\""));
	text_init(&t, &a);
	child_answer((char *[]){(char *)"sh", (char *)"-c", (char *)(uintptr_t)line, (char *)"word",
				NULL},
		     10 * NS_PER_S, 4096, &t);
	assert_int_equal(unsetenv("WINDSOCK_CARRIED"), 0);
	return t.s;
}

static void what_a_run_carried_is_found_and_nobody_elses(void **state UNUSED)
{
	static const char *const wrong[] = {"",
					    ID,
					    ID " ",
					    ID " x" SUM,
					    "x" ID " " SUM,
					    "$(id)456789abcdef0123456789abcdef " SUM};
	char dir[] = "/tmp/t_launch_copy.XXXXXX";
	/* valgrind puts a folder of its own behind ours: what follows the last colon is not said */
	static const char make[] =
		"cd %s && d=windsock." ID ".$(uname -n) && mkdir -p $d/bin && "
		"printf '#!/bin/sh\necho carried $1 ${LD_LIBRARY_PATH%%%%:*}\n' >$d/bin/tool && "
		"chmod 755 . $d $d/bin $d/bin/tool";
	const char *is;

	assert_non_null(mkdtemp(dir));
	assert_string_equal(found(NULL, dir), "elsewhere\n");
	assert_string_equal(found(ID " " SUM, dir), "elsewhere\n");
	assert_int_equal(system(arena_printf(&a, make, dir)), 0);
	is = found(ID " " SUM, dir);
	assert_true(starts_with(is, "carried word "));
	assert_non_null(strstr(is, "windsock." ID));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_string_equal(found(wrong[i], dir), "elsewhere\n");
	/* a link may be another one the next moment */
	assert_int_equal(
		system(arena_printf(&a,
				    "cd %s && mv windsock.* real && cp -r real/bin . && ln -s real "
				    "windsock." ID ".$(uname -n)",
				    dir)),
		0);
	assert_string_equal(found(ID " " SUM, dir),
			    arena_printf(&a, "carried word %s/real/lib\n", dir));
	assert_int_equal(system(arena_printf(&a, "rm %s/windsock.*", dir)), 0);
	assert_string_equal(found(ID " " SUM, dir), "elsewhere\n");
	if (geteuid() == 0) { /* made before us, by who saw the name */
		assert_int_equal(system(arena_printf(&a,
						     "cd %s && mv real windsock." ID
						     ".$(uname -n) && chown -R 65534 .",
						     dir)),
				 0);
		assert_string_equal(found(ID " " SUM, dir), "elsewhere\n");
	}
	parcel_remove(dir);
}

/* A Ctrl-C while it was packed: no loop runs any more, and who would hold agents ends at once. */
static int interrupted_before_it_begins(void)
{
	const struct rlimit cpu = {8, 8}; /* for who does not end, too */
	struct host one = {.name = "192.0.2.1"};
	const host_list hosts = {.v = &one, .n = 1};
	const struct carry_opts o = {.hosts = &hosts, .rsh = "false"};
	struct rusage used;
	struct carry c;

	interrupt_install();
	if (setrlimit(RLIMIT_CPU, &cpu) || raise(SIGTERM) || carry_begin(&o, &a, &c, &e) < 0)
		return 1;
	if (c.n != 1 || c.hosts[0].trouble)
		return 2;
	carry_done(&c);
	if (getenv("WINDSOCK_CARRIED"))
		return 3;
	return getrusage(RUSAGE_CHILDREN, &used) || used.ru_utime.tv_sec >= 2 ? 4 : 0;
}

static void an_interrupt_before_it_begins_ends_it(void **state UNUSED)
{
	assert_int_equal(apart(interrupted_before_it_begins), 0);
}

/* ---- the way there ---- */
static const char asks[] = "\nplease\n";
static unsigned asked, messages;
static char bulk[300000];

static int on_message(struct link *l UNUSED, uint16_t type UNUSED, struct wire_in *in UNUSED)
{
	messages++;
	return 0;
}

static void on_closed(struct link *l UNUSED, const char *why UNUSED) {}

static void on_asked(struct link *l)
{
	asked++;
	link_send_raw(l, bulk, sizeof(bulk));
	link_send(l, 7, "order", 5); /* too early, so behind */
}

static size_t take(int fd, char *into, size_t n)
{
	size_t got = 0;
	ssize_t one;

	while (got < n && (one = read(fd, into + got, n - got)) > 0)
		got += (size_t)one;
	return got;
}

static void what_was_asked_for_comes_first_and_once(void **state UNUSED)
{
	static const char *const said[] = {"Welcome!\n\nplea", "se\n", "\nplease\n"};
	char *got = arena_alloc(&a, sizeof(bulk) + 100);
	struct link l = {.on_message = on_message, .on_closed = on_closed};
	int there[2], back[2];
	struct loop loop;
	size_t n = 0;

	memset(bulk, 'b', sizeof(bulk));
	assert_int_equal(loop_init(&loop, &e), 0);
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC | O_NONBLOCK), 0);
	l.asks = asks;
	l.on_asked = on_asked;
	assert_int_equal(link_open(&l, &loop, there[0], back[1], true, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		assert_true(dprintf(there[1], "%s", said[i]) > 0);
		link_drain(&l);
		assert_int_equal(asked, i > 0);
	}
	for (int i = 0; i < 1000 && n < sizeof(bulk) + 14; i++) {
		n += take(back[0], got + n, sizeof(bulk) + 100 - n);
		if (l.wants_out)
			l.out.ready(&loop, &l.out, 0);
	}
	assert_int_equal(n, sizeof(bulk) + 8 + 5 + 1);
	assert_memory_equal(got, bulk, sizeof(bulk));
	assert_memory_equal(got + sizeof(bulk) + 8, "order\n", 6);
	assert_false(l.wants_out);
	/* it has become the agent */
	assert_true(dprintf(there[1], "%s", link_greeting()) > 0);
	assert_int_equal(write(there[1], "\0\0\0\0\1\0\0\0\n", 9), 9);
	link_drain(&l);
	assert_int_equal(messages, 1);
	link_close(&l);
	loop_done(&loop);
	(void)close(there[1]);
	(void)close(back[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tar_and_sha256sum_read_it),
		cmocka_unit_test(the_same_files_give_the_same_bytes),
		cmocka_unit_test(what_is_not_there_is_an_error),
		cmocka_unit_test(libraries_are_ours_and_not_the_systems),
		cmocka_unit_test(only_a_folder_that_we_run_from_is_removed),
		cmocka_unit_test(a_folder_is_removed_whole),
		cmocka_unit_test(what_a_run_carried_is_found_and_nobody_elses),
		cmocka_unit_test(an_interrupt_before_it_begins_ends_it),
		cmocka_unit_test(what_was_asked_for_comes_first_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
