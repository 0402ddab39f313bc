#include "bench/train/lines.h"

#include "bench/ranks/where.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/fix.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"

static const struct where nowhere = WHERE_DEFAULTS;

static const struct where *where_of(const struct lines *l) { return l->o->where ?: &nowhere; }

/* --- who is where ---------------------------------------------------------------------------- */

static int first_there(const struct lines *l, int rank)
{
	int i = 0;

	while (!streq(l->w->peers[i].at, l->w->peers[rank].at))
		i++;
	return i;
}

static int ranks_there(const struct lines *l, int rank)
{
	int n = 0;

	for (int i = 0; i < l->w->size; i++)
		n += streq(l->w->peers[i].at, l->w->peers[rank].at);
	return n;
}

static bool are_even(const struct lines *l)
{
	for (int i = 1; i < l->w->size; i++)
		if (ranks_there(l, i) != ranks_there(l, 0))
			return false;
	return true;
}

/* "a,b"; with slots "a:2,b:1". */
static const char *all_hosts(const struct lines *l, bool with_slots)
{
	struct text t;

	text_init(&t, l->a);
	for (int i = 0; i < l->w->size; i++) {
		const char *at = l->w->peers[i].at;

		if (first_there(l, i) != i)
			continue;
		text_add(&t, i ? "," : "");
		if (with_slots)
			text_addf(&t, "%s:%d", host_bracketed(l->a, at), ranks_there(l, i));
		else
			text_add(&t, at);
	}
	return t.s;
}

/* --- this program ---------------------------------------------------------------------------- */

const char *lines_again(const struct lines *l, const char *option, const char *value)
{
	static const char *const bare[] = {"ddpsmoke", NULL};
	const struct where *w = where_of(l);
	bool is_gone = w->hosts && !where_is_typed(w); /* a pipe's list came once */
	const struct shell_set sets[] = {{option ?: "", value},
					 {"--hosts", is_gone ? all_hosts(l, !are_even(l)) : NULL},
					 {NULL, NULL}};
	const char *line = shell_again(l->a, l->o->argv ?: bare, sets);

	return l->o->is_foreign
		       ? arena_printf(l->a, FIX_WORDS "%s, started as these ranks were", line)
		       : line;
}

/* Of the visible ones: where some are hidden, their numbers are others. */
static const char *choose_gpu(const struct lines *l, int rank)
{
	const char *gpu = l->w->peers[rank].gpu;

	if (!gpu || getenv("CUDA_VISIBLE_DEVICES"))
		return "";
	return arena_printf(l->a, "CUDA_VISIBLE_DEVICES=%s ",
			    shell_quote(l->a, gpu + strcspn(gpu, "0123456789")));
}

static const char *start(const struct lines *l, int rank, int np, const char *options)
{
	const char *to = "ddpsmoke", *batch = "";

	if (l->w->hosts > 1)
		to = where_typed_at(where_of(l), to, l->w->peers[rank].at, l->a);
	if (l->o->batch_is_shared)
		batch = arena_printf(l->a, " --batch %d", l->o->batch);
	return arena_printf(l->a, "%s --np %d%s%s%s", to, np, l->o->typed ?: "", batch, options);
}

/* A variable would not come to another host. */
const char *lines_alone(const struct lines *l, int rank, const char *options)
{
	if (l->w->hosts > 1)
		return start(l, rank, l->w->peers[rank].gpu ? ranks_there(l, rank) : 1, options);
	return arena_printf(l->a, "%s%s", choose_gpu(l, rank), start(l, rank, 1, options));
}

const char *lines_there(const struct lines *l, int rank, const char *options)
{
	enum { EXCHANGING = 2 };
	int np = ranks_there(l, rank);

	if (l->w->hosts <= 1 || (np < EXCHANGING && l->w->peers[rank].gpu))
		return lines_again(l, NULL, NULL);
	return start(l, rank, np < EXCHANGING ? EXCHANGING : np, options);
}

/* --- others ---------------------------------------------------------------------------------- */

/* Those that started the ranks, where they can be typed once more; else what is known of these. */
static const char *same_ranks(const struct lines *l, const char *command)
{
	const struct where *w = where_of(l);
	int each;

	if (!l->o->is_foreign && where_is_typed(w))
		return where_typed(w, command, l->a);
	if (l->w->hosts <= 1)
		return arena_printf(l->a, "%s --np %d", command, l->o->np);
	each = ranks_there(l, 0);
	command = where_typed_at(w, command, all_hosts(l, !are_even(l)), l->a);
	return each > 1 && are_even(l) ? arena_printf(l->a, "%s --np-per-host %d", command, each)
				       : command;
}

const char *lines_bench(const struct lines *l, const char *options)
{
	bool is_chosen = streq(l->o->backend, "auto"); /* it may choose otherwise */

	return arena_printf(l->a, "%s --backend %s%s", same_ranks(l, "ncclbench"),
			    is_chosen ? l->w->backend : l->o->backend, options);
}

const char *lines_hosts(const struct lines *l, const char *command)
{
	return where_typed_at(where_of(l), command, all_hosts(l, false), l->a);
}
