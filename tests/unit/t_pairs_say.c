/* What --pairs and --find-slow say of made-up numbers between hosts, and what is no pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

#include <math.h>

struct said {
	int code;
	size_t pass, warn, fail;
	char text[4096];
};

static void read_back(const char *path, struct said *ret)
{
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	ret->text[fread(ret->text, 1, sizeof(ret->text) - 1, f)] = '\0';
	(void)fclose(f);
}

/* @n hosts whose pairs reach @is, and @favour times that unless processors were missing. */
static struct said judge_all(int n, const double *is, double favour)
{
	static const char *const hosts[] = {"a", "b", "c", "d", "e"};
	char path[] = "/tmp/t_slow.XXXXXX";
	int fd = mkstemp(path);
	struct report_opts ro = {.command = "ncclbench", .host = "a", .output = path};
	const struct verdict_opts vo = {0};
	struct story_opts so = {0};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	struct story s;
	struct said said = {0};

	assert_non_null(r);
	(void)close(fd);
	story_init(&s, &so, r);
	s.device = "host memory";
	for (int i = 0; i < n; i++) {
		*LIST_ADD(s.a, &s.ranks) = (struct bench_rank){.host = hosts[i]};
		*LIST_ADD(s.a, &s.units) = i;
	}
	story_spread(&s);
	for (int i = 0; i < n * n; i++)
		if (i / n != i % n)
			*LIST_ADD(s.a, &s.pairs) = (struct story_pair){.a = i / n,
								       .b = i % n,
								       .rail = -1,
								       .gbps = is[i],
								       .unhindered = is[i] * favour,
								       .latency_s = 1e-5,
								       .meanwhile = NAN};
	verdict_pairs(&s, &vo);
	said.pass = report_count(r, ST_PASS);
	said.warn = report_count(r, ST_WARN);
	said.fail = report_count(r, ST_FAIL);
	said.code = report_end(r, &e);
	read_back(path, &said);
	(void)unlink(path);
	return said;
}

static struct said judge(double usual, double of_1, double favour)
{
	double is[16];

	for (int i = 0; i < 16; i++)
		is[i] = i / 4 == 1 ? of_1 : usual;
	return judge_all(4, is, favour);
}

/* Of @n the first two reach each other well, and nobody else does with anybody. */
static struct said judge_two_of(int n, double well, double favour)
{
	double is[25];

	for (int i = 0; i < n * n; i++)
		is[i] = i / n < 2 && i % n < 2 ? well : 0.012;
	return judge_all(n, is, favour);
}

static void pairs_that_differ_are_no_pass(void **state)
{
	static const double one_way[] = {NAN, 1, 0.1, NAN};
	struct said s = judge_two_of(4, 0.12, 1);

	(void)state;
	assert_true(s.code == 1 && s.fail == 2 && !s.pass);
	assert_non_null(strstr(s.text, "c sends and receives at most 0.012 GB/s"));
	assert_non_null(strstr(s.text, "d sends and receives at most 0.012 GB/s"));
	s = judge_two_of(5, 0.12, 1);
	assert_true(s.code == 0 && s.warn == 1 && !s.pass && !s.fail);
	assert_non_null(strstr(s.text, "half of all directions reach at most 0.012 GB/s, and a to "
				       "b 0.120: too different to say who is slow"));
	s = judge_two_of(5, 0.023, 1); /* less than twice as much is the spread of networks */
	assert_true(s.pass == 1 && !s.warn && !s.fail);
	s = judge_two_of(5, 0.03, 1.5); /* and what others lost by waiting is no word on them */
	assert_true(s.pass == 1 && !s.warn && !s.fail);
	s = judge_all(2, one_way, 1);
	assert_true(s.code == 0 && s.warn == 1 && !s.pass && !s.fail);
	assert_non_null(strstr(s.text, "at most 0.100 GB/s, and a to b 1.000"));
}

static void what_is_not_known_is_no_pass(void **state)
{
	struct said s;

	(void)state;
	s = judge(1, 1, 1.2);
	assert_true(s.code == 0 && s.pass == 1 && !s.warn);
	s = judge(1, 0.1, 1.2);
	assert_true(s.code == 1 && s.fail == 1 && !s.pass);
	s = judge(1, 0.3, 2); /* at most 0.6 without its waiting, at least 0.3 */
	assert_true(s.code == 0 && s.warn == 1 && !s.pass && !s.fail);
	s = judge(0.11, 0.1, 4); /* all wait for processors: a tenth looks like the others */
	assert_true(s.code == 0 && s.warn == 1 && !s.pass && !s.fail);
	assert_non_null(strstr(s.text, "nobody stands out, which says little"));
	s = judge(1, 0.1, 6); /* likewise, and one of them is slow as measured: who that is */
	assert_true(s.code == 0 && s.warn == 1 && !s.pass && !s.fail);
	assert_non_null(strstr(s.text, "b reaches 0.100 GB/s, others 1.000"));
}

/* Hosts of one image share their name: of these the address stands beside it. */
static void pairs_of_one_name(void **state)
{
	static const struct bench_rank ranks[] = {
		{.host = "ubuntu", .address = "10.0.0.1", .machine = "x"},
		{.host = "ubuntu", .address = "10.0.0.2", .machine = "y"},
		{.host = "c", .address = "10.0.0.3"}};
	const struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "a"};
	const struct verdict_opts vo = {0};
	struct story_opts so = {0};
	struct err nothing = {.kind = ERR_USAGE};
	struct report *r = report_new(&ro, &(struct err){0});
	const cJSON *pairs;
	struct story s;

	(void)state;
	assert_non_null(r);
	story_init(&s, &so, r);
	s.device = "host memory";
	for (int i = 0; i < (int)ARRAY_LEN(ranks); i++) {
		*LIST_ADD(s.a, &s.ranks) = ranks[i];
		*LIST_ADD(s.a, &s.units) = i;
	}
	story_spread(&s);
	*LIST_ADD(s.a, &s.pairs) = (struct story_pair){
		.b = 1, .rail = -1, .gbps = 1, .unhindered = 1, .meanwhile = NAN};
	verdict_pairs(&s, &vo);
	pairs = json_get(report_data(r), "pairs");
	assert_int_equal(cJSON_GetArraySize(pairs), 6);
	assert_string_equal(json_get_str(pairs->child, "from"), "ubuntu (10.0.0.1)");
	assert_string_equal(json_get_str(pairs->child, "to"), "ubuntu (10.0.0.2)");
	assert_string_equal(json_get_str(pairs->child->prev, "from"), "c");
	(void)report_end(r, &nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_known_is_no_pass),
		cmocka_unit_test(pairs_that_differ_are_no_pass),
		cmocka_unit_test(pairs_of_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
