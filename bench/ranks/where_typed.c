/* What a person types to have ranks at the same places once more, or at some of them. */
#include "bench/ranks/where.h"
#include "lib/cluster/carry.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/file.h"
#include "lib/core/text.h"

static const struct where nowhere = WHERE_DEFAULTS;

static const char *options(const struct where *w, const char *const *names, struct arena *a)
{
	const struct opt_table t = {where_rows, WHERE_NROWS, (void *)(uintptr_t)w};

	return opt_typed(&t, &nowhere, names, a);
}

/* Whoever started us brought it there, and takes it away. */
static const char *carried(const struct where *w, const char *command, struct arena *a)
{
	return !w->copy_self && *carry_look(a, command, "") ? " --copy-self" : "";
}

bool where_is_typed(const struct where *w)
{
	return !where_is_here(w) && (!w->hosts || !file_is_stream(w->hosts) || w->found.n);
}

const char *where_typed(const struct where *w, const char *command, struct arena *a)
{
	static const char *const names[] = {"np",   "np-per-host", "srun",  "copy-self",
					    "keep", "partial",	   "serve", "wait",
					    "port", "no-local",	   NULL};
	static const char *const own[] = {"deadline", NULL};
	const char *to = command, *hosts = w->hosts;

	if (hosts && file_is_stream(hosts)) /* a pipe's list comes once */
		hosts = hostlist_fold(a, &w->found);
	if (hosts)
		to = typed_for(a, to, w->rsh, hosts);
	return arena_printf(a, "%s%s%s%s", to, hosts ? carried(w, command, a) : "",
			    options(w, names, a), w->deadline_given ? options(w, own, a) : "");
}

const char *where_typed_at(const struct where *w, const char *command, const char *hosts,
			   struct arena *a)
{
	static const char *const way[] = {"srun", "copy-self", "keep", NULL};

	return arena_printf(a, "%s%s%s", typed_for(a, command, w->rsh, hosts),
			    carried(w, command, a), options(w, way, a));
}
