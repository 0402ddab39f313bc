/* Why a host gave no answer: the right cause of what ssh, shells and loaders say, and what to type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/trouble.h"
#include "lib/cluster/way.h"
#include "lib/core/units.h"

static struct arena a;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

struct row {
	int code;
	const char *out, *err;
	const char *said, *fix; /* parts of them; NULL: there is none */
};

static const struct rsh_way ssh = {.name = "ssh", .typed = "ssh"};

static bool has(const char *text, const char *part)
{
	return part ? text && strstr(text, part) : !text;
}

static void check(const struct row *x, const struct trouble *t)
{
	if (!has(t->said, x->said) || !has(t->fix, x->fix))
		fail_msg("%d, %s: %s -> %s", x->code, x->err, t->said, t->fix);
}

static struct fanout_result result(const struct row *x)
{
	return (struct fanout_result){.host = "me@node1",
				      .started = true,
				      .exit_status = x->code,
				      .out = x->out,
				      .out_n = strlen(x->out),
				      .err = x->err};
}

#define CHANGED "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\n"
#define NEWER                                                                                      \
	"windsock: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by "  \
	"windsock)\n"

static void names_the_cause_and_what_to_type(void **state UNUSED)
{
	static const struct row rows[] = {
		{255, "", CHANGED "Host key for node1 has changed and you have requested strict\n",
		 "not the one in known_hosts", "ssh-keygen -R node1 && ssh me@node1 true   # from"},
		{255, "", CHANGED "Host key for [node1]:22 has changed and you have\n",
		 "not the one in known_hosts", "ssh-keygen -R '[node1]:22' && ssh me@node1 true"},
		{255, "", CHANGED, "not the one in known_hosts", "ssh-keygen -R node1 && "},
		{255, "", "me@node1: Permission denied (publickey,password).\n", "our key",
		 "ssh me@node1 -v true 2>&1 | grep -E "},
		{255, "", "me@node1: Permission denied (publickey).\n", "our key",
		 "ssh me@node1 -v true 2>&1 | grep "},
		{255, "", "ssh: Could not resolve hostname node1: x\n", "not known here",
		 "getent hosts node1   # "},
		{255, "", "Host key verification failed.\n", "its host key is not known here",
		 "ssh me@node1 true   # from here: shows its fingerprint; all at once: --rsh "
		 "'ssh -o StrictHostKeyChecking=accept-new'"},
		{255, "",
		 "ssh: connect to host gate port 22: Connection refused\r\n"
		 "Connection closed by UNKNOWN port 65535\r\n",
		 "cannot reach me@node1 through its jump host or ProxyCommand (ssh: connect to "
		 "host "
		 "gate port 22: Connection refused): connection refused",
		 "ssh me@node1 -G | grep -iE '^(hostname|port|proxy)'   # from here"},
		{255, "", "banner exchange: Connection to UNKNOWN port 65535: Broken pipe\r\n",
		 "ProxyCommand (banner exchange: Connection to UNKNOWN port 65535: Broken pipe): "
		 "that ended before ssh could speak",
		 "ssh me@node1 -G | grep "},
		/* it was there, and is no more */
		{255, "", "Timeout, server node1 not responding.\r\n",
		 "cannot reach me@node1: it answered ssh, and then fell silent",
		 "ping -c 3 node1; portcheck node1:22"},
		{255, "", "Connection to node1 closed by remote host.\r\n",
		 "the connection to it was cut; has it restarted?", "ssh me@node1 'uptime; "},
		{255, "", "client_loop: send disconnect: Broken pipe\r\n",
		 "the connection to it was cut; has it restarted?", "ssh me@node1 'uptime; "},
		{255, "", "kex_exchange_identification: Connection closed by remote host\r\n",
		 "was cut while ssh logged in", NULL},
		/* what ssh says of a command that a signal has ended is nothing */
		{255, "", "", "windsock was killed there by a signal",
		 "ssh me@node1 'windsock --version; echo $?'   # 137"},
		/* where ssh itself has waited in vain, it would hang by hand, too */
		{255, "", "ssh: connect to host 10.0.0.2 port 2222: Connection timed out\r\n",
		 "no answer to ssh", "ping -c 3 10.0.0.2; portcheck 10.0.0.2:2222   # from here"},
		{255, "", "ssh: connect to host fd00::2 port 22: No route to host\r\n",
		 "no route to it", "ping -c 3 fd00::2; portcheck '[fd00::2]:22'   # from here"},
		{255, "", "Connection timed out during banner exchange\r\n", "no answer to ssh",
		 "ping -c 3 node1; portcheck node1:22   # from here"},
		{255, "", "ssh: connect to host 10.9.0.3 port 22: Network is unreachable\r\n",
		 "this host has no route to it",
		 "ip route get 10.9.0.3   # from here: no route leads there, nor a default"},
		{255, "", "ssh: connect to host far port 22: Network is unreachable\r\n",
		 "this host has no route to it", "getent hosts far; ip route   # from here"},
		/* the key that was named is missing, and the others were not taken */
		{255, "",
		 "Warning: Identity file my key.pem not accessible: No such file or directory.\r\n"
		 "me@node1: Permission denied (publickey).\r\n",
		 "the key file that -i names is not here",
		 "ls -l 'my key.pem'   # from here: a path without / begins in this folder"},
		{255, "",
		 "Warning: Identity file k not accessible: No such file or directory.\r\n"
		 "ssh: connect to host node1 port 22: Connection refused\r\n",
		 "connection refused", NULL},
		{255, "", "odd\n", "cannot reach me@node1: ssh ended with exit code 255: odd",
		 NULL},
		{127, "", "sh: windsock: not found\n",
		 "windsock is not installed on me@node1, or not on the PATH of shells without a "
		 "terminal; install it there, or give its path",
		 NULL}, /* one file of ours would be of no use there */
		{127, "", "", "is not installed", NULL},
		{127, "",
		 "bash: module: command not found\nbash: line 1: windsock: command not found\n",
		 "windsock is not installed on me@node1", NULL},
		{127, "", "Welcome\nsh: 1: exec: fish: not found\n",
		 "windsock was not begun on me@node1, another program is missing there: sh: 1: "
		 "exec: "
		 "fish: not found",
		 "ssh me@node1 echo works   # says the same? then "},
		{127, "", "zsh:1: command not found: tmux\n", "another program is missing there",
		 "echo works"},
		{127, "",
		 "Welcome\n/opt/windsock: error while loading shared libraries: "
		 "libcjson.so.1: cannot open shared object file: No such file\n",
		 "windsock cannot run on me@node1: the library libcjson.so.1 is not there",
		 "ssh me@node1 'sudo apt-get install -y libcjson1 || sudo dnf install -y cjson'"},
		{127, "",
		 "/opt/x: error while loading shared libraries: libfoo.so: cannot open "
		 "shared object file: No such file\n",
		 "the library libfoo.so is not there", "ssh me@node1 'ldd "},
		{127, "",
		 "x: error while loading shared libraries: libcjson.so.1: file too short\n",
		 "the library libcjson.so.1 cannot be used", "libcjson1"},
		{126, "", "sh: 1: exec: /opt/windsock: Permission denied\n",
		 "windsock may not be run on me@node1 (sh: 1: exec: /opt/windsock: ",
		 "ssh me@node1 'chmod +x /opt/windsock; findmnt -no OPTIONS -T /opt/windsock'   #"},
		{126, "",
		 "sh: line 1: /opt/windsock: Permission denied\nsh: line 1: exec: /opt/windsock: "
		 "cannot execute: Permission denied\n",
		 "its mode lacks x", "'chmod +x /opt/windsock; "},
		{126, "", "/opt/windsock: 1: exec: windsock: Permission denied\n",
		 "its mode lacks x", "'chmod +x /opt/windsock; "},
		{126, "", "sh: 1: exec: /opt/windsock: Exec format error\n",
		 "(sh: 1: exec: /opt/windsock: Exec format error); is it built for that machine?",
		 "ssh me@node1 uname -m"},
		{1, "", "oh\n", NULL, NULL},
		{0, "", "", NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fanout_result r = result(&rows[i]);
		struct trouble t = fanout_trouble(&r, &ssh, "windsock", NS_PER_S, &a);

		check(&rows[i], &t);
	}
}

/* The same line again would hang again. */
static void silence_is_looked_for_in_the_login(void **state UNUSED)
{
	const struct row x = {-1, "", "",
			      "windsock said nothing for 1 s and was ended; is that host up, "
			      "does its login wait",
			      "ssh me@node1 echo works   # hangs too? then "};
	struct fanout_result r = result(&x);
	struct trouble t;

	r.timed_out = true;
	t = fanout_trouble(&r, &ssh, "windsock", NS_PER_S, &a);
	check(&x, &t);
}

static void a_question_is_no_slow_login(void **state UNUSED)
{
	const struct row x = {-1, "", "Welcome\n(me@node1) Password: ",
			      "me@node1: ssh asks a person, and there is nobody to answer it: "
			      "\"(me@node1) Password:\"",
			      "ssh me@node1 true   # answer it"};
	struct fanout_result r = result(&x);
	struct trouble t;

	r.timed_out = r.asks = true;
	t = fanout_trouble(&r, &ssh, "windsock", NS_PER_S, &a);
	check(&x, &t);
	assert_true(t.away);
}

static void questions_for_a_person_are_known(void **state UNUSED)
{
	static const char *const asks[] = {
		"Password: ",
		"me@node1's password:",
		"[sudo] password for me: ",
		"Enter passphrase for key '/home/me/.ssh/id': ",
		"hello\nVerification code: ",
		"Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
		"Enter a passcode or select one of the following options: "};
	static const char *const says[] = {"",
					   "\n",
					   "Password: \n",
					   "Wrong password.",
					   "password: hello",
					   "Compiling code: ",
					   "login: ",
					   "Permission denied (publickey,password).\r\n",
					   "Password:\nLast login: "};

	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		if (!way_asks(asks[i]))
			fail_msg("%s", asks[i]);
	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		if (way_asks(says[i]))
			fail_msg("%s", says[i]);
}

/* What waits for somebody who logs in elsewhere is told by what it said, when its time is over. */
static void a_login_elsewhere_is_no_slow_login(void **state UNUSED)
{
	const struct row x = {
		-1, "", "# To authenticate, visit: https://login.tailscale.com/a/1f\n",
		"me@node1: ssh asks a person, and there is nobody to answer it: \"# To authent",
		"ssh me@node1 true   # answer it"};
	struct fanout_result r = result(&x);
	struct trouble t;

	r.timed_out = true;
	t = fanout_trouble(&r, &ssh, "windsock", NS_PER_S, &a);
	check(&x, &t);
}

/* Of sudo's complaint that there is no terminal only the way's own is the way's. */
static void no_terminal_is_a_question(void **state UNUSED)
{
	static const char said[] =
		"sudo: a terminal is required to read the password; either use the -S option\n"
		"sudo: a password is required\n";
	static const struct rsh_way own = {.name = "sudo", .typed = "sudo -u ops ssh"},
				    kx = {.name = "./kx", .typed = "./kx"};
	const struct row of_way = {1, "", said, "asks a person", "sudo -u ops ssh me@node1 true"},
			 of_other = {1, "", said, NULL, NULL},
			 tty = {1, "", "./kx: 2: cannot open /dev/tty: No such device or address\n",
				"me@node1: ./kx asks a person", "./kx me@node1 true   # answer it"};
	struct fanout_result r = result(&of_way);
	struct trouble t = fanout_trouble(&r, &own, "windsock", NS_PER_S, &a);

	check(&of_way, &t);
	t = fanout_trouble(&r, &kx, "windsock", NS_PER_S, &a);
	check(&of_other, &t);
	r = result(&tty);
	t = fanout_trouble(&r, &kx, "windsock", NS_PER_S, &a);
	check(&tty, &t);
}

static void a_login_without_end_is_to_be_quiet(void **state UNUSED)
{
	const struct row x = {0, "xxxx", "", "me@node1: " TROUBLE_NOISY,
			      "ssh me@node1 true | head -c 300   # what its login prints"};
	struct fanout_result r = result(&x);
	struct trouble t;

	r.truncated = true;
	t = fanout_silence(&r, &ssh, "windsock", &a);
	check(&x, &t);
}

/* What looked at a folder has said that it hangs, and then hung itself. */
static void a_dead_folder_is_named(void **state UNUSED)
{
	const struct row x = {-1, "", "Welcome\n/home/me: " TROUBLE_DEAD "\n",
			      "me@node1: /home/me does not answer there: its file server is gone",
			      "ssh me@node1 'findmnt -lo TARGET,SOURCE,FSTYPE'   # which server"};
	struct fanout_result r = result(&x);
	struct trouble t;

	r.timed_out = true;
	t = fanout_trouble(&r, &ssh, "windsock", NS_PER_S, &a);
	check(&x, &t);
}

static void another_way_than_ssh_takes_no_key(void **state UNUSED)
{
	const struct rsh_way rsh = {.name = "ssh", .typed = "ssh -p 22022"};
	const struct row x = {255, "", "Permission denied (publickey,password).", "our key",
			      "ssh -p 22022 me@node1 -v true"};
	const struct fanout_result r = result(&x);
	struct trouble t = fanout_trouble(&r, &rsh, "windsock", NS_PER_S, &a);

	check(&x, &t);
}

static void says_what_came_instead(void **state UNUSED)
{
	static const struct row rows[] = {
		{1, "This account is currently not available.\n", "",
		 "ended with exit code 1 and said \"This account is currently not available.\"",
		 "ssh me@node1 echo works   # "},
		{0, "", "", "windsock there ended with exit code 0 and said nothing", "~/.bashrc"},
		{1, "** WELCOME **\n", ".bashrc: line 1: X: unbound variable\n",
		 "said \".bashrc: line 1: X: unbound variable\"", "~/.bashrc"},
		{137, "", "", "windsock was killed by signal 9 (SIGKILL) there", "dmesg"},
		{1, "", NEWER, "built for a newer system (GLIBC_2.38 is not there)",
		 "ldd --version"},
		{3, "", "windsock: cannot make an event loop: Too many open files\n  -> raise it\n",
		 "said \"windsock: cannot make an event loop: Too many open files\"", "ulimit -a"},
		{3, "", "windsock: there are no more processes\n   - raise \"ulimit -u\"\n",
		 "said \"windsock: there are no more processes\"", "ulimit -a"},
		{3, "", "windsock: " TROUBLE_UNFED "\n",
		 "me@node1: nothing can come on stdin of windsock there: a login script has",
		 "ssh me@node1 \"grep -nsE 'exec.*<' .bashrc "},
		{3, "\033[2J\001\n", "", "said \"?[2J?\"", "~/.bashrc"},
		{3, "", "\033[1;31mred\033[0m\n", "said \"red\"", "~/.bashrc"},
		{3,
		 "windsock: \033[31merror\033[0m: stdin is a terminal: orders cannot come through "
		 "one",
		 "", "ssh was told to make a terminal (-t, RequestTTY)",
		 "-G | grep -iE '^request'"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fanout_result r = result(&rows[i]);
		struct trouble t = fanout_silence(&r, &ssh, "windsock", &a);

		check(&rows[i], &t);
	}
}

/* kubectl exec, docker exec, a company's ssh: codes of their own, and the words that say whose. */
static void another_way_than_ssh_has_codes_of_its_own(void **state UNUSED)
{
	static const struct row rows[] = {
		{1, "", "Error from server (NotFound): pods \"me@node1\" not found\n",
		 "cannot reach me@node1: ./kx ended with exit code 1 and said \"Error from server "
		 "(NotFound): "
		 "pods \"me@node1\" not found\": there is no pod of that name",
		 "kubectl get pods -o wide   # "},
		{1, "", "error: You must be logged in to the server (Unauthorized)\n",
		 "cannot reach me@node1: ./kx ended with exit code 1 and said \"",
		 "kubectl auth whoami"},
		{1, "", "Error response from daemon: No such container: me@node1\n",
		 "there is no container of that name", "docker ps"},
		{1, "", "Error response from daemon: container 0a1b is not running\n",
		 "its container is not running", "docker start me@node1"},
		{126, "",
		 "OCI runtime exec failed: exec failed: unable to start container process: exec: "
		 "\"sh\": executable file not found in $PATH: unknown\n",
		 "cannot reach me@node1: ./kx ended with exit code 126 and said \"OCI runtime ",
		 "./kx me@node1 "},
		{1, "", "srun: error: Unable to confirm allocation for job 7: Invalid job id\n",
		 "that job is over", "squeue"},
		{2, "", "ERROR: Not logged in.\n", "its login is not valid, or not any more",
		 "./kx me@node1 echo works"},
		{254, "", "Your session has expired, please log in again\n",
		 "its login is not valid, or not any more", "./kx me@node1 echo works"},
		{1, "", "me@node1: Permission denied (publickey).\n",
		 "cannot reach me@node1: it does not accept our key", "./kx me@node1 -v true"},
		{1, "", "ssh: Could not resolve hostname node1: x\n", "the name is not known here",
		 "getent hosts node1"},
		{77, "", "policy denies it\n", NULL, NULL}, /* the command's own, perhaps */
		{0, "", "ERROR: Not logged in.\n", NULL, NULL},
		{127, "", "./kx: line 4: kubectl: not found\n",
		 "windsock was not begun on me@node1, another program is missing there or in ./kx "
		 "here: ./kx: line 4: kubectl: not found",
		 "./kx me@node1 echo works"},
		{255, "", "odd\n", "cannot reach me@node1: ./kx ended with exit code 255: odd",
		 NULL},
	};
	const struct rsh_way rsh = {.name = "./kx", .typed = "./kx"};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fanout_result r = result(&rows[i]);
		struct trouble t = fanout_trouble(&r, &rsh, "windsock", NS_PER_S, &a);

		check(&rows[i], &t);
		assert_int_equal(t.away, t.said && rows[i].code != 127);
	}
}

/* Whose code it is, it does not say: what is said is that it may be of either. */
static void another_way_without_an_answer_is_named(void **state UNUSED)
{
	static const struct row rows[] = {
		{77, "", "policy denies it\n",
		 "me@node1: ./kx ended with exit code 77 before windsock there had answered, and "
		 "said \"policy denies it\"",
		 "./kx me@node1 echo works   # fails alike? then it is ./kx"},
		{4, "", "",
		 "me@node1: ./kx ended with exit code 4 before windsock there had "
		 "answered, and said nothing",
		 "./kx me@node1 echo works"},
		{3, "", "windsock: there are no more processes\n",
		 "windsock there ended with exit code 3 and said \"windsock: there", "ulimit -a"},
		{137, "", "",
		 "windsock was killed by signal 9 (SIGKILL) there, or what it runs in was stopped",
		 "./kx me@node1 'sudo dmesg"},
		{139, "", "", "windsock was killed by signal 11 (SIGSEGV) there",
		 "no program for it?"},
		{3, "", "windsock: " TROUBLE_UNFED "\n",
		 "nothing can come on stdin of windsock there: ./kx passes none on, or a login",
		 "echo works | ./kx me@node1 cat   # from here: silent? "},
	};
	const struct rsh_way rsh = {.name = "./kx", .typed = "./kx"};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fanout_result r = result(&rows[i]);
		struct trouble t = fanout_silence(&r, &rsh, "windsock", &a);

		check(&rows[i], &t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_the_cause_and_what_to_type, forget),
		cmocka_unit_test_teardown(another_way_than_ssh_takes_no_key, forget),
		cmocka_unit_test_teardown(silence_is_looked_for_in_the_login, forget),
		cmocka_unit_test_teardown(a_question_is_no_slow_login, forget),
		cmocka_unit_test_teardown(questions_for_a_person_are_known, forget),
		cmocka_unit_test_teardown(a_login_elsewhere_is_no_slow_login, forget),
		cmocka_unit_test_teardown(no_terminal_is_a_question, forget),
		cmocka_unit_test_teardown(a_login_without_end_is_to_be_quiet, forget),
		cmocka_unit_test_teardown(a_dead_folder_is_named, forget),
		cmocka_unit_test_teardown(says_what_came_instead, forget),
		cmocka_unit_test_teardown(another_way_than_ssh_has_codes_of_its_own, forget),
		cmocka_unit_test_teardown(another_way_without_an_answer_is_named, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
