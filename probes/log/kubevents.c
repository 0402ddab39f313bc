/* Events of Kubernetes say how old they are and how often they came, "4m43s (x93 over 24m)": what
 * was seen once and long before another failure that came again and again since was overcome. */
#include "probes/log/explain.h"

#include "lib/core/text.h"

enum {
	REMARK = 45, /* the most that such a cause may have */
	OFTEN = 3,
	OLDER = 2 /* times as old */
};

struct happening {
	long age_s, times;
};

/* "4m43s", "22m", "1d2h"; 0, and *at untouched, where there is none. */
static long duration(const char **at)
{
	static const struct {
		char unit;
		long s;
	} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
	const char *p = *at;
	long total = 0;

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		char *end;
		long n = strtol(p, &end, 10);

		if (end != p && *end == units[i].unit && n >= 0 && n < 100000) {
			total += n * units[i].s;
			p = end + 1;
		}
	}
	if (p != *at && strchr(" \t)", *p))
		*at = p;
	else
		total = 0;
	return total;
}

static const char *next_word(const char *p)
{
	p += strcspn(p, " \t");
	return p + strspn(p, " \t");
}

/* "Warning  REASON  AGE  FROM  MESSAGE", as kubectl describe has it. */
static bool read_event(const char *text, struct happening *ret)
{
	const char *p = strstr(text, "Warning ");

	if (!p)
		return false;
	p = next_word(next_word(p));
	*ret = (struct happening){duration(&p), 1};
	p += strspn(p, " \t");
	if (starts_with(p, "(x"))
		ret->times = strtol(p + strlen("(x"), NULL, 10);
	return ret->age_s > 0;
}

/* How all of the lines of @c are told: the latest of them, and the most frequent. */
static bool happened(const struct cause *c, struct happening *ret)
{
	const struct record *r = c->record;

	if (c->is_over || !r->events.n || r->count > r->events.n)
		return false;
	for (size_t i = 0; i < r->events.n; i++) {
		struct happening one;

		if (!read_event(r->events.v[i].text, &one))
			return false;
		if (!i || one.age_s < ret->age_s)
			ret->age_s = one.age_s;
		if (!i || one.times > ret->times)
			ret->times = one.times;
	}
	return true;
}

static const struct cause *came_since(const struct explanation *x, const struct cause *c,
				      const struct happening *old, struct happening *ret)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (o != c && o->sig->tier == TIER_ROOT && o->weight >= CONFIDENT &&
		    happened(o, ret) && ret->age_s * OLDER <= old->age_s && ret->times >= OFTEN &&
		    ret->times > old->times)
			return o;
	}
	return NULL;
}

void kubevents(struct arena *a, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];
		struct happening old, since;

		if (c->weight <= REMARK || !happened(c, &old) || !came_since(x, c, &old, &since))
			continue;
		c->weight = REMARK;
		c->because = arena_printf(a,
					  "it was last seen %ld s ago; another failure of the pod "
					  "came %ld times, the latest %ld s ago",
					  old.age_s, since.times, since.age_s);
	}
}
