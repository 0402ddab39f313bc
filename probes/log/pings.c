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

/* "$ ping -c 3 -s 9000 node1": what is longer than the link takes goes in pieces. */
static void hear_command(struct pings *t, const char *text)
{
	const char *how = strstr(text, "-M");

	t->may_split = !how || (!starts_with(how + 2 + strspn(how + 2, " "), "do") &&
				!starts_with(how + 2 + strspn(how + 2, " "), "probe"));
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

/* "PING 10.9.0.2 (10.9.0.2) 1392(1420) bytes of data.", "1340 bytes from 10.9.0.2: icmp_seq=1",
 * "3 packets transmitted, 0 received, 100% packet loss, time 2035ms"; busybox: "data bytes" */
void pings_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	enum { ICMP = 8 /* bytes before the data, which an answer counts and a ping does not */ };
	struct pings *t = &w->pings;
	const char *open = strchr(l->body, '('), *close = open ? strchr(open, ')') : NULL;
	char addr[64];

	if ((strstr(l->text, "ping ") || strstr(l->text, "ping6 ")) && strstr(l->text, " -s")) {
		hear_command(t, l->text);
	} else if (starts_with(l->body, "PING ") && close) {
		(void)snprintf(addr, sizeof(addr), "%.*s", (int)(close - open - 1), open + 1);
		t->bytes = strtol(close + strspn(close, "): "), NULL, 10);
		t->now = t->bytes > 0 ? of(t, addr) : NULL;
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
