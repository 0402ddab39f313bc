/*
 * Several paths to a host, one of them dead, as ranks tell of them, none of it trusted: one
 * finding, of the host whose next hop it is, with the route that takes it out.
 */
#include "tests/unit/made_mesh.h"

#define NODE(rank, name, address, rest)                                                            \
	"{\"rank\":" #rank ",\"host\":\"" name "\",\"address\":\"" address                         \
	"\",\"iface\":\"e0\",\"subnet\":\"10.0.0.0/24\",\"ports\":[1,2]" rest "}"
#define SAID "\"said\":\"5 of 16 source ports reach it\""

static void paths(void **state)
{
	static const struct {
		const char *lines[3];
		unsigned failures;
		const char *fix; /* of the first rule; NULL: none */
	} cases[] = {
		/* its own next hop: the other's answers, and so its questions, go astray with it */
		{{NODE(0, "a", "10.0.0.1",
		       ",\"row\":[\"\",\"oo .. 1\",\"of .P "
		       "1\"],\"paths\":[{\"to\":2,\"own\":true," SAID
		       "}],\"undo\":[{\"to\":2,\"undo\":\"ip route replace X\"}]"),
		  NODE(1, "b", "10.0.0.2", ",\"row\":[\"oo .. 1\",\"\",\"oo .. 1\"]"),
		  NODE(2, "c", "10.0.0.3",
		       ",\"row\":[\"fo P. 1\",\"oo .. 1\",\"\"],\"paths\":[{\"to\":0," SAID "}]")},
		 1,
		 "sudo ip route replace X"},
		/* both of them: each has its own */
		{{NODE(0, "a", "10.0.0.1",
		       ",\"row\":[\"\",\"oo .. 1\",\"of .P "
		       "1\"],\"paths\":[{\"to\":2,\"own\":true," SAID
		       "}],\"undo\":[{\"to\":2,\"undo\":\"ip route replace X\"}]"),
		  NODE(1, "b", "10.0.0.2", ",\"row\":[\"oo .. 1\",\"\",\"oo .. 1\"]"),
		  NODE(2, "c", "10.0.0.3",
		       ",\"row\":[\"fo P. 1\",\"oo .. "
		       "1\",\"\"],\"paths\":[{\"to\":0,\"own\":true," SAID
		       "}],\"undo\":[{\"to\":0,\"undo\":\"ip route replace Y\"}]")},
		 2,
		 "sudo ip route replace X"},
		/* somewhere between; and what is no such word is not taken for one */
		{{NODE(0, "a", "10.0.0.1",
		       ",\"row\":[\"\",\"oo .. 1\",\"of .P "
		       "1\"],\"paths\":[{\"to\":2},{\"to\":-1," SAID
		       "},{\"to\":9,\"own\":true," SAID "},{\"to\":1,\"said\":7},3]"),
		  NODE(1, "b", "10.0.0.2", ",\"row\":[\"oo .. 1\",\"\",\"oo .. 1\"],\"paths\":{}"),
		  NODE(2, "c", "10.0.0.3", ",\"row\":[\"oo .. 1\",\"oo .. 1\",\"\"]")},
		 1,
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct err nothing = {.kind = ERR_USAGE};
		const struct mesh_opts o = {0};
		const cJSON *rule, *fix;
		struct mesh m;

		made_mesh(&m, &o, &a);
		made_mesh_take_all(&m, cases[i].lines);
		mesh_judge(&m);
		assert_int_equal(report_count(m.report, ST_FAIL), cases[i].failures);
		rule = json_get(report_data(m.report), "rules")->child;
		assert_non_null(rule);
		assert_string_equal(json_get_str(rule, "direction"), "out");
		assert_string_equal(json_get(rule, "on")->child->valuestring, "a");
		assert_non_null(strstr(json_get_str(rule, "cause"), "one of several paths"));
		fix = json_get(rule, "fix")->child;
		assert_int_equal(fix != NULL, cases[i].fix != NULL);
		if (fix)
			assert_string_equal(fix->valuestring, cases[i].fix);
		(void)report_end(m.report, &nothing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(paths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
