#include "probes/port/say.h"

#include "lib/cluster/typed_way.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/port/fix.h"

#include <math.h>

enum { SUBJECT_PORTS = 40, MESSAGE_PORTS = 300 };

/* Ports of one address of one target that fared alike. */
struct fold {
	const struct reach_result *first;
	uint16_t *ports;
	size_t n;
	float least_ms, most_ms;
};
typedef LIST(struct fold) fold_list;

static bool is_alike(const struct reach_result *x, const struct reach_result *y)
{
	return x->state == y->state && x->cause == y->cause &&
	       (x->state != PORT_UNKNOWN || x->error == y->error) &&
	       x->by.sa.sa_family == y->by.sa.sa_family &&
	       (!x->by.sa.sa_family || addr_equal(&x->by, &y->by));
}

static void fold_add(struct fold *d, const struct reach_result *x)
{
	if (!d->n || x->ms < d->least_ms)
		d->least_ms = x->ms;
	if (!d->n || x->ms > d->most_ms)
		d->most_ms = x->ms;
	d->ports[d->n++] = x->port;
}

/* @v: the @n results of one address. */
static void fold(const struct reach_result *v, size_t n, struct arena *a, fold_list *ret)
{
	for (size_t i = 0; i < n; i++) {
		struct fold *d = NULL;

		for (size_t k = 0; k < ret->n && !d; k++)
			if (is_alike(ret->v[k].first, &v[i]))
				d = &ret->v[k];
		if (!d) {
			d = LIST_ADD(a, ret);
			d->first = &v[i];
			d->ports = arena_alloc(a, n * sizeof(*d->ports));
		}
		fold_add(d, &v[i]);
	}
}

static const char *subject(const struct fold *d, const char *ports, struct arena *a)
{
	const char *given = d->first->target->given;

	return arena_printf(a, strchr(given, ':') ? "[%s]:%s" : "%s:%s", given, ports);
}

static bool is_drawn(uint16_t port, const port_list *sample)
{
	for (size_t i = 0; i < sample->n; i++)
		if (sample->v[i] == port)
			return true;
	return false;
}

/* The ports as they are called in each run; NULL: none of them was drawn. */
static const char *lasting_ports(const struct fold *d, const struct say_opts *o, struct arena *a)
{
	uint16_t *named = arena_alloc(a, d->n * sizeof(*named));
	size_t n = 0;

	for (size_t i = 0; i < d->n && d->first->target->draws; i++)
		if (!is_drawn(d->ports[i], o->sample))
			named[n++] = d->ports[i];
	if (!d->first->target->draws || n == d->n)
		return NULL;
	return n ? arena_printf(a, "%s+sample", ports_fold(named, n, SUBJECT_PORTS, a)) : "sample";
}

static const char *duration(struct unit_buf *b, float ms)
{
	return format_duration(b, (uint64_t)((double)ms * NS_PER_MS));
}

static const char *time_text(const struct fold *d, struct arena *a)
{
	struct unit_buf least, most;

	if (!isfinite(d->least_ms))
		return "";
	if (d->n == 1 || d->most_ms - d->least_ms < 0.01F)
		return arena_printf(a, ", %s", duration(&least, d->least_ms));
	(void)duration(&least, d->least_ms);
	(void)duration(&most, d->most_ms);
	if (streq(least.s, most.s))
		return arena_printf(a, ", %s", least.s);
	return arena_printf(a, ", %s to %s", least.s, most.s);
}

static const char *who(const struct fold *d, struct arena *a)
{
	const struct reach_result *x = d->first;
	struct addr_text at;

	if (x->cause == CAUSE_PATH_FIREWALL || x->cause == CAUSE_NOBODY_THERE ||
	    x->cause == CAUSE_NO_ROUTE_THERE)
		return arena_printf(a, " (says %s)", addr_print(&x->by, &at));
	if (x->cause == CAUSE_LOCAL)
		return arena_printf(a, ": %s", strerror(x->error));
	return "";
}

static const char *cause_text(const struct fold *d, const struct reach *r,
			      const struct reach_way *way, struct arena *a)
{
	const struct reach_result *x = d->first;

	if (x->cause == CAUSE_NAME)
		return x->target->trouble;
	if ((x->cause == CAUSE_OWN_FIREWALL || x->cause == CAUSE_OWN_ND) && r->own_rule)
		return arena_printf(a, "%s: %s", port_cause_text(x->cause), r->own_rule);
	if (x->cause == CAUSE_OWN_LINK && way->unlinked)
		return arena_printf(a,
				    way->waits ? "%s, %s: spanning tree (STP) holds its port %s "
						 "back, for 30 s as a rule"
					       : "%s, %s",
				    port_cause_text(x->cause), way->unlinked, way->waits);
	if (x->cause == CAUSE_ROUTER && way->router)
		return arena_printf(a, "%s: %s", port_cause_text(x->cause), way->router);
	if (x->cause == CAUSE_DROPPED && way->limits)
		return arena_printf(a, "%s; %s", port_cause_text(x->cause), way->limits);
	if ((x->cause == CAUSE_PATHS || x->cause == CAUSE_DROPPED) && way->paths)
		return arena_printf(a, x->cause == CAUSE_PATHS ? "%s: %s" : "%s; %s",
				    port_cause_text(x->cause), way->paths);
	return port_cause_text(x->cause);
}

/* Open ports are an answer of their own: all are named while that fits a few lines. */
static const char *open_text(const struct fold *d, struct arena *a)
{
	if (d->n <= 1)
		return "open";
	return arena_printf(a, "%zu open%s%s", d->n, d->n > 4 ? ": " : "",
			    d->n > 4 ? ports_fold(d->ports, d->n, MESSAGE_PORTS, a) : "");
}

static const char *message(const struct fold *d, const struct reach *r, const struct reach_way *way,
			   struct arena *a)
{
	const struct reach_result *x = d->first;
	const char *state = port_state_name(x->state)
				    ?: x->cause == CAUSE_INTERRUPTED ? "not known"
								     : "not asked";
	const char *also = "";
	struct addr_text at;

	if (x->target->addrs.n > 1)
		also = arena_printf(a, "at %s: ", addr_print(x->addr, &at));
	if (x->state == PORT_OPEN)
		return arena_printf(a, "%s%s%s", also, open_text(d, a), time_text(d, a));
	if (x->state == PORT_REFUSED)
		return arena_printf(a, "%srefused: reachable, but %s%s", also,
				    port_cause_text(x->cause), time_text(d, a));
	if (x->state == PORT_DNS)
		return cause_text(d, r, way, a);
	return arena_printf(a, "%s%s: %s%s%s", also, state, cause_text(d, r, way, a), who(d, a),
			    time_text(d, a));
}

static enum status judge(enum port_state s, const struct say_opts *o)
{
	switch (s) {
	case PORT_OPEN:
		return ST_PASS;
	case PORT_REFUSED:
		return o->expect_open ? ST_FAIL : ST_PASS;
	case PORT_SILENT:
		return o->expect_open ? ST_FAIL : ST_SKIP;
	case PORT_UNKNOWN:
		return ST_ERROR;
	default:
		return ST_FAIL;
	}
}

/* At ports that were drawn by lot hardly anybody listens, and never at all of them. */
static bool is_too_open(const struct fold *d, const struct reach *r, const struct say_opts *o)
{
	enum { ENOUGH = 4 };

	return !r->udp && !o->expect_open && d->first->state == PORT_OPEN && o->drawn &&
	       d->first->target->ports.v == o->drawn->v && d->n == o->drawn->n && d->n >= ENOUGH;
}

static void doubt(struct finding *f, const struct fold *d, const struct say_opts *o,
		  struct arena *a)
{
	const char *host = d->first->target->given;

	finding_set(
		f, ST_WARN,
		"all %zu are open, and most of them were drawn by lot: something answers for that "
		"host whatever is asked: a sidecar of a service mesh (Istio, Linkerd), a "
		"transparent proxy, a rule that redirects",
		d->n);
	finding_expect(f, "refused where nothing listens");
	finding_fix(f, "%s   # both ends: is it ours that answers?",
		    typed_for(a, "portcheck", NULL, arena_printf(a, "%s,%s", o->from, host)));
}

static void emit(const struct fold *d, const struct reach *r, const struct reach_way *way,
		 const struct say_opts *o, struct report *report)
{
	struct arena *a = report_arena(report);
	const struct reach_result *x = d->first;
	const char *ports = ports_fold(d->ports, d->n, SUBJECT_PORTS, a);
	const char *lasting = lasting_ports(d, o, a);
	struct finding *f =
		report_find(report, r->udp ? "port.udp" : "port.tcp", subject(d, ports, a));

	f->lasting = lasting ? subject(d, lasting, a) : NULL;
	finding_set(f, judge(x->state, o), "%s", message(d, r, way, a));
	if (is_too_open(d, r, o))
		doubt(f, d, o, a);
	if (f->status == ST_FAIL) {
		finding_expect(f, o->expect_open ? "open" : "an answer: open or refused");
		fix_one(f, x, way, r->own_fix);
	}
	if (port_state_is_reached(x->state) && isfinite(d->least_ms))
		finding_value(f, thousandths(d->least_ms), "ms");
	report_add(report, f);
}

void say_findings(const struct reach *r, const target_list *targets, const struct say_opts *o,
		  struct report *report)
{
	for (size_t i = 0, n; i < r->n; i += n) {
		fold_list folds = {0};

		n = reach_of_address(r, i);
		fold(&r->v[i], n, report_arena(report), &folds);
		for (size_t k = 0; k < folds.n; k++)
			emit(&folds.v[k], r, &r->ways[r->v[i].target - targets->v], o, report);
	}
}

void say_data(const struct reach *r, const struct say_opts *o, cJSON *data)
{
	cJSON *list = json_array(data, "targets");
	struct addr_text at;

	for (size_t i = 0; i < r->n; i++) {
		const struct reach_result *x = &r->v[i];
		cJSON *t = json_push_object(list);

		json_str(t, "from", o->from);
		json_str(t, "to", x->target->given);
		json_str(t, "address", x->addr ? addr_print(x->addr, &at) : NULL);
		json_num(t, "port", x->port);
		json_str(t, "proto", r->udp ? "udp" : "tcp");
		json_str(t, "state", port_state_name(x->state));
		json_num(t, "ms", thousandths(x->ms));
		json_str(t, "cause",
			 x->cause == CAUSE_NAME ? x->target->trouble : port_cause_text(x->cause));
	}
}
