#include "lib/net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>

/* What getaddrinfo says, in words, and what to do about it. */
static const struct {
	int code;
	const char *why, *advice;
} reasons[] = {
	{EAI_NONAME, "no such name",
	 "check the spelling, or add a line \"ADDRESS NAME\" to /etc/hosts here"},
	{EAI_NODATA, "the name exists but has no address",
	 "ask whoever runs the DNS zone for an A or AAAA record, or use the address itself"},
	{EAI_ADDRFAMILY, "the name has no address of the wanted family", "use the address itself"},
	{EAI_AGAIN, "the name server did not answer",
	 "check /etc/resolv.conf and the way to the name server (getent hosts NAME), or use "
	 "the address itself"},
	{EAI_FAIL, "the name server refused or failed",
	 "check /etc/resolv.conf and /etc/nsswitch.conf, or use the address itself"},
	{EAI_MEMORY, "out of memory", "end what takes the memory and run again"},
};

static int refuse(const char *host, int code, struct err *e)
{
	if (addr_is_mistyped(host)) {
		err_set(e, ERR_SYS, "%s is " ADDR_MISTYPED, host);
		return err_hint(e, "check it for a slip");
	}
	if (code == EAI_SYSTEM)
		return err_sys(e, "%.255s does not resolve", host);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].code == code) {
			err_set(e, ERR_SYS, "%.255s does not resolve: %s", host, reasons[i].why);
			return err_hint(e, "%s", reasons[i].advice);
		}
	return err_set(e, ERR_SYS, "%.255s does not resolve: %s", host, gai_strerror(code));
}

static void add_once(struct arena *a, addr_list *list, const struct sockaddr *sa, socklen_t len)
{
	union addr one = {0};

	memcpy(&one, sa, len < sizeof(one) ? len : sizeof(one));
	for (size_t i = 0; i < list->n; i++)
		if (addr_equal(&list->v[i], &one))
			return;
	*LIST_ADD(a, list) = one;
}

static void auto_addrinfo(struct addrinfo **ai)
{
	if (*ai)
		freeaddrinfo(*ai);
}

int addr_resolve(const char *host, struct arena *a, addr_list *ret, struct err *e)
{
	/* No AI_ADDRCONFIG: it hides ::1 and 127.0.0.1 on a host without a network. */
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	AUTO(auto_addrinfo) struct addrinfo *found = NULL;
	addr_list list = {0};
	union addr literal;
	int code;

	if (!addr_parse(host, &literal)) {
		add_once(a, &list, &literal.sa, addr_len(&literal));
	} else {
		code = getaddrinfo(host, NULL, &hints, &found);
		if (code)
			return refuse(host, code, e);
		for (const struct addrinfo *i = found; i; i = i->ai_next)
			if (i->ai_family == AF_INET || i->ai_family == AF_INET6)
				add_once(a, &list, i->ai_addr, i->ai_addrlen);
	}
	if (!list.n)
		return refuse(host, EAI_NODATA, e);
	*ret = list;
	return 0;
}

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
