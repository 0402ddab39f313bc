#include "lib/cluster/on_each.h"

#include "lib/cluster/child.h"
#include "lib/core/text.h"

#include <ctype.h>

static bool is_plain(const char *name)
{
	if (!*name || *name == '-')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-._@:", *name))
			return false;
	return true;
}

/* "1-3" of a folded list is {1..3}; among others it has braces of its own. */
static void add_range(struct text *t, const char *range, size_t n, bool alone)
{
	const char *dash = memchr(range, '-', n);

	if (!dash) {
		text_addf(t, "%.*s", (int)n, range);
		return;
	}
	text_addf(t, alone ? "%.*s..%.*s" : "{%.*s..%.*s}", (int)(dash - range), range,
		  (int)(range + n - dash - 1), dash + 1);
}

/* node[1-3,7],login -> node{{1..3},7} login */
static const char *as_words(struct arena *a, const char *folded)
{
	struct text t;

	text_init(&t, a);
	while (*folded) {
		size_t n = strcspn(folded, "[,");

		text_addf(&t, "%.*s", (int)n, folded);
		folded += n;
		if (*folded == '[') {
			const char *end = strchr(++folded, ']');
			bool alone = !memchr(folded, ',', (size_t)(end - folded));

			text_add(&t, "{");
			while (folded < end) {
				n = strcspn(folded, ",]");
				add_range(&t, folded, n, alone);
				text_add(&t, folded[n] == ',' ? "," : "");
				folded += n + 1;
			}
			text_add(&t, "}");
			folded = end + 1;
		}
		text_add(&t, *folded ? " " : "");
		folded += *folded == ',';
	}
	return t.s;
}

const char *on_each(struct arena *a, const struct host_way *w, const host_list *hosts,
		    const char *command)
{
	const char *folded, *quoted;

	if (w->none || !hosts->n)
		return NULL;
	for (size_t i = 0; i < hosts->n; i++)
		if (!is_plain(hosts->v[i].name))
			return NULL;
	folded = hostlist_fold(a, hosts);
	quoted = shell_quote(a, command);
	if (w->srun)
		return arena_printf(a, "srun --overlap -N%zu --ntasks-per-node=1 -w '%s' sh -c %s",
				    hosts->n, folded, quoted);
	return arena_printf(a, "for h in %s; do %s $h %s; done", as_words(a, folded),
			    w->rsh && *w->rsh ? w->rsh : "ssh", quoted);
}
