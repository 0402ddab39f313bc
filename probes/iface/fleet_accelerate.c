/*
 * accelerate's files of all machines beside each other: what must be alike, what must differ, and
 * whether these hosts are the machines that the files speak of.
 */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/iface/fleet_compare.h"
#include "probes/rules/accelerate.h"

struct machine {
	const char *host, *path;
	long rank, machines; /* rank -1: no number */
	bool has_rank;	     /* who is which machine is by its file: torchrun's static rendezvous */
};
typedef LIST(struct machine) machine_list;

static const char *value(const struct answer *from, const char *key, struct arena *a)
{
	return fleet_setting(from, arena_printf(a, ACCELERATE_IN_LINT "%s", key));
}

static long number(const char *v, long otherwise)
{
	uint64_t n;

	return !v ? otherwise : parse_uint(v, &n) == 0 && n < 1u << 30 ? (long)n : -1;
}

/* Where that host's file is, from the "PATH:LINE" of a value of it. */
static const char *path_of(const struct answer *from, struct arena *a)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, json_get(from->data, "lint")) {
		const char *origin = json_get_str(row, "origin");
		const char *colon = origin ? strrchr(origin, ':') : NULL;

		if (colon && starts_with(json_text(row, "name"), ACCELERATE_IN_LINT))
			return arena_strndup(a, origin, (size_t)(colon - origin));
	}
	return NULL;
}

static void collect(const struct fleet *f, const struct answers *all, machine_list *ret)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct answer *from = &all->v[i];
		const char *path = path_of(from, f->a);

		if (path)
			*LIST_ADD(f->a, ret) = (struct machine){
				.host = from->host,
				.path = path,
				.rank = number(value(from, ACCELERATE_RANK, f->a), 0),
				.machines = number(value(from, "num_machines", f->a), 1),
				.has_rank =
					streq(json_get_str(json_get(from->data, "accelerate"), "by")
						      ?: "torchrun",
					      "torchrun")};
	}
}

static struct finding *note(struct fleet *f, const char *subject)
{
	return report_find(f->report, "lint.accelerate.machines", subject);
}

/* Every key that decides how they meet, on those that have such a file. */
static size_t judge_alike(struct fleet *f, const struct answers *all)
{
	struct answers with = {.v = arena_alloc(f->a, all->n * sizeof(*with.v))};
	size_t odd = 0;

	for (size_t i = 0; i < all->n; i++)
		if (path_of(&all->v[i], f->a))
			with.v[with.n++] = all->v[i];
	for (size_t k = 0; accelerate_keys[k]; k++) {
		const char *name = arena_printf(f->a, ACCELERATE_IN_LINT "%s", accelerate_keys[k]);
		struct finding *g;

		if (streq(accelerate_keys[k], ACCELERATE_RANK) || !fleet_differs(&with, name))
			continue;
		odd++;
		g = report_find(f->report, "lint.differs", name);
		finding_set(g, ST_WARN, "%s", fleet_who_has_what(f, &with, name));
		finding_expect(g, "one value in accelerate's file on every machine of a job");
		finding_fix(g, "accelerate config   # again, where it is wrong");
		report_add(f->report, g);
	}
	return odd;
}

/* The lowest number that nobody has. */
static long vacant(const machine_list *l, const bool *taken, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!taken[i])
			return (long)i;
	return (long)l->n;
}

/* Two of one rank wait for each other's place; each but the first gets one that is free. */
static size_t judge_ranks(struct fleet *f, const machine_list *l)
{
	size_t n = l->n + 1, odd = 0;
	bool *taken = arena_alloc(f->a, n * sizeof(*taken));
	bool *twice = arena_alloc(f->a, l->n * sizeof(*twice));

	for (size_t i = 0; i < l->n; i++) {
		long rank = l->v[i].rank;

		for (size_t j = 0; j < i && !twice[i]; j++)
			twice[i] = rank >= 0 && l->v[j].rank == rank;
		if (rank >= 0 && rank < (long)n)
			taken[rank] = true;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct machine *m = &l->v[i];
		long better = vacant(l, taken, n);
		struct finding *g;

		if (!twice[i] || !m->has_rank)
			continue;
		odd++;
		g = note(f, m->host);
		finding_set(g, ST_WARN,
			    ACCELERATE_RANK ": %ld, which another host has, too: both take one "
					    "place, and the others wait for ever",
			    m->rank);
		finding_expect(g, "another " ACCELERATE_RANK " on each machine");
		finding_fix(g, "%s   # on %s",
			    accelerate_fix(f->a, m->path, ACCELERATE_RANK,
					   arena_printf(f->a, "%ld", better)),
			    m->host);
		finding_fix(g,
			    "accelerate launch --machine_rank %ld ...   # on %s, where they share "
			    "one home and so one file",
			    better, m->host);
		report_add(f->report, g);
		if (better < (long)n)
			taken[better] = true;
	}
	return odd;
}

/* Fewer or more hosts than the files say; those without a file. */
static size_t judge_number(struct fleet *f, const struct answers *all, const machine_list *l)
{
	host_list without = {0};
	struct finding *g;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && !path_of(&all->v[i], f->a))
			LIST_ADD(f->a, &without)->name = all->v[i].host;
	if (!without.n && (long)l->n == l->v[0].machines)
		return 0;
	g = note(f, "between hosts");
	if (without.n) {
		finding_set(g, ST_WARN,
			    "%s: no such file for several machines, so each trains alone there; "
			    "the others wait for %ld in all",
			    names_brief(f->a, &without), l->v[0].machines);
		finding_fix(g, "accelerate config   # on %s", hostlist_fold(f->a, &without));
	} else {
		finding_set(g, ST_INFO, "num_machines: %ld, and these are %zu hosts",
			    l->v[0].machines, l->n);
	}
	finding_expect(g, "the hosts of a job are the machines in accelerate's file");
	report_add(f->report, g);
	return 1;
}

void fleet_accelerate(struct fleet *f, const struct answers *all)
{
	machine_list l = {0};
	struct finding *g;

	collect(f, all, &l);
	if (!l.n || judge_alike(f, all) + judge_ranks(f, &l) + judge_number(f, all, &l))
		return;
	g = note(f, "between hosts");
	finding_set(g, ST_PASS, "accelerate's files are those of one job on %zu machines", l.n);
	report_add(f->report, g);
}
