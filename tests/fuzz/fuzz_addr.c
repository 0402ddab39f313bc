/* Addresses and host:port: no crash, and what is printed is read back as the same. */
#include "lib/net/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const union addr *a)
{
	struct addr_text t;
	union addr again;

	if (addr_parse(addr_print(a, &t), &again) || !addr_equal(a, &again))
		abort();
	again = addr_network(a, a->sa.sa_family == AF_INET ? 24 : 64);
	if (a->sa.sa_family == again.sa.sa_family &&
	    !addr_in_subnet(&again, a, a->sa.sa_family == AF_INET ? 24 : 64))
		abort();
	(void)addr_class_name(addr_class(a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *s = strndup((const char *)data, size);
	const char *host, *again;
	uint16_t port, port_again;
	union addr ip;

	(void)addr_is_digit_trap(s);
	if (!addr_parse(s, &ip))
		check_round_trip(&ip);
	if (addr_split(s, &a, &host, &port))
		return 0;
	if (!*host || strpbrk(host, " \t\r\n[]/@,") || *host == '-')
		abort();
	s = (free(s), strdup(arena_printf(&a, strchr(host, ':') ? "[%s]:1" : "%s:1", host)));
	if (addr_split(s, &a, &again, &port_again) || !streq(host, again) || port_again != 1)
		abort();
	return 0;
}
