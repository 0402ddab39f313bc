#ifndef LIB_NET_ADDR_H
#define LIB_NET_ADDR_H
/*
 * IP addresses: parsing, printing, what kind they are. No I/O but the kernel's
 * names for the scopes of fe80 addresses (under a sysroot those stay numbers:
 * they are another machine's). What a name means: lib/host/hostname.h.
 * An IPv4-mapped IPv6 address is judged and compared as the IPv4 address.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <netinet/in.h>
#include <sys/socket.h>

union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

enum addr_class {
	ADDR_LOOPBACK,
	ADDR_LINKLOCAL, /* 169.254/16, fe80::/10 */
	ADDR_PRIVATE,	/* RFC 1918, 240/4, fc00::/7, fec0::/10 */
	ADDR_SHARED,	/* 100.64/10: carrier NAT, also Tailscale */
	ADDR_PUBLIC,
	ADDR_OTHER, /* unspecified, multicast, broadcast */
};

struct addr_text {
	char s[64 + 16];
};

/* "10.0.0.1", "fd00::1", "fe80::1%eth0" (name or number); brackets allowed. -1: not an address. */
int addr_parse(const char *s, union addr *ret) MUST_CHECK;
/* "10.0.0.0/8"; without a prefix length the whole address. -1: not a range. */
int addr_parse_range(const char *s, union addr *ret_net, unsigned *ret_bits) MUST_CHECK;
/*
 * "HOST", "HOST:PORT", "[V6]", "[V6]:PORT", "V6": splits only. @ret_port 0: none. -1 when
 * malformed; a name takes letters, digits, ". _ -" and UTF-8, and does not begin with "-".
 */
int addr_split(const char *s, struct arena *a, const char **ret_host,
	       uint16_t *ret_port) MUST_CHECK;
const char *addr_print(const union addr *a, struct addr_text *buf);	 /* with %scope */
const char *addr_print_port(const union addr *a, struct addr_text *buf); /* 10.0.0.1:80 [v6]:80 */
const char *addr_sockaddr_print(const struct sockaddr *sa, struct addr_text *buf);

enum addr_class addr_class(const union addr *a);
bool addr_is_linklocal4(const union addr *a);	/* 169.254/16, not mapped */
const char *addr_class_name(enum addr_class c); /* "loopback" ... */
/* For a shell, the ip(8) of that family: "ip", "ip -6". */
const char *addr_ip_command(int family);
/* The IPv4 address that a mapped one stands for, with its port; what is no mapped one as it is. */
union addr addr_unmapped(const union addr *a);
bool addr_equal(const union addr *a, const union addr *b); /* address and scope, not port */
bool addr_in_subnet(const union addr *a, const union addr *net, unsigned prefix);
/* The same of an address that is not known (NULL), some private one of a cluster: of a range that a
 * cluster fits in, it is assumed to be in there. */
bool addr_could_be_in(const union addr *a, const union addr *net, unsigned prefix);
/* The network of @a: host bits cleared. */
union addr addr_network(const union addr *a, unsigned prefix);
socklen_t addr_len(const union addr *a);
void addr_set_port(union addr *a, uint16_t port);
/* What @fd connects to sees @from. The port is chosen with the connection: one port serves many
 * destinations, where bind() alone would take it from all. */
int addr_bind_source(int fd, const union addr *from);
uint16_t addr_port(const union addr *a);

typedef LIST(union addr) addr_list;
/*
 * A name that the resolver never looks up, because inet_aton(3) takes it for an address:
 * "6841231" is 0.104.99.143, "05" is 0.0.0.5, "0x7f.1" is 127.0.0.1.
 */
bool addr_is_digit_trap(const char *host);
/* Four numbers that are no address, such as 10.0.0.300; no name ends in a number, either. */
bool addr_is_mistyped(const char *host);
#define ADDR_MISTYPED "no IPv4 address: its four numbers go from 0 to 255, without zeros in front"

#endif
