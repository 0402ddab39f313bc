#include "probes/tally/subject.h"

#include "lib/report/json.h"

void subject_names(struct arena *a, const char *subject, host_list *ret)
{
	*ret = (host_list){0};
	for (size_t n; subject && *subject; subject += n) {
		host_list named = {0};
		struct err ignored = {0};

		subject += strspn(subject, " ");
		n = strcspn(subject, " ");
		if (!n || hostlist_parse(arena_strndup(a, subject, n), a, &named, &ignored))
			continue;
		for (size_t i = 0; i < named.n; i++)
			*LIST_ADD(a, ret) = named.v[i];
	}
}

static void add(struct names *to, struct arena *a, const char *name)
{
	if (name && *name && !names_has(to, name))
		names_add(to, a, name);
}

/* A run over several hosts is about them, not about the one that began it. */
void run_hosts(const cJSON *doc, struct arena *a, struct names *ret)
{
	static const char *const lists[] = {"passing_nodes", "failing_nodes"};
	const cJSON *x;

	cJSON_ArrayForEach (x, json_get(doc, "nodes"))
		add(ret, a, json_text(x, "host"));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		cJSON_ArrayForEach (x, json_get(json_get(doc, "data"), lists[i]))
			add(ret, a, cJSON_GetStringValue(x));
	cJSON_ArrayForEach (x, json_get(json_get(json_get(doc, "data"), "world"), "ranks"))
		add(ret, a, json_text(x, "host"));
	if (!ret->n)
		add(ret, a, json_text(doc, "host"));
}

/* How a host reaches another is its own to say: each has said it. */
static bool is_own_view(const cJSON *f) { return starts_with(json_text(f, "check"), "peer."); }

const char *subject_host(const cJSON *doc, const struct names *hosts, const cJSON *f)
{
	AUTO(arena_done) struct arena a = {0}; /* a document has very many of them */
	const char *host = json_text(f, "host"), *subject = json_text(f, "subject");
	host_list named;

	if (!streq(host, json_text(doc, "host")) || streq(host, subject) || is_own_view(f))
		return host;
	subject_names(&a, subject, &named);
	for (size_t i = 0; i < named.n; i++)
		if (names_has(hosts, named.v[i].name))
			return "";
	return host;
}
