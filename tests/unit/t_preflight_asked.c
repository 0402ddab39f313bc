/* Hosts that siblings call by their own names or by an address: as they were asked for. */
#include "lib/cluster/rsh.h"
#include "tests/unit/drift_world.h"

static const char *const nothing[] = {"{}", "{}", "{}", "{}"};

static void hosts_are(struct world *w, const char *const *asked, const char *const *hostnames,
		      size_t n)
{
	world_init(w, nothing, n);
	for (size_t i = 0; i < n; i++) {
		const char *text = arena_printf(
			&w->a,
			"{\"interface\":{\"interfaces\":[{\"name\":\"eth0\",\"usable\":true,"
			"\"addresses\":[{\"address\":\"10.0.0.%zu\",\"scope\":\"global\"},"
			"{\"address\":\"172.17.0.1\",\"scope\":\"global\"}]}]}}",
			i + 1);
		struct err e = {0};

		w->all.v[i].host = asked[i];
		w->all.v[i].hostname = hostnames[i];
		cJSON_AddItemToObject(w->all.v[i].doc, "parts",
				      json_parse(text, strlen(text), 8, &e));
	}
	preflight_learn_names(&w->p, &w->all);
}

static void t_names(void **state)
{
	static const char *const asked[] = {"root@n0", "10.0.0.2", "twin", "me@other"};
	static const char *const own[] = {"n0.local", "n1", "twin", "twin"};
	static const char *const cases[][2] = {
		{"n0", "root@n0"},
		{"n0.local", "root@n0"},
		{"10.0.0.1", "root@n0"},
		{"n1", "10.0.0.2"},
		{"10.0.0.2", "10.0.0.2"},
		{"10.0.0.4", "me@other"},
		{"twin", "twin"},
		{"other", "me@other"},
		{"n9", "n9"},
		{"172.17.0.1", "172.17.0.1"},
	};
	struct world w;

	(void)state;
	hosts_are(&w, asked, own, 4);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(preflight_asked(&w.p, cases[i][0]), cases[i][1]);
	world_done(&w);
}

/* Two machines with one name: of a rank its address tells which it is. */
static void t_ranks(void **state)
{
	static const char *const asked[] = {"root@n0", "root@n1"}, *const own[] = {"x", "x"};
	cJSON *rank = cJSON_Parse("{\"host\":\"x\",\"address\":\"10.0.0.2\"}");
	struct world w;

	(void)state;
	hosts_are(&w, asked, own, 2);
	assert_string_equal(preflight_asked(&w.p, "x"), "x");
	assert_string_equal(preflight_host_of_rank(&w.p, rank), "root@n1");
	cJSON_DeleteItemFromObject(rank, "address");
	assert_string_equal(preflight_host_of_rank(&w.p, rank), "x");
	assert_null(preflight_host_of_rank(&w.p, NULL));
	cJSON_Delete(rank);
	world_done(&w);
}

static void t_document(void **state)
{
	static const char *const asked[] = {"root@n0", "root@n1", "10.0.0.3"};
	static const char *const own[] = {"n0", "n1", "n2"};
	static const struct {
		const char *said, *ret;
	} subjects[] = {
		{"n1", "root@n1"},
		{"n0 -> n2", "root@n0 -> 10.0.0.3"},
		{"all_reduce", "all_reduce"},
		{"rank 2", "rank 2"},
		{"n2:29500", "n2:29500"},
		{"", ""},
	};
	struct world w;

	(void)state;
	unsetenv(RSH_TYPED);
	unsetenv("WINDSOCK_RSH");
	hosts_are(&w, asked, own, 3);
	for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
		cJSON *doc = cJSON_Parse(
			"{\"findings\":[{\"fix\":[\"ssh n1 'ip -s link'\","
			"\"srun --exclude=n1 ...\",\"dmesg   # on n1\","
			"\"portcheck --hosts n2,n1   # n1\",\"portcheck --hosts x,y\"]}]}");
		cJSON *f = json_get(doc, "findings")->child;
		const cJSON *fix = json_get(f, "fix");

		json_str(f, "subject", subjects[i].said);
		preflight_as_asked(&w.p, doc);
		assert_string_equal(json_text(f, "subject"), subjects[i].ret);
		assert_string_equal(fix->child->valuestring, "ssh root@n1 'ip -s link'");
		assert_string_equal(fix->child->next->valuestring, "srun --exclude=n1 ...");
		assert_string_equal(fix->child->next->next->valuestring, "dmesg   # on n1");
		fix = fix->child->next->next->next;
		assert_string_equal(fix->valuestring, "portcheck --hosts 10.0.0.3,root@n1   # n1");
		assert_string_equal(fix->next->valuestring, "portcheck --hosts x,y");
		cJSON_Delete(doc);
	}
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_names),
		cmocka_unit_test(t_ranks),
		cmocka_unit_test(t_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
