#include "lib/net/tcp_state.h"

#include <errno.h>

const char *tcp_state_name(enum tcp_state s)
{
	static const char *const names[] = {
		[TCP_PENDING] = "pending",	   [TCP_OPEN] = "open",
		[TCP_REFUSED] = "refused",	   [TCP_FILTERED] = "filtered",
		[TCP_UNREACHABLE] = "unreachable", [TCP_ERROR] = "error",
	};

	return names[s];
}

/* The kernel's own table of what an ICMP error becomes is icmp_err_convert. */
enum tcp_state tcp_state_of(int error)
{
	switch (error) {
	case 0:
		return TCP_OPEN;
	case ECONNREFUSED:
	case ECONNRESET: /* a SYN proxy opened it before it asked the host, which refused */
		return TCP_REFUSED;
	case ETIMEDOUT:
		return TCP_FILTERED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENONET:
	case ENOPROTOOPT:
	case EACCES: /* a "prohibit" route; ICMPv6 administratively prohibited */
	case EPERM:  /* this host's own firewall */
		return TCP_UNREACHABLE;
	default:
		return TCP_ERROR;
	}
}
