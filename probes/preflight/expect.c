/* Training against expectations: each host's pace against the majority's, and the whole against
 * what one rank alone and the measured collectives promise. */
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"

#include <math.h>

enum { ROWS_MAX = 32 };
#define ODD 2.0		 /* times slower than the middle host */
#define TIME_TO_TELL 0.1 /* seconds of computing; below, that is noise */
#define PROMISED 0.25	 /* of what its parts promise: waiting for each other costs, too */

struct pace {
	const char *host;
	double rate;	/* samples/s, the exchange left out: in step all ranks are as fast */
	double seconds; /* of computing, its slowest rank's */
	double times;	/* slower than the middle host */
};
typedef LIST(struct pace) pace_list;

static double computing(const cJSON *rank)
{
	const cJSON *phase;
	double sum = 0;

	cJSON_ArrayForEach (phase, json_get(rank, "seconds"))
		if (cJSON_IsNumber(phase) && !streq(phase->string, "exchange"))
			sum += phase->valuedouble;
	return sum;
}

/* Ranks of one host follow each other. */
static struct pace *pace_of(struct arena *a, pace_list *l, const char *host)
{
	for (size_t i = l->n; i-- > 0;)
		if (streq(l->v[i].host, host))
			return &l->v[i];
	*LIST_ADD(a, l) = (struct pace){.host = arena_strdup(a, host)};
	return &l->v[l->n - 1];
}

static int by_rate(const void *x, const void *y)
{
	double a = ((const struct pace *)x)->rate, b = ((const struct pace *)y)->rate;

	return (a > b) - (a < b);
}

/* The slowest first. */
static pace_list paces(const struct preflight *p, const cJSON *data)
{
	const cJSON *name = json_get(json_get(data, "world"), "ranks");
	const cJSON *rank = json_get(json_get(data, "throughput"), "ranks");
	pace_list l = {0};

	name = name ? name->child : NULL;
	rank = rank ? rank->child : NULL;
	for (; name && rank; name = name->next, rank = rank->next) {
		const char *host = preflight_host_of_rank(p, name);
		double rate = json_get_num(rank, "compute_samples_per_s", NAN);
		struct pace *own = host && rate > 0 ? pace_of(p->a, &l, host) : NULL;

		if (!own)
			continue;
		own->rate += rate;
		own->seconds = fmax(own->seconds, computing(rank));
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_rate);
	for (size_t i = 0; i < l.n; i++)
		l.v[i].times = l.v[l.n / 2].rate / l.v[i].rate;
	return l;
}

static bool is_odd(const struct pace *p) { return p->times >= ODD && p->seconds >= TIME_TO_TELL; }

bool preflight_is_uneven(struct preflight *p, const cJSON *data)
{
	pace_list l = paces(p, data);

	return l.n && is_odd(&l.v[0]);
}

/* ---- each host ---- */

static const struct pace *find(const pace_list *l, const char *host)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].host, host))
			return &l->v[i];
	return NULL;
}

static struct finding *note(struct preflight *p, const char *check, const char *subject)
{
	return tally_add(&p->t, S_EXPECT, stages[S_EXPECT].name, check, subject);
}

static void name_odd(struct preflight *p, const pace_list *l, const struct pace *odd,
		     const struct pace *second)
{
	static const char *const looks[] = {
		"'top -b -n 1 | head -n 15; dmesg | grep -i -e throttl -e mce'",
		"'cpupower frequency-info; sudo cpupower frequency-set -g performance'",
	};
	double usual = l->v[l->n / 2].rate;
	struct finding *f = note(p, "train.node", odd->host);
	bool agreed = second && is_odd(second);

	/* what shares a machine slows each other down; of two nobody is the majority */
	finding_set(f,
		    !agreed			 ? ST_INFO
		    : p->one_machine || l->n < 3 ? ST_WARN
						 : ST_FAIL,
		    "computes %.0f samples/s, %s %.0f: %.1fx slower%s", odd->rate,
		    l->n < 3 ? "the other" : "the middle one of all hosts", usual, odd->times,
		    agreed   ? ", in both of two runs; not the network"
		    : second ? ", but not when measured again"
			     : ", measured once");
	finding_value(f, odd->rate, "samples/s");
	finding_expect(f, ">= %.0f samples/s", usual / ODD);
	if (f->status == ST_INFO)
		return;
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		finding_fix(f, "%s",
			    typed_there(p->a, rsh_typed(p->a, p->rsh), odd->host, looks[i]));
}

static void say_nodes(struct preflight *p, const pace_list *l, const pace_list *again)
{
	struct finding *f;
	size_t odd = 0;

	while (odd < l->n && is_odd(&l->v[odd])) {
		name_odd(p, l, &l->v[odd], find(again, l->v[odd].host));
		odd++;
	}
	if (odd || l->n < 2)
		return;
	f = note(p, "train.node", NULL);
	finding_set(f, ST_PASS, "%zu hosts compute %.0f to %.0f samples/s each; none is %gx slower",
		    l->n, l->v[0].rate, l->v[l->n - 1].rate, ODD);
	finding_value(f, l->v[l->n / 2].rate, "samples/s");
	finding_expect(f, ">= %.0f samples/s", l->v[l->n / 2].rate / ODD);
}

static void show(struct preflight *p, const pace_list *l)
{
	static const struct column columns[] = {{.name = "host", .is_text = true},
						{.name = "computes", .unit = "samples/s"},
						{.name = "times slower"}};
	static const struct series s = {"training", columns, ARRAY_LEN(columns), true};

	if (l->n < 2)
		return;
	report_series(p->r, &s);
	for (size_t i = 0; i < l->n; i++)
		if (l->n <= ROWS_MAX || is_odd(&l->v[i]) || p->verbose)
			report_row(p->r, (struct cell[]){{.text = l->v[i].host},
							 {.number = l->v[i].rate},
							 {.number = l->v[i].times}});
}

/* ---- all of them together ---- */

struct promise {
	double computing, exchange; /* seconds of one step */
	double rate, promised;	    /* samples/s of all */
	size_t ranks;
	double bytes;
};

/* Of the smallest size measured that is not smaller; NAN: none is. */
static double exchange_of(const struct preflight *p, double bytes)
{
	for (size_t i = 0; i < p->curve.n; i++)
		if (p->curve.v[i].bytes >= bytes)
			return p->curve.v[i].seconds;
	return NAN;
}

static struct promise promise(const struct preflight *p, const cJSON *data)
{
	const cJSON *t = json_get(data, "throughput"), *model = json_get(data, "model");
	struct promise x = {.ranks = (size_t)cJSON_GetArraySize(json_get(t, "ranks")),
			    .rate = json_get_num(t, "samples_per_s", NAN)};
	double batch = json_get_num(model, "batch", NAN);

	x.bytes = 4 * json_get_num(model, "parameters", NAN);
	x.computing = batch / json_get_num(t, "alone_samples_per_s", NAN);
	x.exchange = exchange_of(p, x.bytes);
	x.promised = (double)x.ranks * batch / (x.computing + x.exchange);
	return x;
}

static void say_scaling(struct preflight *p, const struct promise *x)
{
	struct finding *f = note(p, "train.scaling", NULL);
	bool fine = x->rate >= PROMISED * x->promised, judged = !p->one_machine;

	finding_set(f,
		    !judged ? ST_INFO
		    : fine  ? ST_PASS
			    : ST_WARN,
		    "%.0f samples/s on %zu ranks, %.0f %% of the %.0f that its parts promise: "
		    "%.2f ms of computing and %.2f ms for an all-reduce of %.0f KB in each step%s",
		    x->rate, x->ranks, x->rate / x->promised * 100, x->promised, x->computing * 1e3,
		    x->exchange * 1e3, x->bytes / 1e3,
		    judged ? "" : " (not judged: these hosts share a machine)");
	finding_value(f, x->rate, "samples/s");
	finding_expect(f, ">= %.0f samples/s", PROMISED * x->promised);
	if (f->status == ST_WARN) {
		finding_fix(f, "ncclbench %s -b 64K -e 128K   # latency comes and goes?",
			    preflight_to(p, p->given ?: "HOSTS"));
		finding_fix(f, "ddpsmoke %s --json | jq .data.throughput   # who waits",
			    preflight_to(p, p->given ?: "HOSTS"));
	}
}

static void keep(struct preflight *p, const pace_list *l, const struct promise *x)
{
	cJSON *o, *nodes;

	if (!preflight_wants_data(p))
		return;
	o = json_object(report_data(p->r), "expectations");
	nodes = json_array(o, "nodes");
	for (size_t i = 0; i < l->n; i++) {
		cJSON *node = json_push_object(nodes);

		json_str(node, "host", l->v[i].host);
		json_num(node, "compute_samples_per_s", l->v[i].rate);
		json_num(node, "times_slower", l->v[i].times);
	}
	json_num(o, "samples_per_s", x->rate);
	json_num(o, "promised_samples_per_s", x->promised);
	json_num(o, "step_computing_ms", x->computing * 1e3);
	json_num(o, "step_exchange_ms", x->exchange * 1e3);
}

void preflight_judge_training(struct preflight *p, const cJSON *data, const cJSON *again)
{
	pace_list l = paces(p, data), second = paces(p, again);
	struct promise x = promise(p, data);

	show(p, &l);
	say_nodes(p, &l, &second);
	if (isfinite(x.promised) && isfinite(x.rate) && l.n > 1)
		say_scaling(p, &x);
	keep(p, &l, &x);
}
