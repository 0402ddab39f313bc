/* Addresses, as the answers of hosts have them. */
#include "lib/core/quote.h"
#include "lib/host/hostname.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

static const cJSON *interface_of(const struct answer *a)
{
	return json_get(json_get(a->data, "parts"), "interface");
}

/* It becomes part of lines to type: nothing but an address is taken for one. */
static const char *address_in(const cJSON *o)
{
	const char *text = json_get_str(o, "address");
	union addr ignored;

	return text && !addr_parse(text, &ignored) ? text : NULL;
}

const char *answer_address(const struct answer *a)
{
	return address_in(json_get(interface_of(a), "suggest"));
}

const char *answer_published(const struct answer *a)
{
	return address_in(json_get(json_get(interface_of(a), "predict"), "nccl"));
}

/* Addresses of every kind, loopback and link-local ones included; NULL: it has not this one. */
static const cJSON *entry(const struct answer *a, const char *addr, const cJSON **ret_card)
{
	const cJSON *card, *at;

	cJSON_ArrayForEach (card, json_get(interface_of(a), "interfaces"))
		cJSON_ArrayForEach (at, json_get(card, "addresses"))
			if (streq(json_text(at, "address"), addr)) {
				*ret_card = card;
				return at;
			}
	return NULL;
}

const cJSON *answer_card(const struct answer *a, const char *addr)
{
	const cJSON *card = NULL;

	return entry(a, addr, &card) ? card : NULL;
}

const char *answer_card_word(struct arena *a, const struct answer *from, const char *addr)
{
	const char *name = json_get_str(answer_card(from, addr), "name");

	return name ? shell_quote(a, name) : "IFACE";
}

unsigned answer_prefix(const struct answer *a, const char *addr)
{
	const cJSON *card = NULL;
	unsigned most = strchr(addr, ':') ? 128 : 32;
	double got = json_get_num(entry(a, addr, &card), "prefix", most);

	return got >= 0 && got < most ? (unsigned)got : most;
}

/* What containers, loopback and links have is alike on all hosts by design. */
void answer_addresses(struct arena *a, const struct answer *from, str_list *ret)
{
	const cJSON *card, *at;
	union addr addr;

	*ret = (str_list){0};
	cJSON_ArrayForEach (card, json_get(interface_of(from), "interfaces")) {
		bool usable = cJSON_IsTrue(json_get(card, "usable"));

		cJSON_ArrayForEach (at, json_get(card, "addresses")) {
			const char *text = json_get_str(at, "address");

			if (text && usable && !addr_parse(text, &addr) &&
			    streq(json_text(at, "scope"), "global"))
				*LIST_ADD(a, ret) = text;
		}
	}
}

static bool has_exactly(const struct answers *all, const char *addr)
{
	for (size_t i = 0; i < all->n; i++)
		if (answer_card(&all->v[i], addr))
			return true;
	return false;
}

const char *drift_vacant(struct preflight *p, const struct answers *all, const struct answer *a,
			 const struct answer *usual, const char *like)
{
	struct name_answer got;
	struct addr_text t;
	union addr net;

	if (addr_parse(like, &net))
		return NULL;
	name_resolve(host_bare(a->host), 0, p->a, &got);
	for (size_t i = 0; i < got.addrs.n; i++) {
		const char *text = addr_print(&got.addrs.v[i], &t);

		if (addr_in_subnet(&got.addrs.v[i], &net, answer_prefix(usual, like)) &&
		    !has_exactly(all, text))
			return arena_strdup(p->a, text);
	}
	return NULL;
}
