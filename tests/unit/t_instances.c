/* What clouds' types are known, and by which names people call them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/instances.h"

#include <math.h>

static void assert_net(const char *type, double gbps, int cards)
{
	struct instance_net net;

	assert_true(instance_net(type, &net));
	assert_float_equal(net.gbps, gbps, 1e-9);
	assert_int_equal(net.cards, cards);
}

/* "" where none, or several that are joined by blanks. */
static const char *like(const char *text, struct arena *a)
{
	const char *all = "";
	str_list names = {0};

	instances_like(text, a, &names);
	for (size_t i = 0; i < names.n; i++)
		all = arena_printf(a, "%s%s%s", all, i ? " " : "", names.v[i]);
	return all;
}

static void types_have_cards(void **state UNUSED)
{
	struct instance_net net;

	assert_net("p5.48xlarge", 3200, 32);
	assert_net("p4d.24xlarge", 400, 4);
	assert_net("c5.large", .75, 1);
	assert_net("a3-megagpu-8g", 1600, 8);
	assert_net("Standard_ND96isr_H100_v5", 3200, 8);
	assert_net("Standard_ND96asr_v4", 1600, 8);
	assert_net("Standard_ND128isr_NDR_GB200_v6", 1600, 4);
	assert_net("a4x-highgpu-4g", 1600, 4);
	assert_net("a4x-maxgpu-4g-metal", 3200, 4);
	assert_string_equal(instance_gpu("Standard_ND96asr_v4"), "A100");
	assert_string_equal(instance_gpu("Standard_ND128isr_NDR_GB200_v6"), "GB200");
	assert_string_equal(instance_gpu("p6e-gb200.36xlarge"), "GB200");
	assert_string_equal(instance_gpu("g6e.12xlarge"), "L40");
	assert_null(instance_gpu("c5.large"));
	assert_true(instance_net("p5.48xlarge", &net) && net.flow_gbps == 5);
	assert_true(instance_net("a3-highgpu-8g", &net) && isnan(net.flow_gbps));
}

static void what_is_in_no_table_is_not_known(void **state UNUSED)
{
	static const char *const no[] = {"",	      "p5",	      "p5.",	  "p5.3200",
					 ".48xlarge", "p5.2",	      "q9.large", "p5.48xlarge ",
					 "48xlarge",  "p5.48xlarge.x"};
	struct instance_net net;

	assert_false(instance_net(NULL, &net));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(instance_net(no[i], &net));
}

static void names_are_found_as_people_write_them(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};

	assert_string_equal(like("p4d", &a), "p4d.24xlarge");
	assert_string_equal(like("P5EN-48XLARGE", &a), "p5en.48xlarge");
	assert_string_equal(like("p5", &a), "p5.4xlarge p5.48xlarge");
	assert_string_equal(like("A3_MegaGPU_8g", &a), "a3-megagpu-8g");
	assert_string_equal(like("nd96isr", &a), "Standard_ND96isr");
	assert_string_equal(like("nd96isr_h200_v5", &a), "Standard_ND96isr");
	assert_string_equal(like("standard_nd96amsr_a100_v4", &a), "Standard_ND96amsr");
	assert_string_equal(like("standard_nd96", &a), "Standard_ND96isr Standard_ND96amsr "
						       "Standard_ND96asr");
	assert_string_equal(like("nd96xyz", &a), "");
	assert_string_equal(like("x", &a), "");
	assert_string_equal(like("", &a), "");
}

static void a_slip_is_meant(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	str_list names = {0};

	instances_meant("p4d.42xlarge", &a, &names);
	assert_int_equal(names.n, 1);
	assert_string_equal(names.v[0], "p4d.24xlarge");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_have_cards),
		cmocka_unit_test(what_is_in_no_table_is_not_known),
		cmocka_unit_test(names_are_found_as_people_write_them),
		cmocka_unit_test(a_slip_is_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
