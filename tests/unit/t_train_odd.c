/* Which rank is unlike most, and where nobody can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/odd.h"

/* @said: a letter of each rank; @hosts: a digit of each. */
static struct odd found(const char *said, const char *hosts)
{
	size_t host[16];

	for (size_t i = 0; hosts[i]; i++)
		host[i] = (size_t)(hosts[i] - '0');
	return odd_find(said, 1, (int)strlen(said), host);
}

static void told(const char *said, const char *hosts, int rank, int like, int more)
{
	struct odd odd = found(said, hosts);

	assert_true(odd.is_told);
	assert_int_equal(odd.rank, rank);
	assert_int_equal(odd.like, like);
	assert_int_equal(odd.more, more);
}

static void open_question(const char *said, const char *hosts, int rank)
{
	struct odd odd = found(said, hosts);

	assert_false(odd.is_told);
	assert_int_equal(odd.rank, rank);
	assert_int_equal(odd.like, 0);
}

static void most_are_right_also_against_rank_0(void **state)
{
	(void)state;
	told("baaa", "0123", 0, 1, 2);
	told("aaba", "0123", 2, 0, 2);
	told("aba", "000", 1, 0, 1);
	open_question("abca", "0000", 1);
	assert_int_equal(found("aaaa", "0123").rank, -1);
	assert_int_equal(found("a", "0").rank, -1);
}

static void without_a_majority_nobody_can_tell(void **state)
{
	(void)state;
	open_question("ab", "01", 1);
	open_question("ab", "00", 1);
	open_question("aabb", "0123", 2);
	open_question("abc", "012", 1);
}

static void a_host_has_one_vote_where_its_ranks_are_alike(void **state)
{
	(void)state;
	open_question("aaab", "0001", 3);  /* one host's data against another's */
	told("bbbbaa", "000012", 0, 4, 1); /* of three hosts one */
	told("aaba", "0011", 2, 0, 2);	   /* one command line of four */
	open_question("abab", "0101", 1);  /* cyclic */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_are_right_also_against_rank_0),
		cmocka_unit_test(without_a_majority_nobody_can_tell),
		cmocka_unit_test(a_host_has_one_vote_where_its_ranks_are_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
