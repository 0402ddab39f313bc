/* rsh.c: which words reach a host, and what of them is ours. */
#include <setjmp.h>
#include <stdarg.h>

#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <cmocka.h>

#define PATIENCE                                                                                   \
	" -T -x -o ClearAllForwardings=yes -o RemoteCommand=none -o BatchMode=yes -o "             \
	"ConnectTimeout=9 -o ServerAliveInterval=5"
#define OURS "ssh" PATIENCE

static const char *words(const char *given, unsigned deadline_s, struct arena *a,
			 struct rsh_way *ret_way)
{
	str_list got = {0};
	struct err e = {0};
	struct text t;

	text_init(&t, a);
	assert_int_equal(rsh_words(given, deadline_s * NS_PER_S, a, &got, ret_way, &e), 0);
	for (size_t i = 0; i < got.n; i++)
		text_addf(&t, "%s%s", i ? " " : "", got.v[i]);
	return t.s;
}

/* A host that is down costs as long with a key or a port that somebody named as without. */
static void an_ssh_with_options_gets_our_patience(void **state UNUSED)
{
	static const struct {
		const char *given, *want;
	} rows[] = {
		{NULL, OURS},
		{"ssh", "ssh" PATIENCE},
		{"ssh -i key.pem -l ubuntu", "ssh -i key.pem -l ubuntu" PATIENCE},
		{"/usr/bin/ssh -Tvi key -p22", "/usr/bin/ssh -Tvi key -p22" PATIENCE},
		{"ssh -o BatchMode=no", "ssh -o BatchMode=no" PATIENCE},
		{"ssh -o ConnectTimeout=60", "ssh -o ConnectTimeout=60" PATIENCE}, /* first wins */
		/* what stands behind a host is a command's */
		{"ssh gate ssh", "ssh gate ssh"},
		{"ssh -l me gate sudo nsenter", "ssh -l me gate sudo nsenter"},
		{"ssh -i key -- gate", "ssh -i key -- gate"},
		{"ssh -", "ssh -"},
		{"ssh -i", "ssh -i"},
		{"sshpass -e ssh", "sshpass -e ssh"},
		{"srun -w", "srun -w"},
	};

	unsetenv("WINDSOCK_RSH");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct rsh_way way;

		assert_string_equal(words(rows[i].given, 10, &a, &way), rows[i].want);
		assert_null(strstr(way.typed, "ConnectTimeout=9"));
	}
}

/* It knows why nobody answers, and we do not. */
static void ssh_gives_up_before_we_do(void **state UNUSED)
{
	static const struct {
		unsigned deadline_s;
		const char *want;
	} rows[] = {{60, "=10 "}, {11, "=10 "}, {5, "=4 "}, {3, "=2 "}, {2, "=1 "}, {1, "=1 "}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct rsh_way way;
		const char *got = strstr(words(NULL, rows[i].deadline_s, &a, &way), "Timeout=");

		assert_memory_equal(got + strlen("Timeout"), rows[i].want, strlen(rows[i].want));
	}
}

/* Who reads a line has given --rsh, and it arrives nowhere without. */
static void what_is_typed_goes_the_same_way(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	unsetenv("WINDSOCK_RSH");
	assert_string_equal(typed_for(&a, "portcheck", NULL, "n[1-2]"),
			    "portcheck --hosts 'n[1-2]'");
	assert_string_equal(typed_for(&a, "portcheck", "ssh -p 22022", "n1"),
			    "portcheck --rsh 'ssh -p 22022' --hosts n1");
	assert_int_equal(setenv(RSH_TYPED, "./kx", 1), 0); /* of who started us */
	assert_string_equal(typed_for(&a, "portcheck", NULL, "n1"),
			    "portcheck --rsh ./kx --hosts n1");
	assert_string_equal(typed_there(&a, rsh_typed(&a, NULL), "fd00::1", "true"),
			    "./kx fd00::1 true");
	unsetenv(RSH_TYPED);
	assert_string_equal(typed_copy(&a, rsh_typed(&a, NULL), "n1", "it", "/opt/it"),
			    "ssh n1 'cat >/opt/it.new && chmod +x /opt/it.new && mv /opt/it.new "
			    "/opt/it' <it");
}

/* Behind an operator nothing is run here, and remarks are for who reads the line. */
static void a_command_goes_there_whole(void **state UNUSED)
{
	static const struct {
		const char *command, *typed;
	} rows[] = {
		{"top -b -n 1", "ssh n1 top -b -n 1"},
		{"X=3 ddpsmoke --np 1", "ssh n1 X=3 ddpsmoke --np 1"},
		{"mv /d/x /d/x.gz && gunzip /d/x.gz", "ssh n1 'mv /d/x /d/x.gz && gunzip /d/x.gz'"},
		{"ls -ld /d; id   # who may write?", "ssh n1 'ls -ld /d; id'   # who may write?"},
		{"vmstat 1 5   # it's slow", "ssh n1 vmstat 1 5   # it's slow"},
		{"dmesg -T | grep -iE 'a|b'", "ssh n1 \"dmesg -T | grep -iE 'a|b'\""},
		{"ls -l 'my data'", "ssh n1 \"ls -l 'my data'\""},
		{"ls -l '$x'", "ssh n1 'ls -l '\\''$x'\\'''"},
		{"ls ~/x", "ssh n1 'ls ~/x'"},
		{"echo '# no remark'", "ssh n1 \"echo '# no remark'\""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};

		assert_string_equal(typed_on(&a, "ssh", "n1", rows[i].command), rows[i].typed);
	}
}

/* Reports are posted. */
static void a_password_is_shown_to_nobody(void **state UNUSED)
{
	static const struct {
		const char *given, *shown;
	} rows[] = {
		{"sshpass -p hunter2 ssh -p 22", "sshpass -p ... ssh -p 22"},
		{"/opt/bin/sshpass -v -phunter2 ssh", "/opt/bin/sshpass -v -p... ssh"},
		{"sshpass -p 'a b' ssh", "sshpass -p ... ssh"},
		{"sshpass -e ssh -p 22", "sshpass -e ssh -p 22"},
		{"ssh -p 22  -i 'a'", "ssh -p 22  -i 'a'"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct rsh_way way;

		assert_string_equal(rsh_typed(&a, rows[i].given), rows[i].shown);
		(void)words(rows[i].given, 10, &a, &way);
		assert_null(strstr(way.typed, "hunter2"));
		assert_null(strstr(typed_for(&a, "x", rows[i].given, "h"), "hunter2"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ssh_with_options_gets_our_patience),
		cmocka_unit_test(what_is_typed_goes_the_same_way),
		cmocka_unit_test(a_command_goes_there_whole),
		cmocka_unit_test(ssh_gives_up_before_we_do),
		cmocka_unit_test(a_password_is_shown_to_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
