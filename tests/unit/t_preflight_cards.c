/* Cards beside the one that hosts are reached by: who is not on a network that the others use. */
#include "tests/unit/drift_world.h"

enum { N = 4 };

struct second {
	const char *name, *kind, *address; /* address NULL: it has none, or there is no such card */
	unsigned mtu;
	bool off, unused, none;
};

static cJSON *card_of(const struct second *x)
{
	cJSON *card = cJSON_CreateObject(), *at;

	json_str(card, "name", x->name);
	json_str(card, "kind", x->kind ?: "physical");
	json_str(card, "state", x->off ? "down" : "up");
	json_bool(card, "running", !x->off);
	json_num(card, "mtu", x->mtu ? x->mtu : 9000);
	at = json_array(card, "addresses");
	if (x->address) {
		at = json_push_object(at);
		json_str(at, "address", x->address);
		json_num(at, "prefix", 16);
		json_str(at, "scope", "global");
	}
	return card;
}

/* n0 to n3 are reached by eth0 in 10.77.0.0/16; NCCL uses what is up. */
static void place(struct world *w, size_t i, const struct second *x)
{
	cJSON *part = json_object(json_object(w->all.v[i].doc, "parts"), "interface");
	const char *own = arena_printf(&w->a, "10.77.0.%zu", i + 1);
	const struct second first = {.name = "eth0", .address = own, .mtu = 1500};
	cJSON *nccl, *cards = json_array(part, "interfaces");

	json_str(json_object(part, "suggest"), "address", own);
	cJSON_AddItemToArray(cards, card_of(&first));
	if (!x->none)
		cJSON_AddItemToArray(cards, card_of(x));
	nccl = json_array(json_object(json_object(part, "predict"), "nccl"), "addresses");
	json_push_str(nccl, own);
	if (!x->none && x->address && !x->off && !x->unused)
		json_push_str(nccl, x->address);
}

static void look(struct world *w, const struct second *four)
{
	static const char *const facts[N] = {"{}", "{}", "{}", "{}"};

	world_init(w, facts, N);
	for (size_t i = 0; i < N; i++)
		place(w, i, &four[i]);
	(void)drift_cards(&w->p, &w->all);
}

static void expect(const struct second *four, const char *message, const char *fix)
{
	struct world w;

	look(&w, four);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.cards");
	assert_string_equal(found(&w, 0)->host, "n2");
	assert_string_equal(found(&w, 0)->message, message);
	assert_string_equal(found(&w, 0)->fix.v[0], fix);
	world_done(&w);
}

static void expect_nothing(const struct second *four)
{
	struct world w;

	look(&w, four);
	assert_int_equal(w.p.t.items.n, 0);
	world_done(&w);
}

static void t_one_is_down(void **state UNUSED)
{
	struct second four[N] = {{"eth1", .address = "10.78.0.1"},
				 {"ens5", .address = "10.78.0.2"},
				 {"eth1", .address = "10.78.0.3", .off = true},
				 {"eth1", .address = "10.78.0.4"}};
	static const char said[] = "is down here, up on 3 of 4 hosts: NCCL sends over it there "
				   "(10.78.0.0/16), and to this host not";

	expect(four, said, "sudo ip link set eth1 up");
	four[2].address = NULL; /* it went with the link */
	expect(four, said, "sudo ip link set eth1 up");
}

static void t_one_lacks_it(void **state UNUSED)
{
	const struct second four[N] = {{"eth1", .address = "10.78.0.1"},
				       {"ens5", .address = "10.78.0.2"},
				       {.none = true},
				       {"eth1", .address = "10.78.0.4"}};

	expect(four,
	       "no address in this network, which NCCL uses on 3 of 4 hosts: what they send there "
	       "may not reach this one",
	       "ip -br address   # which card was it to be?");
}

static void t_mtu(void **state UNUSED)
{
	struct second four[N] = {{"eth1", .address = "10.78.0.1"},
				 {"ens5", .address = "10.78.0.2"},
				 {"eth1", .address = "10.78.0.3", .mtu = 1400},
				 {"eth1", .address = "10.78.0.4"}};

	expect(four, "MTU 1400 here, 9000 on most hosts, in 10.78.0.0/16",
	       "sudo ip link set dev eth1 mtu 9000   # if the network takes it");
	four[2].mtu = 9216;
	expect(four, "MTU 9216 here, 9000 on most hosts, in 10.78.0.0/16",
	       "sudo ip link set dev eth1 mtu 9000");
}

static void t_no_alarm(void **state UNUSED)
{
	static const struct second cases[][N] = {
		/* names alone differ */
		{{"eth1", .address = "10.78.0.1"},
		 {"ens5", .address = "10.78.0.2"},
		 {"enp1s0", .address = "10.78.0.3"},
		 {"eth2", .address = "10.78.0.4"}},
		/* somebody said that it is not to be used */
		{{"eth1", .address = "10.78.0.1"},
		 {"eth1", .address = "10.78.0.2"},
		 {"eth1", .address = "10.78.0.3", .unused = true},
		 {"eth1", .address = "10.78.0.4"}},
		/* containers hang on it */
		{{"br0", "bridge", .address = "172.18.0.1"},
		 {"br0", "bridge", .address = "172.18.0.2"},
		 {.none = true},
		 {"br0", "bridge", .address = "172.18.0.3"}},
		/* each has it for itself */
		{{"eth1", .address = "10.0.2.15"},
		 {"eth1", .address = "10.0.2.15"},
		 {.none = true},
		 {"eth1", .address = "10.0.2.15"}},
		/* half of them: nobody is odd */
		{{"eth1", .address = "10.78.0.1"},
		 {"eth1", .address = "10.78.0.2"},
		 {.none = true},
		 {.none = true}},
		/* a network for each, as between routers */
		{{"eth1", .address = "10.81.0.1"},
		 {"eth1", .address = "10.82.0.1"},
		 {"eth1", .address = "10.83.0.1", .off = true},
		 {"eth1", .address = "10.84.0.1"}},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_nothing(cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_one_is_down),
		cmocka_unit_test(t_one_lacks_it),
		cmocka_unit_test(t_mtu),
		cmocka_unit_test(t_no_alarm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
