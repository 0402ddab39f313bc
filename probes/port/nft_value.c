/* What a rule may ask for, of a packet of ours. */
#include "probes/port/nft_value.h"

#include "lib/report/json.h"

#include <math.h>
#include <netinet/icmp6.h>

/* Linux's own net.ipv4.ip_local_port_range, from which connections start. */
enum { FIRST_HIGH = 32768, LAST_HIGH = 60999 };
/* Where a packet stands among its fragments, and whether more follow: of a whole one all are 0. */
enum { FRAGMENT_BITS = 0x3fff };

static struct value word(const char *s)
{
	return (struct value){.kind = WORD, .word = s, .number = NAN};
}
static struct value number(double n) { return (struct value){.kind = NUMBER, .number = n}; }
static struct value absent(void) { return (struct value){.kind = ABSENT}; }
static struct value unknown(void) { return (struct value){.kind = UNKNOWN}; }

static struct value address(const union addr *a, int family)
{
	if (a->sa.sa_family != family)
		return absent();
	return (struct value){.kind = ADDRESS, .addr = *a};
}

/* Where there is no /etc/protocols, nft writes the number. */
static struct value protocol(const struct nft_packet *p)
{
	if (p->icmp6)
		return (struct value){.kind = WORD, .word = "ipv6-icmp", .number = IPPROTO_ICMPV6};
	return (struct value){.kind = WORD,
			      .word = p->udp ? "udp" : "tcp",
			      .number = p->udp ? IPPROTO_UDP : IPPROTO_TCP};
}

static struct value of_ports(const struct nft_packet *p, const char *field)
{
	if (streq(field, "dport"))
		return number(addr_port(&p->to));
	if (!streq(field, "sport"))
		return unknown();
	if (addr_port(&p->from))
		return number(addr_port(&p->from));
	return (struct value){.kind = SPAN, .number = FIRST_HIGH, .last = LAST_HIGH};
}

/* A question for a neighbour (135) and its answer (136). */
static struct value of_icmp6(const struct nft_packet *p, const char *field)
{
	if (streq(field, "type"))
		return (struct value){.kind = WORD,
				      .word = p->icmp6 == ND_NEIGHBOR_SOLICIT
						      ? "nd-neighbor-solicit"
						      : "nd-neighbor-advert",
				      .number = p->icmp6};
	return streq(field, "code") ? number(0) : unknown();
}

static struct value of_payload(const struct nft_packet *p, const cJSON *payload)
{
	const char *proto = json_get_str(payload, "protocol"), *field;
	const char *ours = p->icmp6 ? "icmpv6" : p->udp ? "udp" : "tcp";
	int family = p->from.sa.sa_family;

	field = json_get_str(payload, "field");
	if (!proto || !field)
		return unknown();
	if (streq(proto, "ip") || streq(proto, "ip6")) {
		int theirs = streq(proto, "ip") ? AF_INET : AF_INET6;

		if (streq(field, "saddr"))
			return address(&p->from, theirs);
		if (streq(field, "daddr") && !p->icmp6) /* it may go to a group */
			return address(&p->to, theirs);
		if (theirs != family)
			return absent();
		if (streq(field, "hoplimit") && p->icmp6) /* RFC 4861: or it is dropped */
			return number(255);
		return streq(field, "protocol") || streq(field, "nexthdr") ? protocol(p)
									   : unknown();
	}
	if (streq(proto, ours) || streq(proto, "th"))
		return p->icmp6 ? of_icmp6(p, field) : of_ports(p, field);
	if (streq(proto, "ether"))
		return streq(field, "type") ? word(family == AF_INET ? "ip" : "ip6") : unknown();
	return absent(); /* icmp, the other of tcp and udp, vlan: a tag is gone at its card ... */
}

static struct value of_meta(const struct nft_packet *p, const cJSON *meta)
{
	const char *key = json_get_str(meta, "key");
	bool v4 = p->from.sa.sa_family == AF_INET;

	if (!key)
		return unknown();
	if (streq(key, "l4proto"))
		return protocol(p);
	if (streq(key, "nfproto"))
		return word(v4 ? "ipv4" : "ipv6");
	if (streq(key, "protocol"))
		return word(v4 ? "ip" : "ip6");
	if (streq(key, p->input ? "iifname" : "oifname") || streq(key, p->input ? "iif" : "oif"))
		return p->iface ? word(p->iface) : unknown();
	if (streq(key, "pkttype"))
		return p->icmp6 ? unknown() : word("host");
	return unknown();
}

static struct value of_ct(const struct nft_packet *p, const cJSON *ct)
{
	const char *key = json_get_str(ct, "key");

	if (key && streq(key, "state") && p->icmp6)
		return word("untracked"); /* the kernel tracks no neighbour's */
	if (key && streq(key, "state")) {
		struct value v = word(p->untracked ? "invalid"
				      : p->notrack ? "untracked"
				      : p->answer  ? "established"
						   : "new");

		v.tracked = p;
		return v;
	}
	if (p->untracked || p->notrack)
		return unknown();
	/* of a new one nothing is to be said yet, but where it may have been sent elsewhere */
	if (key && streq(key, "status") && !p->answer && !p->translated)
		return word("none");
	if (key && streq(key, "direction"))
		return word(p->answer ? "reply" : "original");
	return unknown();
}

/* "fib daddr type local"; what comes over lo goes from us to us. */
static struct value of_fib(const struct nft_packet *p, const cJSON *fib)
{
	const char *result = json_get_str(fib, "result");
	const cJSON *flags = json_get(fib, "flags");
	bool self = p->iface && streq(p->iface, "lo"), to = false, from = false;

	for (const cJSON *i = flags ? flags->child : NULL; i; i = i->next) {
		to |= cJSON_IsString(i) && streq(i->valuestring, "daddr");
		from |= cJSON_IsString(i) && streq(i->valuestring, "saddr");
	}
	if (!result || !streq(result, "type") || to == from)
		return unknown();
	return word(self || p->input == to ? "local" : "unicast");
}

/* Of "ip frag-off & 0x1fff" what is known: a first packet is whole, and is small. */
static struct value of_masked(const cJSON *pair)
{
	const cJSON *field = json_get(cJSON_GetArrayItem(pair, 0), "payload");
	const cJSON *mask = cJSON_GetArrayItem(pair, 1);

	if (!streq(json_text(field, "protocol"), "ip") ||
	    !streq(json_text(field, "field"), "frag-off") || !cJSON_IsNumber(mask) ||
	    !(mask->valuedouble >= 0 && mask->valuedouble <= FRAGMENT_BITS))
		return unknown();
	return number(0);
}

/* Of IPv6's headers between its own and TCP's a connection's first packet has none. */
static struct value of_header(const cJSON *header)
{
	static const char *const none[] = {"rt", "rt0", "rt2", "srh", "frag", "hbh", "dst", "mh"};

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (streq(json_text(header, "name"), none[i]))
			return absent();
	return unknown();
}

static struct value of_several(const struct nft_packet *p, const cJSON *keys)
{
	for (const cJSON *i = keys->child; i; i = i->next)
		if (nft_value(p, i).kind == ABSENT)
			return absent();
	return (struct value){.kind = SEVERAL, .keys = keys->child, .packet = p};
}

struct value nft_value(const struct nft_packet *p, const cJSON *key)
{
	if (json_get(key, "concat"))
		return of_several(p, json_get(key, "concat"));
	if (json_get(key, "exthdr"))
		return of_header(json_get(key, "exthdr"));
	if (json_get(key, "&"))
		return of_masked(json_get(key, "&"));
	if (json_get(key, "payload"))
		return of_payload(p, json_get(key, "payload"));
	if (json_get(key, "meta"))
		return of_meta(p, json_get(key, "meta"));
	if (json_get(key, "ct"))
		return of_ct(p, json_get(key, "ct"));
	if (json_get(key, "fib"))
		return of_fib(p, json_get(key, "fib"));
	return unknown();
}
