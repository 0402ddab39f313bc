/* What was measured of pairs, for programs. */
#include "bench/ranks/hosts.h"
#include "bench/sweep/pairs_say.h"
#include "lib/report/json.h"

/* Each by its name; where other hosts have that, too, its address stands beside it. */
static const char *const *places(const struct matrix *m)
{
	struct arena *a = m->s->a;
	const size_t n = (size_t)m->n;
	const char **names = arena_alloc(a, n * sizeof(*names));
	const char **addresses = arena_alloc(a, n * sizeof(*addresses));
	const char **at = arena_alloc(a, n * sizeof(*at));
	struct hosts h;

	for (int i = 0; i < m->n; i++) {
		names[i] = matrix_name(m, i);
		addresses[i] = m->one_host ? NULL : matrix_unit(m, i)->address;
	}
	hosts_at(names, addresses, n, a, &h, at);
	for (size_t i = 0; i < n; i++)
		if (at[i] && at[i] != names[i])
			names[i] = arena_printf(a, "%s (%s)", names[i], at[i]);
	return names;
}

void matrix_add_pairs(const struct matrix *m, cJSON *pairs)
{
	const char *const *place = places(m);

	for (int a = 0; a < m->n; a++)
		for (int b = 0; b < m->n; b++) {
			cJSON *o;

			if (a == b)
				continue;
			o = json_push_object(pairs);
			json_str(o, "from", place[a]);
			json_str(o, "to", place[b]);
			json_num(o, "gbps", m->gbps[a * m->n + b]);
			json_num(o, "latency_us", m->latency[a * m->n + b] * 1e6);
			json_num(o, "lost", m->lost[a * m->n + b]);
			json_num(o, "packets", m->sent[a * m->n + b]);
		}
}

void matrix_tell_pairs(const struct matrix *m)
{
	size_t n = (size_t)m->n;

	if (report_wants_pairs(m->s->r, n * (n - 1)))
		matrix_add_pairs(m, json_array(report_data(m->s->r), "pairs"));
}
