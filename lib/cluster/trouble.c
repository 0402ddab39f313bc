#include "lib/cluster/trouble.h"

#include "lib/cluster/mend.h"
#include "lib/cluster/way.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/answers.h"

#include <ctype.h>
#include <signal.h>

enum { SIGNALLED = 128, SIGNALS = 64, QUOTED = 200 };

/* As log_hint() writes it: a command, or words. */
static bool is_advice(const char *line)
{
	return starts_with(line, "  -> ") || starts_with(line, "   - ");
}

/* The last line of @s that says something, printable. */
static const char *last_line(struct arena *a, const char *s)
{
	size_t n = strlen(s), from;
	char *line;

	do {
		while (n && isspace((unsigned char)s[n - 1]))
			n--;
		for (from = n; from && s[from - 1] != '\n' && s[from - 1] != '\r'; from--)
			;
	} while (is_advice(s + from) && (n = from)); /* to what stands above it */
	line = arena_strndup(a, s + from, n - from);
	for (char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return line;
}

static const char *first_line(struct arena *a, const char *s)
{
	s += strspn(s, " \t\r\n");
	return last_line(a, arena_strndup(a, s, strcspn(s, "\r\n")));
}

static struct trouble why(const char *said, const char *fix)
{
	return (struct trouble){.said = said, .fix = fix};
}

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
				      first_line(a, r->err))
		       : NULL;
}

static struct trouble no_connection(const struct fanout_result *r, const struct rsh_way *rsh,
				    const char *program, struct arena *a)
{
	const char *said = last_line(a, r->err), *jump = of_jump(r, a);
	const struct ssh_cause *c = way_ssh_cause(r->err);

	if (c)
		return away(arena_printf(a, "cannot reach %s%s: %s; %s", r->host, jump ?: "",
					 c->means, c->todo),
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

/* Why another way than ssh has failed. */
static struct trouble no_way(const struct fanout_result *r, const struct rsh_way *rsh,
			     const char *program, struct arena *a)
{
	const char *said = last_line(a, r->err), *means, *fix;

	if (!r->exit_status || rsh_is_ssh(rsh->name))
		return (struct trouble){0};
	if (way_is_of_ssh(said, r->err))
		return no_connection(r, rsh, program, a);
	means = way_meaning(said, r->host, a, &fix);
	if (!means)
		return (struct trouble){0};
	return away(
		arena_printf(a, "cannot reach %s: %s ended with exit code %d and said \"%.*s\": %s",
			     r->host, rsh->name, r->exit_status, QUOTED, said, means),
		fix ?: mend_by_hand(r, rsh, "echo works", "until it does", a));
}

/* ---- why the program did not run ---- */
/* Those that our programs need, by the start of their names. */
static const struct {
	const char *name, *debian, *fedora;
} libraries[] = {
	{"libcjson", "libcjson1", "cjson"},
	{"libsodium", "libsodium23", "libsodium"},
	{"libnl-3", "libnl-3-200", "libnl3"},
	{"libnl-route-3", "libnl-route-3-200", "libnl3"},
};

static const char *install(const struct fanout_result *r, const struct rsh_way *rsh,
			   const char *program, const char *library, struct arena *a)
{
	const char *slash = strrchr(library, '/');

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		if (starts_with(slash ? slash + 1 : library, libraries[i].name))
			return mend_by_hand(r, rsh,
					    arena_printf(a,
							 "'sudo apt-get install -y %s || sudo dnf "
							 "install -y %s'",
							 libraries[i].debian, libraries[i].fedora),
					    "from here", a);
	return mend_by_hand(
		r, rsh, arena_printf(a, "'ldd \"$(command -v %s)\" | grep \"not found\"'", program),
		"all that it lacks; --copy-self carries what a run of ranks needs", a);
}

/* The word before @mark in what the loader of programs has said. */
static const char *word_before(const char *said, const char *mark, struct arena *a)
{
	const char *end = strstr(said, mark), *from = end;

	while (from && from > said && !isspace((unsigned char)from[-1]))
		from--;
	return from && from < end ? last_line(a, arena_strndup(a, from, (size_t)(end - from)))
				  : NULL;
}

/* It is there, and the loader could not make a program of it. */
static struct trouble not_loaded(const struct fanout_result *r, const struct rsh_way *rsh,
				 const char *program, struct arena *a)
{
	static const char loader[] = "error while loading shared libraries: ";
	const char *at = strstr(r->err, loader), *lib;

	if (at) {
		at += sizeof(loader) - 1;
		lib = first_line(a, arena_strndup(a, at, strcspn(at, ":\r\n")));
		return why(arena_printf(a, "%s cannot run on %s: the library %s %s", program,
					r->host, lib,
					starts_with(at + strlen(lib), ": cannot open shared object")
						? "is not there"
						: "cannot be used"),
			   install(r, rsh, program, lib, a));
	}
	lib = word_before(r->err, "' not found (required by ", a);
	if (lib)
		return why(
			arena_printf(a,
				     "%s cannot run on %s: it was built for a newer system "
				     "(%s is not there); build it on the oldest",
				     program, r->host, lib + (*lib == '`')),
			mend_by_hand(r, rsh, "'ldd --version; uname -m'", "what that host has", a));
	return (struct trouble){0};
}

/* Which file a shell was denied: it names it, or itself by that name (`sh -c ... PATH`). */
static const char *denied(const char *said, const char *program, struct arena *a)
{
	const char *path = word_before(said, ": Permission denied", a);

	if (!path || *path != '/')
		path = word_before(said, ": 1: exec: ", a) ?: word_before(said, ": line ", a);
	return path && *path == '/' ? path : program;
}

/* The kernel would not begin it: by its mode, by its mount, or because it is no program for it. */
static struct trouble not_executed(const struct fanout_result *r, const struct rsh_way *rsh,
				   const char *program, struct arena *a)
{
	const char *said = last_line(a, r->err), *path;

	if (!strstr(said, "Permission denied"))
		return why(arena_printf(a,
					"%s cannot run on %s (%s); is it built for that machine?",
					program, r->host, said),
			   mend_by_hand(r, rsh, "uname -m", "and here: uname -m", a));
	path = shell_quote(a, denied(r->err, program, a));
	return why(arena_printf(a,
				"%s may not be run on %s (%s): its mode lacks x, or it lies on a "
				"file system mounted noexec",
				program, r->host, said),
		   mend_by_hand(
			   r, rsh,
			   shell_quote(a, arena_printf(a, "chmod +x %s; findmnt -no OPTIONS -T %s",
						       path, path)),
			   "noexec? then copy it to another folder there", a));
}

static struct trouble not_there(const struct fanout_result *r, const char *program, struct arena *a)
{
	return (struct trouble){
		.missing = true,
		.said = arena_printf(
			a,
			"%s is not installed on %s (or not on the PATH of non-interactive "
			"shells); install it there, or give its path",
			program, r->host),
		.fix = strchr(program, ' ') ? NULL
					    : arena_printf(a,
							   "scp \"$(command -v %s)\" "
							   "%s:/usr/local/bin/   # from here",
							   program, shell_quote(a, r->host))};
}

/* A login script's, or sh itself: what is not found there is another program than ours. */
static struct trouble another_missing(const struct fanout_result *r, const struct rsh_way *rsh,
				      const char *program, struct arena *a)
{
	const char *said = last_line(a, r->err);
	const char *here =
		rsh_is_ssh(rsh->name) ? "" : arena_printf(a, " or in %s here", rsh->name);

	if (strstr(said, program) ||
	    !(strstr(said, "not found") || strstr(said, "Unknown command")))
		return (struct trouble){0};
	return why(
		arena_printf(a, "%s was not begun on %s, another program is missing there%s: %.*s",
			     program, r->host, here, QUOTED, said),
		mend_by_hand(r, rsh, "echo works",
			     "says the same? then ~/.bashrc or ~/.profile there runs what is not "
			     "installed, or sets no PATH",
			     a));
}

static struct trouble not_begun(const struct fanout_result *r, const struct rsh_way *rsh,
				const char *program, struct arena *a)
{
	struct trouble t = not_loaded(r, rsh, program, a);

	if (!t.said)
		t = another_missing(r, rsh, program, a);
	return t.said ? t : not_there(r, program, a);
}

/* ---- it ended, and nothing of ours came ---- */
const char *trouble_or_stopped(const struct rsh_way *rsh, int sig)
{
	return !rsh_is_ssh(rsh->name) && (sig == SIGKILL || sig == SIGTERM)
		       ? ", or what it runs in was stopped"
		       : "";
}

static const char *quoted(const char *said, struct arena *a)
{
	return *said ? arena_printf(a, "\"%.*s\"", QUOTED, said) : "nothing";
}

/* Another way than ssh: whether the code is its own or the program's, nobody says. */
static struct trouble of_either(const struct fanout_result *r, const struct rsh_way *rsh,
				const char *program, const char *said, struct arena *a)
{
	return why(
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

struct trouble fanout_silence(const struct fanout_result *r, const struct rsh_way *rsh,
			      const char *program, struct arena *a)
{
	struct trouble t = not_loaded(r, rsh, program, a);
	const int sig = r->exit_status - SIGNALLED;
	const char *said = *r->err ? last_line(a, r->err) : first_line(a, r->out);
	const bool of_program = starts_with(said, arena_printf(a, "%s: ", program));

	if (t.said)
		return t;
	if (r->truncated)
		return why(arena_printf(a, "%s: " TROUBLE_NOISY, r->host),
			   mend_line(MEND_QUIET, r, rsh, a));
	if (sig > 0 && sig <= SIGNALS)
		return why(arena_printf(a, "%s: %s was %s there%s", r->host, program,
					child_ending(-1, sig, a), trouble_or_stopped(rsh, sig)),
			   mend_by_hand(r, rsh, "'sudo dmesg -T | tail; free -m'",
					*trouble_or_stopped(rsh, sig)
						? "answers? out of memory, then. Else what it runs "
						  "in has ended: start that again"
						: "out of memory? no program for it?",
					a));
	if (!rsh_is_ssh(rsh->name) && !of_program)
		return of_either(r, rsh, program, said, a);
	t.said = arena_printf(a, "%s: %s there ended with exit code %d and said %s", r->host,
			      program, r->exit_status, quoted(said, a));
	if (strstr(said, TROUBLE_UNFED))
		t.fix = mend_by_hand(
			r, rsh, "\"grep -nsE 'exec.*<' .bashrc .profile .bash_profile .zshenv\"",
			"that line, for shells without a terminal: remove it", a);
	else
		t.fix = of_program ? mend_by_hand(r, rsh, "'ulimit -a; free -m; df -h'",
						  "what is short there?", a)
				   : mend_by_hand(
					     r, rsh, "echo works",
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
	const char *dead = word_before(r->err, ": " TROUBLE_DEAD, a);
	struct unit_buf b;

	if (r->asks)
		return away(arena_printf(a,
					 "%s: %s asks for something at the terminal, which it must "
					 "not: a password, a host key?",
					 r->host, rsh->name),
			    mend_by_hand(r, rsh, "true",
					 "answer it; until it asks no more: ssh-copy-id, ssh-add, "
					 "a login that lasts",
					 a));
	if (dead)
		return why(arena_printf(a, "%s: %s " TROUBLE_DEAD, r->host, dead),
			   mend_by_hand(
				   r, rsh, "'" FOLDERS_SERVERS "'",
				   "which server; when it is back, or for good: sudo umount -f -l "
				   "there",
				   a));
	return why(arena_printf(a,
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
	else if (r->exit_status < 0)
		t.said = arena_printf(a, "%s: %s here was killed by signal %d (%s)", r->host,
				      rsh->name, r->signal, strsignal(r->signal));
	else if ((t = no_way(r, rsh, program, a)).said)
		return t;
	else if (r->exit_status == 255)
		t = no_connection(r, rsh, program, a);
	else if (r->exit_status == 127)
		t = not_begun(r, rsh, program, a);
	else if (r->exit_status == 126)
		t = not_executed(r, rsh, program, a);
	return t;
}
