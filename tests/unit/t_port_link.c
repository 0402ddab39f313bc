/*
 * What fails below TCP is said of one host, with what mends it, and of none where it is a virtual
 * network's way, or where nothing fails; a rank's lines are not trusted.
 */
#include "tests/unit/made_mesh.h"

#define NODE(rank, name, address, subnet, rest)                                                    \
	"{\"rank\":" #rank ",\"host\":\"" name "\",\"address\":\"" address                         \
	"\",\"iface\":\"e0\",\"subnet\":\"" subnet "\",\"ports\":[1]" rest "}"
#define FINE ",\"row\":[\"o . 1\",\"o . 1\",\"o . 1\"]"
#define MAC(x) ",\"mac\":\"02:00:00:00:00:0" #x "\""

static const struct {
	const char *lines[3], *check, *host, *fix; /* check NULL: nothing is said */
} cases[] = {
	/* a netmask that most do not have; which side of the pair says so does not matter */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f L -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.6", "10.0.0.4/30", ",\"row\":[\"u r -\",\"o . 1\",\"\"]")},
	 "mesh.netmask",
	 "c",
	 "sudo ip address add 10.0.0.6/24 dev e0 && sudo ip address del 10.0.0.6/30 dev e0"},
	/* it has the others in its network: they are in one of their own, and all pass */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.6", "10.0.0.6/32", FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* a network of one host, as some clouds give it, and a port that is closed; and all of
	 * them; but where it has no route to them it is the mask */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.6", "10.0.0.6/32", FINE)},
	 NULL,
	 NULL,
	 NULL},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.6", "10.0.0.6/32", ",\"row\":[\"f g -\",\"o . 1\",\"\"]")},
	 NULL,
	 NULL,
	 NULL},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.6", "10.0.0.6/32", ",\"row\":[\"u r -\",\"o . 1\",\"\"]")},
	 "mesh.netmask",
	 "c",
	 "sudo ip address add 10.0.0.6/24 dev e0 && sudo ip address del 10.0.0.6/32 dev e0"},
	/* two networks beside each other: a route, or a security group, and nobody's mask */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/30", FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* alone in another network: the same host in that of the others; not where it has met one
	 * of them, nor where a server gave the address */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/24", ",\"row\":[\"f g -\",\"f g -\",\"\"]")},
	 "mesh.subnet",
	 "c",
	 "sudo ip address add 10.0.0.6/24 dev e0 && sudo ip address del 10.0.1.6/24 dev e0   # on "
	 "c, "
	 "if no other machine has 10.0.0.6"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/23", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/23", ",\"row\":[\"o . 1\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.2.2", "10.0.2.0/23", ",\"row\":[\"u r -\",\"u r -\",\"\"]")},
	 "mesh.subnet",
	 "c",
	 "sudo ip address add ADDRESS/23 dev e0 && sudo ip address del 10.0.2.2/23 dev e0   # on "
	 "c; "
	 "ADDRESS: one in 10.0.0.0/23 that nobody has, for 10.0.0.2 is taken"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"o . 1\"]"),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/24", ",\"row\":[\"f g -\",\"f g -\",\"\"]")},
	 NULL,
	 NULL,
	 NULL},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/24",
	       ",\"leased\":true,\"row\":[\"f g -\",\"f g -\",\"\"]")},
	 NULL,
	 NULL,
	 NULL},
	/* a link that came and went meanwhile: whatever is lost or stalls there follows; more often
	 * than on the others since it was started */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24",
	       ",\"talks\":\"+.x\",\"row\":[\"o . 1\",\"\",\"o . 1\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"flapping\":\"e0\",\"flaps\":3,\"row\":[\"u n -\",\"o . 1\",\"\"]")},
	 "mesh.flap",
	 "c",
	 "ip -s link show dev e0; journalctl -k --since -1h | grep e0   # on c"},
	/* of another card it is a warning */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"flapping\":\"e1\",\"flaps\":1,\"aside\":true" FINE)},
	 "mesh.flap",
	 "c",
	 "ip -s link show dev e1; journalctl -k --since -1h | grep e1   # on c"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"carriers\":2" FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"carriers\":3" FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"carriers\":19" FINE)},
	 NULL,
	 NULL,
	 NULL},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"carriers\":2" FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"carriers\":3" FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"carriers\":20" FINE)},
	 "mesh.flap",
	 "c",
	 "ip -s link show dev e0; journalctl -k --since -1h | grep e0   # on c"},
	/* an address that went away meanwhile: one for a time, one that was typed; with the link it
	 * is the link */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24",
	       ",\"talks\":\"+.x\",\"row\":[\"o . 1\",\"\",\"o . 1\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"leased\":true,\"gone\":true,\"row\":[\"f g -\",\"? e -\",\"\"]")},
	 "mesh.address",
	 "c",
	 "sudo ip address replace 10.0.0.3/24 dev e0   # on c"},
	{{NODE(0, "a", "fd00::1", "fd00::/64", FINE), NODE(1, "b", "fd00::2", "fd00::/64", FINE),
	  NODE(2, "c", "fd00::3", "fd00::/64", ",\"gone\":true" FINE)},
	 "mesh.address",
	 "c",
	 "sudo ip address replace fd00::3/64 dev e0   # on c"},
	{{NODE(0, "a", "fd00::1", "fd00::/64", FINE), NODE(1, "b", "fd00::2", "fd00::/64", FINE),
	  NODE(2, "c", "fd00::3", "fd00::/64",
	       ",\"gone\":true,\"flapping\":\"e0\",\"flaps\":3" FINE)},
	 "mesh.flap",
	 "c",
	 "ip -s link show dev e0;"},
	/* one hardware address: the later one is to change it, the third is not concerned */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", MAC(1) FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", MAC(2) ",\"row\":[\"o . 1\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", MAC(2) ",\"row\":[\"u n -\",\"u n -\",\"\"]")},
	 "mesh.mac",
	 "c",
	 "sudo sysctl -qw net/ipv4/conf/e0/arp_notify=1 && sudo ip link set dev e0 address "
	 "02:00:0a:00:00:03"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", MAC(1) FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", MAC(2) FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", MAC(2) FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* containers that share a card meet, whatever their firewall stops */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", MAC(1) FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24",
	       MAC(2) ",\"talks\":\"+.+\",\"row\":[\"f g -\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", MAC(2) ",\"row\":[\"f g -\",\"f g -\",\"\"]")},
	 NULL,
	 NULL,
	 NULL},
	/* whose entry is wrong is told by who has it */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24",
	       ",\"row\":[\"\",\"o . 1\",\"f g "
	       "-\"],\"strays\":[{\"to\":2,\"mac\":\"02:00:00:00:00:09\","
	       "\"fixed\":true},{\"to\":7},{\"to\":1,\"mac\":\"x\"},{\"to\":\"x\",\"mac\":\"y\"}]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"row\":[\"f L -\",\"o . 1\",\"\"]")},
	 "mesh.arp",
	 "a",
	 "sudo ip neigh del 10.0.0.3 dev e0"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24",
	       ",\"row\":[\"\",\"o . 1\",\"f g "
	       "-\"],\"strays\":[{\"to\":2,\"mac\":\"02:00:00:00:00:09\"}]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"row\":[\"f L -\",\"o . 1\",\"\"]")},
	 "mesh.arp",
	 "a",
	 "sudo ip neigh flush to 10.0.0.3"},
	/* behind a repeater: what comes from there is answered */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24",
	       ",\"row\":[\"\",\"o . 1\",\"f g "
	       "-\"],\"strays\":[{\"to\":2,\"mac\":\"02:00:00:00:00:09\"}]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", FINE)},
	 NULL,
	 NULL,
	 NULL},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"u n -\",\"o . 1\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24",
	       MAC(2) ",\"noarp\":true,\"row\":[\"f g -\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"u n -\",\"\"]")},
	 "mesh.arp",
	 "b",
	 "sudo ip link set dev e0 arp on"},
	/* a bridge of its own that has the address of another host: nobody reaches that one, as the
	 * bridge's host says that it is there */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"f g -\",\"f L -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"f g -\",\"\",\"o . 1\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"own\":[{\"to\":0,\"iface\":\"d0\",\"prefix\":28},{\"to\":2},{\"to\":9}],"
	       "\"row\":[\"u T -\",\"o . 1\",\"\"]")},
	 "mesh.twice",
	 "c",
	 "sudo ip address del 10.0.0.1/28 dev d0   # on c"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"own\":[{\"to\":0,\"iface\":\"d0\",\"prefix\":28}]" FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* a bridge of its own that passes nothing yet; and one that nothing goes through */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"f g -\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24",
	       ",\"waits\":\"br0\",\"waits_port\":\"e1\",\"row\":[\"u n -\",\"u n "
	       "-\",\"\"]")},
	 "mesh.flap",
	 "c",
	 "sudo ip link set dev br0 type bridge stp_state 0 && sudo bridge link set dev e1 state 3"},
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", FINE),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", ",\"waits\":\"br0\",\"waits_port\":\"e1\"" FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* NCCL's settings there chose a card that leads to nobody: whatever that looks like to
	 * each of the others, and though it looks like a wrong address */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"o . 1\",\"f g -\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"u r -\"]"),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/24",
	       ",\"astray\":\"e1\",\"told\":\"NCCL_SOCKET_IFNAME=e0\""
	       ",\"row\":[\"f g -\",\"f g -\",\"\"]")},
	 "mesh.in",
	 "c",
	 "export NCCL_SOCKET_IFNAME='=e1'   # on c"},
	/* one of them reaches it there: what another meets is that one's route, or a rule */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", FINE),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24", ",\"row\":[\"o . 1\",\"\",\"u r -\"]"),
	  NODE(2, "c", "10.0.1.6", "10.0.1.0/24",
	       ",\"astray\":\"e1\",\"told\":\"NCCL_SOCKET_IFNAME=e0\"" FINE)},
	 NULL,
	 NULL,
	 NULL},
	/* it has met one of them: a card of its kind needs none */
	{{NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"f g -\",\"o . 1\"]"),
	  NODE(1, "b", "10.0.0.2", "10.0.0.0/24",
	       MAC(2) ",\"noarp\":true,\"row\":[\"f g -\",\"\",\"o . 1\"]"),
	  NODE(2, "c", "10.0.0.3", "10.0.0.0/24", FINE)},
	 NULL,
	 NULL,
	 NULL},
};

static void said_of_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct mesh_opts o = {0};
		const struct finding *f;
		struct err nothing = {.kind = ERR_USAGE};
		struct mesh m;

		made_mesh(&m, &o, &a);
		made_mesh_take_all(&m, cases[i].lines);
		mesh_link(&m);
		assert_int_equal(m.told.items.n, cases[i].check != NULL);
		if (cases[i].check) {
			f = m.told.items.v[0].f;
			assert_string_equal(f->check, cases[i].check);
			assert_string_equal(f->subject, cases[i].host);
			assert_memory_equal(f->fix.v[0], cases[i].fix, strlen(cases[i].fix));
			tally_emit(&m.told);
			mesh_judge(&m); /* and nothing about what it looks like */
			assert_int_equal(report_count(m.report, ST_FAIL), f->status == ST_FAIL);
			assert_int_equal(report_count(m.report, ST_WARN), f->status == ST_WARN);
		}
		(void)report_end(m.report, &nothing);
	}
}

/* Two that lead nobody to them: the pair of the two is told of once. */
static void two_astray(void **state)
{
#define ASTRAY(rank, name, address, row)                                                           \
	NODE(rank, name, address, "10.0." #rank ".0/24",                                           \
	     ",\"astray\":\"e1\",\"told\":\"NCCL_SOCKET_IFNAME=e0\",\"row\":" row)
	static const char *const lines[] = {
		NODE(0, "a", "10.0.0.1", "10.0.0.0/24", ",\"row\":[\"\",\"f g -\",\"f g -\"]"),
		ASTRAY(1, "b", "10.0.1.6", "[\"f g -\",\"\",\"f g -\"]"),
		ASTRAY(2, "c", "10.0.2.6", "[\"f g -\",\"f g -\",\"\"]")};
	static const char *const spoils[] = {"which spoils 4 pairs:", "which spoils 2 pairs:"};
	AUTO(arena_done) struct arena a = {0};
	const struct mesh_opts o = {0};
	struct err nothing = {.kind = ERR_USAGE};
	struct mesh m;

	(void)state;
	made_mesh(&m, &o, &a);
	made_mesh_take_all(&m, lines);
	mesh_link(&m);
	assert_int_equal(m.told.items.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_non_null(strstr(m.told.items.v[i].f->message, "from any other node at"));
		assert_non_null(strstr(m.told.items.v[i].f->message, spoils[i]));
	}
	(void)report_end(m.report, &nothing);
}

#define LOSS "mesh.loss"
#define ECN ",\"ecn\":true"
#define AGAIN ",\"row\":[\"o . 1003\",\"o . 1003\",\"o . 1003\"]"
#define WAITED ",\"row\":[\"o . 1003\",\"o . 1003\",\"o . 1\"]"
#define RATE "mesh.bandwidth"
#define SLOW(mbps, talks) ",\"talks\":\"" talks "\",\"crawl\":[" mbps "]"

/* One late answer is an accident, several at one host are its, and else nobody's. */
static void lost_or_slow(void **state)
{
	static const struct {
		const char *said[3], *check, *subject;
		enum status status;
	} all[] = {
		{{",\"late\":[0,0,1]", ",\"late\":[0,0,1]", ""}, NULL, NULL, ST_PASS},
		{{",\"late\":[0,0,2]", "", ",\"late\":[0,1,0]"}, LOSS, "c", ST_WARN},
		/* so many that what stalls is of it, too, whatever it looks like */
		{{",\"late\":[0,0,3],\"talks\":\"..x\"", "", ",\"late\":[0,2,0]"},
		 LOSS,
		 "c",
		 ST_FAIL},
		{{",\"late\":[0,2,0]", ",\"late\":[0,0,2]", ",\"late\":[2,0,0]"},
		 LOSS,
		 "between hosts",
		 ST_FAIL},
		{{",\"late\":[0,-3,1e9]", ",\"late\":[\"x\"]", ",\"late\":{}"},
		 NULL,
		 NULL,
		 ST_PASS},
		/* who asks for ECN, and is answered by nobody before it asks without; unless some
		 * do, or it does not ask for it */
		{{ECN AGAIN ",\"late\":[0,1,1]", ECN AGAIN ",\"late\":[1,0,1]",
		  ECN AGAIN ",\"late\":[1,1,0]"},
		 "mesh.ecn",
		 "a,b,c",
		 ST_FAIL},
		{{ECN AGAIN ",\"late\":[0,1,1]", "", ""}, "mesh.ecn", "a", ST_FAIL},
		{{ECN ",\"late\":[0,2,2]", "", ""}, LOSS, "a", ST_WARN},
		{{AGAIN ",\"late\":[0,2,2]", "", ""}, LOSS, "a", ST_WARN},
		/* bulk that took long, twice: at one host; and where only one way does */
		{{SLOW("0,0,1.5", ".++"), SLOW("0,0,1", "+.+"), SLOW("2,2,0", "++.")},
		 RATE,
		 "c",
		 ST_FAIL},
		{{SLOW("0,0,1.5", ".++"), SLOW("0,0,1", "+.+"), SLOW("0,0,0", "++.")},
		 RATE,
		 "c",
		 ST_FAIL},
		/* what stalls there is of it, also what was not even begun */
		{{SLOW("0,0,0", ".+x"), SLOW("0,0,1", "+.+"), SLOW("0,1,0", "y+.")},
		 RATE,
		 "c",
		 ST_FAIL},
		/* all are slow, so that is what there is between them; unless it is none at all */
		{{SLOW("0,1.5,1.5", ".++"), SLOW("1,0,1", "+.+"), SLOW("2,2,0", "++.")},
		 RATE,
		 "a",
		 ST_WARN},
		{{SLOW("0,1.5,1.5", ".y+"), SLOW("1,0,1", "+.+"), SLOW("2,2,0", "++.")},
		 RATE,
		 "a",
		 ST_FAIL},
		/* one pair of several; or altogether it is enough */
		{{SLOW("0,0,1.5", ".++"), SLOW("0,0,0", "+.+"), SLOW("0,0,0", "++.")},
		 NULL,
		 NULL,
		 ST_PASS},
		{{SLOW("0,0,9", ".++"), SLOW("0,0,9", "+.+"), SLOW("9,9,0", "++.")},
		 NULL,
		 NULL,
		 ST_PASS},
		{{SLOW("0,-1,\"x\"", ".++"), ",\"crawl\":{}", ",\"crawl\":[null]"},
		 NULL,
		 NULL,
		 ST_PASS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct mesh_opts o = {0};
		struct err nothing = {.kind = ERR_USAGE};
		const char *lines[3];
		struct mesh m;

		for (size_t k = 0; k < ARRAY_LEN(lines); k++)
			lines[k] = arena_printf(&a,
						"{\"rank\":%zu,\"host\":\"%c\",\"address\":"
						"\"10.0.0.%zu\",\"ports\":[1]%s%s}",
						k, (int)('a' + k), k + 1,
						strstr(all[i].said[k], "\"row\"") ? "" : FINE,
						all[i].said[k]);
		made_mesh(&m, &o, &a);
		made_mesh_take_all(&m, lines);
		mesh_loss(&m);
		assert_int_equal(m.told.items.n > 0, all[i].subject != NULL);
		if (all[i].subject) {
			const struct finding *f = m.told.items.v[0].f;

			assert_string_equal(f->check, all[i].check);
			assert_string_equal(f->subject, all[i].subject);
			assert_int_equal(f->status, all[i].status);
		}
		tally_emit(&m.told);
		mesh_judge(&m); /* nothing more of the same */
		assert_int_equal(report_count(m.report, ST_FAIL), all[i].status == ST_FAIL);
		(void)report_end(m.report, &nothing);
	}
}

/* A pair of which all was late, too few for a host to be blamed, is still told of. */
static void first_answers_that_are_late(void **state)
{
	static const struct {
		const char *late, *subject;
	} all[] = {{"[0,0,0]", NULL}, {"[0,1,0]", "a to b"}, {"[0,1,1]", "a to b"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct mesh_opts o = {0};
		struct err nothing = {.kind = ERR_USAGE};
		const char *lines[] = {NULL, NULL, NULL};
		struct mesh m;

		for (size_t k = 0; k < ARRAY_LEN(lines); k++)
			lines[k] = arena_printf(
				&a,
				"{\"rank\":%zu,\"host\":\"%c\",\"address\":\"10.0.0.%zu\","
				"\"ports\":[1],\"late\":%s%s}",
				k, (int)('a' + k), k + 1, k ? "[]" : all[i].late, WAITED);
		made_mesh(&m, &o, &a);
		made_mesh_take_all(&m, lines);
		mesh_loss(&m);
		assert_int_equal(m.told.items.n, 0);
		assert_int_equal(report_count(m.report, ST_INFO), all[i].subject != NULL);
		(void)report_end(m.report, &nothing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(said_of_one), cmocka_unit_test(two_astray),
		cmocka_unit_test(lost_or_slow), cmocka_unit_test(first_answers_that_are_late)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
