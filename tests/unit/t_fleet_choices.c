/* What many hosts chose: the table of it, and MTUs that differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/file.h"
#include "probes/iface/fleet.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

struct world {
	char out[64];
	struct arena a;
	struct fleet f;
	struct answers all;
};

static void world_init(struct world *w, unsigned n)
{
	*w = (struct world){.f = {.given = "hostfile", .fold = true}};
	w->f.a = &w->a;
	w->f.report = report_file_new(w->out, "ifprobe", "table");
	w->all.v = arena_alloc(&w->a, n * sizeof(*w->all.v));
}

static void chose(struct world *w, const char *iface, unsigned mtu, const char *why)
{
	struct answer *x = &w->all.v[w->all.n++];
	const char *json = arena_printf(&w->a,
					"{\"data\":{\"suggest\":{\"interface\":\"%s\",\"address\":"
					"\"10.0.0.%zu\",\"mtu\":%u,\"why\":\"%s\"}}}",
					iface, w->all.n, mtu, why);

	x->host = arena_printf(&w->a, "n%zu", w->all.n);
	LIST_ADD(&w->a, &w->f.hosts)->name = x->host;
	x->doc = cJSON_Parse(json);
	assert_non_null(x->doc);
	x->data = cJSON_GetObjectItemCaseSensitive(x->doc, "data");
}

/* What was printed. */
static const char *world_done(struct world *w)
{
	struct err e = {0};
	static char text[65536];
	FILE *file;

	(void)report_end(w->f.report, &e);
	file = fopen(w->out, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);
	(void)unlink(w->out);
	answers_done(&w->all);
	arena_done(&w->a);
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void few_have_a_row_each(void **state UNUSED)
{
	struct world w;
	const char *text;

	world_init(&w, 32);
	for (unsigned i = 0; i < 32; i++)
		chose(&w, "ens5", 9001, "fastest");
	fleet_view_choices(&w.f, &w.all);
	text = world_done(&w);
	assert_int_equal(count(text, "ens5"), 32);
	assert_non_null(strstr(text, "10.0.0.32"));
}

static void many_have_a_row_for_all_alike(void **state UNUSED)
{
	struct world w;
	const char *text;

	world_init(&w, 250);
	for (unsigned i = 1; i <= 250; i++)
		chose(&w, i == 7 ? "ens6" : "ens5", i == 9 ? 1500 : 9001,
		      arena_printf(&w.a, "reaches %u peers", i));
	fleet_view_choices(&w.f, &w.all);
	text = world_done(&w);
	assert_int_equal(count(text, "ens5"), 2);
	assert_non_null(strstr(text, "n[1-6,8,10-250]"));
	assert_non_null(strstr(text, "248 hosts"));
	assert_non_null(strstr(text, "reaches 1 to 250 peers"));
	assert_non_null(strstr(text, "reaches 7 peers"));
	assert_non_null(strstr(text, "10.0.0.9 "));
	assert_true(strstr(text, "n[1-6") < strstr(text, "ens6"));
}

/* Interfaces of one name and one MTU are mended by one line, whatever their number. */
static void one_line_for_all_of_one_mtu(void **state UNUSED)
{
	struct world w;
	const char *text;

	world_init(&w, 100);
	for (unsigned i = 1; i <= 100; i++)
		chose(&w, i == 7 ? "ens6" : "ens5", i < 60 && i != 7 ? 9001 : 1500, "x");
	fleet_compare_mtu(&w.f, &w.all);
	text = world_done(&w);
	assert_non_null(strstr(text, "9001, but not on n[7,60-100]"));
	assert_non_null(strstr(text,
			       "windsock on 'n[60-100]' 'sudo ip link set dev ens5 mtu 9001'   "
			       "# which have 1500\n"));
	assert_non_null(strstr(text, "ip link set dev ens6 mtu 9001   # on n7, which has 1500\n"));
	assert_int_equal(count(text, "-> "), 2);
}

/* As many have the one as the other: the larger; who says nothing is not counted. */
static void the_usual_is_known_and_large(void **state UNUSED)
{
	struct world w;

	world_init(&w, 8);
	chose(&w, "a", 9001, "x");
	chose(&w, "a", 1500, "x");
	for (unsigned i = 0; i < 3; i++)
		w.all.v[w.all.n++] = (struct answer){.host = "silent"};
	fleet_compare_mtu(&w.f, &w.all);
	assert_non_null(strstr(world_done(&w), "9001, but not on n2\n"));
	world_init(&w, 2);
	chose(&w, "a", 1500, "x");
	chose(&w, "b", 1500, "x");
	fleet_compare_mtu(&w.f, &w.all);
	assert_null(strstr(world_done(&w), "differ in MTU"));
}

#define TEST(f) cmocka_unit_test(f)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(few_have_a_row_each),
		TEST(many_have_a_row_for_all_alike),
		TEST(one_line_for_all_of_one_mtu),
		TEST(the_usual_is_known_and_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
