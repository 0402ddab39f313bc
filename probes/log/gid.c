#include "probes/log/gid.h"

#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 6, /* than what it explains */
	MOST = 96,
	SEARCHES_FROM = 21, /* NCCL 2.21 */
	WENT_ON = 3,	    /* lines of progress: by this address the others were reached */
};

/* --- the ports ---------------------------------------------------------------------------- */
static const struct gid_port *port_of(const struct gids *g, const char *hca)
{
	for (unsigned i = 0; i < g->nports; i++)
		if (streq(g->ports[i].hca, hca))
			return &g->ports[i];
	return NULL;
}

/* "[0]mlx5_0:1/IB", "mlx5_2:1/RoCE": @slash is behind the port's number. */
static void add_port(struct gids *g, const char *text, const char *slash)
{
	struct gid_port *port = &g->ports[g->nports];
	const char *end = slash, *p;

	while (end > text && isdigit((unsigned char)end[-1]))
		end--;
	if (end == slash || end == text || *--end != ':' || g->nports == GID_PORTS_MAX)
		return;
	for (p = end; p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_'); p--)
		;
	if (p == end || (size_t)(end - p) >= sizeof(port->hca))
		return;
	(void)snprintf(port->hca, sizeof(port->hca), "%.*s", (int)(end - p), p);
	port->is_roce = slash[1] == 'R';
	g->nports += !port_of(g, port->hca);
}

/* The port that a failure names, "... hca mlx5_2"; NULL: none, or one of which nothing is known. */
static const struct gid_port *port_named(const struct gids *g, const struct log_event *e)
{
	const char *p = e ? strstr(e->text, " hca ") : NULL;
	char hca[sizeof(g->ports->hca)];

	said_word(hca, sizeof(hca), p ? p + strlen(" hca ") : "", " ,:\t\r");
	return port_of(g, hca);
}

/* --- the settings ------------------------------------------------------------------------- */
/* How a line goes on behind the name: "=0", "='3'", ": 1", " set by environment to 0."; false: it
 * sets no number. */
static bool read_index(const char *p, struct gid_setting *ret)
{
	static const char own[] = " set by environment to ";
	char *end;

	ret->is_own = starts_with(p, own);
	if (ret->is_own)
		p += strlen(own);
	else if (*p == '=')
		p++;
	else if (starts_with(p, ": "))
		p += 2;
	else
		return false;
	p += strspn(p, "'\"");
	ret->index = strtol(p, &end, 0);
	return end > p && !isalnum((unsigned char)*end);
}

/* The first setting at @from or behind in @text, and what is behind it; NULL: none. A comment sets
 * nothing; root's prompt ends with the same sign. */
static const char *next_setting(const char *text, const char *from, struct gid_setting *ret)
{
	static const char undo[] = "unset ";
	const char *p, *end, *sign = strchr(text, '#');

	while (sign && sign > text && !isspace((unsigned char)sign[-1]))
		sign = strchr(sign + 1, '#');
	while ((p = strstr(from, GID_SETTINGS)) && !(sign && p > sign)) {
		from = end = p + strlen(GID_SETTINGS);
		while (p > text && isalnum((unsigned char)p[-1]))
			p--;
		if (*p == '_' || (size_t)(end - p) >= sizeof(ret->name))
			continue;
		(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - p), p);
		if (read_index(end, ret))
			return end;
		if (p - text < (long)strlen(undo) || !starts_with(p - strlen(undo), undo))
			continue;
		ret->index = -1;
		ret->is_own = false;
		return end;
	}
	return NULL;
}

static struct gid_setting *setting_of(struct gids *g, const char *name)
{
	for (unsigned i = 0; i < g->nset; i++)
		if (streq(g->set[i].name, name))
			return &g->set[i];
	return NULL;
}

static void add_settings(struct gids *g, const struct log_line *l)
{
	struct gid_setting now;

	for (const char *p = l->text; (p = next_setting(l->text, p, &now));) {
		struct gid_setting *had = setting_of(g, now.name);

		if (!had && g->nset < GID_NAMES_MAX)
			had = &g->set[g->nset++];
		else if (!had || had->is_own > now.is_own)
			continue;
		*had = now;
	}
}

void gid_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	for (const char *p = l->text; (p = strchr(p, '/')); p++)
		if (starts_with(p, "/RoCE") || starts_with(p, "/IB"))
			add_port(&w->gids, l->text, p);
	add_settings(&w->gids, l);
	w->gids.is_roce |= strstr(l->text, "/RoCE") || strstr(l->text, "Ethernet");
	w->gids.is_ib |= strstr(l->text, ":1/IB") || strstr(l->text, "InfiniBand");
}

/* The line that set one of a port's first addresses, which holds in the end. */
static const struct log_event *setter(struct gids *g, const struct cause *c,
				      struct gid_setting *ret)
{
	for (size_t i = c->record->events.n; i-- > 0;) {
		const char *text = c->record->events.v[i].text;

		for (const char *p = text; (p = next_setting(text, p, ret));) {
			const struct gid_setting *holds = setting_of(g, ret->name);

			if (holds && ret->index >= 0 && ret->index <= 1 &&
			    holds->index == ret->index && holds->is_own == ret->is_own)
				return &c->record->events.v[i];
		}
	}
	return NULL;
}

/* --- what it means ------------------------------------------------------------------------ */
/* From which NCCL finds the right one by itself, where nobody tells it. */
static bool searches(const struct why *w)
{
	const char *dot = strchr(w->nccl_said[0], '.');

	return dot && strtol(dot + 1, NULL, 10) >= SEARCHES_FROM;
}

/* Does the failure of @e, or what is @shown, go over Ethernet? NCCL names link-local addresses of
 * no other port. */
static bool is_over_ethernet(const struct gids *g, const struct cause *e,
			     const struct log_event *shown)
{
	const struct gid_port *port = port_named(g, shown ? shown : e->first);

	if (port)
		return port->is_roce;
	return shown || (g->is_roce && !g->is_ib);
}

static const char *cure(const struct why *w, struct arena *a, const char *name)
{
	return name && searches(w)
		       ? arena_printf(a,
				      "unset %s   # in every file that sets it: this NCCL finds "
				      "the RoCE v2 address by itself; or what show_gids has as "
				      "IPv4 and v2, mostly 3",
				      name)
		       : arena_printf(a,
				      "export %s=3   # on every host; not 3 where show_gids has "
				      "IPv4 and v2 in another row",
				      name ? name : "NCCL_IB_GID_INDEX");
}

void gid_judge(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"IB-001", "IB-006", "IB-011", "IB-015",
					      "IB-017", "PT-006", NULL};
	/* a link that went down, or a port that failed, needs no address to fail by */
	static const char *const broke[] = {"KRN-003", "IB-014", "KRN-002", NULL};
	struct cause *c = explain_find(x, "IB-073");
	const struct cause *e = explain_surest(x, effects, CONFIDENT);
	const struct log_event *shown = c ? explain_event(c, "ocalGid") : NULL, *set;
	struct gid_setting by;
	const char *because;

	if (!c)
		return;
	c->weight = 0;
	set = setter(&w->gids, c, &by);
	if (!e || explain_surest(x, broke, CONFIDENT) || e->record->last_progress >= WENT_ON ||
	    !is_over_ethernet(&w->gids, e, shown) || !(shown || (set && by.index == 0)))
		return;
	because = shown ? "the addresses that RDMA used begin with fe80" : "the port is Ethernet's";
	if (set)
		because = arena_printf(a, "%s=%ld is set (line %llu), and %s", by.name, by.index,
				       (unsigned long long)set->line, because);
	c->first = set ? set : shown;
	c->cure = cure(w, a, set ? arena_strdup(a, by.name) : NULL);
	explain_reason(c, e, explain_above(e, MORE, MOST), because);
}
