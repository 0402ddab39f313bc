/* TCP's flags in a rule: of a connection's first packet, or of its answer. */
#include "lib/report/json.h"
#include "probes/port/nft.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32, ECN = 64, CWR = 128, ALL = 255 };
enum { NO_BITS = -1, DEPTH_MOST = 10 }; /* older nft: one level for each "|" */

static const struct {
	const char *name;
	int bit;
} names[] = {{"fin", FIN}, {"syn", SYN}, {"rst", RST}, {"psh", PSH},
	     {"ack", ACK}, {"urg", URG}, {"ecn", ECN}, {"cwr", CWR}};

static int bits_of(const cJSON *x, unsigned depth);

static int any_of(const cJSON *list, unsigned depth)
{
	int all = 0;

	for (const cJSON *i = list->child; i; i = i->next) {
		int bits = bits_of(i, depth + 1);

		if (bits == NO_BITS)
			return NO_BITS;
		all |= bits;
	}
	return all;
}

/* "syn", 18, ["syn", "ack"], {"|": ["syn", "ack"]}; NO_BITS when it is none of these. */
static int bits_of(const cJSON *x, unsigned depth)
{
	if (depth > DEPTH_MOST)
		return NO_BITS;
	if (cJSON_IsNumber(x))
		return x->valuedouble >= 0 && x->valuedouble <= ALL ? x->valueint : NO_BITS;
	if (cJSON_IsArray(x))
		return any_of(x, depth);
	for (size_t i = 0; cJSON_IsString(x) && i < ARRAY_LEN(names); i++)
		if (streq(x->valuestring, names[i].name))
			return names[i].bit;
	return cJSON_IsArray(json_get(x, "|")) ? any_of(json_get(x, "|"), depth) : NO_BITS;
}

static bool is_field(const cJSON *left)
{
	const cJSON *payload = json_get(left, "payload");
	const char *proto = json_get_str(payload, "protocol"), *field;

	field = json_get_str(payload, "field");
	return proto && field && streq(proto, "tcp") && streq(field, "flags");
}

/* The flags themselves, or some of them: {"&": [FLAGS, MASK]}. */
static const cJSON *masked(const cJSON *left)
{
	const cJSON *both = json_get(left, "&");

	return both && is_field(cJSON_GetArrayItem(both, 0)) ? cJSON_GetArrayItem(both, 1) : NULL;
}

bool nft_is_flags(const cJSON *left) { return is_field(left) || masked(left); }

/* One of a set, or the one. */
static enum truth equals(int have, const cJSON *right)
{
	const cJSON *set = json_get(right, "set");
	enum truth t = NO;

	if (!set) {
		int want = bits_of(right, 0);

		return want == NO_BITS ? PERHAPS : truth(have == want);
	}
	for (const cJSON *i = set->child; i && t != YES; i = i->next) {
		int want = bits_of(i, 0);

		t = want == have ? YES : want == NO_BITS ? PERHAPS : t;
	}
	return t;
}

enum truth nft_match_flags(const cJSON *left, const char *op, const cJSON *right,
			   const struct nft_packet *p)
{
	int mask = masked(left) ? bits_of(masked(left), 0) : ALL, want = bits_of(right, 0);
	int have = p->answer ? SYN | ACK : SYN;
	enum truth t;

	if (p->udp)
		return NO;
	if (mask == NO_BITS)
		return PERHAPS;
	have &= mask;
	if (streq(op, "in") || streq(op, "!")) /* any of these, none of these */
		return want == NO_BITS ? PERHAPS : truth(!!(have & want) == streq(op, "in"));
	if (!streq(op, "==") && !streq(op, "!="))
		return PERHAPS;
	t = equals(have, right);
	return t == PERHAPS || streq(op, "==") ? t : truth(t == NO);
}
