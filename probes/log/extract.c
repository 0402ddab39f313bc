#include "probes/log/extract.h"

#include "lib/cluster/child.h"
#include "lib/core/text.h"
#include "lib/net/addr.h"
#include "probes/log/said.h"

#include <ctype.h>
#include <regex.h>

const char *const template_names[] = {"addr", "port", "iface", "host", "rank",
				      "who",  "good", "text",  "name", NULL};

static bool keep(char *out, size_t size, const char *s, size_t n)
{
	if (!n || n >= size)
		return false;
	memcpy(out, s, n);
	out[n] = '\0';
	return true;
}

static const char *port_after(const char *p, char *out)
{
	static const char *const before[] = {"<", "]:", ":", ", ", "]<", "> ", NULL};

	for (size_t i = 0; before[i]; i++)
		if (starts_with(p, before[i])) {
			const char *d = p + strlen(before[i]);
			size_t n = strspn(d, "0123456789");

			if (n && n <= 5 && !isalpha((unsigned char)d[n]) && !(n == 1 && *d == '0'))
				return keep(out, 8, d, n) ? d + n : NULL;
		}
	return NULL;
}

/* The word that ends before "ens3:10.0.0.5<0>". */
static void interface_before(const char *line, const char *p, struct extract *x)
{
	const char *q = p;

	if (p == line || p[-1] != ':')
		return;
	for (q = p - 1; q > line && (isalnum((unsigned char)q[-1]) || strchr("._-", q[-1])); q--)
		;
	if (isalpha((unsigned char)*q))
		(void)keep(x->iface, sizeof(x->iface), q, (size_t)(p - 1 - q));
}

static size_t address_length(const char *p, char *out, size_t size)
{
	size_t n = strspn(p, "0123456789abcdefABCDEF:.");
	union addr a;

	/* "10.0.0.1:29500" and "10.0.0.1." hold more than the address */
	if (memchr(p, '.', n) && memchr(p, ':', n) && isdigit((unsigned char)*p) &&
	    memchr(p, '.', strcspn(p, ":")))
		n = strcspn(p, ":");
	while (n > 6 && (p[n - 1] == '.' || (p[n - 1] == ':' && p[n - 2] != ':')))
		n--;
	if (n < 2 || !memchr(p, memchr(p, '.', n) ? '.' : ':', n))
		return 0;
	if (!keep(out, size, p, n) || addr_parse(out, &a))
		return 0;
	if (p[n] == '%') { /* a scope */
		size_t scope = 1 + strcspn(p + n + 1, "<] ,)");

		if (n + scope < size && scope < 20)
			(void)keep(out, size, p, n + scope), n += scope;
	}
	return n;
}

/* torch: "(node0, 29500)", "[node0]:29500", "remote host/ to node0:29500" */
static void named_endpoint(const char *line, struct extract *x)
{
	for (const char *p = line; *p; p++) {
		size_t n;

		if (*p != '(' && *p != '[')
			continue;
		n = strspn(p + 1,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
		if (!n || n >= sizeof(x->addr) || !isalpha((unsigned char)p[1]))
			continue;
		if (((*p == '(' && starts_with(p + 1 + n, ", ")) ||
		     (*p == '[' && starts_with(p + 1 + n, "]:"))) &&
		    port_after(p + 1 + n, x->port)) {
			(void)keep(x->addr, sizeof(x->addr), p + 1, n);
			return;
		}
	}
}

/* A terminal broke the line behind the address. */
static bool is_cut(const char *p, const char *end)
{
	char text[64];
	union addr a;

	return !*end && keep(text, sizeof(text), p, (size_t)(end - p)) && !addr_parse(text, &a);
}

/* What torch's store was asked for: "(10.0.0.1, 29500)", "to host fd00::1:29500". */
static bool plain_endpoint(const char *line, struct extract *x)
{
	static const struct {
		const char *before, *between;
	} all[] = {{"network address of (", ", "},
		   {"network addresses of (", ", "},
		   {"trying to connect to (", ", "},
		   {"validate to host ", ":"},
		   {"init_method=tcp://", ":"},
		   {"MASTER_ADDR=", ""},
		   {"master_addr=", ""}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *p = strstr(line, all[i].before), *end;
		size_t n;

		if (!p)
			continue;
		p += strlen(all[i].before);
		n = strcspn(p, ",) '\"");
		end = *all[i].between == ':' ? memrchr(p, ':', n) : p + n;
		if (!end || !(starts_with(end, all[i].between) || is_cut(p, end)) ||
		    !keep(x->addr, sizeof(x->addr), p, (size_t)(end - p)))
			continue;
		(void)port_after(end, x->port);
		x->trust = TRUST_PLAIN;
		return true;
	}
	return false;
}

/* Of "local=[A]:1, remote=[B]:2" and "A:1->B:2" the other side. */
static const char *far_side(const char *line)
{
	const char *p = strstr(line, "remote=");

	if (p)
		return p + strlen("remote=");
	p = strstr(line, "->");
	return p && isdigit((unsigned char)p[2]) && p > line && isdigit((unsigned char)p[-1])
		       ? p + strlen("->")
		       : line;
}

/* How torch prints a socket's address: a bare IPv4 address is always its memory. */
static enum trust trust_in(const char *line, const char *at, const char *addr)
{
	static const char *const sockets[] = {"client socket ", "server socket ", "SocketImpl("};
	bool is_socket = false, is_any = streq(addr, "::") || streq(addr, "0.0.0.0");

	for (size_t i = 0; i < ARRAY_LEN(sockets); i++)
		is_socket |= strstr(line, sockets[i]) != NULL;
	if (!is_socket || is_any)
		return TRUST_USUAL;
	if (strchr(addr, ':'))
		return TRUST_DOUBT;
	return at > line && at[-1] == '[' ? TRUST_USUAL : TRUST_NONE;
}

/* A name that does not resolve, behind the words of who says so. */
static void unresolved(const char *line, struct extract *x)
{
	static const char *const before[] = {"resolve hostname ", "server can't find ",
					     "host address for ", "UnknownHostException: ",
					     "getaddrinfo for ",  "addresses of (",
					     "resolve host: ",	  "unknown host ",
					     "Unknown host ",	  "lookup ",
					     "can't resolve '"};

	for (size_t i = 0; i < ARRAY_LEN(before) && !*x->name; i++) {
		const char *p = strstr(line, before[i]);
		size_t n;

		if (!p)
			continue;
		p += strlen(before[i]);
		p += *p == '"' || *p == '\'';
		n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
		n -= n && p[n - 1] == '.';
		if (n && (isalnum((unsigned char)*p) || *p == '_') && strspn(p, "0123456789.") < n)
			(void)keep(x->name, sizeof(x->name), p, n);
	}
}

/* Python's pair of both: "('0.0.0.0', 8000)". */
static void paired_port(const char *line, struct extract *x)
{
	const char *p = line;

	for (; !*x->port && (p = strstr(p, "', ")); p++) {
		size_t n = strspn(p + 3, "0123456789");

		if (n >= 2 && n <= 5 && p[3] != '0' && p[3 + n] == ')')
			(void)keep(x->port, sizeof(x->port), p + 3, n);
	}
}

static void named_port(const char *line, struct extract *x)
{
	const char *p = said_anyhow(line, "port");

	for (; p && !*x->port; p = said_anyhow(p + 4, "port")) {
		const char *d = p + 4 + strspn(p + 4, " :=[");
		size_t n;

		if (d > p + 4 && (starts_with(d, "number ") || starts_with(d, "is ")))
			d = strchr(d, ' ') + 1;
		n = strspn(d, "0123456789");
		if (d > p + 4 && n >= 2 && n <= 5 && *d != '0')
			(void)keep(x->port, sizeof(x->port), d, n);
	}
	p = strstr(line, "listen tcp :"); /* as Go's programs say it */
	if (p && !*x->port)
		(void)port_after(p + strlen("listen tcp "), x->port);
}

static void first_address(const char *line, const char *from, struct extract *x)
{
	for (const char *p = from; *p && !*x->addr; p++) {
		size_t n;

		if (p > line && (isalnum((unsigned char)p[-1]) || p[-1] == '.'))
			continue;
		n = address_length(p, x->addr, sizeof(x->addr));
		if (!n) {
			*x->addr = '\0';
			continue;
		}
		interface_before(line, p, x);
		(void)port_after(p + n, x->port);
		x->trust = trust_in(line, p, x->addr);
		if (starts_with(x->addr, "::ffff:"))
			memmove(x->addr, x->addr + 7, strlen(x->addr + 7) + 1);
	}
}

void extract_line(const char *line, struct extract *ret)
{
	const char *from = far_side(line);

	*ret = (struct extract){0};
	unresolved(line, ret);
	if (plain_endpoint(line, ret))
		return;
	first_address(line, from, ret);
	if (!*ret->addr)
		named_endpoint(from, ret);
	if (!*ret->addr && from != line)
		first_address(line, line, ret);
	if (!*ret->addr)
		named_endpoint(line, ret);
	named_port(line, ret);
	paired_port(line, ret);
}

const char *extract_group(struct arena *a, int i, const char *ere, const char *line)
{
	const char *value = NULL, *but = ere ? strstr(ere, SIGNATURE_BUT) : NULL;
	regmatch_t m[10];
	regex_t re;

	if (but)
		ere = arena_strndup(a, ere, (size_t)(but - ere));
	if (!ere || !line || regcomp(&re, ere, REG_EXTENDED))
		return NULL;
	if (regexec(&re, line, ARRAY_LEN(m), m, 0) == 0 && m[i].rm_so >= 0 &&
	    m[i].rm_eo > m[i].rm_so)
		value = arena_strndup(a, line + m[i].rm_so, (size_t)(m[i].rm_eo - m[i].rm_so));
	regfree(&re);
	return value;
}

/* What @name of @n letters stands for, or NULL. */
static const char *value_of(const struct filling *f, const char *name, size_t n, bool is_shell)
{
	const char *value = NULL;

	if (isdigit((unsigned char)*name) && n == 1)
		value = extract_group(f->a, *name - '0', f->ere, f->line);
	for (size_t i = 0; i < f->n && !value; i++)
		if (strlen(f->v[i].name) == n && strncmp(f->v[i].name, name, n) == 0)
			value = f->v[i].value;
	if (value && is_shell && (*value == '-' || !streq(shell_quote(f->a, value), value)))
		return NULL;
	return value;
}

static bool is_before_port(const char *tpl)
{
	return *tpl == ':' && (tpl[1] == '{' || isdigit((unsigned char)tpl[1]));
}

/* Before ":PORT" it needs brackets, which a shell would take for a pattern. */
static bool is_ipv6(const char *value)
{
	char bare[64];
	size_t n = strcspn(value, "%");
	union addr a;

	return strchr(value, ':') && keep(bare, sizeof(bare), value, n) &&
	       addr_parse(bare, &a) == 0;
}

const char *fill_template(const struct filling *f, const char *tpl, bool is_shell)
{
	struct text t;

	text_init(&t, f->a);
	for (const char *p = tpl; *p;) {
		size_t name = strcspn(p + 1, "|}"), whole = strcspn(p, "}");
		const char *value;

		if ((*p == '{' || *p == '}') && p[1] == *p) {
			text_addn(&t, p, 1);
			p += 2;
			continue;
		}
		if (*p != '{' || !p[whole]) {
			text_addn(&t, p++, 1);
			continue;
		}
		value = value_of(f, p + 1, name, is_shell);
		if (value && is_before_port(p + whole + 1) && is_ipv6(value))
			text_addf(&t, is_shell ? "'[%s]'" : "[%s]", value);
		else if (value)
			text_add(&t, value);
		else if (p[1 + name] == '|')
			text_addn(&t, p + name + 2, whole - name - 2);
		else
			return NULL;
		p += whole + 1;
	}
	return t.s;
}
