#include "lib/core/near.h"
#include "lib/core/quote.h"
#include "probes/rules/nccl_known.h"
#include "probes/rules/nccl_lint.h"

#include <ctype.h>
#include <net/if.h>

struct finding *lint_find(const struct lint *l, const char *check, const struct setting *s)
{
	return report_find(l->r, check,
			   arena_printf(report_arena(l->r), "%s (%s)", s->name, s->origin));
}

/* "/etc/nccl.conf:3" -> the file and its line; false for the environment. */
static bool in_file(const struct finding *f, const struct setting *s, const char **ret_path,
		    const char **ret_line)
{
	const char *colon = strrchr(s->origin, ':');

	if (!colon)
		return false;
	*ret_path = arena_strndup(f->a, s->origin, (size_t)(colon - s->origin));
	*ret_line = colon + 1;
	return true;
}

/* What `c` of sed writes: a backslash in it would be taken away. */
static const char *sed_text(struct arena *a, const char *s)
{
	struct text t;

	text_init(&t, a);
	for (; *s; s++)
		text_addf(&t, "%s%c", *s == '\\' ? "\\" : "", *s);
	return t.s;
}

void lint_fix(struct finding *f, const struct setting *s, const char *name, const char *value)
{
	const char *path, *line, *script;

	if (!in_file(f, s, &path, &line)) {
		finding_fix(f, "export %s=%s", name, shell_quote(f->a, value));
		return;
	}
	script = arena_printf(f->a, "%sc\\%s=%s", line, name, sed_text(f->a, value));
	finding_fix(f, "sed -i %s %s", shell_quote(f->a, script), shell_quote_path(f->a, path));
}

/* A line that is gone would make the next one's number mean another: it becomes a comment. */
void lint_unset(struct finding *f, const struct setting *s)
{
	const char *path, *line;

	if (in_file(f, s, &path, &line))
		finding_fix(f, "sed -i '%ss/^/#/' %s", line, shell_quote_path(f->a, path));
	else
		finding_fix(f, "unset %s", s->name);
}

static char *without_blanks_and_quotes(struct arena *a, const char *value)
{
	char *out = arena_alloc(a, strlen(value) + 1);
	size_t n = 0;

	/* " # why" was meant as a comment */
	for (const char *p = value;
	     *p && (p == value || *p != '#' || !isspace((unsigned char)p[-1])); p++)
		if (!isspace((unsigned char)*p) && *p != '"' && *p != '\'')
			out[n++] = *p;
	return out;
}

const char *lint_cleaned(struct arena *a, const char *value)
{
	char *list = without_blanks_and_quotes(a, value), *entry;
	size_t signs = strspn(list, "^="), n = 0;
	bool negate = memchr(list, '^', signs), exact = memchr(list, '=', signs);
	struct text t;

	text_init(&t, a);
	text_addf(&t, "%s%s", negate ? "^" : "", exact ? "=" : "");
	list += signs;
	while ((entry = strsep(&list, ","))) {
		signs = strspn(entry, "^=");
		/* what was to be left out is not taken in */
		if (entry[signs] && (negate || !memchr(entry, '^', signs)))
			text_addf(&t, "%s%s", n++ ? "," : "", entry + signs);
	}
	return t.s;
}

void lint_fix_list(struct finding *f, const struct setting *s, const char *list)
{
	if (strlen(list) > 1)
		lint_fix(f, s, s->name, list);
	else /* signs alone */
		lint_unset(f, s);
}

static bool sign_inside(const struct nccl_ifspec *spec)
{
	for (size_t i = 0; i < spec->n; i++)
		if (spec->prefix[i][0] == '^' || spec->prefix[i][0] == '=')
			return true;
	return false;
}

/* What is more, or longer, than NCCL has room for. */
static void list_sizes(const struct lint *l, const struct setting *s, const char *family,
		       const struct nccl_ifspec *spec)
{
	size_t overrun = nccl_ifspec_overrun(spec, l->in->nccl_version);
	struct arena *a = report_arena(l->r);
	struct finding *f;

	if (spec->truncated) {
		f = lint_find(l, arena_printf(a, "%s.too-many", family), s);
		finding_set(f, ST_WARN, "has more than %d entries; NCCL drops the rest silently",
			    NCCL_MAX_IFS);
		finding_expect(f, "at most %d entries", NCCL_MAX_IFS);
		report_add(l->r, f);
	}
	if (overrun) {
		f = lint_find(l, arena_printf(a, "%s.overrun", family), s);
		finding_set(f, ST_FAIL,
			    "has an entry of %zu characters, which overruns NCCL's memory: it "
			    "crashes",
			    overrun);
		finding_expect(f, "names of at most %d characters", IFNAMSIZ - 1);
		lint_unset(f, s);
		report_add(l->r, f);
	}
}

bool lint_list_text(const struct lint *l, const struct setting *s, const char *family,
		    const struct nccl_ifspec *spec)
{
	static const struct stray {
		const char *kind, *why;
	} quote = {"quote", "takes quotes as part of the name, and no name has any"},
	  blank = {"blank", "takes blanks as part of the name, so that entry matches nothing"},
	  sign = {"caret-inside", "reads ^ and = once, at the start of the whole list; further on "
				  "they are part of a name"};
	struct arena *a = report_arena(l->r);
	const struct stray *x = s->value[strcspn(s->value, "\"'")]	     ? &quote
				: s->value[strcspn(s->value, " \t\r\n\v\f")] ? &blank
				: sign_inside(spec)			     ? &sign
									     : NULL;
	const char *clean;
	struct finding *f;

	list_sizes(l, s, family, spec);
	if (!x)
		return false;
	f = lint_find(l, arena_printf(a, "%s.%s", family, x->kind), s);
	/* where others are included, an entry that fits nothing does no harm */
	finding_set(f, x == &sign && !spec->negate ? ST_WARN : ST_FAIL, "is [%s]: NCCL %s",
		    s->value, x->why);
	clean = lint_cleaned(a, s->value);
	finding_expect(f, "%s", strlen(clean) > 1 ? clean : "not set");
	lint_fix_list(f, s, clean);
	report_add(l->r, f);
	return true;
}

/* NCCL reads what strtoll makes of it: "yes" is 0, "22s" is 22. */
void lint_number(const struct lint *l, const struct setting *s)
{
	bool meant = is_word_of(s->value, "no false off n");
	struct finding *f;
	char *end;
	int64_t v;

	(void)strtoll(s->value, &end, 0);
	if (!*s->value || (end != s->value && !*end && nccl_param_parse(s->value, &v)))
		return;
	f = lint_find(l, "lint.bool", s);
	if (!nccl_param_parse(s->value, &v))
		finding_set(f, ST_FAIL, "is [%s], too large a number: NCCL uses its default",
			    s->value);
	else
		finding_set(f,
			    meant	      ? ST_INFO
			    : end == s->value ? ST_FAIL
					      : ST_WARN,
			    "is [%s]: NCCL reads it as the number %lld%s", s->value, (long long)v,
			    meant ? ", as it was meant" : "");
	finding_expect(f, "a number, such as 0 or 1");
	if (is_word_of(s->value, "yes true on y enable enabled"))
		lint_fix(f, s, s->name, "1");
	else if (end != s->value)
		lint_fix(f, s, s->name, arena_strndup(f->a, s->value, (size_t)(end - s->value)));
	else
		lint_unset(f, s);
	report_add(l->r, f);
}

static void lint_boolean(const struct lint *l, const struct setting *s)
{
	if (nccl_version(l->in->nccl_version) < NCCL_VERSION_BOOLEAN)
		lint_number(l, s);
	else if (*s->value && !is_word_of(s->value, "1 T TRUE 0 F FALSE"))
		lint_not_a_word(l, s, ST_WARN, "1 TRUE 0 FALSE", s->value,
				"goes on as if it were not set");
}

static void lint_env_plugin(const struct lint *l, const struct setting *s)
{
	struct finding *f;

	if (strcasecmp(s->value, "none") == 0)
		return;
	f = lint_find(l, "lint.env-plugin", s);
	if (nccl_version(l->in->nccl_version) < NCCL_VERSION_ENV_PLUGIN) {
		finding_set(f, ST_INFO, "is %s, which NCCL before 2.28.7 does not look at",
			    s->value);
		report_add(l->r, f);
		return;
	}
	if (lint_plugin_missing(l, s))
		return;
	finding_set(f, ST_WARN,
		    "is %s: that plug-in answers for every NCCL variable, so what is set "
		    "here may not be what NCCL sees",
		    s->value);
	finding_expect(f, "no plug-in, or none");
	lint_unset(f, s);
	report_add(l->r, f);
}

static const struct {
	const char *name;
	void (*check)(const struct lint *l, const struct setting *s);
} lints[] = {
	{"NCCL_SOCKET_IFNAME", lint_ifname},
	{"NCCL_SOCKET_FAMILY", lint_family},
	{"NCCL_COMM_ID", lint_comm_id},
	{"NCCL_ENV_PLUGIN", lint_env_plugin},
	{"NCCL_NET", lint_net},
	{"NCCL_NET_PLUGIN", lint_plugin},
	{"NCCL_TUNER_PLUGIN", lint_plugin},
	{"NCCL_PROFILER_PLUGIN", lint_plugin},
	{"NCCL_GIN_PLUGIN", lint_plugin},
	{"NCCL_RMA_PLUGIN", lint_plugin},
	{"NCCL_TOPO_FILE", lint_topology},
	{"NCCL_GRAPH_FILE", lint_graph},
	{"NCCL_TOPO_DUMP_FILE", lint_written},
	{"NCCL_GRAPH_DUMP_FILE", lint_written},
	{"NCCL_DEBUG_FILE", lint_written},
	{"NCCL_IB_HCA", lint_ib_hca},
	{"NCCL_IB_DISABLE", lint_ib_disable},
	{"NCCL_IB_GID_INDEX", lint_gid_index},
	{"NCCL_ALGO", lint_algo},
	{"NCCL_PROTO", lint_proto},
	{"NCCL_OOB_NET_IFNAME", lint_oob_ifname},
	{"NCCL_IB_ADDR_RANGE", lint_ib_addr_range},
};

static void lint_kind(const struct lint *l, const struct setting *s)
{
	const struct nccl_known *k = nccl_known_find(s->name);

	if (!lint_name(l, s, k))
		return;
	if (k->kind == NCCL_NUMBER)
		lint_number(l, s);
	else if (k->kind == NCCL_BOOLEAN)
		lint_boolean(l, s);
	else if (k->kind == NCCL_WORDS || k->kind == NCCL_LEVEL)
		lint_words(l, s);
}

static void say_all_is_well(const struct lint *l)
{
	size_t n = l->in->settings->nccl.n;
	struct finding *f;

	if (!n)
		return;
	f = report_find(l->r, "lint.nccl", "NCCL");
	finding_set(f, ST_PASS, "%zu variable%s set, nothing wrong with %s", n,
		    n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
	report_add(l->r, f);
}

void nccl_check(const struct rules_input *in, struct report *r)
{
	const struct lint l = {in, r};
	size_t before = report_count(r, ST_WARN) + report_count(r, ST_FAIL);

	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		const struct setting *s = settings_nccl(in->settings, lints[i].name);

		if (s)
			lints[i].check(&l, s);
	}
	for (size_t i = 0; i < in->settings->nccl.n; i++)
		lint_kind(&l, &in->settings->nccl.v[i]);
	lint_conf(&l);
	if (report_count(r, ST_WARN) + report_count(r, ST_FAIL) == before)
		say_all_is_well(&l);
}
