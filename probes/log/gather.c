/* Who takes part, as launchers and members say it, and whether all came together. */
#include "probes/log/gather.h"

#include "probes/log/said.h"

#include <limits.h>

/* Lightning: "GLOBAL_RANK: 0, MEMBER: 1/8", once per process. */
void gather_member(struct why *w, struct why_stream *s, const struct log_line *l)
{
	const char *p = said_after(l, "MEMBER: ");
	char *end;
	long which = strtol(p, &end, 10), total = *end == '/' ? strtol(end + 1, NULL, 10) : 0;

	if (which < 1)
		return;
	muster_note(&w->muster[MEMBERS], which - 1, total);
	apart_hear_member(&w->apart, which, total);
	roster_note(&w->roster, which - 1, total, &l->who, s->file, s->line, s->traceback);
	if (!w->progress_armed)
		why_watch_progress(w);
}

/* ... and its rank 0 says first what the host has. */
void gather_rank_zero(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	roster_head(&w->roster, s->line);
}

/* accelerate: two lines of one state. */
void gather_process(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct muster *m = &w->muster[PROCESSES];
	long v;

	if (said_number(l, "Num processes: ", &v)) {
		if (m->total != v)
			*m = (struct muster){.total = v};
		if (!w->progress_armed)
			why_watch_progress(w);
	} else if (said_number(l, "Process index: ", &v)) {
		muster_note(m, v, m->total);
	}
}

/* DeepSpeed's launcher on each node: "nnodes=2, num_local_procs=8, node_rank=0". */
void gather_launcher(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long which, total;

	if (said_number(l, "nnodes=", &total) && said_number(l, "node_rank=", &which))
		muster_note(&w->muster[LAUNCHERS], which, total);
}

/* torchrun says its configuration on each node; they are told apart by their number alone. */
void gather_agent(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct muster *m = &w->muster[AGENTS];
	long v;

	if (!said_number(l, "min_nodes", &v))
		return;
	muster_note(m, m->total == v ? m->present : 0, v);
	w->nodes = v > w->nodes ? v : w->nodes;
}

static void met(struct why *w, const struct why_stream *s, const struct log_line *l)
{
	w->progress.v[s->file].met = s->line;
	w->progress.v[s->file].meeter = l->who;
}

void gather_all_came(struct why *w, struct why_stream *s, const struct log_line *l)
{
	met(w, s, l);
	w->muster[MEMBERS].is_complete = w->muster[AGENTS].is_complete = true;
}

/* "Completed store-based barrier for key:store_based_barrier_key:1 with 6 nodes" */
void gather_barrier_over(struct why *w, struct why_stream *s, const struct log_line *l)
{
	enum { BARRIERS = 64 };
	char key[32];

	met(w, s, l);
	said_word(key, sizeof(key), said_after(l, "store_based_barrier_key:"), " ,");
	if (*key && w->barriers.n < BARRIERS)
		*LIST_ADD(&w->a, &w->barriers) = arena_strdup(&w->a, key);
}

/* The store counts who came: "(world_size=8, worker_count=2, ", "... 1/2 clients joined." */
void gather_counted(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	const char *joined = strstr(l->text, " clients joined"), *p = joined;
	long came, total;

	while (p && p > l->text && strchr("0123456789/", p[-1]))
		p--;
	if (joined && sscanf(p, "%ld/%ld", &came, &total) == 2) {
		w->store_came = came;
		w->store_total = total;
	} else if (said_number(l, "world_size=", &total) &&
		   said_number(l, "worker_count=", &came)) {
		w->store_came = came;
		w->store_total = total;
	}
}

/* Gloo counts the others: "Rank 0 is connected to 7 peer ranks. Expected ..."; groups are smaller.
 */
void gather_gloo(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long others;

	if (said_number(l, " is connected to ", &others) && others >= w->gloo_ranks &&
	    others < INT_MAX)
		w->gloo_ranks = others + 1;
}

void gather_nodes(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long v;

	if ((said_number(l, "--nnodes", &v) || said_number(l, "--num_machines", &v) ||
	     said_number(l, "SLURM_NNODES", &v)) &&
	    v > w->nodes)
		w->nodes = v;
}

/* Who waits for others says it again and again: how many are missing in the end. */
void gather_awaited(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	(void)snprintf(w->awaited, sizeof(w->awaited), "%s", l->body);
}
