/* Many nodes with the same fault: what a rank tells of a thousand peers, and what is made of what
 * a thousand ranks tell. */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/iface/facts.h"
#include "probes/port/mesh_self.h"
#include "tests/unit/composed.h"

#include <math.h>
#include <time.h>

enum { MANY = 1000 };

struct many {
	struct arena a;
	struct mesh_opts o;
	struct mesh m;
	char path[64];
};

/* Before they have said anything of each other. */
static void many_begin(struct many *x, size_t n, const char *format)
{
	struct report_opts o = {.command = "portcheck", .format = format, .host = "me"};
	struct err e = {0};
	size_t *nodes;

	*x = (struct many){0};
	(void)snprintf(x->path, sizeof(x->path), "/tmp/t_port_many.%d", (int)getpid());
	o.output = x->path;
	LIST_ADD(&x->a, &x->o.hosts)->name = "given";
	mesh_init(&x->m, &x->o, n, &x->a, report_new(&o, &e));
	assert_non_null(x->m.report);
	nodes = arena_alloc(&x->a, n * sizeof(*nodes));
	x->m.rank_node = nodes;
	x->m.nranks = n;
	for (size_t i = 0; i < n; i++) {
		struct mesh_node *at = &x->m.nodes[i];

		nodes[i] = i;
		at->name = arena_printf(&x->a, "node%zu", i + 1);
		at->subnet = "10.0.0.0/16";
		at->iface = "eth0";
		at->asked = at->rules_known = true;
		at->addr.v4.sin_family = AF_INET;
		at->addr.v4.sin_addr.s_addr = htonl(0x0a000001U + (uint32_t)i);
		*LIST_ADD(&x->a, &at->ports) = 29500;
	}
}

/* All of them asked, and nobody reached anybody. */
static void many_make(struct many *x, size_t n, const char *format, enum port_cause cause)
{
	many_begin(x, n, format);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (i != k)
				*mesh_edit(&x->m, i, k) = (struct mesh_cell){
					.row = "f g -", .bad = 1, .cause = (uint8_t)cause};
}

/* The report as it was written. */
static const char *many_end(struct many *x)
{
	struct err e = {0};
	size_t n;
	char *said;

	assert_int_equal(report_end(x->m.report, &e), 1);
	assert_int_equal(file_read(x->path, 1 << 20, &x->a, &said, &n, &e), 0);
	(void)unlink(x->path);
	return said;
}

static void many_done(struct many *x) { arena_done(&x->a); }

/* Rank @i: its rule stops all others, but for its own address in the command. */
static void take_rule(struct many *x, size_t i, const char *rule)
{
	cJSON *line = cJSON_CreateObject(), *list = json_array(line, "rules");
	cJSON *o = json_push_object(list), *from = json_array(o, "from");
	const char *peer = i ? "10.0.0.1" : "10.0.0.2";

	json_num(line, "rank", (double)i);
	json_str(o, "hook", "input");
	json_str(o, "rule", rule);
	json_str(o, "peer", peer);
	json_str(o, "fix",
		 arena_printf(&x->a, "sudo nft insert rule inet f c ip saddr %s accept", peer));
	json_num(o, "to", (double)i);
	for (size_t k = 0; k < x->m.n; k++)
		if (k != i)
			cJSON_AddItemToArray(from, cJSON_CreateNumber((double)k));
	mesh_take(&x->m, MESH_RULES, line);
	cJSON_Delete(line);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* ---- judged ---- */
static void the_same_rule_is_one_finding(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const char *said;

	many_make(&x, MANY, "table", CAUSE_DROPPED);
	for (size_t i = 0; i < MANY; i++)
		take_rule(&x, i, arena_printf(&x.a, "inet f c, handle %zu: drop", i % 7));
	mesh_judge(&x.m);
	assert_int_equal(report_count(x.m.report, ST_FAIL), 1);
	said = many_end(&x);
	assert_non_null(strstr(said, "node[1-1000]"));
	assert_non_null(strstr(said, "are not reached from any other node"));
	assert_int_equal(count(said, "inet f c: drop"), 1);
	assert_int_equal(count(said, " -> "), 1);
	assert_non_null(strstr(said, "-> windsock on 'node[1-1000]' 'sudo nft insert rule "
				     "inet f c ip saddr 10.0.0.0/16 accept'\n"));
}

static void another_rule_is_another_finding(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const cJSON *rules;

	many_make(&x, 40, "json", CAUSE_DROPPED);
	for (size_t i = 0; i < 40; i++)
		take_rule(&x, i, i % 2 ? "odd" : "even");
	mesh_judge(&x.m);
	assert_int_equal(report_count(x.m.report, ST_FAIL), 2);
	rules = json_get(report_data(x.m.report), "rules");
	for (int i = 0; i < 2; i++) {
		const cJSON *rule = cJSON_GetArrayItem(rules, i), *on = json_get(rule, "on");

		assert_string_equal(json_get_str(rule, "rule"), i ? "odd" : "even");
		assert_int_equal(cJSON_GetArraySize(on), 20);
		assert_string_equal(on->child->valuestring, i ? "node2" : "node1");
		assert_string_equal(json_get(rule, "fix")->child->valuestring,
				    "sudo nft insert rule inet f c ip saddr 10.0.0.0/16 accept");
	}
	(void)many_end(&x);
}

/* Nobody knows why: the missing rule of a cloud is one for all; and so is a black hole. */
static void without_a_rule(void **state UNUSED)
{
	static const enum port_cause causes[] = {CAUSE_DROPPED, CAUSE_BULK, CAUSE_NO_ROUTE,
						 CAUSE_NEIGHBOURS, CAUSE_RP_FILTER};

	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		AUTO(many_done) struct many x;

		many_make(&x, 200, "table", causes[i]);
		MESH_EACH (&x.m, from, to) {
			struct mesh_cell *c = mesh_edit(&x.m, from, to);

			c->cut = c->row && causes[i] == CAUSE_BULK;
			c->path_mtu = c->cut ? 1400 : 0;
		}
		mesh_judge(&x.m);
		assert_int_equal(report_count(x.m.report, ST_FAIL), 1);
		assert_non_null(strstr(many_end(&x), "node[1-200]"));
	}
}

/* Whose rules could not be read: what lets others in is typed with each one's manager. */
static void by_manager(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const char *said;

	many_make(&x, 30, "table", CAUSE_HOST_FIREWALL);
	for (size_t i = 0; i < 30; i++) {
		x.m.nodes[i].rules_known = false;
		x.m.nodes[i].as_root = "sudo portcheck";
		x.m.nodes[i].rules_fix = i < 10 ? "sudo ufw prepend allow from ADDRESS" : NULL;
	}
	mesh_judge(&x.m);
	assert_int_equal(report_count(x.m.report, ST_FAIL), 2);
	said = many_end(&x);
	assert_non_null(strstr(said, "windsock on 'node[1-10]' 'sudo ufw prepend allow from "
				     "10.0.0.0/16'\n"));
	assert_non_null(strstr(said, "sudo portcheck   # on node[11-30]: names the rule"));
	assert_int_equal(count(said, "ufw"), 1);
}

/* What --copy-self brought cannot be typed there any more. */
static void where_portcheck_does_not_stay(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const char *said;

	many_make(&x, 30, "table", CAUSE_HOST_FIREWALL);
	for (size_t i = 0; i < 30; i++)
		x.m.nodes[i].rules_known = false;
	mesh_judge(&x.m);
	said = many_end(&x);
	assert_non_null(strstr(said, "windsock on 'node[1-30]' 'sudo nft list ruleset'\n"));
	assert_null(strstr(said, "portcheck"));
}

/* A rule of five against one: it is mended at the five, where it is. */
static void where_the_rule_is(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const cJSON *rule;

	many_make(&x, 6, "json", CAUSE_NONE);
	MESH_EACH (&x.m, from, to)
		mesh_edit(&x.m, from, to)->bad = 0;
	for (size_t i = 1; i < 6; i++) {
		*mesh_edit(&x.m, 0, i) =
			(struct mesh_cell){.row = "f g -", .bad = 1, .cause = CAUSE_DROPPED};
		take_rule(&x, i, "drop");
	}
	mesh_judge(&x.m);
	assert_int_equal(report_count(x.m.report, ST_FAIL), 1);
	rule = cJSON_GetArrayItem(json_get(report_data(x.m.report), "rules"), 0);
	assert_string_equal(json_get_str(rule, "direction"), "in");
	assert_int_equal(cJSON_GetArraySize(json_get(rule, "on")), 5);
	assert_string_equal(json_get(rule, "from")->child->valuestring, "10.0.0.1");
	(void)many_end(&x);
}

/* What ranks say of themselves: for people one line for all, for programs each. */
static void what_all_say_of_themselves(void **state UNUSED)
{
	static const char line[] =
		"{\"rank\":%d,\"findings\":[{\"check\":\"mesh.name\",\"status\":\"warn\","
		"\"message\":\"means 127.0.1.1 on itself\",\"fix\":[\"sudo mend it\"]}]}";

	for (int people = 0; people < 2; people++) {
		AUTO(many_done) struct many x;
		struct err e = {0};
		size_t n;
		char *said;

		many_make(&x, MANY, people ? "table" : "json", CAUSE_NONE);
		for (int i = 0; i < MANY; i++) {
			const char *text = arena_printf(&x.a, line, i);
			cJSON *doc = json_parse(text, strlen(text), 8, &e);

			mesh_take(&x.m, MESH_REST, doc);
			cJSON_Delete(doc);
		}
		tally_emit(&x.m.told);
		assert_int_equal(report_count(x.m.report, ST_WARN), people ? 1 : MANY);
		assert_int_equal(report_end(x.m.report, &e), 0);
		assert_int_equal(file_read(x.path, 1 << 22, &x.a, &said, &n, &e), 0);
		(void)unlink(x.path);
		assert_int_equal(count(said, "windsock on 'node[1-1000]' 'sudo mend it'\n"),
				 people);
		assert_int_equal(count(said, "\"subject\": \"node1000\""), !people);
	}
}

/* What nobody told of takes no memory, is in no matrix, and is unknown for programs. */
static void nobody_answers(void **state UNUSED)
{
	AUTO(many_done) struct many x;
	const cJSON *cells;
	size_t known = 0;

	many_begin(&x, MANY, "json");
	mesh_conclude(&x.m);
	MESH_EACH (&x.m, from, to)
		known++;
	assert_int_equal(known, 0);
	cells = json_get(json_get(report_data(x.m.report), "matrix"), "cells");
	assert_int_equal(cJSON_GetArraySize(cells), MANY);
	assert_string_equal(cells->child->child->valuestring, "self");
	assert_string_equal(cells->child->child->next->valuestring, "unknown");
	assert_int_equal(report_count(x.m.report, ST_ERROR), 1);
	assert_int_equal(report_end(x.m.report, &(struct err){0}), 3);
	(void)unlink(x.path);
}

/* Everything is lost and late between all of them: soon said, in little memory, and of no card. */
static void below_tcp(void **state UNUSED)
{
	AUTO(many_done) struct many x;

	many_make(&x, MANY, "table", CAUSE_DROPPED);
	for (size_t i = 0; i < MANY; i++)
		x.m.nodes[i].mac = arena_printf(&x.a, "02:00:00:00:%02zx:%02zx", i >> 8, i & 255);
	MESH_EACH (&x.m, from, to)
		mesh_edit(&x.m, from, to)->late = 1;
	mesh_link(&x.m);
	assert_int_equal(x.m.told.items.n, 0);
	mesh_loss(&x.m);
	assert_int_equal(x.m.told.items.n, 1);
	assert_string_equal(x.m.told.items.v[0].f->subject, "between hosts");
	tally_emit(&x.m.told);
	(void)many_end(&x);
}

/* Half of @n hosts have another mask. In clock()'s ticks. */
static double judge_masks(size_t n)
{
	AUTO(many_done) struct many x;
	clock_t began;

	many_make(&x, n, "table", CAUSE_DROPPED);
	for (size_t i = 0; i < n; i++)
		x.m.nodes[i].prefix = i % 2 ? 30 : 16;
	began = clock();
	mesh_link(&x.m);
	began = clock() - began;
	assert_int_equal(x.m.told.items.n, n / 2);
	assert_string_equal(x.m.told.items.v[0].f->check, "mesh.netmask");
	tally_emit(&x.m.told);
	(void)many_end(&x);
	return (double)began;
}

/* The same bridge on each: what goes to all others leaves elsewhere, and a route is to go. */
static double judge_ways(size_t n)
{
	AUTO(many_done) struct many x;
	clock_t began = 0, taken = 0;

	many_make(&x, n, "table", CAUSE_DROPPED);
	for (size_t i = 0; i < n; i++)
		x.m.nodes[i].strict = true;
	for (enum mesh_pass pass = MESH_RULES; pass <= MESH_WAYS; pass++)
		for (size_t i = 0; i < n; i++) {
			cJSON *line = cJSON_CreateObject(), *undo = json_array(line, "undo");
			cJSON *elsewhere = json_array(line, "elsewhere");

			json_num(line, "rank", (double)i);
			for (size_t k = 0; k < n; k++) {
				if (k < 64)
					json_num(json_push_object(undo), "to", (double)k);
				if (k < 64)
					json_str(undo->child->prev, "undo", "ip route del it");
				cJSON_AddItemToArray(elsewhere, cJSON_CreateNumber((double)k));
			}
			began = clock();
			mesh_take(&x.m, pass, line);
			taken += clock() - began;
			cJSON_Delete(line);
		}
	assert_int_equal(mesh_at(&x.m, 1, 0)->cause, CAUSE_RP_FILTER);
	(void)report_end(x.m.report, &(struct err){0});
	(void)unlink(x.path);
	return (double)taken;
}

/* In a time that grows with the pairs: four times the hosts, some sixteen times; it was more than
 * fifty. The best of a few: others are at work here, too. */
static void grows_with_pairs(double (*judge)(size_t n))
{
	double few = INFINITY, many = INFINITY;

	for (int i = 0; i < 3 && !(many < 40 * few); i++)
		for (int k = 0; k < 3; k++) {
			few = fmin(few, judge(MANY / 4));
			many = k ? many : fmin(many, judge(MANY));
		}
	assert_true(many < 40 * few);
}

static void other_masks(void **state UNUSED) { grows_with_pairs(judge_masks); }
static void other_ways(void **state UNUSED) { grows_with_pairs(judge_ways); }

/* ---- told ---- */
static union addr parsed(const char *text)
{
	union addr x;

	assert_int_equal(addr_parse(text, &x), 0);
	return x;
}

/* The rules that a rank tells that reaches nobody and is reached by nobody. */
static cJSON *told(struct composed *c, const char *rules, size_t n)
{
	struct facts facts = {.inv = c->inv, .a = &c->a};
	struct mesh_self s = {
		.f = &facts,
		.a = &c->a,
		.n = n,
		.lost_n = (n + 7) / 8,
		.local = {.f = &facts, .fw = {.known = true, .nft = {.a = &c->a}}},
	};
	cJSON *line = cJSON_CreateObject();

	s.addrs = arena_alloc(&c->a, n * sizeof(*s.addrs));
	s.ports = arena_alloc(&c->a, n * sizeof(*s.ports));
	s.cards = arena_alloc(&c->a, n * sizeof(*s.cards));
	s.lost = arena_alloc(&c->a, n * s.lost_n);
	memset(s.lost, 0xff, n * s.lost_n);
	for (size_t i = 0; i < n; i++) {
		s.addrs[i] = parsed(arena_printf(&c->a, "10.77.%zu.%zu", i / 250, i % 250 + 1));
		s.cards[i].first = 32768;
		s.cards[i].last = 60999;
		for (uint16_t k = 0; k < 4; k++)
			*LIST_ADD(&c->a, &s.ports[i]) = (uint16_t)(29500 + k);
	}
	nft_add_iptables(&s.local.fw.nft, "ip", "iptables", true, rules, strlen(rules));
	mesh_stops(&s, line);
	nft_done(&s.local.fw.nft);
	return line;
}

#define MACHINE "link 2 eth0 pci=0000:01:00.0\naddr eth0 10.77.0.1/16\n"
static void a_rule_is_told_once(void **state UNUSED)
{
	static const char one[] = "*filter\n:INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n";
	char more[8192] = "*filter\n:INPUT ACCEPT [0:0]\n";
	const cJSON *rule;
	struct composed c;
	cJSON *line;

	composed_load(&c, MACHINE);
	line = told(&c, one, MANY);
	assert_int_equal(cJSON_GetArraySize(json_get(line, "rules")), 2); /* and its own answers */
	rule = json_get(line, "rules")->child;
	assert_string_equal(json_get_str(rule, "hook"), "input");
	assert_int_equal(cJSON_GetArraySize(json_get(rule, "from")), MANY - 1);
	assert_true(cJSON_IsTrue(json_get(line, "rules_known")));
	cJSON_Delete(line);

	for (unsigned i = 1; i < 100; i++) /* more than are told: that is not hidden */
		(void)snprintf(more + strlen(more), sizeof(more) - strlen(more),
			       "-A INPUT -s 10.77.0.%u/32 -p tcp -j DROP\n", i + 1);
	(void)snprintf(more + strlen(more), sizeof(more) - strlen(more), "COMMIT\n");
	line = told(&c, more, 150);
	assert_int_equal(cJSON_GetArraySize(json_get(line, "rules")), 64);
	assert_false(cJSON_IsTrue(json_get(line, "rules_known")));
	assert_non_null(json_get_str(line, "rules_trouble"));
	cJSON_Delete(line);
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_rule_is_one_finding),
		cmocka_unit_test(another_rule_is_another_finding),
		cmocka_unit_test(without_a_rule),
		cmocka_unit_test(by_manager),
		cmocka_unit_test(where_portcheck_does_not_stay),
		cmocka_unit_test(where_the_rule_is),
		cmocka_unit_test(what_all_say_of_themselves),
		cmocka_unit_test(nobody_answers),
		cmocka_unit_test(below_tcp),
		cmocka_unit_test(other_masks),
		cmocka_unit_test(other_ways),
		cmocka_unit_test(a_rule_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
