#ifndef PROBES_PORT_NFT_VALUE_H
#define PROBES_PORT_NFT_VALUE_H
/* What the key of a match stands for in a packet: between nft_value.c and nft_match.c. */
#include "probes/port/nft.h"

/* ABSENT: the packet has no such thing. SPAN: some number of these. SEVERAL: "ip saddr . tcp dport"
 * and the like. */
enum kind { ABSENT, UNKNOWN, NUMBER, SPAN, WORD, ADDRESS, SEVERAL };
struct value {
	enum kind kind;
	double number; /* of a word too, where it has one; NAN: it has none; of a span the first */
	double last;   /* of a span */
	const char *word;
	union addr addr;
	const cJSON *keys;		  /* of several: the first */
	const struct nft_packet *packet;  /* of several: whose */
	const struct nft_packet *tracked; /* of a connection's state: whose */
};
struct value nft_value(const struct nft_packet *p, const cJSON *key);

#endif
