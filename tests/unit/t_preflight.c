/* The tally of a pre-flight: how findings of several hosts become one line, how
 * a stage ended, and which cause comes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

struct world {
	char out[64]; /* thrown away */
	struct arena a;
	struct report *r;
	struct tally t;
};

static void world_init_as(struct world *w, const char *format)
{
	*w = (struct world){.t = {.fold = true}};
	w->r = report_file_new(w->out, "windsock", format);
	w->t.a = &w->a;
	w->t.r = w->r;
}

static void world_init(struct world *w) { world_init_as(w, "json"); }

static int world_done(struct world *w)
{
	int code = report_file_done(w->r, w->out);

	arena_done(&w->a);
	return code;
}

static void take(struct world *w, unsigned stage, const char *host, const char *text)
{
	struct err e = {0};
	cJSON *f = json_parse(text, strlen(text), 8, &e);

	assert_non_null(f);
	tally_take(&w->t, stage, stages[stage].name, host, f);
	cJSON_Delete(f);
}

#define FAIL_MTU                                                                                   \
	"{\"check\":\"link.mtu\",\"status\":\"fail\",\"subject\":\"eth0\",\"message\":\"is "       \
	"1400\",\"fix\":[\"ip link set eth0 mtu 1500\"]}"

static void t_alike_is_one(void **state)
{
	struct world w;
	item_list all;

	(void)state;
	world_init(&w);
	take(&w, S_INTERFACE, "node1", FAIL_MTU);
	take(&w, S_INTERFACE, "node0",
	     "{\"check\":\"link.mtu\",\"status\":\"pass\",\"subject\":\"eth0\",\"message\":\"is "
	     "1500\"}");
	take(&w, S_INTERFACE, "node2", FAIL_MTU);
	take(&w, S_SETTINGS, "node3", FAIL_MTU); /* of another stage: another line */
	all = tally_folded(&w.t, 0, false);
	assert_int_equal(all.n, 3);
	assert_string_equal(all.v[0].f->host, "node[1-2]");
	assert_int_equal(all.v[0].hosts.n, 2);
	assert_int_equal(w.t.items.n, 4); /* the items themselves are as they were */
	assert_string_equal(w.t.items.v[0].f->host, "node1");
	/* for a program every host has its own */
	w.t.fold = false;
	tally_emit(&w.t);
	assert_int_equal(report_count(w.r, ST_FAIL), 3);
	assert_int_equal(world_done(&w), 1);
}

/* People are told one line; a page that is written beside it has what each host said. */
static void t_a_document_has_each(void **state UNUSED)
{
	const cJSON *f;
	struct world w;
	cJSON *doc;

	world_init_as(&w, "table");
	take(&w, S_INTERFACE, "node1", FAIL_MTU);
	take(&w, S_INTERFACE, "node2", FAIL_MTU);
	tally_emit(&w.t);
	assert_int_equal(report_count(w.r, ST_FAIL), 1);
	doc = report_envelope(w.r);
	f = json_get(doc, "findings");
	assert_int_equal(cJSON_GetArraySize(f), 2);
	assert_string_equal(json_get_str(cJSON_GetArrayItem(f, 1), "host"), "node2");
	cJSON_Delete(doc);
	assert_int_equal(world_done(&w), 1);
}

/* One line for all of them, and one to type where there is a way to them. */
static void t_many_have_one_fault(void **state UNUSED)
{
	static const struct host_way by_ssh;
	static const struct {
		const char *fix, *typed; /* NULL: as it is */
	} rows[] = {
		{"sudo nvidia-smi -pm 1", "windsock on 'node[1-512]' 'sudo nvidia-smi -pm 1'"},
		{"sudo ip link set IFACE up", NULL},
		{"export NCCL_IB_DISABLE=1", NULL},
		{"sudo reboot   # when the job is over", NULL},
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const char *fix = rows[i / 2].fix, *line = i % 2 ? rows[i / 2].typed : NULL;
		struct err e = {0};
		item_list causes;
		struct world w;
		char *said;
		size_t n;

		world_init_as(&w, "table");
		w.t.way = i % 2 ? &by_ssh : NULL;
		for (int k = 512; k; k--)
			take(&w, S_GPUS, arena_printf(&w.a, "node%d", k),
			     arena_printf(&w.a,
					  "{\"check\":\"gpu.x\",\"status\":\"fail\",\"subject\":"
					  "\"all\",\"message\":\"is not\",\"fix\":[\"%s\"]}",
					  fix));
		tally_emit(&w.t);
		causes = tally_causes(&w.t);
		assert_int_equal(causes.n, 1);
		assert_string_equal(causes.v[0].f->fix.v[0], fix); /* as programs have it */
		tally_tell_causes(&w.t, &causes);
		assert_int_equal(report_count(w.r, ST_FAIL), 1);
		assert_int_equal(report_end(w.r, &e), 1);
		assert_int_equal(file_read(w.out, 1 << 20, &w.a, &said, &n, &e), 0);
		assert_non_null(strstr(said, "node[1-512]: is not"));
		assert_non_null(strstr(
			said, arena_printf(&w.a, "      -> %s%s", line ?: fix, line ? "\n" : "")));
		assert_non_null(strstr(said, ". gpus: node[1-512]: all is not"));
		assert_non_null(strstr(said, line ? arena_printf(&w.a, "   -> %s\n", line)
						  : "on node[1-512]\n"));
		(void)unlink(w.out);
		arena_done(&w.a);
	}
}

static void t_subject_that_is_the_host(void **state)
{
	struct world w;
	item_list all;

	(void)state;
	world_init(&w);
	take(&w, S_INTERFACE, "node1",
	     "{\"check\":\"host.name\",\"status\":\"fail\",\"subject\":\"node1\",\"message\":"
	     "\"m\"}");
	take(&w, S_INTERFACE, "node2",
	     "{\"check\":\"host.name\",\"status\":\"fail\",\"subject\":\"node2\",\"message\":"
	     "\"m\"}");
	all = tally_folded(&w.t, 0, false);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.v[0].f->subject, "node[1-2]");
	assert_string_equal(tally_sentence(&w.a, all.v[0].f), "node[1-2]: m");
	assert_int_equal(world_done(&w), 3); /* nothing was emitted: nothing conclusive */
}

static void t_terse(void **state)
{
	static const char passed[] = "{\"check\":\"peer.reach\",\"status\":\"pass\",\"subject\":"
				     "\"node%d\",\"message\":\"answers\"}";
	struct world w;

	(void)state;
	world_init(&w);
	w.t.terse = true;
	for (int i = 0; i < 5; i++)
		take(&w, S_PATHS, NULL, arena_printf(&w.a, passed, i));
	take(&w, S_PATHS, "node7", arena_printf(&w.a, passed, 8));
	take(&w, S_PATHS, NULL,
	     "{\"check\":\"peer.reach\",\"status\":\"warn\",\"subject\":\"node9\",\"message\":"
	     "\"slow\"}");
	tally_emit(&w.t);
	/* five here are one, one host's is one for its stage; a warning is never gathered */
	assert_int_equal(report_count(w.r, ST_PASS), 2);
	assert_int_equal(report_count(w.r, ST_WARN), 1);
	tally_emit(&w.t); /* nothing twice */
	assert_int_equal(report_count(w.r, ST_PASS), 2);
	assert_int_equal(world_done(&w), 0);
}

static void t_status_of_a_stage(void **state)
{
	static const struct {
		enum status all[3], want;
	} rows[] = {
		{{ST_PASS, ST_WARN, ST_SKIP}, ST_WARN},	 {{ST_WARN, ST_ERROR, ST_PASS}, ST_ERROR},
		{{ST_ERROR, ST_FAIL, ST_PASS}, ST_FAIL}, {{ST_INFO, ST_PASS, ST_SKIP}, ST_PASS},
		{{ST_INFO, ST_SKIP, ST_SKIP}, ST_INFO},	 {{ST_SKIP, ST_SKIP, ST_SKIP}, ST_SKIP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_init(&w);
		for (size_t k = 0; k < 3; k++)
			finding_set(tally_add(&w.t, S_LIMITS, "limits", "a.b", "x"), rows[i].all[k],
				    "m");
		assert_int_equal(tally_status(&w.t, 0, 3), rows[i].want);
		assert_int_equal(tally_status(&w.t, 0, 0), ST_SKIP);
		(void)world_done(&w);
	}
}

static void t_order_of_causes(void **state)
{
	struct world w;
	item_list causes;
	const cJSON *data;

	(void)state;
	world_init(&w);
	take(&w, S_LIMITS, "node1", "{\"check\":\"w.one\",\"status\":\"warn\",\"message\":\"w\"}");
	take(&w, S_TRAINING, "node1",
	     "{\"check\":\"f.late\",\"status\":\"fail\",\"message\":\"l\"}");
	take(&w, S_PORTS, "node1", "{\"check\":\"f.one\",\"status\":\"fail\",\"message\":\"o\"}");
	take(&w, S_PORTS, "node1", "{\"check\":\"f.two\",\"status\":\"fail\",\"message\":\"t\"}");
	take(&w, S_PORTS, "node2", "{\"check\":\"f.two\",\"status\":\"fail\",\"message\":\"t\"}");
	take(&w, S_HOSTS, "node3", "{\"check\":\"e.one\",\"status\":\"error\",\"message\":\"e\"}");
	causes = tally_causes(&w.t);
	assert_int_equal(causes.n, 5);
	/* failures, the lowest stage first and there what hits most; errors; warnings */
	assert_string_equal(causes.v[0].f->check, "f.two");
	assert_string_equal(causes.v[1].f->check, "f.one");
	assert_string_equal(causes.v[2].f->check, "f.late");
	assert_string_equal(causes.v[3].f->check, "e.one");
	assert_string_equal(causes.v[4].f->check, "w.one");
	tally_tell_causes(&w.t, &causes);
	data = json_get(report_data(w.r), "causes");
	assert_int_equal(cJSON_GetArraySize(data), 5);
	assert_string_equal(json_get_str(data->child, "stage"), "ports");
	assert_int_equal(cJSON_GetArraySize(json_get(data->child, "hosts")), 2);
	(void)world_done(&w);
}

static void t_where_to_type_a_fix(void **state)
{
	struct world w;
	const cJSON *fixes;
	item_list causes;
	char *text;
	size_t n;

	(void)state;
	world_init_as(&w, "table");
	take(&w, S_PORTS, "node2",
	     "{\"check\":\"f.two\",\"status\":\"fail\",\"message\":\"t\",\"host\":\"node2\","
	     "\"fix\":[\"mend it\",\"ssh node2 mend it\",\"mend --hosts a,b\"]}");
	causes = tally_causes(&w.t);
	tally_tell_causes(&w.t, &causes);
	fixes = json_get(json_get(report_data(w.r), "causes")->child, "fix");
	assert_string_equal(fixes->child->valuestring, "mend it   # on node2");
	assert_string_equal(fixes->child->next->valuestring, "ssh node2 mend it");
	(void)report_end(w.r, &(struct err){0});
	assert_int_equal(file_read(w.out, 65536, &w.a, &text, &n, &(struct err){0}), 0);
	assert_non_null(strstr(text, "-> mend it   # on node2\n"));
	assert_non_null(strstr(text, "-> ssh node2 mend it\n"));
	assert_non_null(strstr(text, "-> mend --hosts a,b\n"));
	(void)unlink(w.out);
	arena_done(&w.a);
}

static void t_hostile(void **state)
{
	static const char *const junk[] = {"{}",
					   "7",
					   "[]",
					   "{\"check\":7}",
					   "{\"check\":\"\"}",
					   "{\"check\":\"A b\",\"status\":\"fail\"}"};
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < ARRAY_LEN(junk); i++)
		take(&w, S_PORTS, NULL, junk[i]);
	assert_int_equal(w.t.items.n, 0);
	take(&w, S_PORTS, NULL,
	     "{\"check\":\"a.b\",\"status\":\"nonsense\",\"value\":1e400,\"rank\":-7,\"fix\":[7,"
	     "\"\",{}]}");
	assert_int_equal(w.t.items.n, 1);
	assert_int_equal(w.t.items.v[0].f->status, ST_ERROR);
	assert_int_equal(w.t.items.v[0].f->rank, -1);
	assert_int_equal(w.t.items.v[0].f->fix.n, 0);
	(void)world_done(&w);
}

/* Training wakes GPUs first: a budget that has time for it without is too short with them. */
static void t_time_for_gpus(void **state)
{
	struct preflight p = {.deadline_ns = 1000000000, .tier = TIER_DEFAULT};
	char root[] = "/tmp/t_preflight.XXXXXX";
	struct world w;

	(void)state;
	world_init(&w);
	assert_non_null(mkdtemp(root));
	sysroot_set(root);
	p.a = &w.a;
	p.r = w.r;
	p.t = w.t;
	p.until_ns = now_ns() + 9 * NS_PER_S;
	assert_true(preflight_gate(&p, S_TRAINING));
	assert_int_equal(0, system(arena_printf(&w.a,
						"mkdir -p %s/proc/driver/nvidia && "
						"touch %s/proc/driver/nvidia/version",
						root, root)));
	assert_true(preflight_gate(&p, S_COLLECTIVES));
	assert_false(preflight_gate(&p, S_TRAINING));
	assert_non_null(strstr(p.t.items.v[0].f->message, "left out: it takes about 14"));
	assert_int_equal(0, system(arena_printf(&w.a, "rm -r %s", root)));
	sysroot_set(NULL);
	(void)world_done(&w);
}

static void t_gate(void **state)
{
	struct preflight p = {.deadline_ns = 1000000000, .tier = TIER_DEFAULT};
	struct world w;

	(void)state;
	world_init(&w);
	p.a = &w.a;
	p.r = w.r;
	p.t = w.t;
	assert_true(preflight_gate(&p, S_INTERFACE));
	finding_set(tally_add(&p.t, S_INTERFACE, "interface", "addr.usable", "eth0"), ST_FAIL,
		    "is down");
	preflight_finish(&p, S_INTERFACE);
	assert_false(preflight_gate(&p, S_PORTS));
	assert_int_equal(p.t.items.v[1].f->status, ST_SKIP);
	assert_string_equal(p.t.items.v[1].f->message,
			    "not reached because interface failed: eth0 is down");
	preflight_finish(&p, S_PORTS);
	/* what stands on what stands on it names the root */
	assert_false(preflight_gate(&p, S_COLLECTIVES));
	preflight_finish(&p, S_COLLECTIVES);
	assert_false(preflight_gate(&p, S_TRAINING));
	assert_string_equal(p.t.items.v[3].f->message, p.t.items.v[1].f->message);
	assert_true(preflight_gate(&p, S_LIMITS));
	p.until_ns = 1; /* long ago */
	assert_int_equal(preflight_cap(&p, S_REACH), 0);
	assert_false(preflight_gate(&p, S_REACH));
	assert_non_null(strstr(p.t.items.v[4].f->message, "left out: it takes about 1 s"));
	(void)world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_alike_is_one),
		cmocka_unit_test(t_a_document_has_each),
		cmocka_unit_test(t_subject_that_is_the_host),
		cmocka_unit_test(t_many_have_one_fault),
		cmocka_unit_test(t_terse),
		cmocka_unit_test(t_status_of_a_stage),
		cmocka_unit_test(t_order_of_causes),
		cmocka_unit_test(t_where_to_type_a_fix),
		cmocka_unit_test(t_hostile),
		cmocka_unit_test(t_time_for_gpus),
		cmocka_unit_test(t_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
