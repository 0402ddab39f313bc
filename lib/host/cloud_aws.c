/*
 * AWS, IMDSv2: a token first, then keys. The answer to the token's PUT carries
 * a small IP TTL (the "hop limit"), so that from a container behind the
 * instance it never arrives, while a plain GET is answered (401) at once.
 */
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/cloud_service.h"

#include <poll.h>

/* Enough for the largest instances (15 interfaces, 50 addresses each are rare). */
enum { MAX_MACS = 64, MAX_PUBLIC = 256 };
enum { FIRST_PAUSE_MS = 100, LAST_PAUSE_MS = 400 };

static const char *explain(struct metadata *m, int status)
{
	switch (status) {
	case 403:
		return "the metadata service is switched off (403); on a machine with AWS "
		       "credentials: aws ec2 modify-instance-metadata-options --instance-id ID "
		       "--http-endpoint enabled";
	case 429:
	case 503:
		return arena_printf(m->a,
				    "the metadata service is throttled (%d): run this again in "
				    "some seconds, on fewer processes at once",
				    status);
	default:
		return arena_printf(m->a, "the metadata service refused a token (%d)", status);
	}
}

/* It takes so many packets in a second from one machine: those with dozens of interfaces meet
 * that, and it answers 503, 429, or not at all. */
static bool is_throttled(const struct aws *s, const struct http_answer *answer)
{
	return answer->status == 503 || answer->status == 429 ||
	       (s->headers[0] && answer->timed_out && !answer->connected);
}

static int ask_again(struct aws *s, const char *path, struct http_answer *answer, struct err *e)
{
	struct metadata *m = s->m;

	for (uint64_t ms = FIRST_PAUSE_MS; ms <= LAST_PAUSE_MS && is_throttled(s, answer);
	     ms *= 2) {
		if (interrupt_pending() || now_ns() + ms * NS_PER_MS >= m->until_ns)
			break;
		(void)poll(NULL, 0, (int)ms);
		m->is_down = false;
		if (metadata_ask(m, "GET", path, s->headers, 0, answer, e))
			return -1;
	}
	return 0;
}

int aws_get(struct aws *s, const char *path, const char **ret_body, struct err *e)
{
	struct metadata *m = s->m;
	struct http_answer answer;
	bool was_down = m->is_down;

	*ret_body = NULL;
	if (metadata_ask(m, "GET", path, s->headers, 0, &answer, e) ||
	    (!was_down && ask_again(s, path, &answer, e)))
		return -1;
	if (answer.status == 200) {
		*ret_body = answer.body;
	} else if (answer.status == 0) {
		metadata_silent(m, &answer);
	} else if (is_throttled(s, &answer)) { /* still: what is left is not known */
		m->cloud->trouble = explain(m, answer.status);
		m->is_down = true;
	}
	return 0;
}

static const char *fix_hop_limit(struct metadata *m)
{
	return arena_printf(
		m->a, "%s",
		"IMDS hop limit too small: the metadata service answers, but its token never "
		"reaches this container; on a machine with AWS credentials: aws ec2 "
		"modify-instance-metadata-options --instance-id ID --http-put-response-hop-limit 2 "
		"--http-endpoint enabled");
}

/* The token's PUT did not come back. A plain GET tells a hop limit from an absence. */
static int without_token(struct aws *s, const struct http_answer *put, bool *ret_go_on,
			 struct err *e)
{
	struct metadata *m = s->m;
	struct http_answer plain = {0};

	*ret_go_on = false;
	if (put->timed_out && put->connected) {
		m->is_down = false;
		if (metadata_ask(m, "GET", AWS_META, NULL, 0, &plain, e))
			return -1;
	}
	*ret_go_on = plain.status == 200; /* IMDSv1 is allowed */
	if (plain.status == 401)
		m->cloud->trouble = fix_hop_limit(m);
	else if (plain.status != 200)
		metadata_silent(m, put);
	return 0;
}

static int take_token(struct aws *s, bool *ret_go_on, struct err *e)
{
	static const char *const ttl[] = {"X-aws-ec2-metadata-token-ttl-seconds: 60", NULL};
	struct metadata *m = s->m;
	uint64_t now = now_ns(), half = now < m->until_ns ? (m->until_ns - now) / 2 : 0;
	struct http_answer put;
	const char *token;

	/* Half of the time, so that the other half can tell why it did not come; at most
	 * the second that AWS's own clients wait. */
	if (metadata_ask(m, "PUT", "/latest/api/token", ttl, half < NS_PER_S ? half : NS_PER_S,
			 &put, e))
		return -1;
	if (put.status == 0)
		return without_token(s, &put, ret_go_on, e);
	token = put.status == 200 ? metadata_word(m->a, put.body, put.n) : NULL;
	if (token)
		s->headers[0] = arena_printf(m->a, "X-aws-ec2-metadata-token: %s", token);
	/* 404 and 405: a stand-in or an old service that knows IMDSv1 only. */
	*ret_go_on = token || put.status == 404 || put.status == 405;
	if (!*ret_go_on)
		m->cloud->trouble = explain(m, put.status);
	return 0;
}

/* "02:aa:bb:cc:dd:ee/" as listed; anything else must not get into a path. */
static const char *mac_of(struct arena *a, const char *line)
{
	size_t n = strspn(line, "0123456789abcdefABCDEF:");

	return n == 17 && (!line[n] || streq(line + n, "/")) ? arena_strndup(a, line, n) : NULL;
}

static const char *first_line(struct arena *a, const char *text)
{
	const char *line = NULL;

	return text && metadata_line(a, &text, &line) ? line : NULL;
}

/* Without its association only the one public address of a card is surely its primary's. */
static int map_one(struct aws *s, const char *card, const char *mac, const char *public_ip,
		   bool only, struct err *e)
{
	struct metadata *m = s->m;
	const char *text;
	union addr check;

	if (addr_parse(public_ip, &check))
		return 0;
	if (aws_get(s, arena_printf(m->a, "%sipv4-associations/%s", card, public_ip), &text, e))
		return -1;
	if (!text && only && aws_get(s, arena_printf(m->a, "%slocal-ipv4s", card), &text, e))
		return -1;
	metadata_map(m, public_ip, first_line(m->a, text), mac);
	return 0;
}

static int read_card(struct aws *s, const char *mac, struct err *e)
{
	struct metadata *m = s->m;
	const char *card = arena_printf(m->a, AWS_META "network/interfaces/macs/%s/", mac);
	const char *text, *line;

	/* 404: this card has no public address, and nothing to map. */
	if (aws_get(s, arena_printf(m->a, "%spublic-ipv4s", card), &text, e))
		return -1;
	for (size_t i = 0; text && i < MAX_PUBLIC && metadata_line(m->a, &text, &line); i++)
		if (map_one(s, card, mac, line, i == 0 && !*text, e))
			return -1;
	return 0;
}

int aws_read(struct metadata *m, struct err *e)
{
	struct aws s = {.m = m};
	const char *text, *line, *mac;
	bool go_on;

	if (take_token(&s, &go_on, e))
		return -1;
	if (!go_on)
		return 0;
	if (m->depth == READ_ROLE)
		return aws_read_role(&s, e);
	if (aws_get(&s, AWS_META "instance-type", &text, e))
		return -1;
	m->cloud->instance_type = text ? metadata_word(m->a, text, strlen(text)) : NULL;
	if (m->depth == READ_TYPE)
		return 0;
	if (aws_get(&s, AWS_META "network/interfaces/macs/", &text, e))
		return -1;
	for (size_t i = 0; text && i < MAX_MACS && metadata_line(m->a, &text, &line); i++) {
		mac = mac_of(m->a, line);
		if (mac && read_card(&s, mac, e))
			return -1;
		if (mac && m->depth == READ_CARDS && aws_read_card(&s, mac, e))
			return -1;
	}
	return m->depth == READ_CARDS ? aws_read_place(&s, e) : 0;
}
