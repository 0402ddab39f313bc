/* STS lends a role's keys to who shows a token that it trusts: EKS puts one into a pod's file. */
#include "lib/cloud/credentials_remote.h"
#include "lib/cloud/ec2.h"
#include "lib/cloud/endpoint.h"
#include "lib/cloud/env.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

enum { TOKEN_MAX = 32 << 10 };

static int read_query(struct arena *a, struct text *ret, struct err *e)
{
	const char *role = env("AWS_ROLE_ARN"), *session = env("AWS_ROLE_SESSION_NAME");
	char *token;
	size_t n;

	if (!role) {
		err_set(e, ERR_ABSENT, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but not AWS_ROLE_ARN");
		return err_hint(e, "annotate the service account with eks.amazonaws.com/role-arn "
				   "and start the pod again");
	}
	if (file_read(env("AWS_WEB_IDENTITY_TOKEN_FILE"), TOKEN_MAX, a, &token, &n, e))
		return -1;
	token[strcspn(token, "\r\n")] = '\0';
	text_init(ret, a);
	text_add(ret, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
	ec2_query_add(ret, "RoleArn", role);
	ec2_query_add(ret, "RoleSessionName", session ? session : "windsock");
	ec2_query_add(ret, "WebIdentityToken", token);
	explicit_bzero(token, n);
	return 0;
}

static int refused(const cJSON *error, int status, struct err *e)
{
	const char *code = json_get_str(error, "Code"), *why = json_get_str(error, "Message");

	if (code)
		err_set(e, ERR_ABSENT, "STS lends this pod no keys: %.60s%s%.300s", code,
			why ? ": " : "", why ? why : "");
	else
		err_set(e, ERR_ABSENT, "STS lends this pod no keys: HTTP status %d", status);
	return err_hint(e, "does the role's trust policy name this cluster's OIDC provider and "
			   "this service account? aws iam get-role --role-name NAME");
}

static int read_answer(const struct https_answer *answer, struct credentials *ret, struct err *e)
{
	struct err bad = {0};
	cJSON *doc = ec2_xml_parse(answer->body ? answer->body : "", answer->n, &bad);
	const cJSON *keys =
		json_get(json_get(doc, "AssumeRoleWithWebIdentityResult"), "Credentials");
	int rc;

	if (answer->status == 200 && keys)
		rc = credentials_set(ret, json_get_str(keys, "AccessKeyId"),
				     json_get_str(keys, "SecretAccessKey"),
				     json_get_str(keys, "SessionToken"), e);
	else
		rc = refused(json_get(doc, "Error"), answer->status, e);
	cJSON_Delete(doc);
	return rc;
}

int credentials_from_web_identity(struct credentials *ret, uint64_t total_ns, struct arena *a,
				  struct err *e)
{
	const struct https_plugin *https = https_load(a, e);
	struct https_request q = {.ca_file = env("AWS_CA_BUNDLE"),
				  .total_ms = total_ns / NS_PER_MS + 1,
				  .cancelled = https_is_interrupted};
	struct https_answer answer;
	struct text query;
	int rc;

	ret->from = "the service account's role";
	if (!https || (ret->region && !endpoint_is_region(ret->region)))
		return https ? err_set(e, ERR_USAGE, "'%.60s' is not a region", ret->region) : -1;
	if (read_query(a, &query, e))
		return -1;
	q.url = endpoint_url("sts", ret->region, ret->endpoint, a);
	q.is_direct = endpoint_is_near(q.url, a);
	q.body = query.s;
	https->post(&q, &answer);
	explicit_bzero(query.s, query.n);
	if (answer.status) {
		rc = read_answer(&answer, ret, e);
	} else if (interrupt_err(e) == 0) {
		rc = endpoint_is_silent("sts", q.url, answer.error, ret->endpoint, ERR_ABSENT, a,
					e);
		if (!*e->hint)
			rc = err_hint(
				e,
				"is there a way from this pod to STS (a proxy, a VPC endpoint)?");
	} else {
		rc = -1;
	}
	if (answer.body)
		explicit_bzero(answer.body, answer.n);
	https->release(&answer);
	return rc ? -1 : 1;
}
