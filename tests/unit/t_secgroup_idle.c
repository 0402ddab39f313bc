/* When EC2 forgets connections that are silent, as its documents say it, and what is made of that.
 */
#include "tests/unit/secgroup_docs.h"

#include "lib/report/json.h"

#define CARD(id, kind, more)                                                                       \
	"{'NetworkInterfaceId':'" id "','InterfaceType':'" kind "','Groups':[" IN_1                \
	"],'PrivateIpAddresses':[{'PrivateIpAddress':'10.0.0.1'}]" more "}"
#define SET(seconds) ",'ConnectionTrackingConfiguration':{'TcpEstablishedTimeout':" seconds "}"
#define HOST(id, type, cards)                                                                      \
	"{'InstanceId':'" id "','InstanceType':'" type "','NetworkInterfaces':[" cards "]}"
#define TYPE(name, seconds)                                                                        \
	"{'InstanceType':'" name "','NetworkInfo':{'ConnectionTrackingConfiguration':{"            \
	"'DefaultTcpEstablishedTimeout':" seconds "}}}"
#define TYPES(list) "{'InstanceTypes':[" list "]}"
#define MODIFY                                                                                     \
	"aws ec2 modify-network-interface-attribute --connection-tracking-specification "          \
	"TcpEstablishedTimeout=86400 --network-interface-id "

/* "STATUS SUBJECT: MESSAGE|FIX|" of each cloud.idle, a line each. */
static const char *said(struct arena *a, const char *docs)
{
	const struct sg_ask ask = {.ports = {29500, {32768, 60999}}, .efa = SG_EFA_NO};
	struct report_opts opts = {.command = "portcheck", .format = "json", .host = "me"};
	struct report *r = report_new(&opts, &docs_err);
	struct err nothing = {.kind = ERR_USAGE};
	struct sg_training t;
	str_list none = {0};
	struct sg_model m;
	const char *all = "";
	cJSON *doc, *f;

	read_model(a, arena_printf(a, "%s%s", OPEN, docs), &m);
	assert_int_equal(sg_train(&m, &ask, &none, &t, &docs_err), 0);
	sg_say_idle(&t, r);
	doc = report_envelope(r);
	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const cJSON *fix;

		assert_string_equal(json_text(f, "check"), "cloud.idle");
		all = arena_printf(a, "%s%s %s: %s|", all, json_text(f, "status"),
				   json_text(f, "subject"), json_text(f, "message"));
		cJSON_ArrayForEach (fix, json_get(f, "fix"))
			all = arena_printf(a, "%s%s|", all, fix->valuestring);
		all = arena_printf(a, "%s\n", all);
	}
	cJSON_Delete(doc);
	(void)report_end(r, &nothing);
	return all;
}

static void assert_said(const char *docs, const char *const parts[])
{
	AUTO(arena_done) struct arena a = {0};
	const char *all = said(&a, docs);
	size_t lines = 0, n = 0;

	for (const char *c = all; *c; c++)
		lines += *c == '\n';
	for (; parts[n]; n++)
		if (!strstr(all, parts[n]))
			fail_msg("no '%s' in '%s'", parts[n], all);
	assert_int_equal(lines, n ? n : 0);
}
#define ASSERT_SAID(docs, ...) assert_said(docs, (const char *const[]){__VA_ARGS__, NULL})

static void what_is_set_short(void **state UNUSED)
{
	ASSERT_SAID(
		NODES(HOST("i-1", "p4d.24xlarge", CARD("eni-1", "interface", SET("60"))) "," HOST(
			"i-2", "p4d.24xlarge", CARD("eni-2", "interface", SET("432000")))),
		"warn i-1: EC2 forgets a TCP connection that is silent for 60 s, as its "
		"TcpEstablishedTimeout is set: NCCL's have no keepalive, so a job that says "
		"nothing "
		"for longer, at a checkpoint, finds them dead|" MODIFY "eni-1|\n");
}

static void what_a_type_does(void **state UNUSED)
{
	ASSERT_SAID(
		NODES(HOST("i-1", "x9.large", CARD("eni-1", "interface", "")) "," HOST(
			"i-2", "x9.large",
			CARD("eni-2", "efa", "") "," CARD("eni-3", "efa-only", "")))
			TYPES(TYPE("x9.large", "350")),
		"warn i-1, i-2/eni-2: EC2 forgets a TCP connection that is silent for 350 s, as "
		"x9.large does where nothing is set: NCCL's have no keepalive, so a job that says "
		"nothing for longer, at a checkpoint, finds them dead|" MODIFY "eni-1|" MODIFY
		"eni-2|\n");
}

/* What is set counts, whatever its type does. */
static void what_is_long_enough(void **state UNUSED)
{
	ASSERT_SAID(NODES(HOST("i-1", "x9.large", CARD("eni-1", "interface", SET("86400"))))
			    TYPES(TYPE("x9.large", "350")),
		    "pass : a TCP connection may be silent for 24 h|\n");
	ASSERT_SAID(NODES(HOST("i-1", "p4d.24xlarge", CARD("eni-1", "interface", "")))
			    TYPES(TYPE("p4d.24xlarge", "'432000'")),
		    "pass : a TCP connection may be silent for 5 d|\n");
}

static void what_no_document_has(void **state UNUSED)
{
	static const char *const nothing[] = {NULL};

	ASSERT_SAID(
		NODES(HOST("i-1", "x9.large", CARD("eni-1", "interface", ""))),
		"info x9.large: when EC2 forgets its silent TCP connections stands in no document "
		"here: types since Nitro v6, but for P6e-GB200, after 350 s|aws ec2 "
		"describe-instance-types --instance-types x9.large   # and its document, too|\n");
	assert_said(NODES(HOST("i-1", "x9.large", CARD("eni-1", "interface", ""))) TYPES(""),
		    nothing);
	assert_said("", nothing);
	assert_said(NODES(HOST("i-1", "x9.large", CARD("eni-1", "interface", SET("-1")))) TYPES(
			    "7,{'InstanceType':'x9.large','NetworkInfo':[]},{'NetworkInfo':{}}"),
		    nothing);
}

/* One line for many. */
static void many_interfaces(void **state UNUSED)
{
	ASSERT_SAID(
		NODES(HOST(
			"i-1", "x9.large",
			CARD("eni-1", "interface", SET("60")) "," CARD(
				"eni-2", "interface",
				SET("60")) "," CARD("eni-3", "interface",
						    SET("60")) "," CARD("eni-4", "interface",
									SET("60")) "," CARD("eni-5",
											    "interf"
											    "ace",
											    SET("6"
												"0")))),
		"warn 5 interfaces: EC2 forgets a TCP connection that is silent for 60 s, as its "
		"TcpEstablishedTimeout is set: NCCL's have no keepalive, so a job that says "
		"nothing for "
		"longer, at a checkpoint, finds them dead|echo eni-1 eni-2 eni-3 eni-4 eni-5 | "
		"xargs -n "
		"1 aws ec2 modify-network-interface-attribute --connection-tracking-specification "
		"TcpEstablishedTimeout=86400 --network-interface-id|\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_short),   cmocka_unit_test(what_a_type_does),
		cmocka_unit_test(what_is_long_enough), cmocka_unit_test(what_no_document_has),
		cmocka_unit_test(many_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
