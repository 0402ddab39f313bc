/* Hosts by the names that they were asked for. Who ran on them speaks of them as they call
 * themselves, or by an address. */
#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

/* ---- what they are called ---- */

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct called *)x)->name, ((const struct called *)y)->name);
}

/* Both have one name: whose is it? NULL: nobody knows. */
static const char *owner(const struct called *x, const struct called *y)
{
	if (streq(y->asked, y->name) || (x->asked && streq(x->asked, y->asked)))
		return y->asked;
	return x->asked && streq(x->asked, x->name) ? x->asked : NULL;
}

static void settle(called_list *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	for (size_t i = 0; i < l->n; i++)
		if (n && streq(l->v[n - 1].name, l->v[i].name))
			l->v[n - 1].asked = owner(&l->v[n - 1], &l->v[i]);
		else
			l->v[n++] = l->v[i];
	l->n = n;
}

static void add(struct preflight *p, const char *name, const char *asked)
{
	if (name)
		*LIST_ADD(p->a, &p->called) = (struct called){name, asked};
}

void preflight_learn_names(struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct answer *from = &all->v[i];
		str_list addrs;

		add(p, from->host, from->host);
		add(p, host_bare(from->host), from->host);
		add(p, from->hostname, from->host);
		answer_addresses(p->a, from, &addrs);
		for (size_t k = 0; k < addrs.n; k++)
			add(p, arena_strdup(p->a, addrs.v[k]), from->host);
	}
	settle(&p->called);
}

/* NULL: it is no host's, or of more than one. */
static const char *find(const struct preflight *p, const char *name)
{
	const struct called key = {.name = name}, *x = NULL;

	if (name && p->called.n)
		x = bsearch(&key, p->called.v, p->called.n, sizeof(key), by_name);
	return x ? x->asked : NULL;
}

const char *preflight_asked(const struct preflight *p, const char *name)
{
	return find(p, name) ?: name;
}

const char *preflight_host_of_rank(const struct preflight *p, const cJSON *rank)
{
	const char *host = json_get_str(rank, "host");

	return find(p, host) ?: find(p, json_get_str(rank, "address")) ?: host;
}

/* ---- in what is said ---- */

/* One host, a folded list, or another word, which stays as it is: so does "node2:29500". */
static const char *word_asked(const struct preflight *p, const char *word)
{
	host_list named = {0};
	struct err ignored = {0};
	bool any = false;

	if (hostlist_parse(word, p->a, &named, &ignored))
		return word;
	for (size_t i = 0; i < named.n; i++) {
		const char *asked = named.v[i].slots ? NULL : find(p, named.v[i].name);

		any |= asked && !streq(asked, named.v[i].name);
		named.v[i].name = asked ?: named.v[i].name;
	}
	if (!any)
		return word;
	return named.n == 1 ? named.v[0].name : hostlist_fold(p->a, &named);
}

/* Of a pair there are two, with an arrow between. */
static const char *subject_asked(const struct preflight *p, const char *subject)
{
	struct text t;

	text_init(&t, p->a);
	while (*subject) {
		size_t blank = strspn(subject, " "), n = strcspn(subject + blank, " ");
		const char *word = arena_strndup(p->a, subject + blank, n);

		text_addf(&t, "%.*s%s", (int)blank, subject, n ? word_asked(p, word) : "");
		subject += blank + n;
	}
	return t.n ? t.s : "";
}

/* "portcheck --hosts node1,node2   # ..." */
static const char *list_asked(const struct preflight *p, const char *line)
{
	static const char option[] = " --hosts ";
	const char *at = strstr(line, option), *list, *word, *asked;
	size_t n;

	if (!at)
		return line;
	list = at + strlen(option);
	n = strcspn(list, " ");
	word = arena_strndup(p->a, list, n);
	asked = word_asked(p, word);
	return asked == word ? line
			     : arena_printf(p->a, "%.*s%s%s", (int)(list - line), line,
					    shell_quote(p->a, asked), list + n);
}

/* "ssh node2 'dmesg'": what goes there goes the way that this run went. */
static const char *line_asked(const struct preflight *p, const char *line)
{
	const char *way = rsh_typed(p->a, p->rsh), *host, *asked;
	size_t n = strlen(way);

	if (!starts_with(line, way) || line[n] != ' ')
		return list_asked(p, line);
	host = line + n + 1;
	n = strcspn(host, " ");
	asked = find(p, arena_strndup(p->a, host, n));
	return asked ? arena_printf(p->a, "%s %s%s", way, shell_quote(p->a, asked), host + n)
		     : line;
}

static void replace(cJSON *text, const char *with)
{
	if (!streq(text->valuestring, with))
		(void)cJSON_SetValuestring(text, with);
}

void preflight_as_asked(const struct preflight *p, cJSON *doc)
{
	cJSON *f, *fix, *subject;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		subject = cJSON_GetObjectItemCaseSensitive(f, "subject");
		if (cJSON_IsString(subject))
			replace(subject, subject_asked(p, subject->valuestring));
		cJSON_ArrayForEach (fix, json_get(f, "fix"))
			if (cJSON_IsString(fix))
				replace(fix, line_asked(p, fix->valuestring));
	}
}
