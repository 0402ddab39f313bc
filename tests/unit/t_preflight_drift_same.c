/* Hosts that share an address or have none in common, and code that is not the same. */
#include "probes/node/same.h"
#include "tests/unit/drift_world.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- addresses ---- */

/* @data: of each host, its suggest.address and the addresses of its card, a VLAN. */
static const char *at(struct arena *a, const char *chosen, const char *other)
{
	const char *more = other ? arena_printf(a,
						",{\"address\":\"%s\",\"prefix\":24,"
						"\"scope\":\"global\"}",
						other)
				 : "";

	return arena_printf(
		a,
		"{\"interface\":{\"suggest\":{\"address\":\"%s\"},\"interfaces\":[{"
		"\"name\":\"eth0.7\",\"usable\":true,\"addresses\":[{\"address\":\"%s\","
		"\"prefix\":24,\"scope\":\"global\"}%s]}]}}",
		chosen, chosen, more);
}

static void place(struct world *w, size_t i, const char *chosen, const char *other)
{
	const char *text = at(&w->a, chosen, other);
	struct err e = {0};

	cJSON_AddItemToObject(w->all.v[i].doc, "parts", json_parse(text, strlen(text), 8, &e));
	w->all.v[i].hostname = w->all.v[i].host = arena_printf(&w->a, "192.0.2.%zu", i);
}

static cJSON *card(const struct world *w, size_t i)
{
	const cJSON *parts = json_get(w->all.v[i].doc, "parts");

	return cJSON_GetArrayItem(json_get(json_get(parts, "interface"), "interfaces"), 0);
}

/* Who has both families is reached by either; who has one alone must find it on all others. */
static void t_families(void **state)
{
	static const char *const facts[] = {"{}", "{}", "{}"};
	struct world w;

	(void)state;
	world_init(&w, facts, 3);
	place(&w, 0, "10.0.0.1", "fd00::1");
	place(&w, 1, "fd00::2", "10.0.0.2");
	place(&w, 2, "10.0.0.3", "fd00::3");
	drift_families(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 0);
	world_done(&w);
	world_init(&w, facts, 3); /* IPv6 that some have beside the IPv4 of all disturbs nobody */
	place(&w, 0, "10.0.0.1", "2001:db8::1");
	place(&w, 1, "10.0.0.2", NULL);
	place(&w, 2, "10.0.0.3", NULL);
	drift_families(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 0);
	world_done(&w);
	world_init(&w, facts, 3);
	place(&w, 0, "fd00::1", NULL);
	place(&w, 1, "fd00::2", NULL);
	place(&w, 2, "10.0.0.3", "fd00::3");
	drift_families(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->host, "192.0.2.2");
	assert_true(starts_with(found(&w, 0)->fix.v[0], "export NCCL_SOCKET_FAMILY=AF_INET6 "));
	assert_true(names_has(&w.p.alone, "192.0.2.2"));
	world_done(&w);
	world_init(&w, facts, 2); /* and no name that says which address it should have */
	place(&w, 0, "10.0.0.1", NULL);
	place(&w, 1, "fd00::2", NULL);
	drift_families(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "ip address add ADDRESS/24 dev eth0.7"));
	world_done(&w);
}

/* Nobody is told to take away the one address that he is reached by. */
static void t_shared_address(void **state)
{
	static const char *const facts[] = {"{}", "{}", "{}"};
	struct world w;

	(void)state;
	world_init(&w, facts, 3); /* nobody else is in this network, and they meet in another */
	for (size_t i = 0; i < 2; i++)
		place(&w, i, "10.0.2.15", i ? "10.9.0.2" : "10.9.0.1");
	drift_addresses(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_int_equal(found(&w, 0)->fix.n, 1);
	assert_true(starts_with(found(&w, 0)->fix.v[0], "export NCCL_SOCKET_IFNAME='='eth0.7 "));
	world_done(&w);
	world_init(&w, facts, 3); /* a network with others: a copy of a machine */
	place(&w, 0, "10.0.0.1", NULL);
	place(&w, 1, "10.0.0.2", NULL);
	place(&w, 2, "10.0.0.2", NULL);
	drift_addresses(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_true(starts_with(found(&w, 0)->fix.v[0], "sudo dhclient -r eth0.7; "));
	world_done(&w);
	world_init(&w, facts, 3); /* one that has its own beside it */
	place(&w, 0, "10.0.0.1", NULL);
	place(&w, 1, "10.0.0.2", NULL);
	place(&w, 2, "10.0.0.3", "10.0.0.2");
	/* ip deletes it only by the length that it has there */
	cJSON_ReplaceItemInObject(cJSON_GetArrayItem(json_get(card(&w, 2), "addresses"), 1),
				  "prefix", cJSON_CreateNumber(16));
	drift_addresses(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->fix.v[0], "sudo ip address del 10.0.0.2/16 dev eth0.7");
	world_done(&w);
	world_init(&w, facts,
		   3); /* one whose name tells its own: sysctl knows "eth0.7" by "/" alone */
	place(&w, 0, "192.0.2.100", NULL);
	place(&w, 1, "192.0.2.101", NULL);
	place(&w, 2, "192.0.2.101", NULL);
	drift_addresses(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->fix.v[0],
			    "sudo sysctl -qw net/ipv4/conf/eth0.7/promote_secondaries=1 && "
			    "sudo ip address add 192.0.2.2/24 dev eth0.7 && "
			    "sudo ip address del 192.0.2.101/24 dev eth0.7");
	world_done(&w);
}

/* What another host says is a word, and not a command. */
static void t_card_word(void **state)
{
	static const char *const facts[] = {"{}"};
	struct world w;

	(void)state;
	world_init(&w, facts, 1);
	place(&w, 0, "10.0.0.1", "$(reboot)");
	cJSON_ReplaceItemInObject(card(&w, 0), "name", cJSON_CreateString("a;reboot"));
	assert_string_equal(answer_card_word(&w.a, &w.all.v[0], "10.0.0.1"), "'a;reboot'");
	assert_string_equal(answer_card_word(&w.a, &w.all.v[0], "10.0.0.2"), "IFACE");
	answer_addresses(&w.a, &w.all.v[0], &w.p.usable);
	assert_int_equal(w.p.usable.n, 1);
	world_done(&w);
}

/* ---- code and data ---- */

static void t_same(void **state)
{
	static const char *const facts[] = {
		"{\"same\":{\"/x\":\"aa, 2 files\"},\"same_files\":{\"/x\":[\"1 a/y\",\"2 "
		"a.py\"]}}",
		"{\"same\":{\"/x\":\"aa, 2 files\"},\"same_files\":{\"/x\":[\"1 a/y\",\"2 "
		"a.py\"]}}",
		"{\"same\":{\"/x\":\"bb, 1 file\"},\"same_files\":{\"/x\":[\"2 a.py\"]}}",
		"{\"same\":{\"/x\":\"cc, 2 files\"},\"same_files\":{\"/x\":[\"1 a/y\",\"3 "
		"a.py\"]}}",
		"{\"same\":{\"/x\":\"missing\"}}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	assert_true(drift_same(&w.p, &w.all, "/x")); /* two of four: no majority */
	assert_int_equal(w.p.t.items.n, 1);
	assert_null(found(&w, 0)->host);
	world_done(&w);
	world_init(&w, facts, 3);
	assert_true(drift_same(&w.p, &w.all, "/x"));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->message,
			    "bb, 1 file here, aa, 2 files on 2 of 3 hosts: a/y is not here");
	world_done(&w);
	world_init(&w, facts + 3, 2); /* what one has is not wrong because others lack it */
	assert_true(drift_same(&w.p, &w.all, "/x"));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_true(starts_with(found(&w, 0)->fix.v[0], "rsync -ac --delete n0:/x/ /x/"));
	world_done(&w);
	world_init(&w, facts + 4, 1);
	assert_false(drift_same(&w.p, &w.all, "/x"));
	assert_string_equal(found(&w, 0)->message, "missing on n0");
	world_done(&w);
	world_init(&w, facts, 2);
	assert_true(drift_same(&w.p, &w.all, "/x"));
	assert_int_equal(w.p.t.items.n, 0);
	world_done(&w);
}

/* An IPv6 address would end at its first colon; a link's name alone would bring the link. */
static void t_same_fix(void **state)
{
	static const struct {
		const char *path, *host, *file, *fix, *rsh;
	} cases[] = {
		{"/x/y//", "n0", "a", "rsync -ac --delete n0:/x/y/ /x/y/", NULL},
		{"/x", "me@fd00::1", "a", "rsync -ac --delete 'me@[fd00::1]':/x/ /x/", NULL},
		{"/a b/", "n0", "a", "rsync -ac --delete n0:'/a b/' '/a b/'", NULL},
		{"/a b", "n0", "", "rsync -aLc n0:'/a b' \"$(dirname '/a b')/\"", NULL},
		{"/x", "n0", "", "rsync -aLc -e 'sshpass -p ... ssh' n0:/x \"$(dirname /x)/\"",
		 "sshpass -p hunter2 ssh"},
		{"/x/..", "n0", "a", "ls -la /x/..   # and where it is right", NULL},
		{"//", "n0", "a", "ls -la //   # and where it is right", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = cases[i].path;
		struct world w;
		char text[2][128];
		const char *const facts[] = {text[0], text[1]};

		(void)snprintf(
			text[0], sizeof(text[0]),
			"{\"same\":{\"%s\":\"aa, 1 file\"},\"same_files\":{\"%s\":[\"1 %s\"]}}",
			path, path, cases[i].file);
		(void)snprintf(text[1], sizeof(text[1]), "{\"same\":{\"%s\":\"missing\"}}", path);
		world_init(&w, facts, 2);
		w.all.v[0].host = cases[i].host;
		w.p.rsh = cases[i].rsh;
		assert_true(drift_same(&w.p, &w.all, path));
		assert_string_equal(found(&w, 0)->fix.v[0], cases[i].fix);
		world_done(&w);
	}
}

/* Where the path itself is a link on some hosts, what it leads to is compared; within it, links
 * are compared as such. */
static void t_link(void **state)
{
	char top[] = "/tmp/t_same.XXXXXX";
	struct arena a = {0};
	same_list files;
	const char *real, *link, *inner;

	(void)state;
	assert_non_null(mkdtemp(top));
	real = arena_printf(&a, "%s/real", top);
	link = arena_printf(&a, "%s/link", top);
	inner = arena_printf(&a, "%s/inner", real);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	assert_string_equal(same_digest(link, 0, &a, &files), same_digest(real, 0, &a, &files));
	real = same_digest(real, 0, &a, &files);
	assert_int_equal(symlink("x", inner), 0);
	assert_string_not_equal(same_digest(link, 0, &a, &files), real);
	assert_int_equal(unlink(inner) | unlink(link), 0);
	assert_int_equal(rmdir(arena_printf(&a, "%s/real", top)) | rmdir(top), 0);
	arena_done(&a);
}

/* One that had no time for it is neither like the others nor unlike them. */
static void t_late(void **state)
{
	static const char *const facts[] = {"{\"same\":{\"/d\":\"0a, 2 files\"}}",
					    "{\"same\":{\"/d\":\"" SAME_LATE "\"}}",
					    "{\"same\":{\"/d\":\"0a, 2 files\"}}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	w.p.given = "n[0-2]";
	assert_true(drift_same(&w.p, &w.all, "/d"));
	assert_int_equal(w.p.t.items.n, 1);
	assert_int_equal(found(&w, 0)->status, ST_SKIP);
	assert_string_equal(found(&w, 0)->message, "was not compared on n1: " SAME_LATE);
	assert_string_equal(found(&w, 0)->fix.v[0],
			    "windsock --hosts 'n[0-2]' --same /d --deadline 5m   # or a smaller "
			    "part of it");
	world_done(&w);
	world_init(&w, facts + 1, 1);
	assert_false(drift_same(&w.p, &w.all, "/d"));
	assert_int_equal(w.p.t.items.n, 1);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_families),  cmocka_unit_test(t_shared_address),
		cmocka_unit_test(t_card_word), cmocka_unit_test(t_same),
		cmocka_unit_test(t_same_fix),  cmocka_unit_test(t_link),
		cmocka_unit_test(t_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
