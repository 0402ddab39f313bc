/* Hosts in two availability zones: EFA stays within one. Somebody asked each host for its own,
 * which is then all that the line says, or beside the host's name; in a table of all nodes of a
 * cluster others may be meant. */
#include "probes/log/explain.h"
#include "probes/log/extract.h"

enum { MORE = 5, MOST = 97, PERHAPS = 46, ALONE = 2 /* words of a line: the host, and its zone */ };

struct zone {
	const char *name; /* "us-west-2a"; NULL: none yet */
	bool is_of_job;
};

static size_t words_of(const char *p)
{
	size_t n = 0;

	for (p += strspn(p, " \t\"',"); *p; p += strspn(p, " \t\"',:"), n++)
		p += strcspn(p, " \t");
	return n;
}

static bool names_host(const struct why *w, const char *text)
{
	for (size_t i = 0; i < w->actors.nhosts; i++)
		if (strlen(w->actors.hosts[i]) > ALONE && strstr(text, w->actors.hosts[i]))
			return true;
	return false;
}

void zones(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"EFA-002", "EFA-004", "EFA-005", "EFA-009", NULL};
	struct cause *c = explain_find(x, "EFA-035");
	const struct cause *e = explain_surest(x, effects, 0);
	struct zone one = {NULL, false};

	if (c)
		c->weight = 0;
	for (size_t i = 0; c && e && i < c->record->events.n; i++) {
		const char *text = c->record->events.v[i].text;
		const struct zone next = {extract_group(a, 2, c->sig->ere, text),
					  words_of(text) <= ALONE || names_host(w, text)};

		if (next.name && one.name && !streq(next.name, one.name)) {
			const char *said =
				arena_printf(a, "some are in %s, some in %s", one.name, next.name);
			int weight = explain_above(e, MORE, MOST);

			if (next.is_of_job && one.is_of_job)
				explain_reason(c, e, weight, said);
			else
				explain_suspect(c, PERHAPS, said);
		}
		if (next.name && (!one.name || (next.is_of_job && !one.is_of_job)))
			one = next;
	}
}
