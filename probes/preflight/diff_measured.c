/* What two runs measured: data of ncclbench and of ddpsmoke. */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/preflight/diff_own.h"

#include <math.h>

#define SLOWER 0.85 /* of what it was: more than a run differs from the next */
#define LATER 1.5   /* times what it took; small messages jump more */

/*
 * Host memory over TCP shares its processors with everything else: told, not judged, where both
 * runs had no more. One that fell back to it is what became slower.
 */
static enum status judged(bool slower, const cJSON *old, const cJSON *now)
{
	bool memory =
		streq(json_text(old, "backend"), "tcp") && streq(json_text(now, "backend"), "tcp");

	return memory ? ST_INFO : slower ? ST_WARN : ST_PASS;
}

/* For the end of a sentence: what carried the data, where it is not the same. */
static const char *carriers(struct arena *a, const cJSON *old, const cJSON *now)
{
	const char *was = json_text(old, "backend"), *is = json_text(now, "backend");

	return !*was || !*is || streq(was, is)
		       ? ""
		       : arena_printf(a, ": carried by %s now, by %s then", is, was);
}

static const cJSON *result_like(const cJSON *list, const cJSON *like)
{
	const cJSON *r;

	cJSON_ArrayForEach (r, list)
		if (streq(json_text(r, "coll"), json_text(like, "coll")) &&
		    streq(json_text(r, "dtype"), json_text(like, "dtype")) &&
		    json_get_num(r, "size", -1) == json_get_num(like, "size", -2) &&
		    cJSON_IsTrue(json_get(r, "in_place")) ==
			    cJSON_IsTrue(json_get(like, "in_place")))
			return r;
	return NULL;
}

/* From this size on it is the link that decides, not the time of one message. */
static double large_from(const cJSON *results)
{
	double largest = 0, usual = 256 << 10;
	const cJSON *r;

	cJSON_ArrayForEach (r, results)
		largest = fmax(largest, json_get_num(r, "size", 0));
	return largest / 8 < usual ? largest / 8 : usual;
}

struct ratio {
	double value; /* now to then */
	size_t sizes;
};

/* The geometric mean over the sizes [from, to): a single size jumps from run to run. */
static struct ratio ratio_of(const cJSON *old, const cJSON *now, const char *key, double from,
			     double to)
{
	const cJSON *r;
	double sum = 0;
	size_t n = 0;

	cJSON_ArrayForEach (r, now) {
		double size = json_get_num(r, "size", NAN), is = json_get_num(r, key, NAN);
		double was = json_get_num(result_like(old, r), key, NAN);

		if (size >= from && size < to && was > 0 && is > 0) {
			sum += log(is / was);
			n++;
		}
	}
	return (struct ratio){exp(sum / (double)(n ? n : 1)), n};
}

static void bandwidth(struct compared *c, const char *of, const cJSON *old, const cJSON *now,
		      double from)
{
	struct ratio got = ratio_of(json_get(old, "results"), json_get(now, "results"), "busbw",
				    from, INFINITY);
	struct finding *f;
	struct unit_buf b;

	if (!got.sizes)
		return;
	f = diff_note(c, "diff.bandwidth", of, judged(got.value < SLOWER, old, now));
	finding_set(f, f->status,
		    "%.0f %% of the bandwidth of then, over %zu sizes of %s and more%s",
		    100 * got.value, got.sizes, format_size(&b, (uint64_t)from),
		    carriers(c->t->a, old, now));
	finding_value(f, 100 * got.value, "%");
	finding_expect(f, ">= %.0f %%", 100 * SLOWER);
	if (f->status == ST_WARN)
		finding_fix(f,
			    "ncclbench --verbose   # which sizes; `windsock --full` looks closer");
}

static void latency(struct compared *c, const char *of, const cJSON *old, const cJSON *now,
		    double to)
{
	struct ratio got =
		ratio_of(json_get(old, "results"), json_get(now, "results"), "time_us", 0, to);
	struct finding *f;
	struct unit_buf b;

	if (!got.sizes)
		return;
	f = diff_note(c, "diff.latency", of, judged(got.value > LATER, old, now));
	finding_set(f, f->status, "takes %.2f times as long as then, over %zu sizes below %s%s",
		    got.value, got.sizes, format_size(&b, (uint64_t)to),
		    carriers(c->t->a, old, now));
	finding_value(f, got.value, "times");
	finding_expect(f, "<= %.1f times", LATER);
	if (f->status == ST_WARN)
		finding_fix(f,
			    "ncclbench --verbose   # which sizes; `windsock --full` looks closer");
}

void diff_sweep(struct compared *c, const char *of, const cJSON *old, const cJSON *now)
{
	double from = large_from(json_get(now, "results"));

	bandwidth(c, of, old, now, from);
	latency(c, of, old, now, from);
}

void diff_pace(struct compared *c, const cJSON *old, const cJSON *now)
{
	double was = json_get_num(json_get(old, "throughput"), "samples_per_s", NAN);
	double is = json_get_num(json_get(now, "throughput"), "samples_per_s", NAN);
	struct finding *f;

	if (!(was > 0 && is > 0))
		return;
	f = diff_note(c, "diff.pace", "training", judged(is < SLOWER * was, old, now));
	finding_set(f, f->status, "%.0f samples/s, %.0f then%s", is, was,
		    carriers(c->t->a, old, now));
	finding_value(f, 100 * is / was, "%");
	finding_expect(f, ">= %.0f %%", 100 * SLOWER);
	if (f->status == ST_WARN)
		finding_fix(f, "ddpsmoke --verbose   # where the time goes");
}
