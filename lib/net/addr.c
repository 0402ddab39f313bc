#include "lib/net/addr.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"

#include <arpa/inet.h>
#include <net/if.h>

union addr addr_unmapped(const union addr *a)
{
	union addr v4 = {.v4 = {.sin_family = AF_INET}};

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
		return *a;
	v4.v4.sin_port = a->v6.sin6_port;
	memcpy(&v4.v4.sin_addr, &a->v6.sin6_addr.s6_addr[12], 4);
	return v4;
}

/* The address bytes in network order; @ret_bits 0 for what is no IP address. */
static unsigned char *bytes(union addr *a, unsigned *ret_bits)
{
	bool v6 = a->sa.sa_family == AF_INET6;

	*ret_bits = v6 ? 128 : a->sa.sa_family == AF_INET ? 32 : 0;
	return v6 ? a->v6.sin6_addr.s6_addr : (unsigned char *)&a->v4.sin_addr;
}

static bool has_scope(const struct in6_addr *in)
{
	return IN6_IS_ADDR_LINKLOCAL(in) || IN6_IS_ADDR_MC_LINKLOCAL(in);
}

static int parse_scope(const char *s, uint32_t *ret)
{
	unsigned index = sysroot_is_real() ? if_nametoindex(s) : 0;
	char *end;
	unsigned long n;

	if (index) {
		*ret = index;
		return 0;
	}
	if (*s < '0' || *s > '9')
		return -1;
	n = strtoul(s, &end, 10);
	if (*end || n == 0 || n > INT32_MAX)
		return -1;
	*ret = (uint32_t)n;
	return 0;
}

/* Copies @s, without its brackets and without "%scope", which is what @ret_scope gets. */
static int strip(const char *s, char *host, size_t size, const char **ret_scope)
{
	size_t n = strlen(s);

	if (n >= size)
		return -1;
	memcpy(host, s, n + 1);
	if (*host == '[') {
		if (host[n - 1] != ']')
			return -1;
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	*ret_scope = strchr(host, '%');
	if (*ret_scope)
		host[(*ret_scope)++ - host] = '\0';
	return 0;
}

int addr_parse(const char *s, union addr *ret)
{
	union addr a = {0};
	const char *scope;
	char host[80];

	if (strip(s, host, sizeof(host), &scope))
		return -1;
	if (*s != '[' && !scope && inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
		a.sa.sa_family = AF_INET;
	} else {
		a = (union addr){.v6 = {.sin6_family = AF_INET6}};
		if (inet_pton(AF_INET6, host, &a.v6.sin6_addr) != 1)
			return -1;
		if (scope &&
		    (!has_scope(&a.v6.sin6_addr) || parse_scope(scope, &a.v6.sin6_scope_id)))
			return -1;
	}
	*ret = a;
	return 0;
}

int addr_parse_range(const char *s, union addr *ret_net, unsigned *ret_bits)
{
	const size_t n = strcspn(s, "/");
	uint64_t bits, most;
	char host[65];

	if (n >= sizeof(host))
		return -1;
	memcpy(host, s, n);
	host[n] = '\0';
	if (addr_parse(host, ret_net))
		return -1;
	most = ret_net->sa.sa_family == AF_INET6 ? 128 : 32;
	bits = most;
	if (s[n] && (parse_uint(s + n + 1, &bits) || bits > most))
		return -1;
	*ret_bits = (unsigned)bits;
	return 0;
}

static bool name_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-' || c >= 0x80;
}

static bool is_name(const char *s)
{
	size_t n = 0;

	while (name_byte((unsigned char)s[n]))
		n++;
	return n > 0 && n <= 253 && !s[n] && *s != '-';
}

/* Whether the scope exists is not asked: it may be another host's. */
static bool is_v6(const char *s)
{
	struct in6_addr in;
	const char *scope;
	char host[80];

	if (*s == '[' || strip(s, host, sizeof(host), &scope))
		return false;
	return inet_pton(AF_INET6, host, &in) == 1 &&
	       (!scope || (is_name(scope) && has_scope(&in)));
}

static int parse_port(const char *s, uint16_t *ret)
{
	unsigned long n;
	char *end;

	if (*s < '1' || *s > '9')
		return -1;
	n = strtoul(s, &end, 10);
	if (*end || n > UINT16_MAX)
		return -1;
	*ret = (uint16_t)n;
	return 0;
}

int addr_split(const char *s, struct arena *a, const char **ret_host, uint16_t *ret_port)
{
	const char *colon = strchr(s, ':'), *end = s + strlen(s);
	bool bracket = *s == '[';
	uint16_t port = 0;
	char *host;

	if (bracket)
		end = strchr(++s, ']');
	else if (colon && !strchr(colon + 1, ':'))
		end = colon;
	if (!end || (bracket && end[1] && end[1] != ':'))
		return -1;
	host = arena_strndup(a, s, (size_t)(end - s));
	end += bracket;
	if (*end == ':' && parse_port(end + 1, &port))
		return -1;
	if (bracket ? !is_v6(host) : !is_name(host) && !is_v6(host))
		return -1;
	*ret_host = host;
	*ret_port = port;
	return 0;
}

const char *addr_sockaddr_print(const struct sockaddr *sa, struct addr_text *buf)
{
	char name[IF_NAMESIZE];
	union addr a = {0};
	unsigned scope;
	size_t n;

	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)) {
		snprintf(buf->s, sizeof(buf->s), "-");
		return buf->s;
	}
	memcpy(&a, sa, sa->sa_family == AF_INET ? sizeof(a.v4) : sizeof(a.v6));
	inet_ntop(sa->sa_family, bytes(&a, &scope), buf->s, sizeof(buf->s));
	scope = sa->sa_family == AF_INET6 ? a.v6.sin6_scope_id : 0;
	n = strlen(buf->s);
	if (scope && sysroot_is_real() && if_indextoname(scope, name))
		snprintf(buf->s + n, sizeof(buf->s) - n, "%%%s", name);
	else if (scope)
		snprintf(buf->s + n, sizeof(buf->s) - n, "%%%u", scope);
	return buf->s;
}

const char *addr_print(const union addr *a, struct addr_text *buf)
{
	return addr_sockaddr_print(&a->sa, buf);
}

const char *addr_print_port(const union addr *a, struct addr_text *buf)
{
	struct addr_text host;
	bool v6 = a->sa.sa_family == AF_INET6;

	snprintf(buf->s, sizeof(buf->s), "%s%.70s%s:%u", v6 ? "[" : "", addr_print(a, &host),
		 v6 ? "]" : "", addr_port(a));
	return buf->s;
}

/* First match wins; what no row names is public. */
static const struct {
	int family;
	unsigned char net[16];
	unsigned prefix;
	enum addr_class is;
} classes[] = {
	{AF_INET, {127}, 8, ADDR_LOOPBACK},
	{AF_INET, {169, 254}, 16, ADDR_LINKLOCAL},
	{AF_INET, {10}, 8, ADDR_PRIVATE},
	{AF_INET, {172, 16}, 12, ADDR_PRIVATE},
	{AF_INET, {192, 168}, 16, ADDR_PRIVATE},
	{AF_INET, {100, 64}, 10, ADDR_SHARED},
	{AF_INET, {0}, 8, ADDR_OTHER},
	{AF_INET, {224}, 4, ADDR_OTHER}, /* multicast */
	{AF_INET, {255, 255, 255, 255}, 32, ADDR_OTHER},
	{AF_INET,
	 {240},
	 4,
	 ADDR_PRIVATE}, /* reserved; Linux routes it, clouds give it to subnets */
	{AF_INET6, {[15] = 1}, 128, ADDR_LOOPBACK},
	{AF_INET6, {0}, 128, ADDR_OTHER},
	{AF_INET6, {0xfe, 0x80}, 10, ADDR_LINKLOCAL},
	{AF_INET6, {0xfc}, 7, ADDR_PRIVATE},
	{AF_INET6, {0xfe, 0xc0}, 10, ADDR_PRIVATE},
	{AF_INET6, {0xff}, 8, ADDR_OTHER},
};

static bool same_prefix(const unsigned char *a, const unsigned char *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	/* nearly always the first byte tells, and thousands of addresses are asked */
	return (!whole || *a == *b) && memcmp(a, b, whole) == 0 &&
	       (!rest || ((a[whole] ^ b[whole]) & (0xff00 >> rest) & 0xff) == 0);
}

enum addr_class addr_class(const union addr *a)
{
	union addr u = addr_unmapped(a);
	unsigned bits;
	const unsigned char *in = bytes(&u, &bits);

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (classes[i].family == u.sa.sa_family &&
		    same_prefix(in, classes[i].net, classes[i].prefix))
			return classes[i].is;
	return bits ? ADDR_PUBLIC : ADDR_OTHER;
}

bool addr_is_linklocal4(const union addr *a)
{
	return a->sa.sa_family == AF_INET && addr_class(a) == ADDR_LINKLOCAL;
}

const char *addr_class_name(enum addr_class c)
{
	static const char *const names[] = {
		[ADDR_LOOPBACK] = "loopback", [ADDR_LINKLOCAL] = "link-local",
		[ADDR_PRIVATE] = "private",   [ADDR_SHARED] = "shared",
		[ADDR_PUBLIC] = "public",     [ADDR_OTHER] = "other",
	};

	return names[c];
}

const char *addr_ip_command(int family) { return family == AF_INET6 ? "ip -6" : "ip"; }

bool addr_equal(const union addr *a, const union addr *b)
{
	union addr x = addr_unmapped(a), y = addr_unmapped(b);
	unsigned xbits, ybits;
	const unsigned char *xb = bytes(&x, &xbits), *yb = bytes(&y, &ybits);

	if (xbits != ybits || memcmp(xb, yb, xbits / 8) != 0)
		return false;
	return xbits != 128 || x.v6.sin6_scope_id == y.v6.sin6_scope_id;
}

bool addr_in_subnet(const union addr *a, const union addr *net, unsigned prefix)
{
	union addr x = net->sa.sa_family == AF_INET ? addr_unmapped(a) : *a, y = *net;
	unsigned xbits, ybits;
	const unsigned char *xb = bytes(&x, &xbits), *yb = bytes(&y, &ybits);

	return xbits && xbits == ybits && prefix <= xbits && same_prefix(xb, yb, prefix);
}

static bool fits_a_cluster(const union addr *net, unsigned prefix)
{
	enum addr_class c = addr_class(net);

	if (!prefix)
		return net->sa.sa_family == AF_INET;
	return (c == ADDR_PRIVATE || c == ADDR_SHARED) &&
	       prefix <= (net->sa.sa_family == AF_INET6 ? 64u : 28u);
}

bool addr_could_be_in(const union addr *a, const union addr *net, unsigned prefix)
{
	if (!a)
		return fits_a_cluster(net, prefix);
	return a->sa.sa_family == net->sa.sa_family && addr_in_subnet(a, net, prefix);
}

union addr addr_network(const union addr *a, unsigned prefix)
{
	union addr net = *a;
	unsigned bits;
	unsigned char *b = bytes(&net, &bits);

	for (unsigned i = prefix; i < bits; i++)
		b[i / 8] &= (unsigned char)~(0x80 >> i % 8);
	addr_set_port(&net, 0);
	return net;
}

socklen_t addr_len(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

/* sin_port and sin6_port lie at the same place. */
void addr_set_port(union addr *a, uint16_t port) { a->v4.sin_port = htons(port); }

int addr_bind_source(int fd, const union addr *from)
{
	union addr at = *from;

	addr_set_port(&at, 0);
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
	return bind(fd, &at.sa, addr_len(&at));
}

uint16_t addr_port(const union addr *a) { return ntohs(a->v4.sin_port); }
