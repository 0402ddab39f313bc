#include "probes/log/pings.h"

#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

static struct ping *of(struct pings *t, const char *addr)
{
	struct ping *v = t->v;

	while (v < t->v + t->n && !streq(v->addr, addr))
		v++;
	if (v == t->v + PINGS_MAX)
		return NULL;
	if (v == t->v + t->n) {
		t->n++;
		(void)snprintf(v->addr, sizeof(v->addr), "%s", addr);
	}
	return v;
}

static bool is_whole(const struct pings *t, long bytes)
{
	enum { EVERY_LINK = 1452 /* bytes of data, without pieces, in IPv6's 1500 */ };

	return !t->may_split || bytes <= EVERY_LINK;
}

static void passed(struct pings *t, const char *addr, long bytes)
{
	struct ping *v = bytes > 0 && is_whole(t, bytes) ? of(t, addr) : NULL;

	if (v && bytes > v->passed)
		v->passed = bytes;
}

/* What is longer than the link takes goes in pieces. */
static bool keeps_whole(const char *how)
{
	how += strspn(how, " ");
	return starts_with(how, "do") || starts_with(how, "probe");
}

/* Behind "$ ping ", "$ ping6 ", also "$ ping node1 -s 9000"; NULL: nobody typed one. */
static const char *command_in(const char *text)
{
	static const char *const names[] = {"ping ", "ping6 "};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *p = strstr(text, names[i]);

		if (p && (p == text || strchr(" \t;&|'\"(/", p[-1])) &&
		    (p[strlen(names[i])] == '-' || strstr(p, " -s") || strstr(p, " -M")))
			return p + strlen(names[i]);
	}
	return NULL;
}

/* Whose "-c 3 -M do -s 8972 10.9.0.2 | tail -2" at @p is, and of which size; its end alone may be
 * shown.
 */
static void asked(struct pings *t, const char *p)
{
	enum { USUAL = 56 };
	char addr[64] = "";
	long bytes = USUAL;

	t->may_split = true;
	*t->via = '\0';
	for (; *p && !strchr("|;&>#", *p); p = said_next(p)) {
		if (*p != '-') {
			said_word(addr, sizeof(addr), p, " \t|;&>'\"\r\n");
			continue;
		}
		if (p[1] == 'M')
			t->may_split = !keeps_whole(p + 2);
		if (p[1] == 'I')
			said_word(t->via, sizeof(t->via), said_spaces(p + 2), " \t|;&>'\"\r\n");
		if (p[1] == 's')
			bytes = strtol(p + 2 + strspn(p + 2, " \t"), NULL, 10);
		if (p[1] && strchr("cFhiIlmMpQsStTwW", p[1]) && (p[2] == ' ' || p[2] == '\t'))
			p = said_next(p);
	}
	t->bytes = bytes;
	t->now = *addr && bytes > 0 ? of(t, addr) : NULL;
}

static void told(struct pings *t, long mtu)
{
	if (t->told.mtu && t->told.mtu <= mtu)
		return;
	t->told.mtu = mtu;
	(void)snprintf(t->told.addr, sizeof(t->told.addr), "%s", t->now ? t->now->addr : "");
	memcpy(t->told.via, t->via, sizeof(t->told.via));
}

/* "PING 10.9.0.2 (10.9.0.2) 1392(1420) bytes of data.", "1340 bytes from 10.9.0.2: icmp_seq=1",
 * "3 packets transmitted, 0 received, 100% packet loss, time 2035ms"; busybox: "data bytes" */
void pings_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	enum { ICMP = 8 /* bytes before the data, which an answer counts and a ping does not */ };
	struct pings *t = &w->pings;
	const char *open = strchr(l->body, '('), *close = open ? strchr(open, ')') : NULL;
	const char *command = command_in(l->text);
	char addr[64], name[64];
	long mtu;

	if (command && !strstr(l->text, "packet loss")) {
		asked(t, command);
		asides_at(w, s, l, command);
	} else if (said_number(l, "essage too long, mtu", &mtu)) {
		told(t, mtu);
		t->now = NULL; /* it was not sent */
	} else if (starts_with(l->body, "PING ") && close) {
		(void)snprintf(addr, sizeof(addr), "%.*s", (int)(close - open - 1), open + 1);
		t->bytes = strtol(close + strspn(close, "): "), NULL, 10);
		t->now = t->bytes > 0 ? of(t, addr) : NULL;
		said_word(name, sizeof(name), l->body + strlen("PING "), " (");
		asides_led(&w->asides, name, addr, false);
	} else if (isdigit((unsigned char)*l->body) && strstr(l->body, " bytes from ")) {
		said_word(addr, sizeof(addr), said_after(l, " bytes from "), ": ");
		passed(t, addr, strtol(l->body, NULL, 10) - ICMP);
	} else if (strstr(l->body, " packet loss") && t->now) {
		if (!strstr(l->body, " 100% packet loss"))
			passed(t, t->now->addr, t->bytes);
		else if (is_whole(t, t->bytes) && (!t->now->lost || t->bytes < t->now->lost))
			t->now->lost = t->bytes;
		t->now = NULL;
	}
}

const struct ping *pings_of_small(const struct pings *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->v[i].passed && t->v[i].lost > t->v[i].passed)
			return &t->v[i];
	return NULL;
}
