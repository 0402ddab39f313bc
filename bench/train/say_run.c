#include "bench/train/say_run.h"

#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"

#include <stdarg.h>

const char *say_who(const struct run *x, int rank)
{
	const struct who_peer *p = &x->w->peers[rank];

	return arena_printf(report_arena(x->r), "rank %d (%s, %s%s%s)", rank, p->host, p->address,
			    p->gpu ? ", " : "", p->gpu ? p->gpu : "");
}

struct finding *say_find(const struct run *x, const char *check, int rank)
{
	const char *at = rank < 0 ? NULL : x->w->peers[rank].at;
	struct finding *f = report_find(x->r, check,
					at ? arena_printf(report_arena(x->r), "rank %d", rank)
					   : x->o->model->name);

	f->rank = rank;
	f->host = at && !streq(at, x->w->peers[0].host) ? at : NULL;
	return f;
}

const char *say_gpu(const struct run *x, int rank)
{
	const char *gpu = x->w->peers[rank].gpu;

	return gpu ? gpu + strcspn(gpu, "0123456789") : NULL;
}

struct lines say_lines(const struct run *x)
{
	return (struct lines){x->o, x->w, report_arena(x->r)};
}

void say_fix_at(const struct run *x, struct finding *f, int rank, const char *fmt, ...)
{
	struct arena *a = report_arena(x->r);
	const char *command;
	va_list ap;

	va_start(ap, fmt);
	command = arena_vprintf(a, fmt, ap);
	va_end(ap);
	if (x->w->hosts <= 1)
		finding_fix(f, "%s", command);
	else
		finding_fix(f, "%s",
			    typed_on(a, rsh_typed(a, NULL), x->w->peers[rank].at, command));
}

int say_bad_rank(const struct run *x)
{
	const struct train_word *w = x->res->history.last.words;
	int bad = -1;

	for (int i = 0; i < x->w->size; i++)
		if (w[i].bad_step != NO_STEP && (bad < 0 || w[i].bad_step < w[bad].bad_step))
			bad = i;
	return bad;
}

int say_hole_rank(const struct run *x)
{
	const struct train_word *w = x->res->history.last.words;
	int bad = say_bad_rank(x), first = -1, n = 0;

	for (int i = 0; i < x->w->size; i++)
		if (w[i].hole_step != NO_STEP && (first < 0 || w[i].hole_step < w[first].hole_step))
			first = i;
	if (first < 0 || (bad >= 0 && w[bad].bad_step <= w[first].hole_step))
		return -1;
	for (int i = 0; i < x->w->size; i++)
		n += w[i].hole_step == w[first].hole_step;
	return n < x->w->size ? first : -1;
}

int say_lost_ranks(const struct run *x, int *ret_first)
{
	const struct train_word *w = x->res->history.last.words;
	int lost = 0;

	*ret_first = -1;
	for (int i = 0; i < x->w->size; i++) {
		if (w[i].is_lost && !lost++)
			*ret_first = i;
	}
	return lost;
}

struct say_total say_total(const struct train_result *res, int rank)
{
	enum { MANY = 4 };
	const struct train_total *all = &res->totals[rank];
	struct say_total t = {0};

	for (int k = 0; k < PHASES; k++) {
		t.seconds[k] = all->seconds[k];
		t.wall += all->seconds[k];
		t.compute += k == PHASE_EXCHANGE ? 0 : all->seconds[k];
	}
	t.steady = t.compute - (all->steps >= MANY ? all->longest_s : 0);
	t.steady_data = all->seconds[PHASE_DATA] - (all->steps >= MANY ? all->longest_data_s : 0);
	t.samples = all->samples;
	return t;
}
