#include "probes/log/gid.h"

#include "probes/log/explain.h"

#include <ctype.h>

enum { MORE = 6, /* than what it explains */ MOST = 96, SEARCHES_FROM = 21 /* NCCL 2.21 */ };

void gid_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	w->gids.is_roce |= strstr(l->text, "/RoCE") || strstr(l->text, "Ethernet");
	w->gids.is_ib |= strstr(l->text, ":1/IB") || strstr(l->text, "InfiniBand");
}

/* "NCCL_IB_GID_INDEX=0", "UCX_IB_GID_INDEX set by environment to 0.": the name, with its library's,
 * and *ret its value; NULL: the line sets none. */
static const char *setting(struct arena *a, const char *text, long *ret)
{
	const char *name = strstr(text, "_IB_GID_INDEX"), *p = name;

	while (p && p > text && isalpha((unsigned char)p[-1]))
		p--;
	if (!name || p == name)
		return NULL;
	name += strlen("_IB_GID_INDEX");
	*ret = strtol(name + strcspn(name, "0123456789"), NULL, 10);
	return arena_strndup(a, p, (size_t)(name - p));
}

static const struct log_event *setter(struct arena *a, const struct cause *c, const char **ret_name,
				      long *ret)
{
	for (size_t i = 0; i < c->record->events.n; i++) {
		*ret_name = setting(a, c->record->events.v[i].text, ret);
		if (*ret_name)
			return &c->record->events.v[i];
	}
	return NULL;
}

/* From which NCCL finds the right one by itself, where nobody tells it. */
static bool searches(const struct why *w)
{
	const char *dot = strchr(w->nccl_said[0], '.');

	return dot && strtol(dot + 1, NULL, 10) >= SEARCHES_FROM;
}

void gid_judge(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"IB-001", "IB-006", "IB-011", "IB-015",
					      "IB-017", "PT-006", NULL};
	struct cause *c = explain_find(x, "IB-073");
	const struct cause *e = explain_surest(x, effects, CONFIDENT);
	const struct log_event *shown = c ? explain_event(c, "ocalGid") : NULL, *set;
	const char *name = NULL, *because;
	long index = 0;

	if (!c)
		return;
	c->weight = 0;
	set = setter(a, c, &name, &index);
	if (!e || w->gids.is_ib || !(shown || (set && index == 0 && w->gids.is_roce)))
		return;
	because = shown ? "the addresses that RDMA used begin with fe80" : "the port is Ethernet's";
	if (set)
		because = arena_printf(a, "%s=%ld is set (line %llu), and %s", name, index,
				       (unsigned long long)set->line, because);
	c->first = set ? set : shown;
	c->cure = set && searches(w)
			  ? arena_printf(a,
					 "unset %s   # in every file that sets it: this NCCL finds "
					 "the RoCE v2 address by itself; or what show_gids has as "
					 "IPv4 and v2, mostly 3",
					 name)
			  : arena_printf(a,
					 "export %s=3   # on every host; not 3 where show_gids has "
					 "IPv4 and v2 in another row",
					 set ? name : "NCCL_IB_GID_INDEX");
	explain_reason(c, e, e->weight + MORE < MOST ? e->weight + MORE : MOST, because);
}
