/* What the GPUs stage of each host found, compared: the odd host is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/report/json.h"
#include "probes/preflight/drift.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

enum { HOSTS = 4 };

static const struct {
	const char *usual, *odd; /* data.host.facts */
	const char *check;	 /* NULL: nothing is said */
	enum status status;
	const char *message;
} rows[] = {
	{"\"nvlinks\":144", "\"nvlinks\":143", "drift.nvlinks", ST_FAIL,
	 "143 here, 144 on 3 of 4 hosts"},
	{"\"cuda\":\"12.4\"", "\"cuda\":\"12.2\"", "drift.cuda", ST_WARN, "12.2 here"},
	{"\"gpu_name\":\"NVIDIA H100 80GB HBM3\"", "\"gpu_name\":\"NVIDIA H100 PCIe\"",
	 "drift.gpu_name", ST_WARN, "NVIDIA H100 PCIe here"},
	{"\"ecc\":\"on\"", "\"ecc\":\"off\"", "drift.ecc", ST_WARN, "off here, on on 3"},
	{"\"efa\":32", "\"efa\":31", "drift.efa", ST_WARN, "31 here, 32 on 3"},
	{"\"libfabric\":\"1.22.0\"", "\"libfabric\":\"1.18.1\"", "drift.libfabric", ST_WARN,
	 "1.18.1 here"},
	{"\"acs\":\"off\"", "\"acs\":\"on\"", "drift.acs", ST_WARN, "on here"},
	{"\"power_limit\":\"700 W\"", "\"power_limit\":\"500 W\"", "drift.power_limit", ST_WARN,
	 "500 W here"},
	{"\"matmul_tflops\":700", "\"matmul_tflops\":520.5", "drift.matmul_tflops", ST_WARN,
	 "520.5 here, 700 on 3"},
	{"\"matmul_tflops\":700", "\"matmul_tflops\":655", NULL, ST_PASS, NULL},
	{"\"matmul_tflops\":700", "\"matmul_tflops\":900", NULL, ST_PASS,
	 NULL},					      /* faster is no harm */
	{"\"nvlinks\":144", "", NULL, ST_PASS, NULL}, /* unknown is nobody's fault */
};

static void check_row(size_t i)
{
	struct arena a = {0};
	struct err e = {0};
	char out[64];
	struct preflight p = {.a = &a, .t = {.a = &a}};
	struct answer v[HOSTS] = {{0}};
	struct answers all = {.v = v, .n = HOSTS};
	const struct finding *f;

	p.r = p.t.r = report_file_new(out, "windsock", "json");
	for (int h = 0; h < HOSTS; h++) {
		const char *text = arena_printf(&a, "{\"facts\":{},\"host\":{\"facts\":{%s}}}",
						h == 2 ? rows[i].odd : rows[i].usual);

		v[h].host = arena_printf(&a, "n%d", h);
		v[h].doc = json_parse(text, strlen(text), 8, &e);
		v[h].data = v[h].doc;
		assert_non_null(v[h].doc);
	}
	preflight_drift(&p, &all, 0, 1e12);
	assert_int_equal(p.t.items.n, 1);
	f = p.t.items.v[0].f;
	assert_string_equal(f->check, rows[i].check ? rows[i].check : "drift.all");
	assert_int_equal(f->status, rows[i].status);
	if (rows[i].check) {
		assert_string_equal(f->host, "n2");
		assert_non_null(strstr(f->message, rows[i].message));
		assert_true(f->fix.n == 1 && !strstr(f->fix.v[0], "%s"));
	}
	for (int h = 0; h < HOSTS; h++)
		cJSON_Delete(v[h].doc);
	(void)report_file_done(p.r, out);
	arena_done(&a);
}

static void t_odd_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(t_odd_host)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
