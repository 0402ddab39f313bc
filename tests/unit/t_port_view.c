/* The matrix of a mesh as people see it: names are whole, and no line is wider than the terminal;
 * and its pairs as programs do. */
#include "tests/unit/made_mesh.h"
#include "tests/unit/report_file.h"

#include <math.h>

enum { SHOWN = 1 << 16 };

static struct arena a;
static struct mesh_opts o;
static struct mesh m;
static char path[64], shown[SHOWN];

/* @n hosts that all reach each other; @pattern: their names. */
static void make(size_t n, const char *const *names)
{
	mesh_init(&m, &o, n, &a, report_file_new(path, "portcheck", "table"));
	for (size_t i = 0; i < n; i++) {
		m.nodes[i].name = names ? names[i] : arena_printf(&a, "node%zu", i);
		*LIST_ADD(&a, &m.nodes[i].ports) = 29500;
		for (size_t k = 0; k < n; k++)
			if (i != k)
				*mesh_edit(&m, i, k) = (struct mesh_cell){
					.row = "r c 0.1", .ms = 0.1F, .gbps = NAN};
	}
}

static void cut(size_t from, size_t to)
{
	mesh_edit(&m, from, to)->bad = 1;
	mesh_edit(&m, from, to)->state = PORT_FILTERED;
}

static const char *view(size_t width)
{
	FILE *f;

	mesh_view(&m, width);
	(void)report_end(m.report, &(struct err){0});
	f = fopen(path, "r");
	assert_non_null(f);
	shown[fread(shown, 1, sizeof(shown) - 1, f)] = '\0';
	(void)fclose(f);
	(void)unlink(path);
	arena_done(&a);
	return shown;
}

static void begins(const char *got, const char *want)
{
	if (strncmp(got, want, strlen(want)) != 0)
		fail_msg("%s", got);
}

static size_t widest_line(const char *s)
{
	size_t most = 0;

	for (size_t n; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		if (starts_with(s, "+ every port")) /* the legend: words, which may wrap */
			break;
		most = n > most ? n : most;
	}
	return most;
}

/* A name is copied into --hosts: it is never cut, and the marks stay below each other. */
static void long_names(void **state)
{
	static const char *const fqdn[] = {"n0", "ip-10-0-0-2.eu-central-1.compute.internal"};

	(void)state;
	make(2, fqdn);
	begins(view(0), "      0 1\n"
			"  0   . +  n0\n"
			"  1   + .  ip-10-0-0-2.eu-central-1.compute.internal\n");
}

/* Rows of the first block are told in full; of the others those where something is wrong. */
static void blocks(void **state)
{
	(void)state;
	make(60, NULL);
	cut(0, 54);
	cut(0, 55);
	begins(view(60), "to 0-19:\n"
			 "from \\ to  0123456789 0123456789\n"
			 "  0 node0  .+++++++++ ++++++++++\n"
			 "  1 node1  +.++++++++ ++++++++++  and 58 more alike\n"
			 "to 20-39: all +\n"
			 "to 40-59:\n"
			 "from \\ to  0123456789 0123456789\n"
			 "  0 node0  ++++++++++ ++++FF++++\n"
			 "  1 node1  ++++++++++ ++++++++++  and 58 more alike\n"
			 "+ every port answers   ~ some ports do not");
}

static void all_where_there_is_room(void **state)
{
	static const char head[] = "from \\ to  0123456789 0123456789 0123456789 0123456789 "
				   "0123456789 0123456789\n  0 node0  .++++";

	(void)state;
	make(60, NULL);
	begins(view(0), head);
	make(60, NULL);
	begins(view(200), head);
	make(4, NULL);
	begins(view(20), "from \\ to  0 1 2 3\n"); /* 19 columns */
}

static void no_line_wraps(void **state)
{
	(void)state;
	for (size_t n = 2; n < 140; n += 23)
		for (size_t width = 60; width < 200; width += 7) {
			make(n, NULL);
			for (size_t i = 1; i < n; i += 3)
				cut(i - 1, i);
			assert_in_range(widest_line(view(width)), 1, width);
		}
}

/* Few columns stand wide: there is room for half as many. */
static void no_line_of_few_wraps(void **state)
{
	static const char *names[24];

	(void)state;
	for (size_t n = 2; n <= ARRAY_LEN(names); n++)
		for (size_t width = 75; width < 110; width++) {
			for (size_t i = 0; i < n; i++)
				names[i] = "ip-10-0-0-20.eu-central-1.compute.internal";
			make(n, names);
			assert_in_range(widest_line(view(width)), 1, width);
		}
}

/* Hosts of one image share their name: of these the address stands beside it, for programs. */
static void pairs_of_one_name(void **state)
{
	static const char *const names[] = {"ubuntu", "ubuntu", "node2"};
	const cJSON *pairs;

	(void)state;
	make(ARRAY_LEN(names), names);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(
			addr_parse(arena_printf(&a, "10.0.0.%zu", i + 1), &m.nodes[i].addr), 0);
	mesh_data_pairs(&m, report_data(m.report));
	pairs = json_get(report_data(m.report), "pairs");
	assert_int_equal(cJSON_GetArraySize(pairs), 6);
	assert_string_equal(json_get_str(pairs->child, "from"), "ubuntu (10.0.0.1)");
	assert_string_equal(json_get_str(pairs->child, "to"), "ubuntu (10.0.0.2)");
	assert_string_equal(json_get_str(pairs->child->prev, "from"), "node2");
	(void)view(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_names),
		cmocka_unit_test(blocks),
		cmocka_unit_test(all_where_there_is_room),
		cmocka_unit_test(no_line_wraps),
		cmocka_unit_test(no_line_of_few_wraps),
		cmocka_unit_test(pairs_of_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
