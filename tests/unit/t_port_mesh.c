/*
 * The smallest set of rules: against brute force on random matrices; that it
 * mends everything; the sentence for the plain cases; what ranks say, taken; who meets whom.
 */
#include "lib/cluster/pairs.h"

#include "tests/unit/made_mesh.h"

#include <math.h>

enum { MOST = 6 };
static const char *const names[MOST] = {"n0", "n1", "n2", "n3", "n4", "n5"};

struct bench {
	struct arena a;
	struct mesh_opts o;
	struct mesh m;
};

static void bench_done(struct bench *b)
{
	struct err nothing = {.kind = ERR_USAGE};

	(void)report_end(b->m.report, &nothing);
	arena_done(&b->a);
}

static void bench_make(struct bench *b, size_t n)
{
	struct report_opts o = {.command = "portcheck", .format = "json", .host = "me"};
	struct err e = {0};

	*b = (struct bench){0};
	mesh_init(&b->m, &b->o, n, &b->a, report_new(&o, &e));
	assert_non_null(b->m.report);
	for (size_t i = 0; i < n; i++) {
		struct mesh_node *x = &b->m.nodes[i];

		x->name = names[i];
		x->subnet = "10.0.0.0/24";
		assert_int_equal(addr_parse(arena_printf(&b->a, "10.0.0.%zu", i + 1), &x->addr), 0);
		*LIST_ADD(&b->a, &x->ports) = 29500;
		*LIST_ADD(&b->a, &x->ports) = 40000;
		for (size_t k = 0; k < n; k++)
			if (i != k)
				*mesh_edit(&b->m, i, k) = (struct mesh_cell){
					.row = "rr cc 0.1", .ms = 0.1F, .gbps = NAN};
	}
}

static void block(struct bench *b, size_t from, size_t to, enum port_cause cause)
{
	*mesh_edit(&b->m, from, to) = (struct mesh_cell){.row = "ff gg -",
							 .state = PORT_FILTERED,
							 .cause = (uint8_t)cause,
							 .bad = 2,
							 .bad_port = 29500,
							 .ms = NAN,
							 .gbps = NAN};
}

static unsigned host_of(const char *name) { return (unsigned)(name[1] - '0'); }

/* The rules as two sets of bits: let in at, let out at. */
static void rules(const struct bench *b, unsigned *ret_in, unsigned *ret_out)
{
	const cJSON *list = json_get(report_data(b->m.report), "rules");

	*ret_in = *ret_out = 0;
	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		bool in = streq(json_get_str(i, "direction"), "in");

		for (const cJSON *k = json_get(i, "on")->child; k; k = k->next)
			*(in ? ret_in : ret_out) |= 1u << host_of(k->valuestring);
	}
}

static bool mends(const unsigned *blocked, size_t n, unsigned in, unsigned out)
{
	for (size_t from = 0; from < n; from++)
		if (!(out >> from & 1) && (blocked[from] & ~in))
			return false;
	return true;
}

static int smallest(const unsigned *blocked, size_t n)
{
	int best = 99;

	for (unsigned x = 0; x < 1u << (2 * n); x++)
		if (__builtin_popcount(x) < best && mends(blocked, n, x & ((1u << n) - 1), x >> n))
			best = __builtin_popcount(x);
	return best;
}

static void random_matrices(void **state)
{
	(void)state;
	srandom(3);
	for (int round = 0; round < 400; round++) {
		AUTO(bench_done) struct bench b;
		unsigned blocked[MOST] = {0}, in, out;
		size_t n = 2 + (size_t)random() % (MOST - 2);
		long density = 1 + random() % 9;

		bench_make(&b, n);
		for (size_t i = 0; i < n * n; i++)
			if (i / n != i % n && random() % 10 < density) {
				block(&b, i / n, i % n, CAUSE_DROPPED);
				blocked[i / n] |= 1u << i % n;
			}
		mesh_judge(&b.m);
		rules(&b, &in, &out);
		assert_true(mends(blocked, n, in, out));
		assert_int_equal(__builtin_popcount(in) + __builtin_popcount(out),
				 smallest(blocked, n));
	}
}

static void plain_cases(void **state)
{
	AUTO(bench_done) struct bench fine, rdma, one, in, out, all, own;
	unsigned i, o;

	(void)state;
	bench_make(&fine, 4);
	mesh_judge(&fine.m);
	mesh_sum(&fine.m);
	assert_int_equal(report_count(fine.m.report, ST_FAIL), 0);
	assert_int_equal(report_count(fine.m.report, ST_PASS), 1);
	assert_int_equal(report_count(fine.m.report, ST_INFO), 0);

	bench_make(&rdma, 3); /* green, and it says what that is worth */
	rdma.m.nodes[1].rdma = true;
	mesh_judge(&rdma.m);
	mesh_sum(&rdma.m);
	assert_int_equal(report_count(rdma.m.report, ST_PASS), 1);
	assert_int_equal(report_count(rdma.m.report, ST_INFO), 1);

	bench_make(&one, 3); /* a single pair: let it in where it goes */
	block(&one, 0, 1, CAUSE_DROPPED);
	mesh_judge(&one.m);
	rules(&one, &i, &o);
	assert_int_equal(i, 2);
	assert_int_equal(o, 0);

	bench_make(&in, 4); /* nobody gets into n2 */
	for (size_t k = 0; k < 4; k++)
		if (k != 2)
			block(&in, k, 2, CAUSE_DROPPED);
	mesh_judge(&in.m);
	rules(&in, &i, &o);
	assert_int_equal(i, 4);
	assert_int_equal(o, 0);

	bench_make(&out, 4); /* n1 gets nowhere */
	for (size_t k = 0; k < 4; k++)
		if (k != 1)
			block(&out, 1, k, CAUSE_DROPPED);
	mesh_judge(&out.m);
	rules(&out, &i, &o);
	assert_int_equal(i, 0);
	assert_int_equal(o, 2);

	bench_make(&all, 4); /* the missing self-referencing rule: one finding for all */
	for (size_t k = 0; k < 16; k++)
		if (k / 4 != k % 4)
			block(&all, k / 4, k % 4, CAUSE_DROPPED);
	mesh_judge(&all.m);
	rules(&all, &i, &o);
	assert_int_equal(i, 15);
	assert_int_equal(report_count(all.m.report, ST_FAIL), 1);

	bench_make(&own, 3); /* a host's own rules are its own to mend */
	block(&own, 0, 1, CAUSE_OWN_FIREWALL);
	mesh_judge(&own.m);
	rules(&own, &i, &o);
	assert_int_equal(i, 0);
	assert_int_equal(o, 1);
}

/* What one host alone meets everywhere is its own: it finds nobody, or its questions are
 * redirected. What all meet at one host is that one's. */
static void whose_it_is(void **state)
{
	static const enum port_cause either[] = {CAUSE_NOBODY, CAUSE_RESET};

	(void)state;
	for (size_t x = 0; x < 2 * ARRAY_LEN(either); x++) {
		AUTO(bench_done) struct bench b;
		unsigned in, out;
		bool asker = x % 2;

		bench_make(&b, 4);
		for (size_t k = 0; k < 4; k++)
			if (k != 2)
				block(&b, asker ? 2 : k, asker ? k : 2, either[x / 2]);
		mesh_judge(&b.m);
		rules(&b, &in, &out);
		assert_int_equal(in, asker ? 0 : 4);
		assert_int_equal(out, asker ? 4 : 0);
	}
}

/* --- what ranks say, taken ------------------------------------------------------------ */
/* Two ranks of three nodes: n1 did not answer; both lines as mesh_line() writes them. */
static void take(struct bench *b, const char *first, const char *second)
{
	static const size_t nodes[] = {0, 2};
	const char *text[] = {first, second};

	*b = (struct bench){0};
	made_mesh(&b->m, &b->o, &b->a);
	b->m.nodes[1].name = "b"; /* as --hosts calls it */
	made_mesh_take(&b->m, text, nodes, ARRAY_LEN(nodes));
}

#define NODE0                                                                                      \
	"\"rank\":0,\"host\":\"a\",\"address\":\"10.0.0.1\",\"iface\":\"e0\",\"mtu\":1500,"        \
	"\"ports\":[1,2]"
#define NODE2                                                                                      \
	"\"rank\":1,\"host\":\"c\",\"address\":\"10.0.0.3\",\"iface\":\"e2\",\"mtu\":1500,"        \
	"\"ports\":[3]"

static void lines(void **state)
{
	AUTO(bench_done) struct bench b;
	const struct mesh_cell *c;

	(void)state;
	take(&b,
	     "{" NODE0
	     ",\"row\":[\"\",\"o . 0.25\"],\"talks\":\".+\",\"mtus\":[0,1400],\"gbps\":[null,2.5]}",
	     "{" NODE2 ",\"row\":[\"rf cg 0.5\",\"\"],\"talks\":\"-.\",\"mtus\":[0,0]}");
	assert_string_equal(b.m.nodes[0].name, "a");
	assert_false(b.m.nodes[1].asked);
	assert_int_equal(b.m.nodes[2].ports.n, 1);
	c = mesh_at(&b.m, 0, 2);
	assert_false(mesh_cell_is_bad(c));
	assert_int_equal(c->path_mtu, 1400);
	assert_true(c->gbps > 2.4F && c->gbps < 2.6F && c->ms > 0.2F);
	c = mesh_at(&b.m, 2, 0);
	assert_int_equal(c->bad, 1);
	assert_int_equal(c->bad_port, 2);
	assert_int_equal(c->cause, CAUSE_DROPPED);
	assert_null(mesh_at(&b.m, 0, 1)->row);
}

/* Of every port there is no line is longer than of a few, unless they differ. */
static void rows(void **state)
{
	static const struct reach_result odd[] = {
		{.state = PORT_OPEN, .ms = 0.25F},
		{.state = PORT_FILTERED, .cause = CAUSE_DROPPED, .ms = 7},
		{.state = PORT_FILTERED, .cause = CAUSE_DROPPED, .ms = 7},
		{.state = PORT_REFUSED, .cause = CAUSE_CLOSED, .ms = 0.125F},
	};
	static const char *const bad[] = {"",
					  "o",
					  "o4",
					  "o4 ",
					  "o4 .3 1",
					  "o4 .5 1",
					  "o0 .4 1",
					  "o3 .4 1",
					  "4o .4 1",
					  "oooo ....",
					  "o4294967297 .4 1",
					  "o99999999999999999999999 .4 1"};
	enum { ALL = 65535 };
	AUTO(arena_done) struct arena a = {0};
	struct reach_result *all = arena_alloc(&a, ALL * sizeof(*all));
	const char *row;
	float ms;

	(void)state;
	row = mesh_row_fold(&a, odd, ARRAY_LEN(odd));
	assert_string_equal(row, "of2r .g2c 0.125");
	assert_string_equal(mesh_row_unfold(&a, row, ARRAY_LEN(odd), &ms), "offr .ggc");
	assert_true(ms > 0.12F && ms < 0.13F);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (mesh_row_unfold(&a, bad[i], 4, &ms))
			fail_msg("'%s' was taken", bad[i]);
	for (size_t i = 0; i < ALL; i++)
		all[i] = (struct reach_result){.state = PORT_FILTERED, .cause = CAUSE_DROPPED};
	row = mesh_row_fold(&a, all, ALL);
	assert_string_equal(row, "f65535 g65535 -");
	row = mesh_row_unfold(&a, row, ALL, &ms);
	assert_int_equal(strlen(row), 2 * ALL + 1);
	assert_true(isnan(ms));
}

/* What each end knows turns silence into a cause. */
static void causes(void **state)
{
	static const struct {
		const char *from, *to; /* added to the lines of n0, which asks, and n2 */
		enum port_cause cause, back;
	} cases[] = {
		{"", "", CAUSE_DROPPED, CAUSE_NONE},
		{"", ",\"half\":[0]", CAUSE_LOST_ANSWER, CAUSE_NONE},
		{"", ",\"half\":[0],\"elsewhere\":[0]", CAUSE_WAY_BACK, CAUSE_NONE},
		{",\"rp_filter\":\"e0\"", ",\"half\":[0]", CAUSE_OWN_RP_FILTER, CAUSE_NONE},
		/* it counted too few, or the question went to the card that has the address */
		{",\"rp_filter\":\"e0\",\"rp_drops\":0", ",\"half\":[0]", CAUSE_LOST_ANSWER,
		 CAUSE_NONE},
		{",\"rp_filter\":\"e0\",\"rp_drops\":1", ",\"half\":[0]", CAUSE_OWN_RP_FILTER,
		 CAUSE_NONE},
		{",\"rp_filter\":\"e0\"", ",\"half\":[0],\"straight\":[0]", CAUSE_LOST_ANSWER,
		 CAUSE_NONE},
		{"", ",\"rp_filter\":\"e2\",\"twin\":\"e1\"", CAUSE_RP_FILTER, CAUSE_NONE},
		{",\"straight\":[1]", ",\"rp_filter\":\"e2\",\"twin\":\"e1\"", CAUSE_DROPPED,
		 CAUSE_NONE},
		{"", ",\"rp_filter\":\"e2\",\"twin\":\"e1\",\"rp_drops\":0", CAUSE_DROPPED,
		 CAUSE_NONE},
		{"", ",\"rp_filter\":\"e2\",\"elsewhere\":[0]", CAUSE_RP_FILTER, CAUSE_NONE},
		{"", ",\"elsewhere\":[0]", CAUSE_DROPPED, CAUSE_NONE},
		/* strict filters drop all of it, and do not count questions for an address */
		{"", ",\"strict\":true,\"elsewhere\":[0]", CAUSE_RP_FILTER, CAUSE_NONE},
		{",\"strict_other\":\"e1\"", ",\"half\":[0],\"elsewhere\":[0]", CAUSE_OWN_RP_FILTER,
		 CAUSE_NONE},
		{",\"strict\":true,\"elsewhere\":[1]", ",\"half\":[0]", CAUSE_OWN_RP_FILTER,
		 CAUSE_NONE},
		{",\"elsewhere\":[1]", ",\"strict_other\":\"e1\"", CAUSE_RP_FILTER, CAUSE_NONE},
		{",\"elsewhere\":[1]", "", CAUSE_OTHER_WAY, CAUSE_NONE},
		/* a router that is not needed, and is of whichever end */
		{",\"routed\":[{\"to\":1,\"by\":\"10.0.0.9\"}]", "", CAUSE_ROUTER, CAUSE_NONE},
		{"", ",\"half\":[0],\"routed\":[{\"to\":0,\"by\":\"10.0.0.9\"}]", CAUSE_ROUTER_BACK,
		 CAUSE_NONE},
		{"", ",\"routed\":[{\"to\":0,\"by\":\"10.0.0.9\"}]", CAUSE_DROPPED, CAUSE_NONE},
		{"", ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"r\"}]",
		 CAUSE_DROPPED, CAUSE_NONE},
		/* a rejection that the kernel did not send, as it had sent enough of them */
		{"",
		 ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"r\",\"rejects\":"
		 "true}]",
		 CAUSE_HOST_FIREWALL, CAUSE_NONE},
		{",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"output\",\"rule\":\"r\"}]",
		 ",\"half\":[7,-1,\"x\"]", CAUSE_OWN_FIREWALL, CAUSE_NONE},
		/* the answer's rules count where none for the question does */
		{",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"answer in\",\"rule\":\"r\"}]",
		 ",\"half\":[0]", CAUSE_OWN_ANSWER, CAUSE_NONE},
		{"", ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"answer out\",\"rule\":\"r\"}]",
		 CAUSE_THEIR_ANSWER, CAUSE_NONE},
		{",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"answer in\",\"rule\":\"r\"}]",
		 ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"r\"}]",
		 CAUSE_DROPPED, CAUSE_NONE},
		/* what would stop two of its ports stops neither where but one failed */
		{"",
		 ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"r\",\"perhaps\":"
		 "true,\"least\":1,\"rejects\":true}]",
		 CAUSE_HOST_FIREWALL, CAUSE_NONE},
		{"",
		 ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"not mine\","
		 "\"perhaps\":true,\"least\":2,\"rejects\":true}]",
		 CAUSE_DROPPED, CAUSE_NONE},
		/* of another host's rules nobody is believed; few packets meet this one */
		{",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"not mine\"}]", "",
		 CAUSE_DROPPED, CAUSE_NONE},
		{"",
		 ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"input\",\"rule\":\"r\",\"rejects\":"
		 "true,"
		 "\"perhaps\":true,\"seldom\":true}]",
		 CAUSE_DROPPED, CAUSE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(bench_done) struct bench b;
		AUTO_FREE char *one = NULL, *two = NULL;

		assert_true(asprintf(&one,
				     "{" NODE0 ",\"row\":[\"\",\"f g -\"],\"talks\":\"..\"%s}",
				     cases[i].from) > 0);
		assert_true(asprintf(&two,
				     "{" NODE2 ",\"row\":[\"oo .. 1\",\"\"],\"talks\":\"..\"%s}",
				     cases[i].to) > 0);
		take(&b, one, two);
		assert_int_equal(mesh_at(&b.m, 0, 2)->cause, cases[i].cause);
		assert_int_equal(mesh_at(&b.m, 2, 0)->cause, cases[i].back);
		assert_int_equal(mesh_at(&b.m, 0, 2)->seldom != NULL, !!strstr(two, "seldom"));
		assert_int_equal(mesh_at(&b.m, 0, 2)->rule != NULL,
				 (strstr(one, "rules") || strstr(two, "rules")) &&
					 !strstr(one, "not mine") && !strstr(two, "not mine") &&
					 !strstr(two, "seldom"));
	}
}

#define RULE ",\"rules\":[{\"from\":0,\"to\":1,\"hook\":\"%s\",\"rule\":\"r\"%s}]}"
/* A rule of its own drops the question before it asks for the neighbour; one that only perhaps
 * does, or the other end's, leaves the full table as it is. */
static void cold_neighbours(void **state)
{
	static const struct {
		const char *from, *to, *rest;
		enum port_cause cause;
	} cases[] = {
		{"output", "", "", CAUSE_OWN_FIREWALL},
		{"output", "", ",\"perhaps\":true", CAUSE_NEIGHBOURS},
		{"answer in", "", "", CAUSE_NEIGHBOURS},
		{"", "input", "", CAUSE_NEIGHBOURS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(bench_done) struct bench b;
		AUTO_FREE char *one = NULL, *two = NULL, *r1 = NULL, *r2 = NULL;

		assert_true(asprintf(&r1, RULE, cases[i].from, cases[i].rest) > 0);
		assert_true(asprintf(&r2, RULE, cases[i].to, cases[i].rest) > 0);
		assert_true(asprintf(&one, "{" NODE0 ",\"row\":[\"\",\"f a -\"]%s", r1) > 0);
		assert_true(asprintf(&two, "{" NODE2 ",\"row\":[\"oo .. 1\",\"\"]%s", r2) > 0);
		take(&b, one, two);
		assert_int_equal(mesh_at(&b.m, 0, 2)->cause, cases[i].cause);
	}
}

static void bulk(void **state)
{
	AUTO(bench_done) struct bench b;
	const cJSON *data;

	(void)state;
	take(&b, "{" NODE0 ",\"row\":[\"\",\"o . 0.25\"],\"talks\":\".x\",\"mtus\":[0,1400]}",
	     "{" NODE2 ",\"row\":[\"oo .. 0.5\",\"\"],\"talks\":\"+.\",\"mtus\":[1500,0]}");
	mesh_conclude(&b.m);
	assert_int_equal(report_count(b.m.report, ST_FAIL), 1);
	data = report_data(b.m.report);
	assert_string_equal(
		cJSON_GetArrayItem(
			cJSON_GetArrayItem(json_get(json_get(data, "matrix"), "cells"), 0), 2)
			->valuestring,
		"blackhole");
}

/* Whoever meets whom: everybody once, and the same partner seen from both. */
static void pairs(void **state)
{
	(void)state;
	for (size_t n = 1; n < 40; n++) {
		AUTO_FREE unsigned *met = calloc(n * n, sizeof(*met));

		for (size_t round = 0; round < pair_rounds(n); round++)
			for (size_t i = 0; i < n; i++) {
				size_t k = pair_partner(n, round, i);

				assert_true(k <= n && k != i);
				if (k == n)
					continue;
				assert_int_equal(pair_partner(n, round, k), i);
				met[i * n + k]++;
			}
		for (size_t i = 0; i < n * n; i++)
			assert_int_equal(met[i], i / n != i % n);
		assert_int_equal(pair_rounds(n), n < 2 ? 0 : n - 1 + n % 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_matrices),
		cmocka_unit_test(plain_cases),
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(lines),
		cmocka_unit_test(rows),
		cmocka_unit_test(causes),
		cmocka_unit_test(cold_neighbours),
		cmocka_unit_test(bulk),
		cmocka_unit_test(pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
