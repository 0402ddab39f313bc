#include "bench/sweep/ask.h"

#include "bench/sweep/export.h"
#include "lib/core/near.h"
#include "lib/core/units.h"

int ask_types(const char *name, unsigned *ret, struct err *e)
{
	enum dtype t;
	const char *near;

	*ret = DT_ALL;
	if (streq(name, "all"))
		return 0;
	if (!dtype_find(name, &t)) {
		*ret = 1u << t;
		return 0;
	}
	err_set(e, ERR_USAGE, "-d: there is no type '%s'", name);
	near = nearest_name(name, dtype_names, DT_COUNT);
	if (near)
		return err_hint(e, "did you mean %s?", near);
	return err_hint(e,
			"float, double, half, bfloat16, f8e4m3, f8e5m2, int8, uint8 ... uint64, or "
			"all");
}

unsigned ask_ops(const char *name)
{
	enum redop op;

	return redop_find(name, &op) ? OP_ALL : 1u << op;
}

int ask_root(const char *text, uint64_t ranks, int *ret, struct err *e)
{
	uint64_t root;

	*ret = -1;
	if (streq(text, "all") || streq(text, "-1"))
		return 0;
	if (parse_uint(text, &root) || root > INT32_MAX)
		return err_set(e, ERR_USAGE, "-r: '%s' is no rank", text);
	if (ranks && root >= ranks)
		return err_set(e, ERR_USAGE, "-r: '%s' is not one of %zu ranks", text,
			       (size_t)ranks);
	*ret = (int)root;
	return 0;
}

/* As nccl-tests does: a factor above 1 is what counts, then what is added, which is 1 MiB. */
static int ask_steps(const struct ask_sizes *in, struct sweep_opts *s, struct err *e)
{
	bool has_step = in->step != ASK_NOT_GIVEN, has_factor = in->factor != ASK_NOT_GIVEN;
	bool is_one = in->min != ASK_NOT_GIVEN && in->min == in->max;

	s->factor = in->factor > 1 && has_factor ? in->factor : has_factor || has_step ? 0 : 2;
	s->step = s->factor ? 0 : has_step ? in->step : 1 << 20;
	if (s->step || s->factor)
		return 0;
	if (!is_one) /* scripts have one size and -i 0 */
		return err_set(e, ERR_USAGE, "sizes have to grow: -i 1 or -f 2 at least");
	s->factor = 2;
	return 0;
}

int ask_sizes(const struct ask_sizes *in, struct sweep_opts *s, struct err *e)
{
	const uint64_t usual = 32 << 20;
	bool has_min = in->min != ASK_NOT_GIVEN, has_max = in->max != ASK_NOT_GIVEN;

	if (ask_steps(in, s, e))
		return -1;
	s->adaptive = !has_min && !has_max && !s->step;
	s->min = has_min ? in->min : has_max && in->max < usual ? in->max : usual;
	s->max = has_max ? in->max : s->min > usual ? s->min : usual;
	if (s->adaptive) {
		s->factor = in->factor == ASK_NOT_GIVEN ? 4 : in->factor;
		s->min = 8;
		s->max = UINT64_C(4) << 30;
	}
	if (s->min > s->max)
		return err_set(e, ERR_USAGE, "-b is larger than -e: %zu > %zu", (size_t)s->min,
			       (size_t)s->max);
	return 0;
}

/* Behind the number: "GB/s", " gb/s", "%", or nothing. "Gb/s" are bits. */
static bool is_expected_unit(const char *unit, bool *ret_share)
{
	unit += strspn(unit, " ");
	*ret_share = streq(unit, "%");
	return *ret_share || !*unit || streq(unit, "GB/s") || streq(unit, "gb/s");
}

int ask_expect(const char *text, struct verdict_opts *ret, struct err *e)
{
	size_t n = strcspn(text, "% Gg");
	bool is_share;
	char number[32];
	double v;

	(void)snprintf(number, sizeof(number), "%.*s", (int)n, text);
	if (!is_expected_unit(text + n, &is_share) || n >= sizeof(number) ||
	    parse_double(number, &v) || v <= 0) {
		err_set(e, ERR_USAGE, "--expect: '%s' is neither GB/s nor a percentage", text);
		if (strstr(text, "Gb"))
			return err_hint(e, "GB/s are bytes: of Gb/s write an eighth, 12.5 for 100");
		return err_hint(e, "write --expect 2 for 2 GB/s, or --expect 60%%");
	}
	if (is_share)
		ret->expect_share = v / 100;
	else
		ret->expect_gbps = v;
	return 0;
}

int ask_files(const struct verdict_opts *o, struct arena *a, struct err *e)
{
	bool is_drawn_here = o->plot && streq(o->plot, "-");
	const char *const written[] = {o->save_baseline, o->nccl_json,
				       is_drawn_here ? NULL : o->plot};
	plot_runs beside = {0};

	for (size_t i = 0; i < ARRAY_LEN(written); i++)
		if (written[i] && report_check_folder(a, written[i], e))
			return -1;
	for (size_t i = 0; o->plot_with && o->plot_with[i]; i++)
		if (!streq(o->plot_with[i], "-") && plot_add_file(&beside, o->plot_with[i], a, e))
			return -1;
	return 0;
}
