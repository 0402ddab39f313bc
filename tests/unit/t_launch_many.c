/* Thousands of hosts: what their ranks take here grows with them, not with their square. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/launch_agents.h"

enum { HOSTS = 2000, EACH = 8 };

static struct arena a;
static struct err e;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static size_t bytes_taken(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	(void)fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void ranks_of_many_hosts_take_little_room(void **state UNUSED)
{
	struct launch_result r = {0};
	struct launch L = {.a = &a, .r = &r, .loop.epfd = -1};
	host_list hosts = {0};
	size_t before;

	assert_int_equal(hostlist_parse("n[1-2000]:8", &a, &hosts, &e), 0);
	hosts.v[7].slots = 3;
	L.o.hosts = &hosts;
	for (size_t i = 0; i < hosts.n; i++)
		agents_add(&L, hosts.v[i].name, false)->state = AGENT_UP;
	before = bytes_taken();
	assert_int_equal(ranks_place(&L, &e), 0);
	assert_true(bytes_taken() - before < (size_t)64 << 20);
	assert_int_equal(r.nhosts, HOSTS);
	assert_int_equal(r.nranks, HOSTS * EACH - 5);
	for (size_t i = 0, rank = 0; i < r.nhosts; i++) {
		assert_int_equal(r.hosts[i].first, rank);
		assert_int_equal(r.hosts[i].ranks, i == 7 ? 3 : EACH);
		for (int k = 0; k < r.hosts[i].ranks; k++, rank++)
			assert_ptr_equal(r.ranks[rank].host, &r.hosts[i]);
	}
}

/* Of those that are up each has the room that was said for it, whoever is missing before it. */
static void a_missing_host_shifts_nobodys_room(void **state UNUSED)
{
	struct launch_result r = {0};
	struct launch L = {.a = &a, .r = &r, .loop.epfd = -1, .o.partial = true};
	host_list hosts = {0};

	assert_int_equal(hostlist_parse("a:2,b:4,c:1", &a, &hosts, &e), 0);
	L.o.hosts = &hosts;
	for (size_t i = 0; i < hosts.n; i++)
		agents_add(&L, hosts.v[i].name, false)->state = i ? AGENT_UP : AGENT_GONE;
	assert_int_equal(ranks_place(&L, &e), 0);
	assert_int_equal(r.hosts[0].ranks, 0);
	assert_int_equal(r.hosts[1].ranks, 4);
	assert_int_equal(r.hosts[2].ranks, 1);
	assert_int_equal(r.hosts[2].first, 4);
	assert_int_equal(r.nranks, 5);
}

static int says(struct agent_host *h, uint16_t type, const void *data, size_t n)
{
	struct wire_in in = {data, n, false};

	return ranks_message(h, type, &in);
}

/* A process that only holds agents (launch_hold.c) has no server and no ranks: what an agent says
 * of some is nonsense, whatever it is. */
static void where_no_ranks_were_asked_for_none_are_heard_of(void **state UNUSED)
{
	static const uint16_t types[] = {SAY_OUT,     SAY_ERR,	   SAY_EXITED,	SAY_TROUBLE,
					 STREAM_OPEN, STREAM_DATA, STREAM_CLOSE};
	struct launch_result r = {0};
	struct launch L = {.a = &a, .r = &r, .loop.epfd = -1, .running = true};
	struct agent_host *h = agents_add(&L, "a", false);
	unsigned char body[64];
	struct wire_out w = {.p = body, .cap = sizeof(body)};

	h->state = AGENT_UP;
	h->h->hostname = "a";
	wire_put_str(&w, "no memory");
	wire_put_str(&w, "");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (size_t n = 0; n <= w.n; n++)
			assert_int_equal(says(h, types[i], body, n), -1);
	assert_null(h->h->trouble);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_many_hosts_take_little_room),
		cmocka_unit_test(a_missing_host_shifts_nobodys_room),
		cmocka_unit_test(where_no_ranks_were_asked_for_none_are_heard_of),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
