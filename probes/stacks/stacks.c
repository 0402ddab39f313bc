#include "probes/stacks/stacks.h"

#include "lib/core/interrupt.h"
#include "lib/report/json.h"
#include "probes/stacks/take.h"

static void keep(const stand_list *all, struct report *r)
{
	cJSON *list;

	if (!report_wants_data(r))
		return;
	list = json_array(report_data(r), "stacks");
	for (size_t i = 0; i < all->n; i++)
		cJSON_AddItemToArray(list, stand_json(&all->v[i]));
}

/* Why there is nothing to look at. */
static int nobody(const struct rank_processes *p, pid_t below, struct err *e)
{
	if (below)
		return err_set(e, ERR_ABSENT,
			       "neither process %d nor one that it started is a Python that we may "
			       "look at",
			       (int)below);
	err_set(e, ERR_ABSENT,
		"no rank of a job runs here: no Python process has RANK and "
		"WORLD_SIZE, or what srun or mpirun give");
	if (p->no_python)
		return err_hint(e, "%zu processes have a rank, and none is Python", p->no_python);
	if (p->foreign && geteuid() != 0)
		return err_hint(e, "%zu process%s of others could not be seen: root (sudo) can",
				p->foreign, p->foreign == 1 ? "" : "es");
	return err_hint(e, "on the job's hosts: ncclwhy --stacks --hosts a,b; of one process: "
			   "ncclwhy --stacks=PID");
}

int stacks_here(pid_t below, struct report *r, struct err *e)
{
	struct arena *a = report_arena(r);
	struct rank_processes ranks;
	stand_list all = {0};

	ranks_find(below, a, &ranks);
	if (interrupt_err(e))
		return -1;
	if (!ranks.n)
		return nobody(&ranks, below, e);
	(void)stands_take(&ranks, NULL, a, &all);
	if (interrupt_err(e)) /* who was seen for a moment has not stood still */
		return -1;
	keep(&all, r);
	stacks_judge(&all, 0, r);
	return 0;
}

struct stacks_brief stacks_brief_of(pid_t below, const struct meanwhile *m, struct arena *a)
{
	struct rank_processes ranks;
	stand_list all = {0};

	ranks_find(below, a, &ranks);
	if (ranks.n && !stands_take(&ranks, m, a, &all))
		return (struct stacks_brief){.kind = BRIEF_BROKEN_OFF};
	return stacks_brief(&all, a);
}

static void gather(const struct answers *from, struct arena *a, stand_list *ret)
{
	for (size_t i = 0; i < from->n; i++) {
		const cJSON *one;

		cJSON_ArrayForEach (one, json_get(from->v[i].data, "stacks")) {
			struct stand s;

			if (stand_from_json(one, from->v[i].host, a, &s))
				*LIST_ADD(a, ret) = s;
		}
	}
}

int stacks_hosts(const struct there *q, struct report *r, struct err *e)
{
	static const char *const alone[] = {NULL};
	AUTO(answers_done) struct answers all = {0};
	struct arena *a = report_arena(r);
	stand_list stands = {0};
	str_list args = {0};

	*LIST_ADD(a, &args) = "--stacks";
	if (there_ask(q, " --stacks", alone, &args, r, &all, e))
		return -1;
	gather(&all, a, &stands);
	if (!stands.n)
		return err_set(e, ERR_ABSENT, "no rank of a job runs on %s", q->given);
	keep(&stands, r);
	stacks_judge(&stands, answers_count(&all), r);
	return 0;
}
