/* Taking part without ssh: the line that is pasted, and what it does; and the hidden modes. */
#include "lib/cluster/agent.h"
#include "lib/cluster/launch.h"
#include "lib/cluster/trouble.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/host/hostname.h"

#include <errno.h>
#include <fcntl.h>

enum { CODE_LINE = 256 };

const char *join_line(const char *command, const union addr *at, const struct token *t,
		      struct arena *a)
{
	const char *own = agent_own_path(a), *slash = strrchr(own, '/');
	char code[TOKEN_CODE_SIZE];
	struct addr_text text;

	token_code(t, code);
	if (slash && !access(arena_printf(a, "%.*s/windsock", (int)(slash - own), own), X_OK))
		return arena_printf(a, "windsock join %s %s", addr_print_port(at, &text), code);
	return arena_printf(a, "%s --join %s %s", command, addr_print_port(at, &text), code);
}

/* What was pasted on the command line is not for everybody's ps. */
static int take_code(char *const *words, int n, char *ret, struct err *e)
{
	size_t used = 0;

	*ret = '\0';
	for (int i = 0; i < n; i++) {
		size_t len = strlen(words[i]);

		if (used + len + 1 < CODE_LINE) {
			memcpy(ret + used, words[i], len + 1);
			used += len;
		}
		explicit_bzero(words[i], len);
	}
	if (*ret)
		return 0;
	if (isatty(STDIN_FILENO))
		log_say("paste the code of the run, then Enter");
	if (fgets(ret, CODE_LINE, stdin))
		return 0;
	err_set(e, ERR_USAGE, "there is no code on stdin");
	return err_hint(e, "paste the whole line that --serve printed");
}

/* Groups of four letters (a code, or most of one) or hexadecimal digits where an address belongs.
 */
bool join_is_code(const char *text)
{
	enum { GROUP = 4, ENOUGH = 5 };
	size_t groups = 0;

	if (token_is_hex(text))
		return true;
	for (;; text++) {
		size_t n = strspn(text,
				  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

		if (!n || n > GROUP)
			return false;
		groups += n == GROUP;
		text += n;
		if (!*text)
			return groups >= ENOUGH;
		if (*text != '-')
			return false;
	}
}

static int find_server(const char *where, struct arena *a, addr_list *ret, struct err *e)
{
	struct name_answer got = {0};
	const char *host;
	uint16_t port;

	if (addr_split(where, a, &host, &port) < 0) {
		err_set(e, ERR_USAGE, "'%.100s' is not HOST:PORT", where);
		return err_hint(e, "paste the whole line that --serve printed");
	}
	name_resolve(host, 0, a, &got);
	if (!got.addrs.n)
		return err_set(e, ERR_SYS, "%s %s", host, got.trouble);
	for (size_t i = 0; i < got.addrs.n; i++)
		addr_set_port(&got.addrs.v[i], port ? port : LAUNCH_PORT);
	*ret = got.addrs;
	return 0;
}

int join_main(int argc, char **argv, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(token_wipe) struct token t = {0};
	char code[CODE_LINE];
	addr_list at = {0};
	int rc;

	if (argc < 3 || *argv[2] == '-' || join_is_code(argv[2])) {
		for (int i = 2; i < argc; i++)
			explicit_bzero(argv[i], strlen(argv[i]));
		err_set(e, ERR_USAGE, "to join takes HOST:PORT and then the code");
		return err_hint(e, "paste the whole line that --serve printed");
	}
	rc = take_code(argv + 3, argc - 3, code, e);
	rc = rc < 0 ? rc : token_parse(code, &t, e);
	explicit_bzero(code, sizeof(code));
	if (rc < 0 || find_server(argv[2], &a, &at, e) < 0)
		return -1;
	return agent_joined(&at, &t, e);
}

/* `--agent`, `--agent FD`, `--agent FD SSH...` */
static int hidden(int argc, char **argv, struct err *e)
{
	uint64_t fd = 0;

	if (argc > 2 && (parse_uint(argv[2], &fd) < 0 || fd > INT32_MAX))
		return err_set(e, ERR_USAGE, "--agent is for our own use");
	if (argc <= 3) {
		if (argc == 3) /* on the launcher's own host: its ssh is not how others reach us */
			(void)unsetenv("SSH_CONNECTION");
		else if (isatty(STDIN_FILENO)) /* a person's, or that of `ssh -tt` */
			return err_set(e, ERR_USAGE,
				       "--agent is for our own use: " TROUBLE_TERMINAL);
		return agent_main((int)fd, STDOUT_FILENO);
	}
	if (fd && (dup2((int)fd, STDIN_FILENO) < 0 || close((int)fd)))
		return err_sys(e, "cannot hand orders to %s", argv[3]);
	(void)execvp(argv[3], argv + 3);
	err_sys(e, "cannot start %s", argv[3]);
	return -1;
}

bool launch_intercept(int argc, char **argv, int *ret_code, struct err *e)
{
	int rc;

	if (argc < 2)
		return false;
	*e = (struct err){0};
	if (streq(argv[1], "--agent"))
		rc = hidden(argc, argv, e);
	else if (streq(argv[1], "--join"))
		rc = join_main(argc, argv, e);
	else
		return false;
	*ret_code = rc < 0 ? err_exit_code(e) : rc;
	return true;
}
