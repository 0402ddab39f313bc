#include "probes/preflight/diff_index.h"

#include "lib/core/text.h"
#include "lib/report/json.h"

/* A host's own name, also as a subject, stands for its counterpart. */
static const char *named(const cJSON *f, const char *key, const char *own)
{
	const char *name = json_text(f, key);

	return own && streq(name, own) ? "" : name;
}

static uint32_t hash_of(const cJSON *f, const char *own)
{
	uint32_t h = text_hash(0, json_text(f, "check")) + 1;

	return text_hash(text_hash(h, named(f, "subject", own)) + 1, named(f, "host", own));
}

void diff_index_init(struct diff_index *x, struct arena *a, const cJSON *findings, const char *own)
{
	size_t size = 16, n = (size_t)cJSON_GetArraySize(findings);
	const cJSON *f;

	while (size < 2 * n)
		size *= 2;
	*x = (struct diff_index){
		.slots = arena_alloc(a, size * sizeof(*x->slots)), .mask = size - 1, .own = own};
	cJSON_ArrayForEach (f, findings) {
		size_t at = hash_of(f, own) & x->mask;

		while (x->slots[at].f)
			at = (at + 1) & x->mask;
		x->slots[at].f = f;
	}
}

const cJSON *diff_index_take(struct diff_index *x, const cJSON *like, const char *own)
{
	size_t at = hash_of(like, own) & x->mask;
	struct diff_slot *left = NULL;
	const cJSON *like_it = NULL;

	for (; x->slots[at].f; at = (at + 1) & x->mask) {
		struct diff_slot *s = &x->slots[at];

		if (!streq(json_text(s->f, "check"), json_text(like, "check")) ||
		    !streq(named(s->f, "subject", x->own), named(like, "subject", own)) ||
		    !streq(named(s->f, "host", x->own), named(like, "host", own)))
			continue;
		if (streq(json_text(s->f, "status"), json_text(like, "status"))) {
			like_it = s->f;
			left = s->taken ? left : s;
		} else if (!left && !s->taken) {
			left = s;
		}
		if (left && left->f == like_it)
			break;
	}
	if (left)
		left->taken = true;
	return left ? left->f : like_it;
}

static int by_host(const void *x, const void *y)
{
	return strcmp(json_text(*(const cJSON *const *)x, "host"),
		      json_text(*(const cJSON *const *)y, "host"));
}

void nodes_init(struct diff_nodes *x, struct arena *a, const cJSON *nodes)
{
	const cJSON *n;

	*x = (struct diff_nodes){0};
	x->v = arena_alloc(a, ((size_t)cJSON_GetArraySize(nodes) + 1) * sizeof(*x->v));
	cJSON_ArrayForEach (n, nodes)
		x->v[x->n++] = n;
	qsort(x->v, x->n, sizeof(*x->v), by_host);
}

const cJSON *nodes_find(const struct diff_nodes *x, const char *host)
{
	size_t from = 0, to = x->n;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		int d = strcmp(host, json_text(x->v[at], "host"));

		if (!d)
			return x->v[at];
		if (d < 0)
			to = at;
		else
			from = at + 1;
	}
	return NULL;
}
