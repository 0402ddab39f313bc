/*
 * What had to be sent again while a pair was measured alone (--bandwidth), as the sender's kernel
 * counts it. Some congestion controls are as fast with one packet of a hundred lost, a training's
 * many short messages are not: each waits for it. Some is lost on a healthy way, too, when a
 * connection finds out how much that takes.
 */
#include "probes/port/mesh_judge.h"

#include <math.h>

static const float LEAST_PART = 0.005F;

static bool is_lossy(const struct mesh_cell *c)
{
	return isfinite(c->resent) && c->resent >= LEAST_PART;
}

/* @host's pairs, one way. */
struct pairs {
	size_t n, lossy;
	float sum; /* of the lossy ones */
};

static struct pairs pairs_of(const struct mesh *m, size_t host, bool in)
{
	struct pairs p = {0};

	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *c = in ? mesh_at(m, i, host) : mesh_at(m, host, i);

		p.n += isfinite(c->resent);
		p.lossy += is_lossy(c);
		p.sum += is_lossy(c) ? c->resent : 0;
	}
	return p;
}

static const char *text(const struct mesh *m, float part)
{
	return arena_printf(m->a, "; %.2g %% of it had to be sent again", (double)part * 100);
}

const char *mesh_resent_of(const struct mesh *m, size_t host, bool in)
{
	const struct pairs p = pairs_of(m, host, in);

	return p.lossy ? text(m, p.sum / (float)p.lossy) : "";
}

const char *mesh_resent_between(const struct mesh *m, const struct mesh_cell *c)
{
	return is_lossy(c) ? text(m, c->resent) : "";
}

static void say(const struct mesh *m, const char *subject, const char *what, float part,
		const char *fix)
{
	struct finding *f = report_find(m->report, "mesh.loss", subject);

	finding_set(f, ST_WARN,
		    "%.2g %% of what %s had to be sent again, one pair at a time: packets get lost",
		    (double)part * 100, what);
	finding_expect(f, "less than %.2g %%", (double)LEAST_PART * 100);
	finding_value(f, thousandths(part * 100), "%");
	finding_fix(f, "%s", fix);
	report_add(m->report, f);
}

/* All or nearly all of its pairs, of which others have none. */
static bool stands_out(const struct pairs *p, const struct pairs *all)
{
	return p->lossy && p->lossy * 4 >= p->n * 3 && p->lossy * 4 >= all->lossy * 3;
}

bool mesh_resent(const struct mesh *m)
{
	struct pairs all = {0};
	bool said = false;

	for (size_t i = 0; i < m->n; i++) {
		struct pairs p = pairs_of(m, i, false);

		all.n += p.n;
		all.lossy += p.lossy;
		all.sum += p.sum;
	}
	for (size_t i = 0; i < 2 * m->n && m->n > 2; i++) {
		const bool in = i >= m->n;
		const struct mesh_node *x = &m->nodes[i % m->n];
		struct pairs p = pairs_of(m, i % m->n, in);

		if (!stands_out(&p, &all))
			continue;
		say(m, x->name, in ? "is sent to it" : "it sends", p.sum / (float)p.lossy,
		    arena_printf(m->a, MESH_LOOK_AT_CARD, x->iface ?: "IFACE", x->iface ?: "IFACE",
				 x->name));
		said = true;
	}
	if (said || !all.lossy || all.lossy * 2 < all.n)
		return said;
	say(m, "between hosts", "is sent", all.sum / (float)all.lossy,
	    "- what is between them: a switch that is full, a limit that the cloud or a policer "
	    "sets, cables");
	return true;
}
