/*
 * For node_exporter's textfile collector. A series is its labels, so the same
 * labels must not come twice: samples are sorted and the first of equals stays.
 */
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/json.h"
#include "lib/report/report.h"

#include <math.h>

struct sample {
	const char *labels;
	double value;
	size_t order;
};
typedef LIST(struct sample) samples;

enum { MOST_PAIRS = 1024 }; /* of 32 hosts: each is two series */

/* The format knows three escapes in a label's value; a person may look at it on a terminal. */
static void label(struct text *t, const char *name, const char *value)
{
	const char *p = utf8_mend(t->a, value);
	uint32_t c;

	text_addf(t, "%s%s=\"", t->n ? "," : "", name);
	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (c == '\n')
			text_add(t, "\\n");
		else if (!term_prints(c))
			text_add(t, "\xef\xbf\xbd");
		else
			text_addf(t, "%s%.*s", c == '"' || c == '\\' ? "\\" : "", (int)took, p);
	}
	text_add(t, "\"");
}

static struct text common(struct sink *s, const char *host)
{
	struct text t;

	text_init(&t, s->a);
	label(&t, "command", s->opts->command);
	label(&t, "host", host ? host : s->host);
	return t;
}

static void sample(struct sink *s, samples *list, const struct finding *f, const char *name,
		   const char *last, double value)
{
	struct text t = common(s, f->host);

	label(&t, "check", f->check);
	label(&t, "subject", f->lasting ?: f->subject ?: "");
	if (f->rank >= 0)
		text_addf(&t, ",rank=\"%d\"", f->rank);
	if (name)
		label(&t, name, last);
	*LIST_ADD(s->a, list) = (struct sample){t.s, value, list->n};
}

static int by_labels(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int order = strcmp(x->labels, y->labels);

	return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static void family(struct sink *s, const char *name, const char *help, const samples *list)
{
	if (!list->n)
		return;
	qsort(list->v, list->n, sizeof(*list->v), by_labels);
	fprintf(s->out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	for (size_t i = 0; i < list->n; i++)
		if (!i || !streq(list->v[i].labels, list->v[i - 1].labels))
			fprintf(s->out, "%s{%s} %.15g\n", name, list->v[i].labels,
				list->v[i].value);
}

static void single(struct sink *s, const char *name, const char *help, const char *key,
		   const char *last, double value)
{
	struct text t = common(s, NULL);
	samples one = {0};

	if (key)
		label(&t, key, last);
	*LIST_ADD(s->a, &one) = (struct sample){t.s, value, 0};
	family(s, name, help, &one);
}

static void counts(struct sink *s)
{
	samples list = {0};

	for (enum status st = 0; st < ST_COUNT; st++) {
		struct text t = common(s, NULL);

		label(&t, "status", status_name(st));
		*LIST_ADD(s->a, &list) = (struct sample){t.s, (double)s->count[st], st};
	}
	family(s, "windsock_findings", "Findings of the latest run, by status.", &list);
}

/* ---- pairs ---- */
struct pairs {
	samples rate, latency;
};

/* ncclbench's rates are in GB/s and its times in microseconds; portcheck's, whose pairs have a
 * state, in Gb/s and milliseconds. */
static void pair(struct sink *s, const char *stage, const cJSON *row, struct pairs *ret)
{
	const bool ports = json_get(row, "state");
	const char *from = json_get_str(row, "from"), *to = json_get_str(row, "to");
	double rate = json_get_num(row, "gbps", NAN) * (ports ? 1e9 / 8 : 1e9);
	double latency = ports ? json_get_num(row, "ms", NAN) / 1e3
			       : json_get_num(row, "latency_us", NAN) / 1e6;
	struct text t = common(s, NULL);

	if (!from || !to)
		return;
	if (stage)
		label(&t, "stage", stage);
	label(&t, "from", from);
	label(&t, "to", to);
	if (isfinite(rate))
		*LIST_ADD(s->a, &ret->rate) = (struct sample){t.s, rate, ret->rate.n};
	if (isfinite(latency))
		*LIST_ADD(s->a, &ret->latency) = (struct sample){t.s, latency, ret->latency.n};
}

static void take_pairs(struct sink *s, const char *stage, const cJSON *data, struct pairs *ret)
{
	const cJSON *list = json_get(data, "pairs"), *row;

	if (cJSON_GetArraySize(list) > MOST_PAIRS)
		return;
	cJSON_ArrayForEach (row, list)
		pair(s, stage, row, ret);
}

/* The command's own, and those of the parts of a whole run. */
static void pairs(struct sink *s)
{
	const cJSON *parts = json_get(s->data, "parts"), *part;
	struct pairs all = {0};

	take_pairs(s, NULL, s->data, &all);
	cJSON_ArrayForEach (part, parts)
		take_pairs(s, part->string, part, &all);
	family(s, "windsock_pair_bandwidth_bytes_per_second",
	       "What one host of a pair sends to the other.", &all.rate);
	family(s, "windsock_pair_latency_seconds", "How long a pair takes to answer.",
	       &all.latency);
}

static void end(struct sink *s)
{
	samples status = {0}, value = {0}, seconds = {0};

	for (size_t i = 0; i < s->findings.n; i++) {
		const struct finding *f = s->findings.v[i];

		sample(s, &status, f, "status", status_name(f->status), 1);
		if (isfinite(f->value))
			sample(s, &value, f, "unit", f->unit ? f->unit : "", f->value);
		if (isfinite(f->seconds))
			sample(s, &seconds, f, NULL, NULL, f->seconds);
	}
	family(s, "windsock_check_status", "What a check found; the value is always 1.", &status);
	family(s, "windsock_check_value", "What a check measured, in the unit of its label.",
	       &value);
	family(s, "windsock_check_duration_seconds", "How long a check took.", &seconds);
	pairs(s);
	counts(s);
	single(s, "windsock_verdict", "The verdict of the latest run; the value is always 1.",
	       "verdict", s->verdict, 1);
	single(s, "windsock_run_duration_seconds", "How long the latest run took.", NULL, NULL,
	       s->seconds);
	single(s, "windsock_run_timestamp_seconds", "When the latest run began.", NULL, NULL,
	       (double)s->started);
}

const struct renderer render_prometheus = {
	.name = "prometheus",
	.help = "text for Prometheus (node_exporter's textfile collector)",
	.wants_pairs = MOST_PAIRS,
	.end = end,
};
