/* Names of hosts beside a picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/html/parts.h"

/* Nobody can tell hosts by what they have alike. */
static void t_short_names(void **state)
{
#define E "\u2026"
	static const struct {
		const char *names[3], *shown[3];
	} rows[] = {
		{{"node0", "node1", "node2"}, {"node0", "node1", "node2"}},
		{{"a.example.org", "b.example.org"}, {"a.example.org", "b.example.org"}},
		{{"ip-10-0-12-31.ec2.internal", "ip-10-0-12-7.ec2.internal"},
		 {"ip-10-0-12-31" E, "ip-10-0-12-7" E}},
		{{"training-cluster-worker-0", "training-cluster-worker-1",
		  "training-cluster-master-0"},
		 {E "worker-0", E "worker-1", E "master-0"}},
		{{"training-cluster-worker-01.long.domain",
		  "training-cluster-worker-12.long.domain"},
		 {E "01" E, E "12" E}},
		{{"gpuservernumbereleven001", "gpuservernumbereleven002"},
		 {"gpuse" E "releven001", "gpuse" E "releven002"}},
		{{"a-long-name-of-a-host", "a-long-name-of-a-host"},
		 {"a-lon" E "-of-a-host", "a-lon" E "-of-a-host"}}, /* one machine twice */
		{{"b.a-long-name-of-a-domain", "a-long-name-of-a-domain"}, {"b.a" E, "a" E}},
		{{"", "a-long-name-of-a-host"}, {"", "a-lon" E "-of-a-host"}},
		{{"abcd\u00e9fghijklmnopqrs"}, {"abcd" E "jklmnopqrs"}},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 0;
		const char *const *got;

		while (n < 3 && rows[i].names[n])
			n++;
		got = html_short_names(rows[i].names, n, &a);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(got[k], rows[i].shown[k]);
	}
#undef E
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(t_short_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
