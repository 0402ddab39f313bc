/* From the matrix of who reaches whom: the fewest hosts that explain all bad pairs. */
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"

static bool is_bad(const cJSON *cell)
{
	const char *v = cJSON_GetStringValue(cell);

	return v && !streq(v, "ok") && !streq(v, "self") && !streq(v, "unknown");
}

static size_t bad_of(const bool *bad, size_t n, size_t host)
{
	size_t found = 0;

	for (size_t k = 0; k < n; k++)
		found += bad[host * n + k] + bad[k * n + host];
	return found;
}

static bool *bad_pairs(struct arena *a, const cJSON *cells, size_t n)
{
	bool *bad = arena_alloc(a, n * n * sizeof(*bad));
	const cJSON *line, *cell;
	size_t y = 0;

	cJSON_ArrayForEach (line, cells) {
		size_t x = 0;

		cJSON_ArrayForEach (cell, line) {
			if (x < n && y < n)
				bad[y * n + x] = is_bad(cell);
			x++;
		}
		y++;
	}
	return bad;
}

/* ---- of a pair that fails alone: what was said about its ends ---- */

/* Hosts that a finding between hosts is about, by whether it knows why or only heard nothing. */
struct said {
	struct names accused, suspected;
};

static void add_subject(struct preflight *p, const char *subject, struct names *ret)
{
	host_list named = {0};
	struct err ignored = {0};

	if (!subject || hostlist_parse(subject, p->a, &named, &ignored))
		return;
	for (size_t i = 0; i < named.n; i++)
		names_add(ret, p->a, named.v[i].name);
}

static struct said said_of(struct preflight *p)
{
	struct said s = {0};

	for (size_t i = p->run[S_REACH].from; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if (f->status == ST_FAIL && starts_with(f->check, "mesh."))
			add_subject(p, f->subject, tally_is_guess(f) ? &s.suspected : &s.accused);
	}
	return s;
}

static const char *name_at(const cJSON *hosts, size_t i)
{
	return cJSON_GetStringValue(cJSON_GetArrayItem(hosts, (int)i)) ?: "";
}

/* All that is bad of it is with hosts whose own fault is known, and nothing is said of it. */
static bool is_excused(const struct said *s, const bool *bad, const cJSON *hosts, size_t n,
		       size_t host)
{
	const char *name = name_at(hosts, host);

	if (names_has(&s->accused, name) || names_has(&s->suspected, name))
		return false;
	for (size_t k = 0; k < n; k++)
		if ((bad[host * n + k] || bad[k * n + host]) &&
		    !names_has(&s->accused, name_at(hosts, k)))
			return false;
	return true;
}

/* Those with the most; of a pair that fails alone either may be the one, so both are named, unless
 * it is known which. Who is excused has its pairs with some who are not, so these come to an end.
 */
static bool name_worst(struct preflight *p, const struct said *s, bool *bad, const cJSON *hosts,
		       size_t n)
{
	size_t *counts = arena_alloc(p->a, n * sizeof(*counts)), most = 0;

	for (size_t i = 0; i < n; i++) {
		counts[i] = bad_of(bad, n, i);
		if (counts[i] && is_excused(s, bad, hosts, n, i))
			counts[i] = 0;
		most = counts[i] > most ? counts[i] : most;
	}
	for (size_t i = 0; most && i < n; i++) {
		if (counts[i] != most)
			continue;
		if (*name_at(hosts, i))
			*LIST_ADD(p->a, &p->culprits) = arena_strdup(p->a, name_at(hosts, i));
		for (size_t k = 0; k < n; k++)
			bad[i * n + k] = bad[k * n + i] = false;
	}
	return most > 0;
}

void preflight_find_culprits(struct preflight *p, const cJSON *matrix)
{
	const cJSON *hosts = json_get(matrix, "hosts");
	size_t n = (size_t)cJSON_GetArraySize(hosts);
	struct said s;
	bool *bad;

	if (!n)
		return;
	s = said_of(p);
	bad = bad_pairs(p->a, json_get(matrix, "cells"), n);
	while (name_worst(p, &s, bad, hosts, n))
		;
}
