#include "lib/cluster/on_each.h"

#include "lib/cluster/rsh.h"
#include "lib/core/quote.h"

#include <ctype.h>

enum { SRUN_WAIT_S = 60, LONG = 160, MOST = 100000 /* of 131,071 that one word may have */ };

static bool is_plain(const char *name)
{
	if (!*name || *name == '-')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-._@:", *name))
			return false;
	return true;
}

const char *on_each(struct arena *a, const struct host_way *w, const host_list *hosts,
		    const char *command)
{
	const char *folded, *quoted, *rsh = "";

	if (w->none || !hosts->n)
		return NULL;
	for (size_t i = 0; i < hosts->n; i++)
		if (!is_plain(hosts->v[i].name))
			return NULL;
	folded = (w->srun ? hostlist_fold_slurm : hostlist_fold)(a, hosts);
	if (strlen(folded) > LONG && w->given && hosts->n == w->n)
		folded = w->given;
	if (strlen(folded) > MOST)
		return NULL;
	folded = shell_quote(a, folded);
	quoted = shell_quote_line(a, command);
	if (w->srun)
		return arena_printf(
			a,
			"SLURM_OVERLAP=1 srun --wait=%d -N%zu --ntasks-per-node=1 -w %s sh -c %s",
			SRUN_WAIT_S, hosts->n, folded, quoted);
	if (w->rsh && *w->rsh)
		rsh = arena_printf(a, "--rsh %s ", shell_quote(a, rsh_shown(a, w->rsh)));
	return arena_printf(a, "windsock on %s%s %s", rsh, folded, quoted);
}
