#include "probes/preflight/verb.h"

#include "lib/core/log.h"
#include "lib/core/near.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "probes/preflight/ask.h"
#include "probes/preflight/diff.h"
#include "probes/preflight/document.h"
#include "probes/preflight/on.h"

#include <sys/stat.h>

static void delete_doc(cJSON **doc) { cJSON_Delete(*doc); }

/* By two names, perhaps. */
static bool are_one_file(const char *x, const char *y)
{
	struct stat a, b;

	return !stat(x, &a) && !stat(y, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* With --report the page of NEW. */
static int run_diff(struct preflight *p, const str_list *words, struct err *e)
{
	AUTO(delete_doc) cJSON *old = document_read(words->v[1], p->a, e);
	AUTO(delete_doc) cJSON *now = old ? document_read(words->v[2], p->a, e) : NULL;

	if (!now)
		return -1;
	if (!streq(json_text(old, "command"), json_text(now, "command"))) {
		err_set(e, ERR_USAGE, "%s is a run of %s and %s one of %s", words->v[1],
			json_get_str(old, "command") ?: "nothing", words->v[2],
			json_get_str(now, "command") ?: "nothing");
		return err_hint(e, "give two runs of one command");
	}
	if (!p->page && are_one_file(words->v[1], words->v[2]))
		log_warn("%s and %s are one file: nothing can differ", words->v[1], words->v[2]);
	runs_diff(&p->t, S_BASELINE, old, now);
	tally_emit(&p->t);
	report_covers(p->r, "what differs between the runs of %s and %s",
		      json_get_str(old, "time") ?: "then", json_get_str(now, "time") ?: "now");
	if (!p->page)
		return 0;
	if (document_write_page(now, p->page, p->a, e) == 0) {
		log_say("report: %s", p->page);
		return 0;
	}
	report_file_lost(p->r, "a file was not written");
	return -1;
}

static int check_diff(const str_list *words UNUSED, const struct verb_options *o, struct err *e)
{
	return o->others ? err_set(e, ERR_USAGE,
				   "diff goes without --hosts, --here, --nodes and --baseline")
			 : 0;
}

static int check_on(const str_list *words, const struct verb_options *o, struct err *e)
{
	return on_check(words->v[2], o->others || o->page, e);
}

static int run_on(struct preflight *p, const str_list *words, struct err *e)
{
	const struct fanout_opts o = {.rsh = p->rsh, .deadline_ns = 3 * p->deadline_ns};

	const char *given = words->v[1];

	if (hosts_settle(&given, p->a, e) || hosts_from_arg(given, p->a, &p->hosts, e))
		return -1;
	p->way = (struct host_way){.rsh = p->rsh, .given = given, .n = p->hosts.n};
	p->t.way = &p->way;
	return on_hosts(&p->t, &p->hosts, words->v[2], &o, e);
}

static const struct verb {
	const char *name;
	const char *takes, *such_as; /* two words, which; and an example */
	int (*check)(const str_list *words, const struct verb_options *o, struct err *e);
	int (*run)(struct preflight *p, const str_list *words, struct err *e);
} verbs[] = {
	{"diff", "diff takes two runs: OLD NEW",
	 "windsock diff monday.json today.json   # each from --json", check_diff, run_diff},
	{"on", "on takes hosts and one command line: HOSTS COMMAND",
	 "windsock on 'node[1-8]' 'uname -r; uptime'   # quoted, as for ssh", check_on, run_on},
};
const char *const verb_names[] = {"diff", "join", "on", NULL};

static const struct verb *find(const str_list *words)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (streq(words->v[0], verbs[i].name))
			return &verbs[i];
	return NULL;
}

static bool is_file(const char *word)
{
	struct stat st;

	return !stat(word, &st) && S_ISREG(st.st_mode);
}

/* Two runs of which the first stands where the word belongs; NULL: it is something else. */
static const char *as_diff(const str_list *words, struct arena *a)
{
	const char *files[2];
	size_t n = 0;

	for (size_t i = 0; i < words->n; i++) {
		if (i && streq(words->v[i], "diff"))
			continue;
		if (n == ARRAY_LEN(files) || !is_file(words->v[i]))
			return NULL;
		files[n++] = words->v[i];
	}
	return n == ARRAY_LEN(files)
		       ? arena_printf(a, "windsock diff %s %s", shell_quote(a, files[0]),
				      shell_quote(a, files[1]))
		       : NULL;
}

/* What stands there without a word is hosts, if they can be. */
static int refuse_hosts(const str_list *words, struct arena *a, struct err *e)
{
	host_list ignored = {0};
	struct text list;
	struct err why = {0};

	text_init(&list, a);
	for (size_t i = 0; i < words->n; i++)
		text_addf(&list, "%s%s", i ? "," : "", words->v[i]);
	if (!hosts_from_arg(list.s, a, &ignored, &why))
		return err_hint(e, "hosts are named so: windsock --hosts %s",
				shell_quote(a, list.s));
	*e = why;
	return -1;
}

/* A verb or an option that was not written so, another command, runs, or hosts. */
static int refuse(const str_list *words, struct arena *a, struct err *e)
{
	static const char *const own[] = {"ifprobe", "portcheck", "ncclbench", "ddpsmoke",
					  "ncclwhy"};
	const char *word = words->v[0], *near, *diff = as_diff(words, a);

	if (diff) {
		err_set(e, ERR_USAGE, "'%s' is a file, and what is to be done with it is not said",
			word);
		return err_hint(e, "did you mean: %s", diff);
	}
	err_set(e, ERR_USAGE, "'%s' is none of join, diff and on", word);
	for (size_t i = 0; i < PREFLIGHT_ASK_NROWS; i++)
		if (preflight_ask_rows[i].name && streq(preflight_ask_rows[i].name, word))
			return err_hint(e, "did you mean --%s?", word);
	near = nearest_name(word, verb_names, ARRAY_LEN(verb_names) - 1);
	if (near)
		return err_hint(e, "did you mean %s?", near);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (streq(own[i], word))
			return err_hint(e, "%s is a command of its own", word);
	return refuse_hosts(words, a, e);
}

int verb_check(const str_list *words, const struct verb_options *o, struct arena *a, struct err *e)
{
	const struct verb *v = find(words);

	if (!v)
		return refuse(words, a, e);
	if (words->n != 3) {
		err_set(e, ERR_USAGE, "%s", v->takes);
		return err_hint(e, "%s", v->such_as);
	}
	return v->check(words, o, e);
}

int verb_run(struct preflight *p, const str_list *words, struct err *e)
{
	return find(words)->run(p, words, e);
}
