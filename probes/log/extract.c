#include "probes/log/extract.h"

#include "lib/cluster/child.h"
#include "lib/core/text.h"
#include "lib/net/addr.h"

#include <ctype.h>
#include <regex.h>

const char *const template_names[] = {"addr", "port", "iface", "host",
				      "rank", "good", "text",  NULL};

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

			if (n && n <= 5 && !isalpha((unsigned char)d[n]))
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

static void named_port(const char *line, struct extract *x)
{
	const char *p = strcasestr(line, "port");

	for (; p && !*x->port; p = strcasestr(p + 4, "port")) {
		const char *d = p + 4 + strspn(p + 4, " :=");
		size_t n = strspn(d, "0123456789");

		if (d > p + 4 && n >= 2 && n <= 5)
			(void)keep(x->port, sizeof(x->port), d, n);
	}
}

void extract_line(const char *line, struct extract *ret)
{
	*ret = (struct extract){0};
	for (const char *p = line; *p && !*ret->addr; p++) {
		size_t n;

		if (p > line && (isalnum((unsigned char)p[-1]) || p[-1] == '.'))
			continue;
		n = address_length(p, ret->addr, sizeof(ret->addr));
		if (!n) {
			*ret->addr = '\0';
			continue;
		}
		interface_before(line, p, ret);
		(void)port_after(p + n, ret->port);
		if (starts_with(ret->addr, "::ffff:"))
			memmove(ret->addr, ret->addr + 7, strlen(ret->addr + 7) + 1);
	}
	if (!*ret->addr)
		named_endpoint(line, ret);
	named_port(line, ret);
}

static const char *group(struct arena *a, int i, const char *ere, const char *line)
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
		value = group(f->a, *name - '0', f->ere, f->line);
	for (size_t i = 0; i < f->n && !value; i++)
		if (strlen(f->v[i].name) == n && strncmp(f->v[i].name, name, n) == 0)
			value = f->v[i].value;
	if (value && is_shell && (*value == '-' || !streq(shell_quote(f->a, value), value)))
		return NULL;
	return value;
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
		if (value)
			text_add(&t, value);
		else if (p[1 + name] == '|')
			text_addn(&t, p + name + 2, whole - name - 2);
		else
			return NULL;
		p += whole + 1;
	}
	return t.s;
}
