#include "probes/iface/write_heed.h"

#include "lib/core/quote.h"
#include "lib/core/rcfile.h"
#include "probes/rules/nccl.h"

char *heed_line(const char **p, const char *end, struct arena *a)
{
	const char *nl = memchr(*p, '\n', (size_t)(end - *p));
	char *line = arena_strndup(a, *p, (size_t)((nl ? nl : end) - *p));

	*p = nl ? nl + 1 : end;
	return line;
}

void heed_conflict(const char *path, size_t line, const char *message, struct report *r)
{
	struct arena *a = report_arena(r);
	struct finding *f = report_find(r, "write.conflict", arena_printf(a, "%s:%zu", path, line));

	finding_set(f, ST_WARN, "%s", message);
	/* as a comment: the other lines keep their numbers */
	finding_fix(f, "sed -i '%zus/^/#/' %s", line, shell_quote_path(a, path));
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
		char *text = heed_line(&p, end, a);

		if (!nccl_conf_line(text, strlen(text), a, &name, &value))
			continue;
		for (size_t i = 0; i < s->env.n; i++)
			if (streq(name, s->env.v[i].name) && !streq(value, s->env.v[i].value))
				heed_conflict(old->path, line,
					      arena_printf(a,
							   "sets %s=%s before us, and NCCL takes "
							   "the first line",
							   name, value),
					      r);
	}
}

/* What a command may stand behind: "export NAME=value", "then NAME=value". */
static const char *skip_words(const char *p)
{
	static const char *const words[] = {"export ", "declare -x ", "typeset -x ", "then ",
					    "else ",   "do ",	      "{ "};
	size_t i = 0;

	while (i < ARRAY_LEN(words)) {
		p += strspn(p, " \t");
		i = starts_with(p, words[i]) ? (p += strlen(words[i]), 0) : i + 1;
	}
	return p;
}

/* The end of the command at @p: at what parts it from the next one, or that of the line. */
static const char *command_end(const char *p)
{
	char quote = 0;

	for (; *p; p++) {
		if (!quote && (*p == ';' || *p == '&' || *p == '|'))
			break;
		if (!quote && *p == '#' && strchr(" \t", p[-1]))
			return p + strlen(p);
		if (*p == quote)
			quote = 0;
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
	}
	return p;
}

const char *heed_command(const char **at, struct arena *a)
{
	const char *p = skip_words(*at + strspn(*at, ";&|"));

	*at = *p && *p != '#' ? command_end(p + 1) : p;
	return *at > p ? arena_strndup(a, p, (size_t)(*at - p)) : NULL;
}

const char *heed_assignment(const char *line, struct arena *a)
{
	const char *command;

	while ((command = heed_command(&line, a))) {
		size_t n = strcspn(command, "=");

		if (command[n] && suggest_can_say(arena_strndup(a, command, n), ""))
			return command;
	}
	return NULL;
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
		const char *sets = heed_assignment(heed_line(&p, end, a), a);

		if (sets)
			heed_conflict(new->path, line,
				      arena_printf(a,
						   "sets %.*s below our block, and that is what a "
						   "shell is left with",
						   (int)strcspn(sets, " \t;"), sets),
				      r);
	}
}

/* Of where NCCL looks, in its order. */
enum place { ENVIRONMENT, USERS, MACHINES, ELSEWHERE };

static enum place place_of(const char *path, struct arena *a)
{
	const char *named = getenv("NCCL_CONF_FILE"), *home = nccl_home(a, 0);

	if (streq(path, "environment"))
		return ENVIRONMENT;
	if (streq(path, "/etc/nccl.conf"))
		return MACHINES;
	if (streq(path, "~/.nccl.conf") || (named && streq(path, named)) ||
	    (home && streq(path, arena_printf(a, "%s/.nccl.conf", home))))
		return USERS;
	return ELSEWHERE;
}

static void say_earlier(const struct setting *x, const char *path, struct report *r)
{
	struct arena *a = report_arena(r);
	const char *colon = strrchr(x->origin, ':');
	struct finding *f;

	if (colon) {
		heed_conflict(arena_strndup(a, x->origin, (size_t)(colon - x->origin)),
			      (size_t)strtoul(colon + 1, NULL, 10),
			      arena_printf(a, "sets %s=%s, which NCCL takes before what %s has",
					   x->name, x->value, path),
			      r);
		return;
	}
	f = report_find(r, "write.conflict", x->origin);
	finding_set(f, ST_WARN, "has %s=%s, which NCCL takes before what %s has", x->name, x->value,
		    path);
	finding_fix(f,
		    "unset %s   # and where it is exported from: a shell's file, the job's "
		    "script",
		    x->name);
	report_add(r, f);
}

static bool says_otherwise(const struct suggestion *s, const struct setting *x)
{
	for (size_t i = 0; i < s->env.n; i++)
		if (streq(x->name, s->env.v[i].name))
			return !streq(x->value, s->env.v[i].value);
	return false;
}

/* With NCCL_CONF_FILE the one in the home is not looked at. */
static bool is_passed_over(const char *path, struct report *r)
{
	const char *named = getenv("NCCL_CONF_FILE");
	struct finding *f;

	if (!named || !*named || nccl_version(0) < NCCL_VERSION_CONF_FILE ||
	    place_of(path, report_arena(r)) != USERS || streq(path, named))
		return false;
	f = report_find(r, "write.conflict", "NCCL_CONF_FILE");
	finding_set(f, ST_WARN, "is set, so NCCL reads %s, and not %s", named, path);
	finding_fix(f, "ifprobe --write nccl.conf --to %s   # or: unset NCCL_CONF_FILE",
		    shell_quote_path(f->a, named));
	report_add(r, f);
	return true;
}

/* What NCCL reads before this file, and keeps. */
static void earlier_places(const struct suggestion *s, const char *path, struct report *r)
{
	struct arena *a = report_arena(r);
	enum place ours = place_of(path, a);
	struct settings now;

	if (ours == ELSEWHERE || is_passed_over(path, r))
		return;
	settings_read(&now, a);
	for (size_t i = 0; i < now.nccl.n; i++) {
		const struct setting *x = &now.nccl.v[i];
		const char *from = arena_strndup(a, x->origin, strcspn(x->origin, ":"));

		if (place_of(from, a) < ours && says_otherwise(s, x))
			say_earlier(x, path, r);
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
		earlier_places(s, old->path, r);
	}
	if (q->form->render_computed && !q->form->head) { /* for shells */
		if (q->dry_run)
			more = count_lines(new->text) - count_lines(old->text);
		later_lines(new, more, r);
	}
	if (streq(q->form->name, "bashrc") && !q->to)
		heed_login(r);
	return report_count(r, ST_WARN) == before;
}
