/* Findings alike on several hosts, and the list of hosts. */
#include "probes/html/parts.h"
#include "probes/tally/alike.h"
#include "probes/tally/subject.h"

enum { FEW = 3 }; /* texts of one shape that are shown each by itself */

struct keyed {
	const char *shape, *key, *said, *host;
	size_t at; /* in the order of the document */
	const cJSON *f;
};

/* A subject that is the host itself says nothing more than the host's name. */
static struct keyed keyed(const cJSON *f, const char *host, size_t at, struct arena *a)
{
	const char *subject = json_text(f, "subject");
	const char *said = alike_gist(a, json_text(f, "message"), host);
	const char *about =
		arena_printf(a, "%s\n%s\n%s\n", json_text(f, "check"), json_text(f, "status"),
			     streq(subject, host) ? "" : subject);

	return (struct keyed){.shape = arena_printf(a, "%s%s", about, alike_shape(a, said)),
			      .key = arena_printf(a, "%s%s", about, said),
			      .said = said,
			      .host = host,
			      .at = at,
			      .f = f};
}

static int by_host(const void *px, const void *py)
{
	const struct keyed *x = px, *y = py;
	int d = strverscmp(x->host, y->host);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_key(const void *px, const void *py)
{
	const struct keyed *x = px, *y = py;
	int d = strcmp(x->shape, y->shape);

	d = d ? d : strcmp(x->key, y->key);
	return d ? d : by_host(px, py);
}

static int by_place(const void *px, const void *py)
{
	const struct html_row *x = px, *y = py;

	return (x->at > y->at) - (x->at < y->at);
}

/* A command for one host may be words for another. */
static bool has_same_fixes(const cJSON *f, const cJSON *g)
{
	static const char *const keys[] = {"fix", "as_words"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const cJSON *x = json_get(f, keys[i]), *y = json_get(g, keys[i]);

		if (!x != !y || (x && !cJSON_Compare(x, y, true)))
			return false;
	}
	return true;
}

/* [v, v + n) is one row; what a host says in two stages it says once here. */
static void add_row(const struct keyed *v, size_t n, const char *said, struct arena *a,
		    html_rows *ret)
{
	struct html_row *r = LIST_ADD(a, ret);
	const struct keyed *first = v;
	const char *names;

	for (size_t i = 0; i < n; i++) {
		if (*v[i].host && (!i || !streq(v[i].host, v[i - 1].host)))
			LIST_ADD(a, &r->hosts)->name = v[i].host;
		if (v[i].at < first->at)
			first = &v[i];
		r->own_fix |= !has_same_fixes(v[i].f, v->f);
	}
	names = r->hosts.n > 1 ? "these hosts" : first->host;
	r->f = first->f;
	r->at = first->at;
	r->range = said != first->said;
	r->said = alike_fill(a, said, names, first->host);
}

static size_t run(const struct keyed *v, size_t n, size_t offset)
{
	size_t i = 1;

	while (i < n && streq(*(const char *const *)((const char *)&v[i] + offset),
			      *(const char *const *)((const char *)v + offset)))
		i++;
	return i;
}

/* [v, v + n) are of one shape: as few as they say different things, or one. */
static void add_shape(struct keyed *v, size_t n, struct arena *a, html_rows *ret)
{
	str_list said = {0};
	size_t hosts = 0;

	for (size_t i = 0; i < n; i += run(v + i, n - i, offsetof(struct keyed, key)))
		*LIST_ADD(a, &said) = v[i].said;
	if (said.n > FEW) {
		qsort(v, n, sizeof(*v), by_host);
		for (size_t i = 0; i < n; i += run(v + i, n - i, offsetof(struct keyed, host)))
			hosts++;
	}
	if (hosts > FEW) {
		add_row(v, n, alike_range(a, &said), a, ret);
		return;
	}
	qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0, same; i < n; i += same) {
		same = run(v + i, n - i, offsetof(struct keyed, key));
		add_row(v + i, same, v[i].said, a, ret);
	}
}

void html_fold(const cJSON *doc, struct arena *a, html_rows *ret)
{
	const cJSON *all = json_get(doc, "findings"), *f;
	size_t n = 0, total = (size_t)cJSON_GetArraySize(all);
	struct keyed *k = arena_alloc(a, (total + 1) * sizeof(*k));
	struct names hosts = {0};

	run_hosts(doc, a, &hosts);
	cJSON_ArrayForEach (f, all) {
		k[n] = keyed(f, subject_host(doc, &hosts, f), n, a);
		n++;
	}
	qsort(k, n, sizeof(*k), by_key);
	for (size_t i = 0, same; i < n; i += same) {
		same = run(k + i, n - i, offsetof(struct keyed, shape));
		add_shape(k + i, same, a, ret);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_place);
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

static bool worsen_host(html_nodes *l, const char *name, size_t n, const char *status)
{
	bool found = false;

	for (size_t i = 0; i < l->n; i++)
		if (strlen(l->v[i].host) == n && !strncmp(l->v[i].host, name, n)) {
			worsen(l, i, status);
			found = true;
		}
	return found;
}

/* A host, or a link between two: whom a finding is about. False: neither. */
static bool worsen_subject(html_nodes *l, const char *subject, const char *status)
{
	const char *arrow = strstr(subject, " -> ");
	size_t n = arrow ? (size_t)(arrow - subject) : strlen(subject);
	const char *to = arrow ? arrow + strlen(" -> ") : "";
	bool found = worsen_host(l, subject, n, status);

	return (arrow && worsen_host(l, to, strlen(to), status)) || found;
}

/* "the others wait for rank 2 (node2, 10.77.0.3)": the hosts of whom it speaks. False: of none. */
static bool worsen_ranks(html_nodes *l, const char *message, const char *status)
{
	bool found = false;

	while ((message = strstr(message, "rank "))) {
		size_t digits = strspn(message += strlen("rank "), "0123456789");

		message += digits;
		if (digits && starts_with(message, " ("))
			found |= worsen_host(l, message + 2, strcspn(message + 2, ",)"), status);
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
		at = find(l, json_text(f, "host"), near);
		/* of ranks one host speaks for all */
		if (at < l->n && l->v[at].ranks &&
		    worsen_subject(l, json_text(f, "subject"), json_text(f, "status")))
			continue;
		if (worsen_ranks(l, json_text(f, "message"), json_text(f, "status")))
			continue;
		/* who says that another is not reached is a witness: windsock names the failing */
		if (!failing || !streq(json_text(f, "status"), "fail"))
			worsen(l, at, json_text(f, "status"));
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
		const char *host = json_text(rank, "host");

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

		x->host = json_text(node, "host");
		x->data = json_get(node, "data");
	}
	list_silent(doc, a, ret);
	if (!ret->n)
		list_ranks(doc, a, ret);
	if (!ret->n)
		*LIST_ADD(a, ret) = (struct html_node){.host = json_text(doc, "host"),
						       .data = json_get(doc, "data")};
	judge(doc, ret);
}

const char *html_stage_status(const cJSON *data, const char *stage)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, json_get(data, "stages"))
		if (streq(json_text(s, "name"), stage))
			return json_get_str(s, "status");
	return NULL;
}
