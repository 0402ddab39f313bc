/* A rank that a shell's own files give to whatever is started there. */
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

static const char *rank_of(const struct answer *a)
{
	return json_get_str(json_get(a->data, "facts"), "rank");
}

void drift_note_rank(cJSON *facts)
{
	/* those that give one themselves, on purpose; a pod has its operator's, which who comes
	 * there by ssh does not see */
	static const char *const launchers[] = {
		"TORCHELASTIC_RUN_ID", "SLURM_PROCID",	       "PMI_RANK",
		"PMIX_RANK",	       "OMPI_COMM_WORLD_RANK", "KUBERNETES_SERVICE_HOST"};

	for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
		if (getenv(launchers[i]))
			return;
	json_str(facts, "rank", getenv("RANK"));
	json_str(facts, "world_size", getenv("WORLD_SIZE"));
}

/* One for each host and all of them others: somebody meant it so. */
static bool is_meant(struct arena *a, const struct answers *all)
{
	struct names seen = {0};

	for (size_t i = 0; i < all->n; i++) {
		const char *rank = rank_of(&all->v[i]);

		if (!rank && !all->v[i].data) /* who did not answer tells nothing */
			continue;
		if (!rank || names_has(&seen, rank))
			return false;
		names_add(&seen, a, rank);
	}
	return true;
}

void drift_ranks(struct preflight *p, const struct answers *all)
{
	bool meant = is_meant(p->a, all);

	for (size_t i = 0; !meant && i < all->n; i++) {
		const char *rank = rank_of(&all->v[i]), *size;
		struct finding *f;

		if (!rank)
			continue;
		size = json_get_str(json_get(all->v[i].data, "facts"), "world_size");
		f = drift_note(p, "rank", "RANK", all->v[i].host);
		finding_set(f, ST_WARN,
			    "RANK=%.20s%s%.20s is set in every shell there: what is started "
			    "without torchrun takes itself for that rank",
			    rank, size ? " WORLD_SIZE=" : "", size ?: "");
		finding_expect(f, "a launcher sets it for each rank");
		preflight_set_where(f, "RANK|WORLD_SIZE");
	}
}
