#include "lib/cloud/ec2.h"

#include "lib/cloud/endpoint.h"
#include "lib/cloud/env.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/net/loop.h"
#include "lib/report/json.h"

#define API_VERSION "2016-11-15"
enum { PAGES_MAX = 1000, BACKOFF_MS = 200, BACKOFF_MOST_MS = 5000 };

/* --- where to ask ---------------------------------------------------------------- */

static bool is_plain(const char *s, const char *more)
{
	for (; *s; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || strchr(more, *s)))
			return false;
	return true;
}

static int no_region(struct err *e)
{
	err_set(e, ERR_USAGE,
		"which AWS region? Neither --region, AWS_REGION nor the profile says");
	return err_hint(e, "--region us-east-1, for example");
}

int ec2_open(struct ec2 *s, const char *profile, const char *region, const char *fallback_region,
	     uint64_t deadline_ns, struct arena *a, struct err *e)
{
	*s = (struct ec2){.a = a, .deadline_ns = deadline_ns};
	s->https = https_load(a, e);
	if (!s->https || credentials_find(&s->keys, profile, deadline_ns, a, e))
		return -1;
	s->region = region ? region : s->keys.region ? s->keys.region : fallback_region;
	if (!s->region)
		return no_region(e);
	if (!endpoint_is_region(s->region))
		return err_set(e, ERR_USAGE, "'%.60s' is not a region", s->region);
	s->endpoint = endpoint_url("ec2", s->region, s->keys.endpoint, a);
	log_detail("asking %s with keys from %s", s->endpoint, s->keys.from);
	return 0;
}

void ec2_done(struct ec2 *s) { credentials_done(&s->keys); }

/* --- what to ask ------------------------------------------------------------------ */

void ec2_query(struct text *q, struct arena *a, const char *action)
{
	text_init(q, a);
	text_addf(q, "Action=%s&Version=" API_VERSION, action);
}

void ec2_query_add(struct text *q, const char *name, const char *value)
{
	text_addf(q, "&%s=", name);
	for (; *value; value++)
		if (is_plain((char[]){*value, '\0'}, "-_.~") || (*value >= 'A' && *value <= 'Z'))
			text_addn(q, value, 1);
		else
			text_addf(q, "%%%02X", (unsigned char)*value);
}

void ec2_query_filter(struct text *q, unsigned number, const char *name, const str_list *values)
{
	ec2_query_add(q, arena_printf(q->a, "Filter.%u.Name", number), name);
	for (size_t i = 0; i < values->n; i++)
		ec2_query_add(q, arena_printf(q->a, "Filter.%u.Value.%zu", number, i + 1),
			      values->v[i]);
}

/* --- one call ---------------------------------------------------------------------- */

static int no_answer(const struct ec2 *s, const struct https_answer *answer, struct err *e)
{
	if (interrupt_err(e))
		return -1;
	(void)endpoint_is_silent("ec2", s->endpoint, answer->error, s->keys.endpoint, ERR_SYS, s->a,
				 e);
	return *e->hint ? -1
			: err_hint(e, "is there a way to the internet from here (a proxy, a VPC "
				      "endpoint)? If not, "
				      "run `aws ec2 describe-security-groups` where there is one "
				      "and give its "
				      "output to portcheck --cloud --audit -");
}

static void read_error(struct ec2 *s, struct ec2_reply *r)
{
	const cJSON *error = json_get(json_get(r->doc, "Errors"), "Error");
	const char *code = json_get_str(error, "Code"), *message = json_get_str(error, "Message");

	r->code = code ? arena_strdup(s->a, code) : NULL;
	r->message = message ? arena_strdup(s->a, message) : NULL;
}

/* A gateway that is overloaded writes HTML, and is asked again: that is no error yet. */
static int read_answer(struct ec2 *s, const struct https_answer *answer, struct ec2_reply *ret,
		       struct err *e)
{
	struct err unread = {0};

	ret->doc = ec2_xml_parse(answer->body ? answer->body : "", answer->n, &unread);
	if (ret->doc) {
		read_error(s, ret);
		return 0;
	}
	if (ec2_is_passing(answer->status, NULL))
		return 0;
	*e = unread;
	return -1;
}

static int post(struct ec2 *s, const char *query, uint64_t until_ns, struct ec2_reply *ret,
		struct err *e)
{
	uint64_t now = now_ns();
	const char *token = *s->keys.token ? s->keys.token : NULL;
	char header[sizeof(s->keys.token) + 32] = "";
	const char *headers[] = {token ? header : NULL, NULL};
	const struct https_request q = {
		.url = s->endpoint,
		.body = query,
		.sigv4 = arena_printf(s->a, "aws:amz:%s:ec2", s->region),
		.key_id = s->keys.key_id,
		.secret = s->keys.secret,
		.headers = headers,
		.ca_file = env("AWS_CA_BUNDLE"),
		.is_direct = endpoint_is_near(s->endpoint, s->a),
		.total_ms = now < until_ns ? (until_ns - now) / NS_PER_MS + 1 : 1,
		.cancelled = https_is_interrupted,
	};
	struct https_answer answer;
	int rc;

	if (token)
		(void)snprintf(header, sizeof(header), "X-Amz-Security-Token: %s", token);
	s->https->post(&q, &answer);
	explicit_bzero(header, sizeof(header));
	*ret = (struct ec2_reply){.status = answer.status};
	rc = answer.status ? read_answer(s, &answer, ret, e) : no_answer(s, &answer, e);
	s->https->release(&answer);
	return rc;
}

static void wake(struct loop *l, struct timer *t)
{
	(void)t;
	loop_stop(l);
}

int ec2_wait_ms(uint64_t ms, struct err *e)
{
	AUTO(loop_done) struct loop l = {0};
	struct timer t = {.fire = wake};

	if (loop_init(&l, e) || loop_arm(&l, &t, ms * NS_PER_MS, e) || loop_run(&l, e))
		return -1;
	return interrupt_err(e);
}

int ec2_call(struct ec2 *s, const char *query, struct ec2_reply *ret, struct err *e)
{
	uint64_t until = now_ns() + s->deadline_ns, ms = BACKOFF_MS;

	for (;;) {
		if (post(s, query, until, ret, e))
			return -1;
		if ((ret->status == 200 && !ret->code) || !ec2_is_passing(ret->status, ret->code) ||
		    now_ns() + ms * NS_PER_MS >= until)
			break;
		log_detail("EC2 says %s; asking again in %llu ms", ret->code ? ret->code : "busy",
			   (unsigned long long)ms);
		cJSON_Delete(ret->doc);
		/* It wants us to come back later, each time later than before. */
		if (ec2_wait_ms(ms, e))
			return -1;
		ms = ms * 2 < BACKOFF_MOST_MS ? ms * 2 : BACKOFF_MOST_MS;
	}
	if (ret->status != 200 && !ret->code)
		ret->code = arena_printf(s->a, "HTTP status %d", ret->status);
	return 0;
}

/* --- pages -------------------------------------------------------------------------- */

static const char *action_of(struct arena *a, const char *query)
{
	const char *at = query + strlen("Action=");

	return arena_strndup(a, at, strcspn(at, "&"));
}

int ec2_describe(struct ec2 *s, const char *query, void (*take)(void *arg, const cJSON *page),
		 void *arg, const char **ret_code, struct err *e)
{
	const char *next = NULL;

	for (int page = 0; page < PAGES_MAX; page++) {
		struct ec2_reply r;
		struct text q;

		text_init(&q, s->a);
		text_add(&q, query);
		if (next)
			ec2_query_add(&q, "NextToken", next);
		if (ec2_call(s, q.s, &r, e))
			return -1;
		if (r.code) {
			*ret_code = r.code;
			ec2_explain(action_of(s->a, query), r.code, r.message, e);
			cJSON_Delete(r.doc);
			return 1;
		}
		take(arg, r.doc);
		next = json_get_str(r.doc, "NextToken");
		next = next && *next ? arena_strdup(s->a, next) : NULL;
		cJSON_Delete(r.doc);
		if (!next)
			return 0;
	}
	return err_set(e, ERR_SYS, "EC2's %s does not come to an end", action_of(s->a, query));
}
