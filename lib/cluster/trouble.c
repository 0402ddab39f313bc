#include "lib/cluster/trouble.h"

#include "lib/cluster/child.h"
#include "lib/cluster/mend.h"
#include "lib/cluster/trouble_words.h"
#include "lib/cluster/way.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/answers.h"

#include <signal.h>

enum { SIGNALLED = 128, SIGNALS = 64 };

static struct trouble away(const char *said, const char *fix)
{
	return (struct trouble){.said = said, .fix = fix, .away = true};
}

/* What a ProxyJump's ssh said, or a ProxyCommand, when this is the end of it: it is not the host
 * that it speaks of. */
static const char *of_jump(const struct fanout_result *r, struct arena *a)
{
	return strstr(r->err, PROXY_ENDED)
		       ? arena_printf(a, " through its jump host or ProxyCommand (%s)",
				      trouble_first_line(a, r->err))
		       : NULL;
}

/* One word that is no host's name may have been meant as a hostfile. */
static struct trouble nobody(const struct fanout_result *r, const struct rsh_way *rsh,
			     const struct ssh_cause *c, struct arena *a)
{
	const char *near = hostfile_near(r->host, a);

	return away(
		arena_printf(a,
			     "cannot reach %s: neither a host nor a file of that name is known "
			     "here; %s%s",
			     r->host, near ? arena_printf(a, "did you mean %s? else ", near) : "",
			     c->todo),
		near ? arena_printf(a, "cat %s   # from here: are these the hosts? then name it",
				    shell_quote(a, near))
		     : mend_line(c->mend, r, rsh, a));
}

/* As whom, and does it take a password, so that a key can be given to it? Where it takes none a
 * wrong name is likelier than a missing key: clouds' images have a user of their own. */
static const char *not_accepted(const struct fanout_result *r, const struct ssh_cause *c,
				struct arena *a)
{
	const char *who = trouble_word_before(r->err, ": Permission denied (", a);
	const char *at = who ? memrchr(who, '@', strlen(who)) : NULL;
	const char *means =
		at ? arena_printf(a, "%s for the user %.*s", c->means, (int)(at - who), who)
		   : c->means;

	if (!who || mend_takes_password(r->err, a))
		return arena_printf(a, "%s; %s", means, c->todo);
	return arena_printf(a,
			    "%s; ssh-add the one that has a passphrase; or is that the wrong user? "
			    "USER@%s names another (clouds have ec2-user, ubuntu, admin)",
			    means, host_bare(r->host));
}

static struct trouble no_connection(const struct fanout_result *r, const struct rsh_way *rsh,
				    const char *program, struct arena *a)
{
	const char *said = trouble_last_line(a, r->err), *jump = of_jump(r, a);
	const struct ssh_cause *c = way_ssh_cause(r->err);

	if (c && c->mend == MEND_GIVE_NAME && r->alone && !jump && !strchr(r->host, '@'))
		return nobody(r, rsh, c, a);
	if (c)
		return away(arena_printf(a, "cannot reach %s%s: %s", r->host, jump ?: "",
					 c->mend == MEND_GIVE_KEY && !jump
						 ? not_accepted(r, c, a)
						 : arena_printf(a, "%s; %s", c->means, c->todo)),
			    mend_line(jump ? MEND_PROXY : c->mend, r, rsh, a));
	if (*said || !rsh_is_ssh(rsh->name))
		return away(arena_printf(a,
					 "cannot reach %s: %s ended with exit code %d%s%s; try `%s "
					 "%s true` by hand",
					 r->host, rsh->name, r->exit_status, *said ? ": " : "",
					 said, rsh->typed, r->host),
			    NULL);
	return away(
		arena_printf(a,
			     "%s: %s was killed there by a signal, or %s cannot reach it and says "
			     "nothing",
			     r->host, program, rsh->name),
		mend_by_hand(r, rsh, arena_printf(a, "'%s --version; echo $?'", program),
			     "137: killed, for its memory perhaps; 139, 132: not a program for it",
			     a));
}

static const char *quoted(const char *said, struct arena *a)
{
	return *said ? arena_printf(a, "\"%.*s\"", TROUBLE_QUOTED, said) : "nothing";
}

/* It was to be answered, and by hand it is. */
static struct trouble asks_person(const struct fanout_result *r, const struct rsh_way *rsh,
				  struct arena *a)
{
	return away(arena_printf(a, "%s: %s asks a person, and there is nobody to answer it: %s",
				 r->host, rsh->name,
				 quoted(trouble_last_line(a, *r->err ? r->err : r->out), a)),
		    mend_by_hand(r, rsh, "true",
				 "answer it; until it asks no more: ssh-copy-id, ssh-add, a login "
				 "that lasts",
				 a));
}

/* Why another way than ssh has failed. */
static struct trouble no_way(const struct fanout_result *r, const struct rsh_way *rsh,
			     const char *program, struct arena *a)
{
	const char *said = trouble_last_line(a, r->err), *means, *fix;

	if (!r->exit_status || rsh_is_exact(rsh))
		return (struct trouble){0};
	if (way_is_of_ssh(said, r->err))
		return no_connection(r, rsh, program, a);
	if (way_lacks_terminal(r->err, rsh->typed))
		return asks_person(r, rsh, a);
	means = way_meaning(said, r->host, a, &fix);
	if (!means)
		return (struct trouble){0};
	return away(
		arena_printf(a, "cannot reach %s: %s ended with exit code %d and said \"%.*s\": %s",
			     r->host, rsh->name, r->exit_status, TROUBLE_QUOTED, said, means),
		fix ?: mend_by_hand(r, rsh, "echo works", "until it does", a));
}

/* ---- it ended, and nothing of ours came ---- */
const char *trouble_or_stopped(const struct rsh_way *rsh, int sig)
{
	return !rsh_is_exact(rsh) && (sig == SIGKILL || sig == SIGTERM)
		       ? ", or what it runs in was stopped"
		       : "";
}

/* Another way than ssh: whether the code is its own or the program's, nobody says. */
static struct trouble of_either(const struct fanout_result *r, const struct rsh_way *rsh,
				const char *program, const char *said, struct arena *a)
{
	return trouble_why(
		arena_printf(a,
			     "%s: %s ended with exit code %d before %s there had answered, and "
			     "said %s",
			     r->host, rsh->name, r->exit_status, program, quoted(said, a)),
		mend_by_hand(r, rsh, "echo works",
			     arena_printf(a,
					  "fails alike? then it is %s: this host's name for it, "
					  "its login. Works? then exit or exec in ~/.bashrc there",
					  rsh->name),
			     a));
}

/* Its orders come there. */
static struct trouble unfed(const struct fanout_result *r, const struct rsh_way *rsh,
			    const char *program, struct arena *a)
{
	const bool ssh = rsh_is_ssh(rsh->name);
	const char *login = ssh ? "" : arena_printf(a, "%s passes none on, or ", rsh->name);
	const char *said = arena_printf(
		a, "%s: " TROUBLE_UNFED " of %s there: %sa login script has redirected it", r->host,
		program, login);

	if (!ssh)
		return trouble_why(
			said, arena_printf(a,
					   "echo works | %s %s cat   # from here: silent? kubectl "
					   "exec and docker exec pass on stdin with -i alone",
					   rsh->typed, shell_quote(a, r->host)));
	return trouble_why(
		said, mend_by_hand(r, rsh,
				   "\"grep -nsE 'exec.*<' .bashrc .profile .bash_profile .zshenv\"",
				   "that line, for shells without a terminal: remove it", a));
}

/* Whoever has asked for one: no option of ours does. */
static struct trouble with_terminal(const struct fanout_result *r, const struct rsh_way *rsh,
				    struct arena *a)
{
	const bool ssh = rsh_is_ssh(rsh->name);

	return trouble_why(
		arena_printf(a,
			     "%s: %s was told to make a terminal (%s): orders cannot come "
			     "through one",
			     r->host, rsh->name, ssh ? "-t, RequestTTY" : "-t; RequestTTY of ssh"),
		ssh ? mend_by_hand(r, rsh, "-G | grep -iE '^request'",
				   "from here: yes or force? RequestTTY no in ~/.ssh/config", a)
		    : mend_by_hand(r, rsh, "tty", "it must say: not a tty. Leave out -t there", a));
}

static struct trouble noisy(const struct fanout_result *r, const struct rsh_way *rsh,
			    struct arena *a)
{
	return trouble_why(arena_printf(a, "%s: " TROUBLE_NOISY, r->host),
			   mend_line(MEND_QUIET, r, rsh, a));
}

struct trouble fanout_silence(const struct fanout_result *r, const struct rsh_way *rsh,
			      const char *program, struct arena *a)
{
	struct trouble t = trouble_not_loaded(r, rsh, program, a);
	const int sig = r->exit_status - SIGNALLED;
	const bool terminal = strstr(r->err, TROUBLE_TERMINAL) || strstr(r->out, TROUBLE_TERMINAL);
	const char *said = *r->err ? trouble_last_line(a, r->err) : trouble_first_line(a, r->out);
	const bool of_program = starts_with(said, arena_printf(a, "%s: ", program));

	if (t.said)
		return t;
	if (terminal)
		return with_terminal(r, rsh, a);
	if (r->truncated)
		return noisy(r, rsh, a);
	if (sig > 0 && sig <= SIGNALS)
		return trouble_why(
			arena_printf(a, "%s: %s was %s there%s", r->host, program,
				     child_ending(-1, sig, a), trouble_or_stopped(rsh, sig)),
			mend_by_hand(r, rsh, "'sudo dmesg -T | tail; free -m'",
				     *trouble_or_stopped(rsh, sig)
					     ? "answers? out of memory, then. Else what it runs "
					       "in has ended: start that again"
					     : "out of memory? no program for it?",
				     a));
	if (!rsh_is_exact(rsh) && !of_program)
		return of_either(r, rsh, program, said, a);
	t.said = arena_printf(a, "%s: %s there ended with exit code %d and said %s", r->host,
			      program, r->exit_status, quoted(said, a));
	if (strstr(said, TROUBLE_UNFED))
		return unfed(r, rsh, program, a);
	t.fix = of_program ? mend_by_hand(r, rsh, "'ulimit -a; free -m; df -h'",
					  "what is short there?", a)
			   : mend_by_hand(r, rsh, "echo works",
					  "works alone? then its own words count; else: exit or "
					  "exec in "
					  "~/.bashrc there, a login shell or a key "
					  "(authorized_keys) that "
					  "runs no commands",
					  a);
	return t;
}

/* Not done in time. What said that a folder is dead looked at it, and waits perhaps still. */
static struct trouble too_late(const struct fanout_result *r, const struct rsh_way *rsh,
			       const char *program, uint64_t deadline_ns, struct arena *a)
{
	const char *dead = trouble_word_before(r->err, ": " TROUBLE_DEAD, a);
	struct unit_buf b;

	if (r->asks || way_waits_for_login(r->err))
		return asks_person(r, rsh, a);
	if (dead)
		return trouble_why(
			arena_printf(a, "%s: %s " TROUBLE_DEAD, r->host, dead),
			mend_by_hand(
				r, rsh, "'" FOLDERS_SERVERS "'",
				"which server; when it is back, or for good: sudo umount -f -l "
				"there",
				a));
	if (rsh->here)
		return trouble_why(arena_printf(a,
						"%s: %s said nothing for %s and was ended; allow "
						"more with --deadline",
						r->host, program, format_duration(&b, deadline_ns)),
				   NULL);
	return trouble_why(
		arena_printf(a,
			     "%s: %s said nothing for %s and was ended; is that host up, "
			     "does its login wait for something? else allow more with "
			     "--deadline",
			     r->host, program, format_duration(&b, deadline_ns)),
		mend_by_hand(r, rsh, "echo works",
			     rsh_is_ssh(rsh->name)
				     ? "hangs too? then a shared connection that is dead (end "
				       "it: -O exit for echo works), or read, sleep or a slow "
				       "folder in ~/.bashrc there"
				     : "hangs too? then read, sleep or a slow folder in "
				       "~/.bashrc there",
			     a));
}

static const char *unfinished(bool started)
{
	if (interrupt_by_budget())
		return started ? "had not answered when the budget passed"
			       : "was not asked before the budget passed";
	return started ? "was not finished: interrupted" : "was not asked: interrupted";
}

struct trouble fanout_trouble(const struct fanout_result *r, const struct rsh_way *rsh,
			      const char *program, uint64_t deadline_ns, struct arena *a)
{
	struct trouble t = {0};

	if (r->interrupted)
		t.said = arena_printf(a, "%s %s", r->host, unfinished(r->started));
	else if (r->timed_out)
		t = too_late(r, rsh, program, deadline_ns, a);
	else if (r->endless)
		t = noisy(r, rsh, a);
	else if (r->exit_status < 0)
		t.said = arena_printf(a, "%s: %s here was killed by signal %d (%s)", r->host,
				      rsh->name, r->signal, strsignal(r->signal));
	else if ((t = no_way(r, rsh, program, a)).said)
		return t;
	else if (r->exit_status == 255 && !rsh->here)
		t = no_connection(r, rsh, program, a);
	else if (r->exit_status == 127)
		t = trouble_not_begun(r, rsh, program, a);
	else if (r->exit_status == 126)
		t = trouble_not_executed(r, rsh, program, a);
	return t;
}
