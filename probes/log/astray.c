#include "probes/log/astray.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum {
	MORE = 6, /* than what it explains */
	MOST = 97,
	NAMED = 24, /* letters of an interface's name, and the end */
};

/* The word at the end of "NCCL_SOCKET_IFNAME set by environment to eth2"; a list has several. */
static const char *ifname_of(const struct log_event *e)
{
	const char *p = strstr(e->text, "_SOCKET_IFNAME set "), *to = p ? strstr(p, " to ") : NULL;

	if (!to)
		return "";
	to += strlen(" to ");
	return to + (*to == '=');
}

/* NCCL takes every interface whose name begins with one of the list. */
static bool is_asked_for(const char *list, const char *iface)
{
	while (*list && *list != ' ') {
		size_t n = strcspn(list, ",: ");

		if (n && n < NAMED && !strncmp(list, iface, n))
			return true;
		list += n + (list[n] == ',');
		if (*list == ':')
			list += strcspn(list, ", ");
	}
	return false;
}

/* Whoever said what it was told then offers such an interface, or has none. */
static bool has_it(const struct why *w, const struct log_event *e)
{
	for (size_t i = 0; i < w->actors.offers.n; i++) {
		const struct offer *o = &w->actors.offers.v[i];

		if (log_hosts_fit(w->actors.v.v[o->actor].who.host, e->who.host) &&
		    is_asked_for(ifname_of(e), o->iface))
			return true;
	}
	return false;
}

/* The interface that NCCL was told of is on none of the hosts that say so: 2.27 then goes on with
 * memory that nobody filled in, older ones find no interface at all. */
static void ifname(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"IF-002", "IF-003", "IF-001"};
	struct cause *c = explain_find(x, "IF-027");
	const struct log_event *lacks = NULL;

	for (size_t i = 0; c && i < c->record->events.n && !lacks; i++)
		if (!has_it(w, &c->record->events.v[i]))
			lacks = &c->record->events.v[i];
	if (c)
		c->weight = 0;
	for (size_t i = 0; lacks && i < ARRAY_LEN(effects); i++) {
		const struct cause *e = explain_find(x, effects[i]);

		if (!e || e->is_over)
			continue;
		c->first = lacks;
		explain_reason(c, e, explain_above(e, MORE, MOST),
			       arena_printf(a,
					    "%s was told NCCL_SOCKET_IFNAME=%.*s, and no line says "
					    "that it uses such an interface",
					    who_text(a, &lacks->who),
					    (int)strcspn(ifname_of(lacks), " "), ifname_of(lacks)));
		return;
	}
}

/* One name was given to all hosts by hand, and NCCL failed without a word: it may not be there. */
static void ifname_of_all(struct explanation *x)
{
	enum { A_GUESS = CONFIDENT - 2 };
	struct cause *c = explain_find(x, "CON-044");
	const struct cause *e = explain_find(x, "PT-011");
	bool is_mute = explain_says(e, "internal error") || explain_says(e, "invalid usage");

	if (!c)
		return;
	c->weight = 0;
	if (is_mute && !explain_has_reason(x) && !explain_find(x, "IF-027") &&
	    !explain_find(x, "LOG-001"))
		explain_raise(c, A_GUESS, NULL);
}

void astray_hear_head(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct extract to;

	extract_line(l->body, &to);
	if (!*w->ray_head && strchr(to.addr, '.') && isdigit((unsigned char)*to.addr))
		(void)snprintf(w->ray_head, sizeof(w->ray_head), "%s", to.addr);
}

/* Their first two fields: hosts of one cluster mostly share these. */
static bool is_same_network(const char *a, const char *b)
{
	const char *p = strchr(a, '.'), *end = p ? strchr(p + 1, '.') : NULL;

	return end && !strncmp(a, b, (size_t)(end - a) + 1);
}

static const char *address_of(const struct why *w, const struct log_event *e)
{
	struct extract to;

	endpoint_of(w, e, &to);
	return *to.addr ? arena_strdup(w->actors.a, to.addr) : NULL;
}

/* A node of Ray that goes by an address of another network than the head's, and did not come up. */
static void ray(struct why *w, struct arena *a, struct explanation *x)
{
	const char *head = *w->ray_head ? w->ray_head : NULL;
	const struct cause *lost = explain_find(x, "RAY-015");
	struct cause *c = explain_find(x, "RAY-022");

	for (size_t i = 0; c && lost && !lost->is_over && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];
		const char *own = address_of(w, e);

		if (!own)
			continue;
		head = head ? head : own; /* without such a line: who started first */
		if (is_same_network(head, own))
			continue;
		c->first = e;
		explain_reason(
			c, lost, explain_above(lost, MORE, MOST),
			arena_printf(a, "this node goes by %s, and the head is at %s", own, head));
		break;
	}
	if (c && !c->because)
		c->weight = 0;
}

/* "NCCL version 2.26.2+cuda12.6", "cudaDriverVersion 12020"; of several hosts the oldest driver */
void astray_hear_cuda(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	const char *is = said_version(l);
	char *end, version[sizeof(w->nccl_said[0])] = "";
	long major = strtol(said_after(l, "+cuda"), &end, 10), has = 0;
	long built = *end == '.' ? major * 1000 + strtol(end + 1, NULL, 10) * 10 : 0;

	if (built > w->cuda_of_nccl)
		w->cuda_of_nccl = built;
	if (said_number(l, "cudaDriverVersion ", &has) && has > 0 &&
	    (!w->cuda_of_driver || has < w->cuda_of_driver))
		w->cuda_of_driver = has;
	if (isdigit((unsigned char)*is))
		said_word(version, sizeof(version), is, " +,;)");
	for (size_t i = 0; *version && i < ARRAY_LEN(w->nccl_said); i++)
		if (!*w->nccl_said[i] || streq(w->nccl_said[i], version)) {
			memcpy(w->nccl_said[i], version, sizeof(version));
			return;
		}
}

/* Of two versions one does not understand where the other says that it is. Mostly the lines do not
 * say who has which. */
static void library(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"IF-003", "IF-002"};
	const struct cause *told = explain_find(x, "IF-027");

	for (size_t i = 0; i < ARRAY_LEN(effects) && *w->nccl_said[1]; i++) {
		const struct cause *e = explain_find(x, effects[i]);
		struct cause *c;
		int weight;

		if (!e || e->is_over || (told && told->weight > e->weight))
			continue;
		weight = explain_above(e, MORE, MOST); /* the list may grow */
		c = explain_add(w, a, x, "CON-016");
		explain_reason(c, explain_find(x, effects[i]), weight,
			       arena_printf(a, "this log has NCCL %s and NCCL %s", w->nccl_said[0],
					    w->nccl_said[1]));
		return;
	}
}

/* NVLS fails, too, where the driver lacks what the CUDA of NCCL calls. */
static void driver(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const ids[] = {"GPU-006", "GPU-007"};
	long built = w->cuda_of_nccl, has = w->cuda_of_driver;
	const char *said;

	if (!has || built <= has)
		return;
	said = arena_printf(
		a,
		"NCCL was built with CUDA %ld.%ld, and the driver is of CUDA %ld.%ld: a "
		"newer driver may be all that is wanted",
		built / 1000, built % 1000 / 10, has / 1000, has % 1000 / 10);
	for (size_t k = 0; k < ARRAY_LEN(ids); k++)
		explain_raise(explain_find(x, ids[k]), 0, said);
}

void astray(struct why *w, struct arena *a, struct explanation *x)
{
	ifname(w, a, x);
	ifname_of_all(x);
	ray(w, a, x);
	driver(w, a, x);
	library(w, a, x);
}
