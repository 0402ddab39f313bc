/* Communicators of one shape that do the same, side by side: one host of many that is slow shows
 * in its own, without anybody knowing what the hardware should do. */
#include "bench/inspector/say.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"

#include <math.h>

enum { PEERS_MIN = 4, OPS_MIN = 20, HOSTS_NAMED = 4 };
static const double SLOW = 0.7; /* of their median: as of pairs of hosts */

struct peers {
	size_t looked_at, slow;
	const struct insp_stat *worst;
	double share, median; /* of its peers */
};

static bool is_fit(const struct insp_stat *t)
{
	return t->whole && t->n >= OPS_MIN && t->bytes >= INSP_LARGE && t->g->func < INSP_COLLS;
}

static void look_beside(const struct insp_say *s, const struct insp_stat *const *v, size_t n,
			struct peers *p)
{
	double *medians = arena_alloc(s->a, n * sizeof(*medians)), typical;
	size_t fit = 0;

	for (size_t i = 0; i < n; i++)
		if (is_fit(v[i]))
			medians[fit++] = v[i]->median;
	if (fit < PEERS_MIN)
		return;
	typical = median(medians, fit);
	p->looked_at += fit;
	for (size_t i = 0; i < n; i++) {
		double share = v[i]->median / typical;

		if (!is_fit(v[i]))
			continue;
		p->slow += share < SLOW;
		if (p->worst && share >= p->share)
			continue;
		p->worst = v[i];
		p->share = share;
		p->median = typical;
	}
}

static const char *hosts_in(const struct insp_say *s, const struct insp_comm *c)
{
	uint32_t comm = (uint32_t)(c - s->b->comms.v);
	bool *seen = arena_alloc(s->a, s->b->hosts.n + 1);
	size_t n = 0;
	struct text t;

	text_init(&t, s->a);
	for (size_t i = 0; i < s->b->members.n && n <= HOSTS_NAMED; i++) {
		const struct insp_member *m = &s->b->members.v[i];

		if (m->comm != comm || seen[m->host])
			continue;
		seen[m->host] = true;
		if (n == HOSTS_NAMED)
			text_add(&t, " ...");
		else
			text_addf(&t, "%s%s", n ? ", " : "", s->b->hosts.v[m->host]);
		n++;
	}
	return t.s;
}

void insp_say_peers(const struct insp_say *s)
{
	const struct insp_stat **v = insp_say_order(s);
	struct peers p = {0};
	struct finding *f;
	struct unit_buf size;

	for (size_t i = 0, n; i < s->stats.n; i += n) {
		n = insp_say_row(s, v, i);
		look_beside(s, v + i, n, &p);
	}
	if (!p.looked_at)
		return;
	f = report_find(s->r, "coll.peers", NULL);
	finding_value(f, p.share * 100, "%");
	finding_expect(f, ">= %.0f %% of what communicators of the same shape have", SLOW * 100);
	if (p.slow) {
		finding_set(f, ST_WARN,
			    "communicator %s (%s) has %.1f GB/s in %s of %s, %.0f %% of the median "
			    "of those of %s like it, %.1f GB/s (%zu of %zu are slow)",
			    insp_say_comm(s, p.worst->c), hosts_in(s, p.worst->c), p.worst->median,
			    insp_func_names[p.worst->g->func],
			    format_size(&size, (uint64_t)p.worst->bytes), p.share * 100,
			    insp_say_shape(s, p.worst->c), p.median, p.slow, p.looked_at);
		finding_fix(f, "nvidia-smi nvlink -s; nvidia-smi topo -m; nvidia-smi -q -d "
			       "CLOCK,PERFORMANCE  # there, beside a host that is well");
	} else {
		finding_set(f, ST_PASS,
			    "no communicator is slow beside those of the same shape: the lowest of "
			    "%zu medians is %.0f %% of its peers'",
			    p.looked_at, p.share * 100);
	}
	report_add(s->r, f);
}
