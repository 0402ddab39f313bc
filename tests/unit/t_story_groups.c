/* What is made of the events of ranks in groups: by what a group is judged, and who is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

#include <math.h>

static struct story_opts opts;
static struct story story;
static const struct finding *kept[32];
static size_t nkept;

static void keep(struct finding *f)
{
	if (nkept < ARRAY_LEN(kept))
		kept[nkept++] = f;
}

static void tell(const char *event)
{
	struct err e = {0};
	cJSON *o = json_parse(event, strlen(event), 8, &e);

	assert_non_null(o);
	story_event(o, &story);
	cJSON_Delete(o);
}

/* Two hosts, a and @other, with two ranks each, whose cards do 10 Gb/s; @groups: by rank. Each
 * rank's time of 16 MiB is @times[] seconds. */
static struct report *told_of(const char *other, const int *groups, const double *times)
{
	struct report_opts ro = {
		.command = "ncclbench", .format = "json", .host = "a", .review = keep};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	char event[1200];
	int n;

	nkept = 0;
	assert_non_null(r);
	opts = (struct story_opts){.sweep = {.coll = coll_find("all_reduce"),
					     .min = 8,
					     .max = 1 << 30,
					     .factor = 2,
					     .cycles = 1,
					     .check = 1,
					     .types = 1u << DT_FLOAT,
					     .ops = 1u << OP_SUM},
				   .groups = "made up"};
	story_init(&story, &opts, r);
	n = snprintf(event, sizeof(event),
		     "{\"ev\":\"world\",\"backend\":\"tcp\",\"transport\":\"4 sockets\","
		     "\"device\":\"x\",\"ranks\":[");
	for (int i = 0; i < 4; i++)
		n += snprintf(event + n, sizeof(event) - (size_t)n,
			      "%s{\"host\":\"%s\",\"address\":\"10.0.0.1\",\"device\":\"x\","
			      "\"nic_gbps\":10,\"group\":%d}",
			      i ? "," : "", i < 2 ? "a" : other, groups[i]);
	(void)snprintf(event + n, sizeof(event) - (size_t)n, "]}");
	tell(event);
	(void)snprintf(event, sizeof(event),
		       "{\"ev\":\"row\",\"type\":%d,\"op\":0,\"root\":0,\"count\":4194304,"
		       "\"among\":2,"
		       "\"out\":{\"s\":1,\"alg\":0.5,\"bus\":0.5,\"wrong\":0,\"ranks\":"
		       "[%g,%g,%g,%g]},"
		       "\"in\":{\"s\":1,\"alg\":0.5,\"bus\":0.5,\"wrong\":0}}",
		       DT_FLOAT, times[0], times[1], times[2], times[3]);
	tell(event);
	return r;
}

static struct report *told(const int *groups, const double *times)
{
	return told_of("b", groups, times);
}

/* Of what was found; NULL: nothing of the kind. */
static const struct finding *found(const char *subject)
{
	for (size_t i = 0; i < nkept; i++)
		if (streq(kept[i]->check, "group.bandwidth") &&
		    streq(kept[i]->subject ?: "", subject ?: ""))
			return kept[i];
	return NULL;
}

static cJSON *judged(struct report *r)
{
	struct err e = {0};

	assert_int_equal(story_verdict(&story, &(struct verdict_opts){0}, &e), 0);
	return report_data(r);
}

static void over(struct report *r)
{
	struct err nothing = {.kind = ERR_USAGE};

	(void)report_end(r, &nothing); /* prints nothing then */
}

static const double even[] = {0.02, 0.02, 0.02, 0.02}, uneven[] = {0.02, 0.1, 0.02, 0.1};

static void one_has_its_part_of_the_cards(void **state)
{
	const int rails[] = {0, 1, 0, 1}, hosts[] = {0, 0, 1, 1}, unlike[] = {0, 1, 0, 0};
	const int some[] = {0, 0, 1, -1};
	struct report *r = told(rails, even);
	const cJSON *x = json_get(judged(r), "expected");

	(void)state;
	assert_true(fabs(json_get_num(x, "busbw", 0) - 1.25 / 2) < 0.01);
	assert_non_null(strstr(json_get_str(x, "why"), "of one of 2 groups at once"));
	over(r);
	r = told(hosts, even); /* no network is between them */
	x = json_get(judged(r), "expected");
	assert_true(isnan(json_get_num(x, "busbw", NAN)));
	over(r);
	r = told(unlike, even);
	x = json_get(judged(r), "expected");
	assert_non_null(strstr(json_get_str(x, "why"), "2 groups at once, which are not alike"));
	over(r);
	r = told(some, even);
	x = json_get(judged(r), "expected");
	assert_string_equal(json_get_str(x, "why"), "1 of 4 ranks are in no group");
	over(r);
}

static void a_slow_one_is_named_once_it_was_tried_again(void **state)
{
	const int rails[] = {3, 7, 3, 7};
	struct report *r = told(rails, uneven);
	const cJSON *group;

	(void)state;
	group = cJSON_GetArrayItem(json_get(judged(r), "groups"), 1);
	assert_int_equal(report_count(r, ST_FAIL), 0); /* it ended before that */
	assert_non_null(
		strstr(found(NULL)->message, "not judged: who is slow was not tried again"));
	assert_true(json_get_num(group, "id", 0) == 7);
	assert_true(fabs(json_get_num(group, "busbw_gbps", 0) - 0.1678) < 0.001);
	assert_null(json_get(group, "wrong")); /* not known */
	over(r);
	r = told(rails, uneven);
	tell("{\"ev\":\"groups\",\"groups\":[{\"wrong\":0},{\"again\":0.17,\"favour\":0.18,"
	     "\"alone\":0.19,\"beside\":0.8,\"wrong\":5}]}");
	group = cJSON_GetArrayItem(json_get(judged(r), "groups"), 1);
	assert_int_equal(report_count(r, ST_FAIL), 1);
	assert_string_equal(found("group 7")->message,
			    "group 7 (ranks 1, 3: a, b) reaches 0.170 GB/s, the other 0.839; and "
			    "0.190 while all are quiet, where group 3 has 0.800");
	assert_true(json_get_num(group, "wrong", 0) == 5);
	over(r);
}

static void who_is_slow_beside_the_others_alone_is_a_warning(void **state)
{
	const int rails[] = {0, 1, 0, 1};
	struct report *r = told(rails, uneven);

	(void)state;
	tell("{\"ev\":\"groups\",\"groups\":[{},{\"again\":0.17,\"favour\":0.18,\"alone\":0.79,"
	     "\"beside\":0.8},{\"again\":1e300}]}"); /* one more than there are */
	(void)judged(r);
	assert_int_equal(report_count(r, ST_FAIL), 0);
	assert_non_null(strstr(found("group 1")->message,
			       "0.790 while they are quiet: what it shares with them is full"));
	over(r);
}

static void within_a_host_it_may_be_another_way(void **state)
{
	const int halves[] = {0, 0, 1, 1};
	struct report *r = told(halves, (const double[]){0.02, 0.02, 0.1, 0.1});

	(void)state;
	tell("{\"ev\":\"groups\",\"groups\":[{},{\"again\":0.17,\"favour\":0.18,\"alone\":0.17,"
	     "\"beside\":0.8}]}");
	(void)judged(r);
	assert_true(found("group 1")->status == ST_FAIL); /* another host */
	over(r);
	r = told_of("a", halves, (const double[]){0.02, 0.02, 0.1, 0.1});
	tell("{\"ev\":\"groups\",\"groups\":[{},{\"again\":0.17,\"favour\":0.18,\"alone\":0.17,"
	     "\"beside\":0.8}]}");
	(void)judged(r);
	assert_true(found("group 1")->status == ST_WARN);
	over(r);
}

static void made_up_groups_hurt_nobody(void **state)
{
	const int strange[] = {-1, -2000000000, -1, -7}, large[] = {2000000000, 5, 2000000000, 0};
	struct report *r = told(strange, even);

	(void)state;
	tell("{\"ev\":\"groups\",\"groups\":[{\"again\":1}]}");
	assert_null(json_get(judged(r), "groups"));
	over(r);
	r = told(large, even);
	tell("{\"ev\":\"groups\",\"groups\":7}");
	assert_int_equal(cJSON_GetArraySize(json_get(judged(r), "groups")), 3);
	over(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_has_its_part_of_the_cards),
		cmocka_unit_test(a_slow_one_is_named_once_it_was_tried_again),
		cmocka_unit_test(who_is_slow_beside_the_others_alone_is_a_warning),
		cmocka_unit_test(within_a_host_it_may_be_another_way),
		cmocka_unit_test(made_up_groups_hurt_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
