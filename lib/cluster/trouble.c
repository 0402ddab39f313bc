#include "lib/cluster/trouble.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <ctype.h>
#include <signal.h>

/* What OpenSSH writes, in the order that the more telling line wins. */
static const struct {
	const char *said, *means, *todo;
} causes[] = {
	{"IDENTIFICATION HAS CHANGED", "its host key is not the one in known_hosts",
	 "if the machine was reinstalled, remove the old key with ssh-keygen -R"},
	{"Host key verification failed", "its host key is not known here",
	 "ssh to it once by hand and compare the fingerprint"},
	{"UNPROTECTED PRIVATE KEY", "ssh ignores a key that others can read",
	 "chmod 600 the key file"},
	{"Too many authentication failures", "ssh offered too many keys",
	 "name the one: --rsh 'ssh -o IdentitiesOnly=yes -i KEY'"},
	{"Permission denied", "it does not accept our key",
	 "copy the key with ssh-copy-id, or start ssh-agent and ssh-add it"},
	{"Could not resolve hostname", "the name is not known here",
	 "add it to /etc/hosts or give the address"},
	{"Connection refused", "connection refused",
	 "start sshd there, or give its port: --rsh 'ssh -p PORT'"},
	{"timed out", "no answer to ssh",
	 "check the address, that the machine is up, and that port 22 is allowed in"},
	{"No route to host", "no route to it, or a firewall rejects ssh",
	 "check the address and that the machine is up"},
	{"Network is unreachable", "this host has no route to it", "check the address"},
	{"Connection reset", "the connection was cut while ssh logged in",
	 "look at sshd's log there (MaxStartups, fail2ban)"},
	{"Connection closed", "the connection was cut while ssh logged in",
	 "look at sshd's log there (MaxStartups, fail2ban)"},
	{"Bad configuration option", "ssh does not understand its configuration",
	 "try the same ssh by hand"},
};

/* The last line of @s that says something, printable. */
static const char *last_line(struct arena *a, const char *s)
{
	size_t n = strlen(s), from;
	char *line;

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	for (from = n; from && s[from - 1] != '\n' && s[from - 1] != '\r'; from--)
		;
	line = arena_strndup(a, s + from, n - from);
	for (char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return line;
}

static const char *no_connection(const struct fanout_result *r, const struct rsh_way *rsh,
				 struct arena *a)
{
	const char *said = last_line(a, r->err);

	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (strstr(r->err, causes[i].said))
			return arena_printf(a, "cannot reach %s: %s; %s", r->host, causes[i].means,
					    causes[i].todo);
	return arena_printf(a, "cannot reach %s: %s ended with 255%s%s; try `%s %s true` by hand",
			    r->host, rsh->name, *said ? ": " : "", said, rsh->typed, r->host);
}

static const char *unfinished(bool started)
{
	if (interrupt_by_budget())
		return started ? "had not answered when the budget passed"
			       : "was not asked before the budget passed";
	return started ? "was not finished: interrupted" : "was not asked: interrupted";
}

const char *fanout_trouble(const struct fanout_result *r, const struct rsh_way *rsh,
			   const char *program, uint64_t deadline_ns, struct arena *a)
{
	struct unit_buf b;

	if (r->interrupted)
		return arena_printf(a, "%s %s", r->host, unfinished(r->started));
	if (r->timed_out)
		return arena_printf(a,
				    "%s: %s said nothing for %s and was ended; try `%s %s %s` by "
				    "hand, or allow more with --deadline",
				    r->host, program, format_duration(&b, deadline_ns), rsh->typed,
				    r->host, program);
	if (r->exit_status < 0)
		return arena_printf(a, "%s: %s here was killed by signal %d (%s)", r->host,
				    rsh->name, r->signal, strsignal(r->signal));
	switch (r->exit_status) {
	case 255:
		return no_connection(r, rsh, a);
	case 127:
		return arena_printf(a,
				    "%s is not installed on %s (or not on the PATH of "
				    "non-interactive shells); install it there, or give its path",
				    program, r->host);
	case 126:
		return arena_printf(a, "%s cannot run on %s (%s); is it built for that machine?",
				    program, r->host, last_line(a, r->err));
	}
	return NULL;
}
