/* Google Cloud's firewall rules and Azure's groups: the reader, and what they do to packets. */
#include "lib/core/text.h"
#include "lib/report/json.h"
#include "probes/walls/train.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct err err;

/* --- documents -------------------------------------------------------------------------------- */

#define NET "https://www.googleapis.com/compute/v1/projects/ml/global/networks/"
#define GCP(name, priority, what, more)                                                            \
	"{'name':'" name "','network':'" NET "train','priority':" #priority ",'direction':'"       \
	"INGRESS'," what "" more "}"
#define GCP_OUT(name, priority, what, more)                                                        \
	"{'name':'" name "','network':'" NET "train','priority':" #priority ",'direction':'"       \
	"EGRESS'," what "" more "}"
#define ALLOW_ALL "'allowed':[{'IPProtocol':'all'}]"
#define DENY_ALL "'denied':[{'IPProtocol':'all'}]"
#define ALLOW_TCP(ports) "'allowed':[{'IPProtocol':'tcp','ports':[" ports "]}]"
#define DENY_TCP(ports) "'denied':[{'IPProtocol':'tcp','ports':[" ports "]}]"
#define FROM(range) ",'sourceRanges':['" range "']"
#define TO(range) ",'destinationRanges':['" range "']"
#define FROM_TAG(tag) ",'sourceTags':['" tag "']"
#define AT_TAG(tag) ",'targetTags':['" tag "']"
#define VM(name, addr, tag)                                                                        \
	"{'name':'" name "','machineType':'t','tags':{'items':['" tag "']},'serviceAccounts':["    \
	"{'email':'sa@ml.iam'}],'networkInterfaces':[{'name':'nic0','network':'" NET               \
	"train','networkIP':'" addr "'}]}"
#define VMS "[" VM("a", "10.0.0.1", "gpu") "," VM("b", "10.0.0.2", "gpu") "]"

#define ID(kind, name) "/subscriptions/s/resourceGroups/ml/providers/Microsoft.Network/" kind name
#define SUBNET ID("virtualNetworks/v/subnets/", "gpu")
#define RULE(name, priority, access, direction, protocol, from, to, ports)                         \
	"{'name':'" name "','priority':" #priority ",'access':'" access                            \
	"','direction':'" direction "','protocol':'" protocol "','sourceAddressPrefix':'" from     \
	"','sourcePortRange':'*','destinationAddressPrefix':'" to                                  \
	"','destinationPortRange':'" ports "'}"
#define NSG(name, rules, subnets)                                                                  \
	"{'name':'" name "','resourceGroup':'ml','id':'" ID(                                       \
		"networkSecurityGroups/", name) "','securityRules':[" rules                        \
						"],'defaultSecurityRules':[],'subnets':[" subnets  \
						"]}"
#define ON_SUBNET "{'id':'" SUBNET "'}"
#define NIC(name, addr, group)                                                                     \
	"{'name':'" name "','id':'" ID("networkInterfaces/",                                       \
				       name) "','ipConfigurations':[{'privateIPAddress':'" addr    \
					     "','subnet':{'id':'" SUBNET "'}}]" group "}"
#define HAS(group) ",'networkSecurityGroup':{'id':'" ID("networkSecurityGroups/", group) "'}"
#define NICS(group) "[" NIC("a", "10.0.0.4", group) "," NIC("b", "10.0.0.5", group) "]"

static struct walls read_walls(struct arena *a, const char *text)
{
	struct walls w = {.a = a};
	char *copy = arena_strdup(a, text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	for (size_t n = strlen(copy), span; n; copy += span, n -= span) {
		cJSON *doc;
		bool known;

		span = json_span(copy, n, 32);
		assert_true(span > 0);
		doc = json_parse(copy, span, 32, &err);
		assert_non_null(doc);
		walls_add(&w, doc, &known);
		assert_true(known);
		cJSON_Delete(doc);
	}
	walls_settle(&w);
	return w;
}

static struct walls_training train(struct walls *w)
{
	static const struct port_needs usual = {29500, {32768, 60999}};
	const str_list none = {0};
	struct walls_training t;
	struct wall_node *nodes;
	size_t n;

	if (!w->nodes.n) {
		walls_imagine(w, &none, w->a, &nodes, &n);
		for (size_t i = 0; i < n; i++)
			*LIST_ADD(w->a, &w->nodes) = nodes[i];
	}
	assert_int_equal(walls_train(w, &usual, &none, &t, &err), 0);
	return t;
}

/* "in 29500 by deny-x; " for each thing that is closed. */
static const char *says(const struct walls_training *t)
{
	struct text s;

	text_init(&s, t->w->a);
	for (size_t i = 0; i < t->cases.n; i++) {
		const struct wall_case *c = &t->cases.v[i];

		if (c->closed.n)
			text_addf(&s, "%s %s %s by %s; ", c->view.wall->name,
				  c->view.is_egress ? "out" : "in",
				  port_spans_text(t->w->a, &c->closed),
				  c->rule ? c->rule->name : "none");
		else if (!c->udp || !c->icmp)
			text_addf(&s, "%s %s not all; ", c->view.wall->name,
				  c->view.is_egress ? "out" : "in");
	}
	return s.s;
}

static const struct {
	const char *name, *text, *says;
} cases[] = {
	{"Google: no rule", "[" GCP_OUT("x", 1000, ALLOW_ALL, TO("10.0.0.0/8")) "]" VMS,
	 "train in 29500,32768-60999 by none; "},
	{"Google: its own default",
	 "[" GCP("default-allow-internal", 65534,
		 "'allowed':[{'IPProtocol':'tcp','ports':['0-65535']},{'IPProtocol':'udp','ports':["
		 "'0-65535']},{'IPProtocol':'icmp'}]",
		 FROM("10.0.0.0/9")) "]" VMS,
	 ""},
	{"Google: only MASTER_PORT",
	 "[" GCP("m", 1000, ALLOW_TCP("'29500'"), FROM("10.0.0.0/8")) "]" VMS,
	 "train in 32768-60999 by none; "},
	{"Google: a range that does not hold the nodes",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.9.0.0/16")) "]" VMS,
	 "train in 29500,32768-60999 by none; "},
	{"Google: by tag", "[" GCP("m", 1000, ALLOW_ALL, FROM_TAG("gpu") AT_TAG("gpu")) "]" VMS,
	 ""},
	{"Google: by another's tag",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM_TAG("web") AT_TAG("gpu")) "]" VMS,
	 "train in 29500,32768-60999 by none; "},
	{"Google: by account",
	 "[" GCP("m", 1000, ALLOW_ALL, ",'sourceServiceAccounts':['sa@ml.iam']") "]" VMS, ""},
	{"Google: range or tag, either will do",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("192.0.2.0/24") FROM_TAG("gpu")) "]" VMS, ""},
	{"Google: for other machines",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8") AT_TAG("web")) "]" VMS,
	 "train in 29500,32768-60999 by none; "},
	{"Google: a denial before it",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8")) "," GCP(
		 "d", 900, DENY_TCP("'40000-50000'"), FROM("0.0.0.0/0")) "]" VMS,
	 "train in 40000-50000 by d; "},
	{"Google: a denial behind it",
	 "[" GCP("d", 1100, DENY_ALL, FROM("0.0.0.0/0")) "," GCP("m", 1000, ALLOW_ALL,
								 FROM("10.0.0.0/8")) "]" VMS,
	 ""},
	{"Google: of equal priorities the denial",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8")) "," GCP("d", 1000, DENY_ALL,
								   FROM("10.0.0.0/8")) "]" VMS,
	 "train in 29500,32768-60999 by d; "},
	{"Google: disabled",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8") ",'disabled':true") "]" VMS,
	 "train in 29500,32768-60999 by none; "},
	{"Google: out",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8")) "," GCP_OUT("d", 1000, DENY_ALL,
								       TO("0.0.0.0/0")) "]" VMS,
	 "train out 29500,32768-60999 by d; "},
	{"Google: only TCP",
	 "[" GCP("m", 1000, "'allowed':[{'IPProtocol':'6'}]", FROM("10.0.0.0/8")) "]" VMS,
	 "train in not all; "},
	{"Google: the API's own list, one object each",
	 "{'items':[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/8")) "]}" VM("a", "10.0.0.1", "gpu")
		 VM("b", "10.0.0.2", "gpu"),
	 ""},
	{"Google: nobody described a node", "[" GCP("m", 1000, ALLOW_ALL, FROM("10.128.0.0/9")) "]",
	 ""},
	{"Google: a range that is no cluster's",
	 "[" GCP("m", 1000, ALLOW_ALL, FROM("35.235.240.0/20")) "]",
	 "train in 29500,32768-60999 by none; "},

	{"Azure: as it comes", "[" NSG("g", "", ON_SUBNET) "]" NICS(""), ""},
	{"Azure: no group", NICS(""), ""},
	{"Azure: a denial",
	 "[" NSG("g", RULE("d", 4000, "Deny", "Inbound", "*", "VirtualNetwork", "*", "*"),
		 ON_SUBNET) "]" NICS(""),
	 "g in 29500,32768-60999 by d; "},
	{"Azure: ssh beside a denial of all",
	 "[" NSG("g",
		 RULE("ssh", 300, "Allow", "Inbound", "Tcp", "*", "*",
		      "22") "," RULE("d", 4000, "Deny", "Inbound", "*", "*", "*", "*"),
		 ON_SUBNET) "]" NICS(""),
	 "g in 29500,32768-60999 by d; "},
	{"Azure: MASTER_PORT before it",
	 "[" NSG("g",
		 RULE("d", 4000, "Deny", "Inbound", "Tcp", "*", "*", "*") "," RULE(
			 "m", 300, "Allow", "Inbound", "Tcp", "10.0.0.0/16", "*", "29500"),
		 ON_SUBNET) "]" NICS(""),
	 "g in 32768-60999 by d; "},
	{"Azure: the internet is not this network",
	 "[" NSG("g", RULE("d", 4000, "Deny", "Inbound", "*", "Internet", "*", "*"),
		 ON_SUBNET) "]" NICS(""),
	 ""},
	{"Azure: two groups, both must",
	 "[" NSG("g", RULE("d", 200, "Deny", "Outbound", "Tcp", "*", "10.0.0.0/24", "33000-34000"),
		 ON_SUBNET) "," NSG("h", RULE("e", 200, "Deny", "Inbound", "Udp", "*", "*", "*"),
				    "") "]" NICS(HAS("h")),
	 "g out 33000-34000 by d; h in not all; "},
	{"Azure: where it comes from",
	 "[" NSG("g",
		 "{'name':'d','properties':{'priority':200,'access':'Deny','direction':'Inbound',"
		 "'protocol':'Tcp','sourceAddressPrefixes':['10.0.0.0/"
		 "24'],'sourcePortRange':'50000-"
		 "50010','destinationAddressPrefix':'*','destinationPortRanges':['40000','40002-"
		 "40003']}}",
		 ON_SUBNET) "]" NICS(""),
	 "g in 40000,40002-40003 by d; "},
	{"Azure: nobody described a node",
	 "[" NSG("g", RULE("d", 4000, "Deny", "Inbound", "*", "*", "*", "*"), "") "]",
	 "g in 29500,32768-60999 by d; "},
};

static void t_judgement(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct walls w = read_walls(&a, cases[i].text);
		struct walls_training t = train(&w);

		if (!streq(says(&t), cases[i].says))
			fail_msg("%s: says '%s', not '%s'", cases[i].name, says(&t), cases[i].says);
	}
}

/* What mends it is read as a rule beside the others, and nothing is closed any more. */
static void t_order_of_the_mending_rule(void **state)
{
	static const struct {
		const char *text, *first, *then;
	} rows[] = {
		{"[" GCP("m", 1000, ALLOW_TCP("'22'"), FROM("0.0.0.0/0")) "]" VMS,
		 "--priority=1000 ", NULL},
		{"[" GCP("d", 500, DENY_ALL, FROM("0.0.0.0/0")) "]" VMS, "--priority=499 ", NULL},
		{"[" GCP("d", 0, DENY_ALL, FROM("0.0.0.0/0")) "]" VMS,
		 "update d --project=ml --priority=1", "--priority=0 "},
		{"[" GCP("d`id`", 0, DENY_ALL, FROM("0.0.0.0/0")) "]" VMS,
		 "update 'd`id`' --project=ml --priority=1", "--priority=0 "},
		{"[" GCP_OUT("d", 500, DENY_ALL, TO("0.0.0.0/0")) "," GCP(
			 "m", 1000, ALLOW_ALL, FROM("10.0.0.0/8")) "]" VMS,
		 "--direction=EGRESS --priority=499 --action=ALLOW --rules=all "
		 "--destination-ranges=10.0.0.0/28 --target-tags=gpu",
		 NULL},
		{"[" NSG("g", RULE("d", 200, "Deny", "Inbound", "*", "*", "*", "*"),
			 ON_SUBNET) "]" NICS(""),
		 "--priority 199 --direction Inbound", NULL},
		{"[" NSG("g",
			 RULE("d", 101, "Deny", "Inbound", "*", "*", "*",
			      "*") "," RULE("s", 100, "Allow", "Inbound", "Tcp", "*", "*", "22"),
			 ON_SUBNET) "]" NICS(""),
		 "rule update --resource-group ml --nsg-name g --name d --priority 102",
		 "--priority 101 --direction Inbound"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct walls w = read_walls(&a, rows[i].text);
		struct walls_training t = train(&w);
		const struct wall_case *c = NULL;
		str_list m;

		for (size_t k = 0; k < t.cases.n; k++)
			c = t.cases.v[k].closed.n ? &t.cases.v[k] : c;
		assert_non_null(c);
		m = walls_mend(&t, c->view.wall, c->view.is_egress, &a);
		if (!m.n || !strstr(m.v[0], rows[i].first) || (m.n > 1) != (rows[i].then != NULL) ||
		    (m.n > 1 && !strstr(m.v[1], rows[i].then)))
			fail_msg("%zu: '%s', then '%s'", i, m.n ? m.v[0] : "",
				 m.n > 1 ? m.v[1] : "");
	}
}

/* A thousand equal nodes are one case, and who is named by a rule another. */
static void t_many_nodes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct walls w = read_walls(&a, "[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.7/32")) "]");
	struct walls_training t;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct wall_node *n = LIST_ADD(&a, &w.nodes);

		n->name = "n";
		n->network = w.all.v[0].id;
		*LIST_ADD(&a, &n->addrs) =
			(union addr){.v4 = {AF_INET, 0, {htonl(0x0a000001 + i)}, {0}}};
	}
	walls_settle(&w);
	t = train(&w);
	assert_int_equal(t.classes.n, 2);
	assert_int_equal(t.classes.v[0].nodes.n + t.classes.v[1].nodes.n, 1000);
	assert_string_equal(says(&t), "train in 29500,32768-60999 by none; ");
}

/* Of each kind that the rules tell apart one. */
static void t_imagined(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct walls w =
		read_walls(&a, "[" GCP("m", 1000, ALLOW_ALL, FROM_TAG("gpu") AT_TAG("gpu")) "," GCP(
				       "n", 1000, ALLOW_ALL, FROM_TAG("lb") AT_TAG("web")) "]");
	str_list groups = {0};
	struct wall_node *nodes;
	size_t n;

	(void)state;
	walls_imagine(&w, &groups, &a, &nodes, &n);
	assert_int_equal(n, 3); /* no tag, gpu, web */
	assert_true(wall_node_has(&nodes[1], "tag:gpu"));
	*LIST_ADD(&a, &groups) = "gpu";
	walls_imagine(&w, &groups, &a, &nodes, &n);
	assert_int_equal(n, 1);
}

/* Rules that are not read whole must not count as more than they say. */
static void t_malformed(void **state)
{
	static const char *const texts[] = {
		"[" GCP("m", 1000, ALLOW_TCP("'x'"), FROM("10.0.0.0/8")) "]" VMS,
		"[" GCP("m", 1000, ALLOW_ALL, FROM("nonsense")) "]" VMS,
		"[" GCP("m", 1000, ALLOW_ALL, FROM("10.0.0.0/99")) "]" VMS,
		"[" GCP("m", 1000, "'allowed':[{'IPProtocol':'what'}]", FROM("10.0.0.0/8")) "]" VMS,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct walls w = read_walls(&a, texts[i]);
		struct walls_training t = train(&w);

		if (!walls_train_stops(&t))
			fail_msg("%zu was taken for a rule", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_judgement),	cmocka_unit_test(t_order_of_the_mending_rule),
		cmocka_unit_test(t_many_nodes), cmocka_unit_test(t_imagined),
		cmocka_unit_test(t_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
