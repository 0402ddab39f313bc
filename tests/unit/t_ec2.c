/* EC2's API without EC2: its XML, its errors, what is asked, and which libcurl may ask. */
#include "lib/cloud/ec2.h"
#include "lib/cloud/endpoint.h"
#include "lib/report/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct err err;

static void t_xml(void **state)
{
	static const struct {
		const char *xml, *json; /* NULL: refused */
	} rows[] = {
		{"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<R "
		 "xmlns=\"u\"><requestId>1</requestId></R>\n",
		 "{\"RequestId\":\"1\"}"},
		{"<R><securityGroupInfo><item><groupId>sg-1</groupId><ipPermissions><item>"
		 "<ipProtocol>-1</ipProtocol><groups><item><groupId>sg-1</groupId></item><item>"
		 "<groupId>sg-2</groupId></item></groups><ipRanges/></item></ipPermissions></item>"
		 "</securityGroupInfo></R>",
		 "{\"SecurityGroups\":[{\"GroupId\":\"sg-1\",\"IpPermissions\":[{\"IpProtocol\":\"-"
		 "1\","
		 "\"UserIdGroupPairs\":[{\"GroupId\":\"sg-1\"},{\"GroupId\":\"sg-2\"}],"
		 "\"IpRanges\":\"\"}]}]}"},
		{"<R><a>1 &lt;&gt;&amp;&quot;&apos; &#65;&#x42;&#xe9;&#x20ac;&#x1f600;</a></R>",
		 "{\"A\":\"1 <>&\\\"' ABé€😀\"}"},
		{"<R><a><!-- <b> --><c x=\"1\" y='2'/></a></R>", "{\"A\":{\"C\":\"\"}}"},
		{"<Response><Errors><Error><Code>X</Code></Error></Errors></Response>",
		 "{\"Errors\":{\"Error\":{\"Code\":\"X\"}}}"},
		{"<R>\n  <a>1</a>\n  <b>2</b>\n</R>", "{\"A\":\"1\",\"B\":\"2\"}"},
		{"<R/>", "{}"},
		{"", NULL},
		{"text", NULL},
		{"<R>", NULL},
		{"<R></S>", NULL},
		{"<R></R><S></S>", NULL},
		{"<R><a></R></a>", NULL},
		{"</R>", NULL},
		{"<R", NULL},
		{"<R>&bogus;</R>", NULL},
		{"<R>&#xd800;</R>", NULL},
		{"<R>&#9999999999;</R>", NULL},
		{"<R>& </R>", NULL},
		{"<!DOCTYPE R [<!ENTITY a \"b\">]><R>&a;</R>", NULL},
		{"<R><![CDATA[x]]></R>", NULL},
		{"<R><!-- </R>", NULL},
		{"<html><body>Log in<br></body></html>", NULL},
		{"{\"json\":1}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cJSON *doc = ec2_xml_parse(rows[i].xml, strlen(rows[i].xml), &err);
		AUTO_FREE char *got = doc ? cJSON_PrintUnformatted(doc) : NULL;

		cJSON_Delete(doc);
		if (!got != !rows[i].json || (got && !streq(got, rows[i].json)))
			fail_msg("%s: %s, not %s", rows[i].xml, got, rows[i].json);
	}
}

static void t_deep_xml(void **state)
{
	char text[40 * 3 + 1] = "";

	(void)state;
	for (size_t i = 0; i < 40; i++)
		memcpy(text + i * 3, "<a>", 3);
	assert_null(ec2_xml_parse(text, sizeof(text) - 1, &err));
}

static void t_query(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	str_list values = {0};
	struct text q;

	(void)state;
	*LIST_ADD(&a, &values) = "sg-1";
	*LIST_ADD(&a, &values) = "a b&c=d/+~\xc3\xa9";
	ec2_query(&q, &a, "DescribeSecurityGroups");
	ec2_query_filter(&q, 1, "group-id", &values);
	assert_string_equal(q.s, "Action=DescribeSecurityGroups&Version=2016-11-15&"
				 "Filter.1.Name=group-id&Filter.1.Value.1=sg-1&"
				 "Filter.1.Value.2=a%20b%26c%3Dd%2F%2B~%C3%A9");
}

static void t_errors(void **state)
{
	static const struct {
		const char *code, *message, *says, *hint;
	} rows[] = {
		{"UnauthorizedOperation", "Encoded authorization failure message: AbC",
		 "may not do that", "ec2:DescribeInstances"},
		{"SignatureDoesNotMatch", "", "secret access key", "timedatectl"},
		{"RequestLimitExceeded", "", "throttles", "--deadline"},
		{"RulesPerSecurityGroupLimitExceeded", "", "as many rules", "quota"},
		{"InvalidGroup.NotFound", "", "no such security group", "--region"},
		{"SomethingNew", "First thing. Second thing", "SomethingNew: First thing", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
			ec2_explain("DescribeInstances", rows[i].code, rows[i].message, &err), -1);
		if (!strstr(err.msg, rows[i].says) || !strstr(err.hint, rows[i].hint) ||
		    strstr(err.msg, "Second") || strstr(err.msg, "AbC") || strchr(err.hint, '%'))
			fail_msg("%s: %s; %s", rows[i].code, err.msg, err.hint);
	}
	assert_true(ec2_is_passing(503, "RequestLimitExceeded"));
	assert_true(ec2_is_passing(502, NULL));
	assert_false(ec2_is_passing(403, NULL));
	assert_false(ec2_is_passing(403, "UnauthorizedOperation"));
	assert_false(ec2_is_passing(412, "DryRunOperation"));
}

static void t_libcurl_versions(void **state)
{
	(void)state;
	assert_int_equal(https_check_libcurl(0x075600, "7.86.0", &err), 0);
	assert_int_equal(https_check_libcurl(0x080b01, "8.11.1", &err), 0);
	assert_int_equal(https_check_libcurl(0x075501, "7.85.1", &err), -1);
	assert_int_equal(err.kind, ERR_ABSENT);
	assert_non_null(strstr(err.msg, "libcurl 7.85.1"));
	assert_non_null(strstr(err.hint, "7.86"));
}

/* --- calls, with a plug-in that plays EC2 ------------------------------------------------- */

static struct {
	const char *const *says; /* status and body, in turn; the last one is repeated */
	unsigned calls;
	char sent[4096];
	const char *region;
} played;

static void play(const struct https_request *q, struct https_answer *ret)
{
	const char *const *say = played.says;

	for (unsigned i = 0; i < played.calls && say[2]; i++)
		say += 2;
	played.calls++;
	(void)snprintf(played.sent, sizeof(played.sent), "%s %s %s", q->url, q->sigv4, q->body);
	*ret = (struct https_answer){.status = (int)strtol(say[0], NULL, 10)};
	ret->body = strdup(say[1]);
	ret->n = strlen(say[1]);
	if (!ret->status)
		(void)snprintf(ret->error, sizeof(ret->error), "%s", say[1]);
}

static void forget(struct https_answer *answer) { free(answer->body); }

static const struct https_plugin player = {HTTPS_VERSION, NULL, play, forget};

static struct ec2 opened(struct arena *a, const char *const *says)
{
	played.says = says;
	played.calls = 0;
	return (struct ec2){.a = a,
			    .https = &player,
			    .region = "eu-west-1",
			    .endpoint = "https://ec2.eu-west-1.amazonaws.com/",
			    .deadline_ns = 1200000000};
}

#define BUSY                                                                                       \
	"<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>"
#define DENIED                                                                                     \
	"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>"

static void count_groups(void *arg, const cJSON *page)
{
	*(int *)arg += cJSON_GetArraySize(json_get(page, "SecurityGroups"));
}

static void t_calls(void **state)
{
	static const char two[] =
		"<R><securityGroupInfo><item><a/></item><item><a/></item></securityGroupInfo>"
		"<nextToken>t+1</nextToken></R>";
	static const char one[] = "<R><securityGroupInfo><item><a/></item></securityGroupInfo></R>";
	static const struct {
		const char *name, *says[9];
		int rc, groups;
		unsigned calls;
		const char *msg;
	} rows[] = {
		{"one page", {"200", one}, 0, 1, 1, ""},
		{"two pages", {"200", two, "200", one}, 0, 3, 2, ""},
		{"throttled once", {"503", BUSY, "200", one}, 0, 1, 2, ""},
		{"a gateway in trouble", {"502", "<html>bad", "200", one}, 0, 1, 2, ""},
		{"nothing at all, once", {"503", "", "200", one}, 0, 1, 2, ""},
		{"throttled for ever", {"503", BUSY}, 1, 0, 3, "throttles"},
		{"denied", {"403", DENIED}, 1, 0, 1, "may not do that"},
		{"no network", {"0", "Could not resolve host"}, -1, 0, 1, "Could not resolve host"},
		{"a login page", {"200", "<html><br></html>"}, -1, 0, 1, "not the XML"},
		{"an empty answer", {"200", ""}, -1, 0, 1, "not the XML"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct ec2 s = opened(&a, rows[i].says);
		const char *code = NULL;
		int groups = 0, rc;

		err = (struct err){0};
		rc = ec2_describe(&s, "Action=DescribeX&Version=1", count_groups, &groups, &code,
				  &err);
		if (rc != rows[i].rc || groups != rows[i].groups || played.calls != rows[i].calls ||
		    !strstr(err.msg, rows[i].msg) || (!rc && *err.msg))
			fail_msg("%s: rc %d, %d groups, %u calls, %s", rows[i].name, rc, groups,
				 played.calls, err.msg);
		if (streq(rows[i].name, "two pages"))
			assert_string_equal(
				played.sent,
				"https://ec2.eu-west-1.amazonaws.com/ aws:amz:eu-west-1:ec2 "
				"Action=DescribeX&Version=1&NextToken=t%2B1");
	}
}

/* Each partition has a domain of its own. */
static void t_endpoints(void **state)
{
	static const char *const rows[][2] = {
		{"eu-west-1", "https://ec2.eu-west-1.amazonaws.com/"},
		{"us-gov-west-1", "https://ec2.us-gov-west-1.amazonaws.com/"},
		{"cn-north-1", "https://ec2.cn-north-1.amazonaws.com.cn/"},
		{"eusc-de-east-1", "https://ec2.eusc-de-east-1.amazonaws.eu/"},
		{"us-iso-east-1", "https://ec2.us-iso-east-1.c2s.ic.gov/"},
		{"us-isob-east-1", "https://ec2.us-isob-east-1.sc2s.sgov.gov/"},
		{"eu-isoe-west-1", "https://ec2.eu-isoe-west-1.cloud.adc-e.uk/"},
		{"us-isof-south-1", "https://ec2.us-isof-south-1.csp.hci.ic.gov/"},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(endpoint_url("ec2", rows[i][0], NULL, &a), rows[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_xml),       cmocka_unit_test(t_deep_xml),
		cmocka_unit_test(t_query),     cmocka_unit_test(t_errors),
		cmocka_unit_test(t_calls),     cmocka_unit_test(t_libcurl_versions),
		cmocka_unit_test(t_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
