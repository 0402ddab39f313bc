#include "probes/preflight/on.h"

#include "lib/cluster/job.h"
#include "lib/cluster/on_each.h"
#include "lib/cluster/rsh.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/quote.h"
#include "lib/core/term.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/tally/names.h"

enum {
	SAID_MAX = 160,
	KEPT_MAX = 256 << 10, /* of each: what a thousand chatty hosts print is held at a time */
};

/* The last line that says something, for a person. */
static const char *last_line(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	char *copy, *line;

	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	copy = arena_strndup(a, text, n);
	line = strrchr(copy, '\n');
	line = line ? line + 1 : copy;
	term_tame(line);
	line[term_fit(line, SAID_MAX)] = '\0';
	return line;
}

/* A NUL ends what /proc and find -print0 tell: each is a line. */
static void set_apart(struct arena *a, struct fanout_result *r)
{
	char *copy;

	if (!memchr(r->out, '\0', r->out_n))
		return;
	copy = memcpy(arena_alloc(a, r->out_n + 1), r->out, r->out_n);
	for (size_t i = 0; i < r->out_n; i++)
		if (!copy[i])
			copy[i] = '\n';
	r->out = copy;
}

/* Did it end there, with whatever exit code? */
static bool has_run(const struct fanout_result *r)
{
	return r->begun && !r->timed_out && !r->endless && !r->interrupted && r->exit_status >= 0 &&
	       !r->away;
}

/* Who it is of stands before it. */
static const char *trouble_of(const struct fanout_result *r)
{
	return r->trouble ? names_after(r->trouble, r->host) : "it is not known how it ended";
}

/* Whatever ran there in its place was content. */
static bool is_forced(const struct fanout_result *r)
{
	return r->started && !r->begun && !r->timed_out && !r->exit_status;
}

static void judge(struct tally *t, const struct fanout_result *r, struct finding *f,
		  uint64_t deadline_ns)
{
	const char *out = last_line(t->a, r->out), *err = last_line(t->a, r->err);
	struct unit_buf b;

	if (has_run(r) && !r->exit_status && r->truncated) /* its last line is not known */
		finding_set(f, ST_PASS, "done; it printed more than %s", format_size(&b, KEPT_MAX));
	else if (has_run(r) && !r->exit_status)
		finding_set(f, ST_PASS, "%s%s", *out ? out : "done",
			    r->lingers ? " (something that it began goes on there)" : "");
	else if (has_run(r))
		finding_set(f, ST_FAIL, "exit code %d%s%s", r->exit_status, *err ? ": " : "", err);
	else if (r->begun && r->endless)
		finding_set(f, ST_FAIL, "printed more than %s and was ended",
			    format_size(&b, JOB_ENDLESS));
	else if (r->timed_out && !r->away)
		finding_set(f, ST_FAIL,
			    "said nothing for %s and was ended; what takes longer is given more "
			    "with --deadline",
			    format_duration(&b, deadline_ns));
	else
		finding_set(f,
			    r->interrupted ? ST_SKIP
			    : r->started   ? ST_FAIL
					   : ST_ERROR,
			    "%s%s", trouble_of(r),
			    is_forced(r) ? "; another command is forced there (authorized_keys, "
					   "ForceCommand), or the way drops its words"
					 : "");
	if (f->status == ST_FAIL && !has_run(r) && r->away && r->fix)
		finding_fix(f, "%s", r->fix);
	if (f->status != ST_SKIP)
		f->seconds = (double)(r->took_ns / 1000) / 1e6;
}

static void node_data(struct report *r, const struct fanout_result *got)
{
	cJSON *o = cJSON_CreateObject();

	if (got->exit_status >= 0)
		json_num(o, "exit_code", got->exit_status);
	json_str(o, "stdout", got->out);
	json_str(o, "stderr", got->err);
	if (got->truncated)
		json_bool(o, "truncated", true);
	report_node(r, got->host, o);
}

/* Has sudo there found nobody to ask for a password? */
static bool wants_password(const struct fanout_result *r)
{
	return r->exit_status > 0 && (strstr(r->err, "sudo: a password is required") ||
				      strstr(r->err, "sudo: a terminal is required") ||
				      strstr(r->err, "sudo: no tty present"));
}

/* Where the way can lend it a terminal, somebody types the password once on each. */
static const char *with_terminal(const struct tally *t, const host_list *hosts, const char *command)
{
	enum { MOST = 16 };
	const char *rsh = rsh_typed(t->a, t->way->rsh);
	struct text list;

	if (!hosts->n || hosts->n > MOST ||
	    !rsh_is_ssh(arena_strndup(t->a, rsh, strcspn(rsh, " "))))
		return NULL;
	text_init(&list, t->a);
	for (size_t i = 0; i < hosts->n; i++)
		text_addf(&list, " %s", shell_quote(t->a, hosts->v[i].name));
	return arena_printf(t->a,
			    "for h in%s; do %s -t \"$h\" %s; done   # sudo there asks for a "
			    "password: typed on each, or none is asked for (NOPASSWD in sudoers)",
			    list.s, rsh, shell_quote_line(t->a, command));
}

/* One line for all that failed: people read it once, below what they failed with. */
static void advise(const struct tally *t, const host_list *failed, const host_list *locked,
		   const char *command, size_t from)
{
	const char *again = failed->n ? on_each(t->a, t->way, failed, command) : NULL;
	const char *lines[] = {
		with_terminal(t, locked, command),
		again ? arena_printf(t->a, "%s   # again, only where it failed", again) : NULL};

	for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
		if (lines[k] && t->fold)
			report_remark(t->r, "-> %s", lines[k]);
		for (size_t i = from; lines[k] && !t->fold && i < t->items.n; i++)
			if (t->items.v[i].f->status == ST_FAIL)
				finding_fix(t->items.v[i].f, "%s", lines[k]);
	}
}

/* ---- all that was said ---- */

/* Of what failed the exit code and the last error stand above, and nothing of this. */
static bool has_lines(const struct fanout_result *r)
{
	const char *end = strchr(r->out, '\n');

	if (has_run(r) && r->exit_status)
		return r->out[strspn(r->out, " \t\r\n")];
	return has_run(r) && end && end[strspn(end, " \t\r\n")];
}

static void tell_lines(struct report *r, struct arena *a, const char *text)
{
	enum { MOST = 200 };
	size_t lines = 0, n;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (lines++ < MOST) {
			char *line = arena_strndup(a, text, n);

			term_tame(line);
			report_remark(r, "  %s", line);
		}
	}
	if (lines > MOST)
		report_remark(r, "  ... and %zu more lines, which --json has", lines - MOST);
}

/* Of who said several lines the last stands above: all of them, once for those who say the same. */
static void tell_whole(const struct tally *t, const struct fanout_result *got, size_t n)
{
	bool *told = arena_alloc(t->a, (n + 1) * sizeof(*told));

	for (size_t i = 0; i < n; i++) {
		host_list who = {0};

		if (told[i] || !has_lines(&got[i]))
			continue;
		for (size_t k = i; k < n; k++)
			if (has_run(&got[k]) && streq(got[k].out, got[i].out)) {
				told[k] = true;
				LIST_ADD(t->a, &who)->name = got[k].host;
			}
		report_heading(t->r, "%s", names_brief(t->a, &who));
		tell_lines(t->r, t->a, got[i].out);
	}
}

static void progress(const struct fanout_result *r UNUSED, size_t finished, size_t total,
		     void *arg UNUSED)
{
	log_progress("on hosts", finished, total);
}

int on_check(const char *command, bool others, struct err *e)
{
	if (others)
		return err_set(e, ERR_USAGE,
			       "on goes without --hosts, --here, --report, --nodes and --baseline");
	if (command[strspn(command, " \t\n")] && *command != '-')
		return 0;
	err_set(e, ERR_USAGE, "on: '%s' is no command line", command);
	return err_hint(e, "one word, quoted as for ssh: 'uname -r; uptime'");
}

/* The budget is the command's, here: what was asked for is not done. */
static int over_budget(struct tally *t, host_list *left, struct err *e)
{
	if (!left->n || !interrupt_by_budget())
		return 0;
	err_set(e, ERR_SYS, "the budget passed before it was done on %s", names_brief(t->a, left));
	return err_hint(e, "give it longer with --budget, or name only those that are left");
}

int on_hosts(struct tally *t, const host_list *hosts, const char *command,
	     const struct fanout_opts *o, struct err *e)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	struct fanout_opts bounded = *o;
	size_t from = t->items.n, done = 0;
	struct fanout_result *got;
	host_list failed = {0}, left = {0}, locked = {0};

	bounded.max_output = KEPT_MAX;
	bounded.errand = true;
	bounded.done = progress;
	if (fanout_run(hosts, argv, &bounded, t->a, &got, e))
		return -1;
	log_progress_end();
	for (size_t i = 0; i < hosts->n; i++) {
		struct finding *f = tally_add(t, 0, "hosts", "host.command", NULL);

		tally_of_host(t, got[i].host);
		set_apart(t->a, &got[i]);
		judge(t, &got[i], f, o->deadline_ns);
		done += f->status == ST_PASS;
		if (f->status == ST_FAIL)
			*LIST_ADD(t->a, &failed) = hosts->v[i];
		if (wants_password(&got[i]))
			*LIST_ADD(t->a, &locked) = hosts->v[i];
		if (f->status == ST_SKIP)
			*LIST_ADD(t->a, &left) = hosts->v[i];
		if (report_wants_data(t->r))
			node_data(t->r, &got[i]);
	}
	if (!t->fold)
		advise(t, &failed, &locked, command, from);
	tally_emit(t);
	if (t->fold) {
		tell_whole(t, got, hosts->n);
		advise(t, &failed, &locked, command, from);
	}
	report_covers(t->r, "done on %zu of %zu hosts", done, hosts->n);
	return over_budget(t, &left, e);
}
