/* Findings alike on several hosts, and the list of hosts. */
#include "probes/html/parts.h"

struct keyed {
	const char *key, *host;
	size_t at, group; /* in the order of the document; among those that are alike */
	const cJSON *f;
};

static const char *get(const cJSON *f, const char *key) { return json_get_str(f, key) ?: ""; }

/* A subject that is the host itself says nothing more than the host's name. */
static const char *key_of(const cJSON *f, struct arena *a)
{
	const char *subject = get(f, "subject");

	return arena_printf(a, "%s\n%s\n%s\n%s", get(f, "check"), get(f, "status"),
			    streq(subject, get(f, "host")) ? "" : subject, get(f, "message"));
}

static int by_key(const void *px, const void *py)
{
	const struct keyed *x = px, *y = py;
	int d = strcmp(x->key, y->key);

	d = d ? d : strverscmp(x->host, y->host);
	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *px, const void *py)
{
	const struct keyed *x = px, *y = py;

	return (x->at > y->at) - (x->at < y->at);
}

void html_fold(const cJSON *doc, struct arena *a, html_rows *ret)
{
	const cJSON *all = json_get(doc, "findings"), *f;
	size_t n = 0, total = (size_t)cJSON_GetArraySize(all), groups = 0;
	struct keyed *k = arena_alloc(a, (total + 1) * sizeof(*k)), *of = k;
	host_list *hosts = arena_alloc(a, (total + 1) * sizeof(*hosts));

	cJSON_ArrayForEach (f, all) {
		k[n] = (struct keyed){key_of(f, a), get(f, "host"), n, 0, f};
		n++;
	}
	qsort(k, n, sizeof(*k), by_key);
	for (size_t i = 0; i < n; i++) {
		struct keyed x = k[i];

		if (!i || !streq(x.key, of->key)) {
			of = &k[groups];
			*of = x;
			of->group = groups++;
		}
		/* what a host says in two stages it says once here */
		if (!hosts[of->group].n || !streq(x.host, of->host))
			LIST_ADD(a, &hosts[of->group])->name = x.host;
		of->host = x.host;
		if (x.at < of->at) {
			of->at = x.at;
			of->f = x.f;
		}
	}
	qsort(k, groups, sizeof(*k), by_place);
	for (size_t i = 0; i < groups; i++)
		*LIST_ADD(a, ret) = (struct html_row){.f = k[i].f, .hosts = hosts[k[i].group]};
}

static int weight(const char *status)
{
	static const char *const order[] = {"warn", "error", "fail"};

	for (int i = 0; i < (int)ARRAY_LEN(order); i++)
		if (streq(order[i], status))
			return i + 1;
	return 0;
}

/* Findings come host by host: the next is of the same or of the next one. */
static size_t find(const html_nodes *l, const char *host, size_t near)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[(near + i) % l->n].host, host))
			return (near + i) % l->n;
	return l->n;
}

static void worsen(html_nodes *l, size_t at, const char *status)
{
	if (at < l->n && weight(status) > weight(l->v[at].status))
		l->v[at].status = status;
}

/* A host, or a link between two: whom a finding is about. False: neither. */
static bool worsen_subject(html_nodes *l, const char *subject, const char *status)
{
	const char *arrow = strstr(subject, " -> ");
	size_t n = arrow ? (size_t)(arrow - subject) : strlen(subject);
	bool found = false;

	for (size_t i = 0; i < l->n; i++) {
		const char *host = l->v[i].host;

		if ((strlen(host) == n && !strncmp(host, subject, n)) ||
		    (arrow && streq(arrow + strlen(" -> "), host))) {
			worsen(l, i, status);
			found = true;
		}
	}
	return found;
}

static void judge(const cJSON *doc, html_nodes *l)
{
	const cJSON *f, *name, *failing = json_get(json_get(doc, "data"), "failing_nodes");
	size_t near = 0, at;

	for (size_t i = 0; i < l->n; i++)
		l->v[i].status = "pass";
	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		at = find(l, get(f, "host"), near);
		/* of ranks one host speaks for all */
		if (at < l->n && l->v[at].ranks &&
		    worsen_subject(l, get(f, "subject"), get(f, "status")))
			continue;
		/* who says that another is not reached is a witness: windsock names the failing */
		if (!failing || !streq(get(f, "status"), "fail"))
			worsen(l, at, get(f, "status"));
		near = at < l->n ? at : near;
	}
	cJSON_ArrayForEach (name, failing)
		if (cJSON_IsString(name))
			worsen(l, find(l, name->valuestring, 0), "fail");
}

/* Ranks come host by host. */
static void list_ranks(const cJSON *doc, struct arena *a, html_nodes *ret)
{
	const cJSON *rank;
	size_t at = 0;

	cJSON_ArrayForEach (rank, json_get(json_get(json_get(doc, "data"), "world"), "ranks")) {
		const char *host = get(rank, "host");

		at = ret->n ? find(ret, host, at) : 0;
		if (at == ret->n)
			*LIST_ADD(a, ret) = (struct html_node){
				.host = host, .address = json_get_str(rank, "address")};
		ret->v[at].ranks++;
	}
	if (ret->n == 1)
		ret->v[0].data = json_get(doc, "data");
}

/* Hosts of the run that gave no answer have a row all the same. */
static void list_silent(const cJSON *doc, struct arena *a, html_nodes *ret)
{
	static const char *const lists[] = {"passing_nodes", "failing_nodes"};
	const cJSON *name;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t at = 0;

		cJSON_ArrayForEach (name, json_get(json_get(doc, "data"), lists[i])) {
			const char *host = cJSON_GetStringValue(name);

			if (!host)
				continue;
			at = ret->n ? find(ret, host, at) : 0;
			if (at == ret->n)
				LIST_ADD(a, ret)->host = host;
		}
	}
}

void html_list_nodes(const cJSON *doc, struct arena *a, html_nodes *ret)
{
	const cJSON *node;

	cJSON_ArrayForEach (node, json_get(doc, "nodes")) {
		struct html_node *x = LIST_ADD(a, ret);

		x->host = get(node, "host");
		x->data = json_get(node, "data");
	}
	list_silent(doc, a, ret);
	if (!ret->n)
		list_ranks(doc, a, ret);
	if (!ret->n)
		*LIST_ADD(a, ret) =
			(struct html_node){.host = get(doc, "host"), .data = json_get(doc, "data")};
	judge(doc, ret);
}

const char *html_stage_status(const cJSON *data, const char *stage)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, json_get(data, "stages"))
		if (streq(get(s, "name"), stage))
			return json_get_str(s, "status");
	return NULL;
}
