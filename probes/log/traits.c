#include "probes/log/traits.h"

#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

static const char word_ends[] = " \t\r\n,;|()[]{}'\"\\";

/* The same value is alike whoever says it; another one counts where another says it. */
static void note(struct traits *t, const char *name, const char *value, const char *by)
{
	struct trait *v = t->v;

	while (v < t->v + t->n && !streq(v->name, name))
		v++;
	if (v == t->v + TRAITS_MAX)
		return;
	if (v == t->v + t->n) {
		t->n++;
		(void)snprintf(v->name, sizeof(v->name), "%s", name);
	}
	for (size_t i = 0; i < ARRAY_LEN(v->value); i++) {
		bool is_free = !*v->value[i].text;

		if (!is_free && streq(v->value[i].by, by) &&
		    (*by || streq(v->value[i].text, value)))
			return;
		if (!is_free && streq(v->value[i].text, value))
			return;
		if (!is_free)
			continue;
		(void)snprintf(v->value[i].text, sizeof(v->value[i].text), "%s", value);
		(void)snprintf(v->value[i].by, sizeof(v->value[i].by), "%s", by);
		return;
	}
}

static bool is_commit(const char *s)
{
	enum { LEAST = 7, MOST = 40 };
	size_t n = strspn(s, "0123456789abcdef");

	return !s[n] && n >= LEAST && n <= MOST && strcspn(s, "0123456789") < n;
}

/* "2.5.1", "4.46.0.dev0" */
static bool is_version(const char *s)
{
	return isdigit((unsigned char)*s) && s[strspn(s, "0123456789")] == '.' &&
	       isdigit((unsigned char)s[strspn(s, "0123456789") + 1]);
}

/* Commits are cut to what all have. */
enum { SHORT = 7 };

/* "host=n2 ...", else who the line is of. */
static void speaker(const struct log_line *l, char *ret, size_t size)
{
	said_word(ret, size, said_after(l, "host="), word_ends);
	if (!*ret && *l->who.host)
		(void)snprintf(ret, size, "%s", l->who.host);
	if (!*ret && l->who.rank >= 0)
		(void)snprintf(ret, size, "rank %d", l->who.rank);
}

/* What stands behind the whole word @key and "=", "==", ": " or a blank; "" where none does. */
static const char *behind(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; (p = strstr(p, key)); p++) {
		const char *q = p + n;

		if ((p > text && (isalnum((unsigned char)p[-1]) || strchr("_-./", p[-1]))) ||
		    !strchr("=: \"'", *q))
			continue;
		q += strspn(q, "=: \"'");
		return q;
	}
	return "";
}

void traits_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	static const struct {
		const char *key, *name;
	} all[] = {{"commit", "commit"},
		   {"git_commit", "commit"},
		   {"git_sha", "commit"},
		   {"git_hash", "commit"},
		   {"git_rev", "commit"},
		   {"torch", "torch"},
		   {"torch_version", "torch"},
		   {"torch version", "torch"},
		   {"transformers", "transformers"},
		   {"deepspeed", "deepspeed"},
		   {"python", "python"}};
	char value[48], by[64];

	speaker(l, by, sizeof(by));
	for (size_t i = 0; *by && i < ARRAY_LEN(all); i++) {
		bool is_hex = streq(all[i].name, "commit");

		said_word(value, sizeof(value), behind(l->text, all[i].key), word_ends);
		if (!(is_hex ? is_commit(value) : is_version(value)))
			continue;
		if (is_hex)
			value[SHORT] = '\0';
		note(&w->traits, all[i].name, value, by);
	}
}

/* "3: ens6: <BROADCAST,UP> mtu 9000 ... link/ether 0a:58:0a:4d:00:0a", of "ip link". */
void traits_hear_link(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	const char *flags = strchr(l->text, '<'), *colon, *iface;
	char name[32], value[48], by[64];
	long mtu;

	if (!flags || flags < l->text + 3 || memcmp(flags - 2, ": ", 2) != 0 ||
	    !said_number(l, "> mtu ", &mtu) || mtu <= 0)
		return;
	colon = flags - 2;
	for (iface = colon; iface > l->text && !strchr(" :", iface[-1]);)
		iface--;
	(void)snprintf(name, sizeof(name), "MTU of %.*s", (int)strcspn(iface, "@:"), iface);
	(void)snprintf(value, sizeof(value), "%ld", mtu);
	said_word(by, sizeof(by), said_after(l, "link/ether "), word_ends);
	if (*l->who.host)
		(void)snprintf(by, sizeof(by), "%s", l->who.host);
	note(&w->traits, name, value, by);
}

/* "qpn 221 mtu 5 GID 3", which counts 256, 512 ... from 1; "active_mtu:	4096 (5)". */
void traits_hear_port(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	enum { LEAST = 256, CODES = 5 };
	struct mtus *m = &w->mtus;
	const char *p = said_after(l, "active_mtu:");
	long v = strtol(*p ? p : said_after(l, " mtu "), NULL, 10);

	if (v >= 1 && v <= CODES)
		v = LEAST << (v - 1);
	if (v < LEAST)
		return;
	if (!m->one_bytes)
		m->one_bytes = v;
	else if (v != m->one_bytes)
		m->other_bytes = v;
}
