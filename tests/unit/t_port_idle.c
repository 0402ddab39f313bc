/* What ranks say of silent connections, and what is made of it. */
#include "tests/unit/made_mesh.h"

#include "lib/core/units.h"
#include "probes/port/mesh_idle.h"

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

/* Times are 1, 2, 3 and 4 s. What each of the three ranks has to say; NULL: nothing. */
static void take_some(struct bench *b, bool cut, const char *n0, const char *n1, const char *n2)
{
	const char *all[MADE_HOSTS] = {n0, n1, n2};

	*b = (struct bench){.o.idle_ns = 4 * NS_PER_S};
	made_mesh(&b->m, &b->o, &b->a);
	b->m.cut = cut;
	for (size_t i = 0; i < MADE_HOSTS; i++) {
		all[i] = arena_printf(&b->a, "{\"rank\":%zu,\"host\":\"n%zu\",\"idle\":%s}", i, i,
				      all[i] ?: "{}");
		b->m.nodes[i].name = arena_printf(&b->a, "n%zu", i);
	}
	made_mesh_take_all(&b->m, all);
	mesh_idle(&b->m);
}

static void take(struct bench *b, const char *n0, const char *n1, const char *n2)
{
	take_some(b, false, n0, n1, n2);
}

#define PEER(rank, opened, called, again)                                                          \
	"{\"rank\":" #rank ",\"opened\":\"" opened "\",\"called\":\"" called                       \
	"\",\"again\":\"" again "\"}"
#define PEERS(list) "{\"passed\":4,\"peers\":[" list "]}"

/* Finding @at as "STATUS SUBJECT: MESSAGE|FIX|FIX|". */
static void said(struct bench *b, size_t at, char *text, size_t size)
{
	cJSON *all = report_envelope(b->m.report);
	const cJSON *f = cJSON_GetArrayItem(json_get(all, "findings"), (int)at);
	const cJSON *fix = json_get(f, "fix");

	(void)snprintf(text, size, "%s %s: %s|", json_text(f, "status"), json_text(f, "subject"),
		       json_text(f, "message"));
	for (fix = fix ? fix->child : NULL; fix; fix = fix->next)
		(void)snprintf(text + strlen(text), size - strlen(text), "%s|", fix->valuestring);
	cJSON_Delete(all);
}

static void assert_said(struct bench *b, size_t at, const char *expected)
{
	char text[2000];

	said(b, at, text, sizeof(text));
	if (strncmp(text, expected, strlen(expected)) != 0)
		assert_string_equal(text, expected);
}

static void all_alive(void **state UNUSED)
{
	AUTO(bench_done) struct bench b;

	take(&b, PEERS(PEER(1, "++++", "++++", ".") "," PEER(2, "++++", "++++", ".")),
	     PEERS(PEER(0, "++++", "++++", ".") "," PEER(2, "++++", "++++", ".")),
	     PEERS(PEER(0, "++++", "++++", ".") "," PEER(1, "++++", "++++", ".")));
	assert_said(&b, 0, "pass 6 pairs: connections are alive after 4 s of silence|");
	assert_said(&b, 1, " : |");
}

/* n0's to n1 are forgotten, whoever speaks first; the others are well. */
static void one_way(void **state UNUSED)
{
	AUTO(bench_done) struct bench b;

	take(&b, PEERS(PEER(1, "++ss", "++++", "+")), PEERS(PEER(0, "++++", "++ss", ".")), NULL);
	assert_said(
		&b, 0,
		"fail n0 to n1: a connection silent for 3 s is dead (no answer; 2 s was well): "
		"something between forgets it; NCCL's have no keepalive|give what is between them "
		"(a "
		"firewall, a NAT gateway, a VPN) an idle timeout for TCP that is longer than a job "
		"is ever silent|export LD_PRELOAD=libkeepalive.so KEEPIDLE=1 KEEPINTVL=1   # for");
	assert_said(&b, 1, "pass 1 of 6 pairs: ");
}

static void only_when_one_end_speaks_first(void **state UNUSED)
{
	AUTO(bench_done) struct bench b;

	take(&b, PEERS(PEER(1, "++++", "", "+")), PEERS(PEER(0, "", "rrrr", ".")), NULL);
	assert_said(&b, 0,
		    "fail n0 to n1: a connection silent for 1 s is dead (reset; none shorter was "
		    "tried, or was well), when the end that was called speaks first: something");
}

/* Its own table's time is between what is well and what is dead. */
static void of_a_host(void **state UNUSED)
{
	AUTO(bench_done) struct bench b;

	take(&b,
	     "{\"forgets_s\":432000,\"peers\":[" PEER(1, "++ss", "++ss",
						      "+") "," PEER(2, "++++", "++++", ".") "]}",
	     "{\"forgets_s\":3,\"peers\":[" PEER(0, "++ss", "++ss", "+") "," PEER(2, "++ss", "++ss",
										  "+") "]}",
	     PEERS(PEER(1, "++ss", "++ss", "+") "," PEER(0, "++++", "++++", ".")));
	assert_said(
		&b, 0,
		"fail n1 and n[0,2]: a connection silent for 3 s is dead (no answer; 2 s was "
		"well): the firewall's table of connections on n1 forgets it "
		"(nf_conntrack_tcp_timeout_established is 3 s); NCCL's have no keepalive|sudo "
		"sysctl -w net.netfilter.nf_conntrack_tcp_timeout_established=432000   # on n1|");
	assert_said(&b, 1, "pass 2 of 6 pairs: ");
}

static void who_is_named(void **state UNUSED)
{
	static const struct {
		size_t n, pairs[8];
		const char *who;
	} cases[] = {
		{1, {1}, "n0 to n1"},
		{2, {1, 3}, "n0 and n1"},
		{2, {1, 2}, "n0 and n[1-2]"},
		{4, {1, 3, 5, 7}, "n1 and n[0,2]"},
		{6, {1, 2, 3, 5, 6, 7}, "n[0-2]"},
		{4, {1, 2, 3, 5}, "4 pairs of n[0-2]"},
	};
	AUTO(bench_done) struct bench b;

	take(&b, NULL, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const index_list l = {.v = (size_t *)(uintptr_t)cases[i].pairs, .n = cases[i].n};

		assert_string_equal(mesh_idle_who(&b.m, &l), cases[i].who);
	}
}

static void on_ec2(void **state UNUSED)
{
	AUTO(bench_done) struct bench b;

	take(&b, "{\"ec2\":true,\"peers\":[" PEER(1, "+++c", "+++c", "+") "]}",
	     PEERS(PEER(0, "+++c", "+++c", "+")), NULL);
	assert_said(&b, 0,
		    "fail n0 and n1: a connection silent for 4 s is dead (closed; 3 s was well): "
		    "something between forgets it; NCCL's have no keepalive|aws ec2 "
		    "modify-network-interface-attribute --network-interface-id ENI "
		    "--connection-tracking-specification TcpEstablishedTimeout=86400   # for");
	assert_said(&b, 1, " : |");
}

static void another_fault(void **state UNUSED)
{
	AUTO(bench_done) struct bench b, c;

	take(&b, PEERS(PEER(1, "++ss", "", "s")), NULL, NULL);
	assert_said(&b, 0,
		    "fail n0 to n1: a connection silent for 3 s is dead (no answer), and a new one "
		    "does not come through either");
	take(&c, PEERS(PEER(1, "+s++", "", "+")), NULL, NULL);
	assert_said(
		&c, 0,
		"warn n0 to n1: a connection silent for 2 s is dead (no answer), and those that "
		"were silent longer are alive");
}

/* Ctrl-C, or a rank that was lost: what is known by then. */
static void broken_off(void **state UNUSED)
{
	AUTO(bench_done) struct bench b, c, d, x;

	take_some(&b, true, PEERS(PEER(1, "++..", "++..", ".")),
		  PEERS(PEER(0, "++..", "++..", ".")), NULL);
	assert_said(
		&b, 0,
		"info 2 of 6 pairs: connections are alive after 2 s of silence; what is longer");
	take(&c, PEERS(PEER(1, "+s..", "++..", "+")), NULL, NULL);
	assert_said(&c, 0, "fail n0 to n1: a connection silent for 2 s is dead");
	take(&d, NULL, NULL, NULL);
	assert_said(&d, 0, "error : no pair has a connection that could be silent|");
	take_some(&x, true, "{\"connections\":2}", NULL, NULL);
	assert_said(&x, 0,
		    "skip : broken off before connections had been silent for 1 s, the shortest "
		    "time: what silence does to them is not known|");
}

/* None of it is trusted. */
static void nonsense(void **state UNUSED)
{
	static const char *const lines[] = {
		"{\"peers\":[{\"rank\":9,\"opened\":\"++++\"}]}",
		"{\"peers\":[{\"rank\":0,\"opened\":\"++++\"}]}",
		"{\"peers\":[{\"rank\":1,\"opened\":\"+++++++++++++++++\"}]}",
		"{\"peers\":[{\"rank\":1,\"opened\":\"+x+\",\"called\":7,\"again\":\"\"}]}",
		"{\"peers\":[7,null,[]],\"forgets_s\":-1}",
		"{\"peers\":7,\"forgets_s\":1e99}",
		"[]",
		"null",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		AUTO(bench_done) struct bench b;

		take(&b, lines[i], NULL, NULL);
		assert_said(&b, 0, "error ");
		assert_int_equal(b.m.nodes[0].forgets_s, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_alive),
		cmocka_unit_test(one_way),
		cmocka_unit_test(only_when_one_end_speaks_first),
		cmocka_unit_test(of_a_host),
		cmocka_unit_test(who_is_named),
		cmocka_unit_test(on_ec2),
		cmocka_unit_test(another_fault),
		cmocka_unit_test(broken_off),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
