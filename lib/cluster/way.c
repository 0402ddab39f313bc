#include "lib/cluster/way.h"

#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <ctype.h>

/* What OpenSSH writes, in the order that the more telling line wins. */
static const struct ssh_cause causes[] = {
	{"IDENTIFICATION HAS CHANGED", "its host key is not the one in known_hosts",
	 "if the machine was reinstalled, remove the old key with ssh-keygen -R", MEND_FORGET_KEY},
	{"Host key verification failed", "its host key is not known here",
	 "ssh to it once by hand and compare the fingerprint", MEND_KNOW_KEY},
	{"UNPROTECTED PRIVATE KEY", "ssh ignores a key that others can read",
	 "chmod 600 the key file", MEND_LOOK},
	{"Too many authentication failures", "ssh offered too many keys",
	 "name the one: --rsh 'ssh -o IdentitiesOnly=yes -i KEY'", MEND_LOOK},
	{"Permission denied", "it does not accept our key",
	 "ssh-add the one that has a passphrase; else give it one with ssh-copy-id", MEND_GIVE_KEY},
	{"Could not resolve hostname", "the name is not known here",
	 "check its spelling; else add it to /etc/hosts or give the address", MEND_GIVE_NAME},
	{"Connection refused", "connection refused",
	 "start sshd there, or give its port: --rsh 'ssh -p PORT'", MEND_LOOK},
	{"Timeout, server ", "it answered ssh, and then fell silent",
	 "is it up, or too busy to answer?", MEND_REACH},
	{"timed out", "no answer to ssh",
	 "check the address, that the machine is up, and that its port is allowed in", MEND_REACH},
	{"No route to host", "no route to it, or a firewall rejects ssh",
	 "check the address and that the machine is up", MEND_REACH},
	{"Network is unreachable", "this host has no route to it", "check the address", MEND_ROUTE},
	{"Connection reset", "the connection was cut while ssh logged in",
	 "look at sshd's log there, or at its jump host's (MaxStartups, fail2ban)", MEND_LOOK},
	{"Connection closed", "the connection was cut while ssh logged in",
	 "look at sshd's log there, or at its jump host's (MaxStartups, fail2ban)", MEND_LOOK},
	{"Bad configuration option: remotecommand", "ssh here is older than OpenSSH 7.6",
	 "let --rsh name a script of yours that runs it: no option is added to that", MEND_LOOK},
	{"Cannot execute command-line and remote command",
	 "RemoteCommand in ~/.ssh/config lets no "
	 "other command run",
	 "give that ssh -o RemoteCommand=none", MEND_LOOK},
	{"Bad configuration option", "ssh does not understand its configuration",
	 "try the same ssh by hand", MEND_LOOK},
	{"closed by remote host", "the connection to it was cut",
	 "has it restarted? look at sshd's log there", MEND_LOG},
	{"client_loop: send disconnect", "the connection to it was cut",
	 "has it restarted? look at sshd's log there", MEND_LOG},
	{PROXY_ENDED, "that ended before ssh could speak", "try it by hand", MEND_PROXY},
};

/* ssh goes on without it, and with the keys that it has: worth a word where none was taken. */
static const struct ssh_cause no_key_file = {
	" not accessible: ", "the key file that -i names is not here",
	"name it by its whole path: --rsh 'ssh -i KEY'", MEND_KEY_FILE};

const struct ssh_cause *way_ssh_cause(const char *err)
{
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (strstr(err, causes[i].said))
			return causes[i].mend == MEND_GIVE_KEY && strstr(err, no_key_file.said)
				       ? &no_key_file
				       : &causes[i];
	return NULL;
}

bool way_turned_away(const char *err)
{
	const char *says = strstr(err, "_exchange_identification: ");

	return says &&
	       (strcasestr(says, "connection closed") || strcasestr(says, "connection reset"));
}

bool way_may_try_again(unsigned tried, size_t who, uint64_t since_ns, uint64_t deadline_ns,
		       uint64_t *ret_pause_ns)
{
	enum { TRIES = 5, APART = 8 };
	const uint64_t pause_ns = NS_PER_S / 2 << tried;

	*ret_pause_ns = pause_ns + pause_ns / APART * (who % APART);
	return tried < TRIES && now_ns() - since_ns + *ret_pause_ns < deadline_ns;
}

#define HOST "HOST" /* its place in a fix */

/* What others write as their last line: it says whose words they are. */
static const struct {
	const char *said, *and, *means, *fix; /* @and: beside it */
} others[] = {
	{"Error from server (NotFound)", "", "there is no pod of that name",
	 "kubectl get pods -o wide   # from here: its name, its namespace (-n)?"},
	{"Error from server (Forbidden)", "", "this account may not run commands there",
	 "kubectl auth can-i create pods/exec   # from here"},
	{"error: You must be logged in to the server", "",
	 "its login is not valid, or not any more",
	 "kubectl auth whoami   # from here: log in as you did the first time"},
	{"Unable to connect to the server", "", "the cluster's API server does not answer",
	 "kubectl cluster-info   # from here"},
	{"The connection to the server ", "", "the cluster's API server does not answer",
	 "kubectl cluster-info   # from here"},
	{"error: unable to upgrade connection", "", "its node takes no commands for it",
	 "kubectl get pods,nodes -o wide   # from here: is it Running, is its node Ready?"},
	{"error: cannot exec ", "completed pod", "that pod is over",
	 "kubectl get pods -o wide   # from here"},
	{"No such container", "", "there is no container of that name",
	 "docker ps   # from here: its name?"},
	{"Error response from daemon", "is not running", "its container is not running",
	 "docker start HOST   # from here"},
	{"Cannot connect to the Docker daemon", "", "docker's own service does not answer",
	 "docker info   # from here"},
	{"ermission denied while trying to connect to the ", "ocker",
	 "this account may not use docker",
	 "sudo usermod -aG docker \"$(id -un)\"   # from here, then log in again"},
	{"OCI runtime exec failed", "executable file not found",
	 "its container has no such program (sh is needed)", NULL},
	{"srun: error: ", "Invalid job id", "that job is over", "squeue --me   # from here"},
	{"ot logged in", "", "its login is not valid, or not any more", NULL},
	{"og in again", "", "its login is not valid, or not any more", NULL},
	{"redentials", "expired", "its login is not valid, or not any more", NULL},
};

const char *way_meaning(const char *said, const char *host, struct arena *a, const char **ret_fix)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		const char *fix = others[i].fix, *at = fix ? strstr(fix, HOST) : NULL;

		if (!strstr(said, others[i].said) || !strstr(said, others[i].and))
			continue;
		*ret_fix = at ? arena_printf(a, "%.*s%s%s", (int)(at - fix), fix,
					     shell_quote(a, host), at + strlen(HOST))
			      : fix;
		return others[i].means;
	}
	return NULL;
}

bool way_is_of_ssh(const char *said, const char *err)
{
	static const char *const begins[] = {
		"ssh: ", "kex_exchange_identification: ", "Host key verification failed",
		"Connection closed by ", "Connection reset by "};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (starts_with(said, begins[i]))
			return true;
	return strstr(said, ": Permission denied (") ||
	       strstr(err, "REMOTE HOST IDENTIFICATION HAS CHANGED");
}

/* ---- a person is waited for ---- */
static bool has_any(const char *text, const char *const *words)
{
	while (*words && !strcasestr(text, *words))
		words++;
	return *words != NULL;
}

bool way_asks(const char *said)
{
	static const char *const about[] = {
		"password", "passphrase", "passcode", "verification code",
		"one-time", "username:",  "(yes/no",  "continue connecting",
		"[y/n",	    NULL};
	size_t n = strlen(said);
	const char *line = memrchr(said, '\n', n);

	while (n && isspace((unsigned char)said[n - 1]) && said[n - 1] != '\n')
		n--;
	return n && strchr(":?])>", said[n - 1]) && has_any(line ? line + 1 : said, about);
}

uint64_t way_patience(const char *said, uint64_t deadline_ns)
{
	const uint64_t answer_ns = 2 * NS_PER_S;

	return deadline_ns > answer_ns && way_asks(said) ? answer_ns : deadline_ns;
}

bool way_lacks_terminal(const char *err, const char *typed)
{
	static const char *const sudo[] = {"a terminal is required to", "no tty present and no",
					   "must have a tty to run", NULL};

	return strstr(err, "/dev/tty: No such device") ||
	       (strstr(typed, "sudo") && has_any(err, sudo));
}

bool way_waits_for_login(const char *err)
{
	static const char *const where[] = {"https://", "http://", "push", NULL};
	static const char *const what[] = {"authenticat", "visit", "browser", "sign in",
					   "log in",	  "login", NULL};

	return has_any(err, where) && has_any(err, what);
}
