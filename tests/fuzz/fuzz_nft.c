/* Any text as nft's ruleset: parsed, judged for a few packets, described; and as iptables-save's.
 */
#include "probes/port/firewall.h"

static void judge(const struct nft *n, const char *from, bool input, struct arena *a)
{
	struct nft_packet p = {.input = input, .iface = "eth0"};
	struct nft_answer x;

	if (addr_parse(from, &p.from))
		abort();
	p.to = p.from;
	addr_set_port(&p.to, 29500);
	x = nft_judge(n, &p);
	if (strlen(nft_describe(&x, a)) > (16 << 20))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(nft_done) struct nft nft = {.a = &a};
	struct err e = {0};

	if (n && *data != '{')
		nft_add_iptables(&nft, "ip", "iptables", true, (const char *)data, n);
	else if (nft_parse((const char *)data, n, &a, &nft, &e))
		return 0;
	(void)nft_is_foreign(&nft);
	judge(&nft, "10.0.0.1", true, &a);
	judge(&nft, "fd00::1", false, &a);
	return 0;
}
