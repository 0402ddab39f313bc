/* Ranks that are to meet on localhost, and are on several hosts: each looks for the others on its
 * own. */
#include "probes/log/explain.h"
#include "probes/log/said.h"

enum {
	LOCAL = 88,
	FIRST = 12 /* more than who waited; the earliest may be either */
};

/* Every node that is told localhost waits for itself. */
static void local_meeting(struct why *w, struct arena *a, struct explanation *x, bool is_explained)
{
	struct cause *c = explain_find(x, "PT-060");

	if (!c)
		return;
	if (is_explained || w->nodes == 1 || w->muster[AGENTS].is_complete)
		c->weight = 0;
	else if (w->nodes > 1)
		explain_suspect(c, LOCAL,
				arena_printf(a, "the job has %ld nodes: each would wait for itself",
					     w->nodes));
	else if (w->actors.nhosts > 1)
		explain_suspect(c, LOCAL, "several hosts take part: each would wait for itself");
}

/* Of the hosts that srun and the lines themselves name, one that is not @other; NULL: none. */
static const char *a_host(struct explanation *x, struct arena *a, const char *other)
{
	static const char *const ids[] = {"SLM-004", "PT-057", "JAX-001", "JAX-002", "JAX-023"};
	char name[64];

	for (size_t k = 0; k < ARRAY_LEN(ids); k++) {
		const struct cause *c = explain_find(x, ids[k]);

		for (size_t i = 0; c && i < c->record->events.n; i++) {
			const struct log_event *e = &c->record->events.v[i];
			const char *p = strstr(e->text, "srun: error: ");

			said_word(name, sizeof(name), p ? p + strlen("srun: error: ") : "", ": ");
			if (!p)
				(void)snprintf(name, sizeof(name), "%s", e->who.host);
			if (*name && (!other || !streq(name, other)))
				return arena_strdup(a, name);
		}
	}
	return NULL;
}

/* ... and so does every process of JAX. */
static void local_coordinator(const struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "JAX-023");
	const struct cause *lost = explain_find(x, "JAX-001");
	const char *one = c ? a_host(x, a, NULL) : NULL, *other = one ? a_host(x, a, one) : NULL;

	if (!c)
		return;
	if (!lost || lost->is_over || w->nodes == 1)
		c->weight = 0;
	else if (other)
		explain_reason(c, lost, lost->weight + FIRST,
			       arena_printf(a, "%s and %s take part", one, other));
	else if (w->nodes > 1 || w->actors.nhosts > 1)
		explain_reason(c, lost, lost->weight + FIRST, "several hosts take part");
}

void locals(struct why *w, struct arena *a, struct explanation *x, bool is_explained)
{
	local_meeting(w, a, x, is_explained);
	local_coordinator(w, a, x);
}
