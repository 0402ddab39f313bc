#include "lib/cluster/mend.h"

#include "lib/cluster/typed_way.h"
#include "lib/core/quote.h"
#include "lib/net/addr.h"

#include <ctype.h>

enum { QUOTED = 200 };

static bool is_plain_ssh(const struct rsh_way *rsh) { return streq(rsh->typed, "ssh"); }

const char *mend_by_hand(const struct fanout_result *r, const struct rsh_way *rsh, const char *line,
			 const char *why, struct arena *a)
{
	if (rsh->here)
		return arena_printf(a, "%s%s   # %s", strchr("'\"", *line) ? "sh -c " : "", line,
				    why);
	return arena_printf(a, "%s   # %s", typed_there(a, rsh->typed, r->host, line), why);
}

/* By which name its key is kept: with another port than 22 that is [HOST]:PORT, as ssh says. */
static const char *key_name(const struct fanout_result *r, struct arena *a)
{
	static const char says[] = "Host key for ";
	const char *at = strstr(r->err, says), *name;
	size_t n;

	if (at) {
		at += sizeof(says) - 1;
		n = strcspn(at, " \r\n");
		name = arena_strndup(a, at, n);
		if (starts_with(at + n, " has changed") && n < QUOTED)
			return name;
	}
	return host_bare(r->host);
}

bool mend_takes_password(const char *err, struct arena *a)
{
	const char *ways = strstr(err, "Permission denied (");

	ways = arena_strndup(a, ways ?: "", ways ? strcspn(ways, ")") : 0);
	return strstr(ways, "password") || strstr(ways, "keyboard-interactive");
}

/* A key with a passphrase, one that is not there yet, a login shell that is not there: to us ssh
 * says the same. A host that takes no password cannot be given a key: it knows another one. */
static const char *give_key(const struct fanout_result *r, const struct rsh_way *rsh,
			    struct arena *a)
{
	static const char look[] = "-v true 2>&1 | grep -E "
				   "'Identity|Authenticating|Offering|accepts|Permission'";

	if (is_plain_ssh(rsh) && mend_takes_password(r->err, a))
		return mend_by_hand(
			r, rsh, look,
			arena_printf(a,
				     "accepts one, asks for its passphrase: eval "
				     "\"$(ssh-agent)\"; ssh-add. Accepts none: ssh-copy-id "
				     "%s. Refuses a right password: is its login shell there?",
				     shell_quote(a, r->host)),
			a);
	return mend_by_hand(
		r, rsh, look,
		"which key is offered, as whom? ssh-add it, or --rsh 'ssh -i KEY -l USER'", a);
}

/* "Warning: Identity file key.pem not accessible: No such file or directory." */
static const char *key_file(const struct fanout_result *r, struct arena *a)
{
	static const char file[] = "Identity file ";
	const char *at = strstr(r->err, file), *end = strstr(r->err, " not accessible: ");

	if (!at || !end || end < at + sizeof(file) - 1 || end - at > QUOTED)
		return "ls -l KEY   # from here";
	at += sizeof(file) - 1;
	return arena_printf(a, "ls -l %s   # from here: a path without / begins in this folder",
			    shell_quote_path(a, arena_strndup(a, at, (size_t)(end - at))));
}

/* "connect to host 10.0.0.2 port 2222: ": where it went, after what ~/.ssh/config makes of it. */
static const char *goal(const struct fanout_result *r, const char **ret_port, struct arena *a)
{
	static const char to[] = "connect to host ", port[] = " port ";
	const char *at = strstr(r->err, to), *by = at ? strstr(at, port) : NULL, *host;

	*ret_port = "22";
	if (!by || by - at >= QUOTED || !isdigit((unsigned char)by[sizeof(port) - 1]))
		return host_bare(r->host);
	at += sizeof(to) - 1;
	host = arena_strndup(a, at, (size_t)(by - at));
	by += sizeof(port) - 1;
	*ret_port = arena_strndup(a, by, strspn(by, "0123456789"));
	return host;
}

static const char *route_to(const struct fanout_result *r, struct arena *a)
{
	const char *port, *host = goal(r, &port, a);
	union addr ignored;

	if (addr_parse(host, &ignored))
		return arena_printf(a,
				    "getent hosts %s; ip route   # from here: does one lead to "
				    "that address?",
				    shell_quote(a, host));
	return arena_printf(a, "ip route get %s   # from here: no route leads there, nor a default",
			    shell_quote(a, host));
}

static const char *reach(const struct fanout_result *r, struct arena *a)
{
	const char *number, *host = goal(r, &number, a);

	return arena_printf(a,
			    "ping -c 3 %s; portcheck %s   # from here: is it up, is its port of "
			    "ssh open?",
			    shell_quote(a, host),
			    shell_quote(a, arena_printf(a, strchr(host, ':') ? "[%s]:%s" : "%s:%s",
							host, number)));
}

const char *mend_line(enum mend m, const struct fanout_result *r, const struct rsh_way *rsh,
		      struct arena *a)
{
	static const char fingerprint[] = "from here: shows its fingerprint; all at once: --rsh";
	const char *host = shell_quote(a, r->host), *name = shell_quote(a, host_bare(r->host));
	const char *all;

	switch (m) {
	case MEND_FORGET_KEY:
		return arena_printf(a,
				    "ssh-keygen -R %s && %s %s true   # from here, if it was "
				    "reinstalled: compare the fingerprint",
				    shell_quote(a, key_name(r, a)), rsh->typed, host);
	case MEND_KNOW_KEY: /* of a machine that was just started; each would ask its question */
		all = arena_printf(a, "%s -o StrictHostKeyChecking=accept-new", rsh->typed);
		return mend_by_hand(r, rsh, "true",
				    arena_printf(a, "%s %s", fingerprint, shell_quote(a, all)), a);
	case MEND_GIVE_KEY:
		return give_key(r, rsh, a);
	case MEND_KEY_FILE:
		return key_file(r, a);
	case MEND_GIVE_NAME:
		return arena_printf(a,
				    "getent hosts %s   # from here; its spelling? else: echo "
				    "ADDRESS %s | sudo tee -a /etc/hosts",
				    name, name);
	case MEND_REACH:
		return reach(r, a);
	case MEND_ROUTE:
		return route_to(r, a);
	case MEND_LOG:
		return mend_by_hand(
			r, rsh, "'uptime; sudo journalctl -n 20 -u ssh -u sshd -u systemd-oomd'",
			"has it restarted? what ended it?", a);
	case MEND_PROXY:
		return mend_by_hand(r, rsh, "-G | grep -iE '^(hostname|port|proxy)'",
				    "from here: what ssh goes through; try that first", a);
	case MEND_QUIET:
		return mend_by_hand(r, rsh, "true | head -c 300",
				    "what its login prints: let ~/.bashrc there print that for "
				    "shells with a terminal only",
				    a);
	case MEND_LOOK:
		break;
	}
	return NULL;
}
