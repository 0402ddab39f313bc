/*
 * What programs do with the settings that hosts have, where that is not what was proven:
 * an address that NCCL would publish and others cannot reach, variables that disagree.
 * Healthy hosts answer both already, so nothing is asked twice.
 */
#include "lib/core/interrupt.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

enum { AT_A_TIME = 256 };

/* NCCL there would publish another address than the one that the ways are proven for. */
static bool is_odd(const struct answer *a)
{
	const char *proven = answer_address(a), *published = answer_published(a);

	return proven && published && !streq(proven, published);
}

static const char *settings_of(struct arena *a, const struct answer *from)
{
	const cJSON *lint = json_get(json_get(json_get(from->data, "parts"), "settings"), "lint");
	const cJSON *row;
	struct text t;

	text_init(&t, a);
	cJSON_ArrayForEach (row, lint)
		text_addf(&t, "%s=%s\n", json_text(row, "name"), json_text(row, "value"));
	return t.s ?: "";
}

void preflight_find_published(struct preflight *p, const struct answers *all)
{
	const char *first = NULL, *own;

	for (size_t i = 0; i < all->n; i++) {
		if (!all->v[i].doc)
			continue;
		if (is_odd(&all->v[i]))
			names_add(&p->odd, p->a, all->v[i].host);
		own = settings_of(p->a, &all->v[i]);
		first = first ?: own;
		p->settings_differ |= !streq(first, own);
	}
}

/* What @mode of ifprobe says between @hosts, but only what is wrong, and of these two checks. */
static void ask(struct preflight *p, const char *mode, const host_list *hosts, const char *check,
		const char *other)
{
	const char *args[] = {mode, arena_printf(p->a, "--hosts=%s", hostlist_fold(p->a, hosts)),
			      NULL};
	cJSON *doc = preflight_run_doc(p, S_PATHS, args, false);
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *st = json_text(f, "status");
		const char *of = json_text(f, "check");

		if ((streq(of, check) || streq(of, other)) &&
		    (streq(st, status_name(ST_FAIL)) || streq(st, status_name(ST_WARN))))
			tally_take(&p->t, S_PATHS, stages[S_PATHS].name, NULL, f);
	}
	cJSON_Delete(doc);
}

/* So many of the odd ones, and some that must reach them; of few hosts all. */
static host_list share(struct preflight *p, const host_list *hosts, const host_list *odd,
		       size_t from)
{
	host_list some = {0};
	size_t others = 0;

	if (hosts->n <= AT_A_TIME)
		return *hosts;
	for (size_t i = from; i < odd->n && i < from + AT_A_TIME; i++)
		*LIST_ADD(p->a, &some) = odd->v[i];
	for (size_t i = 0; i < hosts->n && others < 2; i++)
		if (!names_has(&p->odd, hosts->v[i].name)) {
			*LIST_ADD(p->a, &some) = hosts->v[i];
			others++;
		}
	return some;
}

static bool may_go_on(const struct preflight *p)
{
	return !interrupt_pending() && preflight_cap(p, S_PATHS);
}

void preflight_published(struct preflight *p, const host_list *hosts)
{
	host_list odd = {0};

	for (size_t i = 0; i < hosts->n; i++)
		if (names_has(&p->odd, hosts->v[i].name))
			*LIST_ADD(p->a, &odd) = hosts->v[i];
	for (size_t from = 0; from < odd.n && may_go_on(p); from += AT_A_TIME) {
		const host_list some = share(p, hosts, &odd, from);

		ask(p, "--predict", &some, "predict.reach", "");
	}
	if (p->settings_differ && may_go_on(p))
		ask(p, "--check", hosts, "lint.differs", "lint.accelerate.machines");
}
