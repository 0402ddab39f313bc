#include "lib/net/addr.h"

#include <arpa/inet.h>

bool addr_is_digit_trap(const char *host)
{
	struct in_addr in;

	return !host[strspn(host, "0123456789abcdefABCDEFxX.")] && inet_aton(host, &in) &&
	       inet_pton(AF_INET, host, &in) != 1;
}

bool addr_is_mistyped(const char *host)
{
	size_t dots = 0;
	struct in_addr in;

	for (const char *c = host; *c; c++)
		dots += *c == '.';
	return dots == 3 && !host[strspn(host, "0123456789.")] && !inet_aton(host, &in);
}
