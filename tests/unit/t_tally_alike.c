/* What many hosts say alike, and not to the letter: names of their own, handles of rules, numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/cluster/rsh.h"
#include "probes/tally/alike.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

struct world {
	char out[64]; /* thrown away */
	struct arena a;
	struct report *r;
	struct tally t;
};

static void world_init(struct world *w)
{
	*w = (struct world){.t = {.fold = true}};
	w->r = report_file_new(w->out, "windsock", "table");
	w->t.a = &w->a;
	w->t.r = w->r;
}

static void world_done(struct world *w)
{
	(void)report_file_done(w->r, w->out);
	arena_done(&w->a);
}

static struct finding *say(struct world *w, unsigned host, const char *check, const char *message,
			   const char *fix)
{
	struct finding *f = tally_add(&w->t, 0, "hosts", check, "x");

	tally_of_host(&w->t, arena_printf(&w->a, "node%u", host));
	finding_set(f, ST_FAIL, "%s", message);
	if (fix)
		finding_fix(f, "%s", fix);
	return f;
}

static const struct finding *only(struct world *w, size_t hosts)
{
	item_list all = tally_folded(&w->t, 0, true);

	assert_int_equal(all.n, 1);
	assert_int_equal(all.v[0].hosts.n, hosts);
	return all.v[0].f;
}

/* ---- texts ---- */
static void a_gist_has_no_handles_and_no_name(void **state UNUSED)
{
	static const struct {
		const char *text, *own, *filled;
	} rows[] = {
		{"inet t c, handle 12: drop; and inet u c, handle 3: drop", NULL,
		 "inet t c: drop; and inet u c: drop"},
		{"cannot reach node1: refused", "node1", "cannot reach ALL: refused"},
		{"node1: try `ssh node1 true`, not node1", "node1",
		 "ALL: try `ssh ONE true`, not ALL"},
		{"node10 is not node1-ib, nor xnode1", "node1",
		 "node10 is not node1-ib, nor xnode1"},
		{"handle 4 stays", "node1", "handle 4 stays"},
		{"", "node1", ""},
	};
	struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(
			alike_fill(&a, alike_gist(&a, rows[i].text, rows[i].own), "ALL", "ONE"),
			rows[i].filled);
	arena_done(&a);
}

static void numbers_that_stand_alone(void **state UNUSED)
{
	const char *said[] = {"is 7 s behind, 10.0.0.2 on eth0",
			      "is 12.5 s behind, 10.0.0.10 on eth0",
			      "is 9 s behind, 10.0.0.9 on eth0"};
	struct arena a = {0};
	str_list l = {.v = said, .n = ARRAY_LEN(said)};

	for (size_t i = 0; i < l.n; i++)
		assert_string_equal(alike_shape(&a, l.v[i]), "is # s behind, # on eth0");
	assert_string_not_equal(alike_shape(&a, "on eth0"), alike_shape(&a, "on eth1"));
	assert_string_equal(alike_range(&a, &l), "is 7 to 12.5 s behind, 10.0.0.2 etc. on eth0");
	l.n = 1;
	assert_string_equal(alike_range(&a, &l), said[0]);
	arena_done(&a);
}

static void a_number_may_be_a_name(void **state UNUSED)
{
	static const struct {
		const char *text, *shape;
	} rows[] = {
		{"has 3-17 of 3/8 (pid 4), 512MiB, 7%, x=5.",
		 "has #-# of #/# (pid #), #MiB, #%, x=#."},
		{"at 10.0.0.2/24 and 10.0.0.2:80", "at #/24 and #:80"},
		{"[10.0.0.2]:29500, fd00::1, 02:42:ac:11:00:02",
		 "[#]:29500, fd00::1, 02:42:ac:11:00:02"},
		{"10.0.0.1.5 and 10.0.0", "10.0.0.1.5 and 10.0.0"},
		{"port 80, Port 80, MASTER_PORT=80, ports 1024-65535",
		 "port 80, Port 80, MASTER_PORT=80, ports 1024-65535"},
		{"exit code 7: reported Xid 79 on GPU 3", "exit code 7: reported Xid 79 on GPU 3"},
		{"driver 550.54, was 535.129.03, 5.15.0-1051-aws, 6.1-12, NCCL 2.18",
		 "driver 550.54, was 535.129.03, 5.15.0-1051-aws, 6.1-12, NCCL 2.18"},
		{"0000:3b:00.0 mlx5_0:1 ens5 n-7 0x1f 2026-11-22 ib0.8001 3rd_4",
		 "0000:3b:00.0 mlx5_0:1 ens5 n-7 0x1f 2026-11-22 ib0.8001 3rd_4"},
		{"supports 5 transports: 6", "supports # transports: #"},
		{"ends in 5-", "ends in #-"},
		{"7", "#"},
	};
	struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(alike_shape(&a, rows[i].text), rows[i].shape);
	arena_done(&a);
}

/* ---- findings ---- */
static void a_handle_makes_no_other_fault(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	say(&w, 1, "local.firewall", "drops: inet t c, handle 4: drop", "sudo nft x");
	say(&w, 2, "local.firewall", "drops: inet t c, handle 9: drop", "sudo nft x");
	assert_string_equal(only(&w, 2)->message, "drops: inet t c: drop");
	assert_string_equal(w.t.items.v[0].f->message, "drops: inet t c, handle 4: drop");
	world_done(&w);
	world_init(&w); /* one that all of them have is told */
	say(&w, 1, "local.firewall", "drops: inet t c, handle 4: drop", NULL);
	say(&w, 2, "local.firewall", "drops: inet t c, handle 4: drop", NULL);
	assert_string_equal(only(&w, 2)->message, "drops: inet t c, handle 4: drop");
	world_done(&w);
}

static void hosts_that_name_themselves(void **state UNUSED)
{
	const struct finding *f;
	struct world w;

	world_init(&w);
	for (unsigned i = 1; i <= 3; i++) {
		const char *own = arena_printf(&w.a, "node%u", i);

		f = say(&w, i, "host.answer", arena_printf(&w.a, "cannot reach %s: no route", own),
			arena_printf(&w.a, "windsock --quick --hosts %s   # until it answers",
				     own));
		finding_fix((struct finding *)f, "ssh %s true", own);
		finding_fix((struct finding *)f, "ssh-copy-id %s   # from here", own);
		finding_fix((struct finding *)f, "portcheck   # on %s: names the rule", own);
		finding_expect((struct finding *)f, "an answer of %s", own);
	}
	f = only(&w, 3);
	assert_string_equal(f->message, "cannot reach node[1-3]: no route");
	assert_string_equal(f->expected, "an answer of node[1-3]");
	assert_string_equal(f->fix.v[0],
			    "windsock --quick --hosts 'node[1-3]'   # until it answers");
	assert_string_equal(f->fix.v[1], "ssh node1 true   # for node1, the others alike");
	assert_string_equal(f->fix.v[2],
			    "ssh-copy-id node1   # from here; for node1, the others alike");
	assert_string_equal(f->fix.v[3],
			    "portcheck   # on node1: names the rule; the others alike");
	world_done(&w);
}

/* Three are told each by itself: few enough to be read. */
static void many_numbers_are_a_range(void **state UNUSED)
{
	struct world w;
	const struct finding *f;
	item_list all;

	world_init(&w);
	for (unsigned i = 0; i < 3; i++)
		say(&w, i, "drift.clock", arena_printf(&w.a, "is %u s behind", 10 + i), "sudo x");
	all = tally_folded(&w.t, 0, true);
	assert_int_equal(all.n, 3);
	for (unsigned i = 3; i < 500; i++)
		say(&w, i, "drift.clock", arena_printf(&w.a, "is %u s behind", 10 + i), "sudo x");
	f = only(&w, 500);
	assert_string_equal(f->message, "is 10 to 509 s behind");
	assert_string_equal(f->host, "node[0-499]");
	assert_string_equal(f->fix.v[0], "sudo x");
	assert_int_equal(w.t.items.n, 500); /* for programs each has its own */
	world_done(&w);
}

static void commands_with_numbers_of_their_own(void **state UNUSED)
{
	const struct finding *f;
	struct world w;

	world_init(&w);
	for (unsigned i = 1; i <= 40; i++) {
		f = say(&w, i, "local.master_port", arena_printf(&w.a, "is taken: x (pid %u)", i),
			arena_printf(&w.a, "kill %u   # if it is old", i));
		finding_fix((struct finding *)f, "export MASTER_PORT=29501   # on all nodes");
	}
	f = only(&w, 40);
	assert_string_equal(f->message, "is taken: x (pid 1 to 40)");
	assert_string_equal(f->fix.v[0], "kill 1   # if it is old; on node1, the others alike");
	assert_string_equal(f->fix.v[1], "export MASTER_PORT=29501   # on all nodes");
	world_done(&w);
}

/* Two exit codes are two causes, however many hosts have them. */
static void exit_codes_are_no_range(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	for (unsigned i = 0; i < 40; i++)
		say(&w, i, "host.command", arena_printf(&w.a, "exit code %u", 1 + i % 5), NULL);
	assert_int_equal(tally_folded(&w.t, 0, true).n, 5);
	world_done(&w);
}

/* Four things that one host says are four, however alike they are. */
static void one_host_says_many_things(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	for (unsigned i = 0; i < 5; i++)
		say(&w, 1, "xid", arena_printf(&w.a, "reported Xid %u", i), NULL);
	assert_int_equal(tally_folded(&w.t, 0, true).n, 5);
	world_done(&w);
}

static void another_fault_is_another_line(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	say(&w, 1, "a", "is 1", "x");
	say(&w, 2, "b", "is 1", "x");
	say(&w, 3, "a", "was 1", "x");
	say(&w, 4, "a", "is 1", "y");
	say(&w, 5, "a", "is 1", "x")->subject = "y";
	say(&w, 6, "a", "is 1", "x")->status = ST_WARN;
	assert_int_equal(tally_folded(&w.t, 0, true).n, 6);
	world_done(&w);
}

static void a_long_list_is_cut_for_people(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	for (unsigned i = 0; i < 1000; i++)
		say(&w, 2 * i, "a", "is", NULL);
	assert_string_equal(only(&w, 1000)->host, "node[0,2,4,6,8,10,12,14] and 992 more");
	w.t.fold = false;
	assert_int_equal(strlen(only(&w, 1000)->host) > 3000, true);
	world_done(&w);
}

/* A line that goes to a host the way that the run itself went is typed here. */
static void the_way_says_where_it_is_typed(void **state UNUSED)
{
	struct host_way way = {.rsh = NULL};
	struct world w;
	struct item x;

	world_init(&w);
	w.t.way = &way;
	say(&w, 1, "host.answer", "is silent", NULL)->host = "node1";
	x = w.t.items.v[0];
	assert_string_equal(tally_typed(&w.t, &x, "kx -v node1 true"),
			    "kx -v node1 true   # on node1");
	assert_int_equal(setenv(RSH_TYPED, "kx -v", 1), 0); /* of who started us */
	assert_string_equal(tally_typed(&w.t, &x, "kx -v node1 true"), "kx -v node1 true");
	unsetenv(RSH_TYPED);
	way.rsh = "kx";
	assert_string_equal(tally_typed(&w.t, &x, "kx node1 true"), "kx node1 true");
	assert_string_equal(tally_typed(&w.t, &x, "portcheck --serve   # again, the line on node1"),
			    "portcheck --serve   # again, the line on node1");
	world_done(&w);
}

#define TEST(f) cmocka_unit_test(f)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_gist_has_no_handles_and_no_name),
		TEST(numbers_that_stand_alone),
		TEST(a_number_may_be_a_name),
		TEST(exit_codes_are_no_range),
		TEST(a_handle_makes_no_other_fault),
		TEST(hosts_that_name_themselves),
		TEST(many_numbers_are_a_range),
		TEST(commands_with_numbers_of_their_own),
		TEST(one_host_says_many_things),
		TEST(another_fault_is_another_line),
		TEST(a_long_list_is_cut_for_people),
		TEST(the_way_says_where_it_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
