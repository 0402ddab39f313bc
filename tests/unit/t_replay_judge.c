/* Is it the network? What a replay's times come to beside those of its recording, and what is no
 * reason to accuse anybody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/story.h"
#include "lib/report/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct told { /* a kind: in which group of ranks, then and now */
	const char *coll, *name;
	int from, n; /* ranks */
	double then_us, waited_us, us;
};

struct case_of {
	const char *backend, *hosts; /* of each rank a letter */
	struct told kinds[4];
	double in_order_s, step_s, scale;
	const char *left, *check, *says; /* NULL: that check says nothing */
	enum status status;
};

static void PRINTF(2, 3) tell(struct story *s, const char *fmt, ...)
{
	char event[600];
	struct err e = {0};
	va_list ap;
	cJSON *o;

	va_start(ap, fmt);
	(void)vsnprintf(event, sizeof(event), fmt, ap);
	va_end(ap);
	o = json_parse(event, strlen(event), 8, &e);
	assert_non_null(o);
	story_event(o, s);
	cJSON_Delete(o);
}

static void record(struct traffic *t, const struct case_of *c, struct arena *a)
{
	*t = (struct traffic){.a = a, .source = "", .ranks = (int)strlen(c->hosts), .steps = 3};
	t->step_s = c->step_s > 0 ? c->step_s : NAN;
	for (size_t i = 0; i < ARRAY_LEN(c->kinds) && c->kinds[i].coll; i++) {
		const struct told *x = &c->kinds[i];
		struct traffic_kind k = {.as = x->coll, .coll = coll_find(x->coll), .count = 1000};
		int ranks[8];
		uint32_t group, kind;

		for (int r = 0; r < x->n; r++)
			ranks[r] = x->from + r;
		group = traffic_group(t, x->name, ranks, (uint32_t)x->n);
		k.family = t->groups.v[group].family;
		k.type = DT_FLOAT;
		k.then_us = x->then_us > 0 ? x->then_us : NAN;
		k.waited_us = x->waited_us > 0 ? x->waited_us : k.then_us;
		kind = traffic_kind(t, &k);
		traffic_joins(t, kind, group);
		t->kinds.v[kind].times = 1;
	}
	if (c->left)
		traffic_leave_out(t, c->left, 1);
}

/* A kind that several groups do is as slow as the last of them. */
static void play(struct story *s, const struct traffic *t, const struct case_of *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->kinds) && c->kinds[i].coll; i++) {
		size_t k = i < t->kinds.n ? i : t->kinds.n - 1;

		tell(s,
		     "{\"ev\":\"replayed\",\"kind\":%zu,\"us\":%g,\"least_us\":%g,\"wrong\":0,"
		     "\"slowest\":%zu,\"fastest\":0,\"scale\":%g}",
		     k, c->kinds[i].us, c->kinds[k].us, i, c->scale > 0 ? c->scale : 1);
	}
	if (c->in_order_s > 0)
		tell(s, "{\"ev\":\"replayed\",\"in_order_s\":%g,\"passes\":3}", c->in_order_s);
}

static void world(struct story *s, const struct case_of *c)
{
	char ranks[400] = "";
	size_t n = 0;

	for (const char *h = c->hosts; *h; h++)
		n += (size_t)snprintf(ranks + n, sizeof(ranks) - n,
				      "%s{\"host\":\"%c\",\"address\":\"10.0.0.1\"}",
				      h == c->hosts ? "" : ",", *h);
	tell(s,
	     "{\"ev\":\"world\",\"backend\":\"%s\",\"transport\":\"x\",\"device\":\"a GPU\","
	     "\"ranks\":[%s]}",
	     c->backend, ranks);
}

/* What that check of the report says, in @ret; "" where it says nothing. */
static void find(const char *path, const char *id, char *ret, size_t n, enum status *ret_st)
{
	FILE *in = fopen(path, "re");
	char text[1 << 15];
	struct err e = {0};
	cJSON *o, *f;

	assert_non_null(in);
	o = json_parse(text, fread(text, 1, sizeof(text), in), 32, &e);
	(void)fclose(in);
	assert_non_null(o);
	*ret = '\0';
	cJSON_ArrayForEach (f, cJSON_GetObjectItem(o, "findings")) {
		if (!streq(json_get_str(f, "check"), id))
			continue;
		(void)snprintf(ret, n, "%s", json_get_str(f, "message"));
		for (*ret_st = 0; !streq(status_name(*ret_st), json_get_str(f, "status"));)
			++*ret_st;
	}
	cJSON_Delete(o);
}

static void judge(const struct case_of *c, char *ret, size_t n, enum status *ret_st)
{
	char path[] = "/tmp/t_replay_judge.XXXXXX";
	int fd = mkstemp(path);
	struct report_opts ro = {
		.command = "ncclbench", .format = "json", .host = "a", .output = path};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	struct story_opts o = {.sweep = {.check = 1, .coll = coll_find("all_reduce")}};
	struct traffic t;
	struct story s;

	assert_true(fd >= 0 && !close(fd) && r);
	record(&t, c, report_arena(r));
	o.replay = &t;
	story_init(&s, &o, r);
	world(&s, c);
	play(&s, &t, c);
	replay_verdict(&s);
	(void)report_end(r, &e);
	find(path, c->check, ret, n, ret_st);
	(void)unlink(path);
}

static void check(const struct case_of *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum status st = ST_ERROR;
		char said[2000];

		judge(&rows[i], said, sizeof(said), &st);
		if (!rows[i].says && *said)
			fail_msg("row %zu is accused: %s", i, said);
		if (rows[i].says && (!strstr(said, rows[i].says) || st != rows[i].status))
			fail_msg("row %zu (status %d): %s", i, (int)st, said);
	}
}

/* --- what is said of the network ---------------------------------------------------------- */

#define ALL "all_reduce", ""

static void the_network_is_cleared_where_that_is_known(void **state)
{
	static const struct case_of rows[] = {
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 9000, 9000, 1000}},
		 .status = ST_PASS,
		 .says = "the network as it is here is not what is slow"},
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 1000, 9000, 1000}},
		 .status = ST_PASS,
		 .says = "ranks waited for those that came late"},
		/* no network was in it */
		{"nccl",
		 "aa",
		 {{ALL, 0, 2, 9000, 9000, 1000}},
		 .status = ST_PASS,
		 .says = "nothing between hosts was tested"},
		{"nccl",
		 "aa",
		 {{ALL, 0, 2, 0, 0, 1000}},
		 .step_s = 1,
		 .status = ST_PASS,
		 .says = "nothing between hosts was tested"},
		/* two groups at a time, each as long as both one after the other */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 2000, 2000, 1000}, {"all_gather", "fsdp", 0, 2, 2000, 2000, 1000}},
		 .status = ST_INFO,
		 .says = "at the same time"},
		/* what may be slow is not in it */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 9000, 9000, 1000}},
		 .left = "Recv",
		 .status = ST_INFO,
		 .says = "left out"},
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 900, 900, 100}, {"all_gather", "", 0, 2, 0, 0, 9000}},
		 .status = ST_INFO,
		 .says = "has no times"},
		/* late ranks then do not clear what is slow here */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 1000, 9000, 5000}},
		 .status = ST_WARN,
		 .says = "is slower than the recorded one"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct case_of c = rows[i];

		c.check = "replay.time";
		check(&c, 1);
	}
}

static void a_healthy_network_is_not_accused(void **state)
{
	static const struct case_of rows[] = {
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 1000, 1000, 9000}},
		 .status = ST_WARN,
		 .says = "is slower than the recorded one"},
		/* a pipeline's ranks wait for each other where nothing is computed meanwhile */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 1000, 1000, 1000}},
		 .in_order_s = 0.016,
		 .status = ST_INFO,
		 .says = "16.0 times as long"},
		/* reckoned up from a small size, which has less of the bandwidth */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 1000, 1000, 3000}},
		 .scale = 64,
		 .status = ST_INFO,
		 .says = "times as long as then"},
		/* what it costs to begin is in one and not in the other */
		{"nccl",
		 "ab",
		 {{ALL, 0, 2, 10, 10, 30}},
		 .status = ST_INFO,
		 .says = "times as long as then"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct case_of c = rows[i];

		c.check = "replay.time";
		check(&c, 1);
	}
}

/* --- what is said of groups --------------------------------------------------------------- */

static void groups_are_compared_with_their_like(void **state)
{
	static const struct case_of rows[] = {
		{"tcp",
		 "abcd",
		 {{"all_gather", "x", 0, 2, 0, 0, 1000}, {"all_gather", "x", 2, 2, 0, 0, 9000}},
		 .check = "replay.slow_group",
		 .status = ST_WARN,
		 .says = "ranks 2 to 3 (c)"},
		/* neighbours of a pipeline: one pair on a host, one on two */
		{"tcp",
		 "aabc",
		 {{"all_gather", "x", 0, 2, 0, 0, 1000}, {"all_gather", "x", 2, 2, 0, 0, 9000}},
		 .check = "replay.slow_group"},
		{"tcp",
		 "abab",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_WARN,
		 .says = "lie on 2 hosts"},
		/* one of two, whichever it is; then each has room, or not */
		{"tcp",
		 "aaab",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000}, {"all_gather", "tp", 2, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_INFO,
		 .says = "1 of 2 tensor groups lie on several hosts (first that of ranks 2 to 3, "
			 "on "
			 "2)"},
		{"tcp",
		 "abbb",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000}, {"all_gather", "tp", 2, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_INFO,
		 .says = "room for 1 within one"},
		{"tcp",
		 "aababb",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000},
		  {"all_gather", "tp", 2, 2, 0, 0, 1000},
		  {"all_gather", "tp", 4, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_INFO,
		 .says = "1 of 3 tensor groups"},
		{"tcp",
		 "aababbab",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000},
		  {"all_gather", "tp", 2, 2, 0, 0, 1000},
		  {"all_gather", "tp", 4, 2, 0, 0, 1000},
		  {"all_gather", "tp", 6, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_WARN,
		 .says = "the ranks of 2 of 4 tensor groups lie on several hosts (first that of "
			 "ranks 2 to 3, on 2)"},
		/* they fit on no host */
		{"tcp",
		 "abcd",
		 {{"all_gather", "tp", 0, 2, 0, 0, 1000}},
		 .check = "replay.group",
		 .status = ST_INFO,
		 .says = "lie on 2 hosts"},
		/* data parallel, too: these have to */
		{"tcp",
		 "abab",
		 {{"all_gather", "TENSOR_AND_DATA_PARALLEL_GROUP", 0, 2, 0, 0, 1000}},
		 .check = "replay.group"},
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_network_is_cleared_where_that_is_known),
		cmocka_unit_test(a_healthy_network_is_not_accused),
		cmocka_unit_test(groups_are_compared_with_their_like),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
