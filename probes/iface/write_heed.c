#include "probes/iface/write_heed.h"

#include "lib/core/quote.h"
#include "lib/core/rcfile.h"
#include "probes/rules/nccl.h"

#include <pwd.h>

/* The line at *@p without its end; moves *@p behind it. */
static char *take_line(const char **p, const char *end, struct arena *a)
{
	const char *nl = memchr(*p, '\n', (size_t)(end - *p));
	char *line = arena_strndup(a, *p, (size_t)((nl ? nl : end) - *p));

	*p = nl ? nl + 1 : end;
	return line;
}

static void say_conflict(const char *path, size_t line, const char *message, struct report *r)
{
	struct arena *a = report_arena(r);
	struct finding *f = report_find(r, "write.conflict", arena_printf(a, "%s:%zu", path, line));

	finding_set(f, ST_WARN, "%s", message);
	/* as a comment: the other lines keep their numbers */
	finding_fix(f, "sed -i '%zus/^/#/' %s", line, shell_quote(a, path));
	report_add(r, f);
}

/* NCCL takes the first assignment it meets; ours stands last in the file. */
static void earlier_lines(const struct suggestion *s, const struct file_text *old, struct report *r)
{
	struct arena *a = report_arena(r);
	struct err ignored = {0};
	const char *name, *value;
	size_t line = 1;
	struct span rest;
	bool found;

	if (rc_remove(a, old->text, &rest, &found, &ignored))
		return;
	for (const char *p = rest.s, *end = rest.s + rest.n; p < end; line++) {
		char *text = take_line(&p, end, a);

		if (!nccl_conf_line(text, strlen(text), a, &name, &value))
			continue;
		for (size_t i = 0; i < s->env.n; i++)
			if (streq(name, s->env.v[i].name) && !streq(value, s->env.v[i].value))
				say_conflict(old->path, line,
					     arena_printf(a,
							  "sets %s=%s before us, and NCCL takes "
							  "the first line",
							  name, value),
					     r);
	}
}

/* The assignment in a line of a shell's: "NAME=value", NAME one that a suggestion sets; or NULL. */
static const char *assignment(const char *line, struct arena *a)
{
	static const char *const words[] = {"export ", "declare -x ", "typeset -x "};

	line += strspn(line, " \t");
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (starts_with(line, words[i])) {
			line += strlen(words[i]);
			line += strspn(line, " \t");
			break;
		}
	return suggest_can_say(arena_strndup(a, line, strcspn(line, "=")), "") &&
			       line[strcspn(line, "=")]
		       ? line
		       : NULL;
}

static size_t count_lines(struct span text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text.n; i++)
		lines += text.s[i] == '\n';
	return lines;
}

/* A shell keeps the last one. @more: lines of the block that are not in the file yet. */
static void later_lines(const struct file_text *new, size_t more, struct report *r)
{
	struct arena *a = report_arena(r);
	struct span below = rc_below(new->text);
	size_t line = count_lines(new->text) - count_lines(below) + 1 - more;

	for (const char *p = below.s, *end = below.s + below.n; p < end; line++) {
		const char *sets = assignment(take_line(&p, end, a), a);

		if (sets)
			say_conflict(new->path, line,
				     arena_printf(a,
						  "sets %.*s below our block, and that is what a "
						  "shell is left with",
						  (int)strcspn(sets, " \t;"), sets),
				     r);
	}
}

/* What the shells of this user read is another file. */
static void other_shell(struct report *r)
{
	static const struct {
		const char *shell, *fix;
	} others[] = {
		{"zsh", "ifprobe --bashrc --to ~/.zshenv"},
		{"fish", "echo 'ifprobe --suggest --quiet 2>/dev/null | source' "
			 ">>~/.config/fish/config.fish"},
	};
	const struct passwd *me = getpwuid(geteuid());
	const char *shell = me && me->pw_shell ? strrchr(me->pw_shell, '/') : NULL;
	struct finding *f;

	for (size_t i = 0; shell && i < ARRAY_LEN(others); i++) {
		if (!streq(shell + 1, others[i].shell))
			continue;
		f = report_find(r, "write.shell", others[i].shell);
		finding_set(f, ST_WARN, "is the login shell here, and does not read ~/.bashrc");
		finding_expect(f, "the lines in a file that it reads");
		finding_fix(f, "%s", others[i].fix);
		report_add(r, f);
	}
}

/* A ~/.nccl.conf in a home that this NCCL does not look into. */
static void other_home(const char *path, struct report *r)
{
	struct arena *a = report_arena(r);
	const char *read = nccl_home(a, 0), *own = getenv("HOME");
	struct finding *f;

	if (!read || !own || streq(read, own) ||
	    !streq(path, arena_printf(a, "%s/.nccl.conf", own)))
		return;
	f = report_find(r, "write.home", path);
	finding_set(f, ST_WARN,
		    "HOME is %s, but the NCCL here looks for the file in %s, the home of the "
		    "passwd entry",
		    own, read);
	finding_fix(f, "export NCCL_CONF_FILE=%s   # for the jobs, too", shell_quote(a, path));
	report_add(r, f);
}

bool write_is_heeded(const struct write_request *q, const struct suggestion *s,
		     const struct file_text *old, const struct file_text *new, struct report *r)
{
	size_t before = report_count(r, ST_WARN), more = 0;

	if (streq(q->form->name, "nccl.conf")) {
		earlier_lines(s, old, r);
		other_home(old->path, r);
	}
	if (q->form->is_block && q->form->render_computed) { /* for shells */
		if (q->dry_run)
			more = count_lines(new->text) - count_lines(old->text);
		later_lines(new, more, r);
	}
	if (streq(q->form->name, "bashrc") && !q->to)
		other_shell(r);
	return report_count(r, ST_WARN) == before;
}
