#include "probes/log/asides.h"

#include "lib/net/addr.h"
#include "probes/log/said.h"
#include "probes/log/shell.h"
#include "probes/log/why.h"

#include <arpa/inet.h>
#include <ctype.h>

enum { FAR = 80 /* lines from a command to what is its output */ };

static const char ends[] = " \t/,;()[]'\"";

static bool is_ipv4(const char *addr)
{
	struct in_addr v;

	return inet_pton(AF_INET, addr, &v) == 1;
}

static const char *host_now(const struct asides *t, const struct why_stream *s,
			    const struct log_line *l)
{
	if (*l->who.host)
		return l->who.host;
	return t->file == s->file && s->line - t->line <= FAR ? t->host : "";
}

/* The command of a line with a prompt; NULL: there is none. */
static const char *command_of(const struct log_line *l)
{
	static const char *const all[] = {
		"cat /etc/hosts", "getent ",  "ip -",	   "ip a",	"ifconfig", "ufw ",
		"firewall-cmd ",  "ip neigh", "iptables ", "nft list ", "arp -",    "grep "};
	const char *first = NULL;

	if (!strpbrk(l->text, "$#"))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const char *p = strstr(l->text, all[i]);

		if (p && (!first || p < first) && p > l->text && strchr(" ;'\"", p[-1]))
			first = p;
	}
	return first;
}

/* --- addresses ---------------------------------------------------------------------------- */
static void own(struct asides *t, const char *host, const char *iface, const char *addr, int bits)
{
	struct owned *v = &t->owned[t->nowned];

	if (t->nowned == ASIDES_MAX || !is_ipv4(addr) || starts_with(addr, "127."))
		return;
	(void)snprintf(v->host, sizeof(v->host), "%s", host);
	(void)snprintf(v->iface, sizeof(v->iface), "%s", iface);
	(void)snprintf(v->addr, sizeof(v->addr), "%s", addr);
	v->bits = bits;
	t->nowned++;
}

static int bits_of(const char *p)
{
	const char *mask = strstr(p, "netmask 255.");
	struct in_addr v;
	char word[48];

	if (*p == '/')
		return (int)strtol(p + 1, NULL, 10);
	said_word(word, sizeof(word), mask ? mask + strlen("netmask ") : "", ends);
	return inet_pton(AF_INET, word, &v) == 1 ? __builtin_popcount(v.s_addr) : 0;
}

/* "    inet 10.0.0.5/24 brd 10.0.0.255 scope global dynamic eth0", and of ifconfig. */
static void inet_row(struct asides *t, const char *host, const char *p)
{
	char addr[48], iface[24] = "";
	const char *scope = strstr(p, " scope "), *last = NULL;

	said_word(addr, sizeof(addr), p, ends);
	for (const char *q = scope ? said_next(scope + 1) : ""; *q; q = said_next(q))
		last = q;
	if (last)
		said_word(iface, sizeof(iface), last, " \t:\\");
	own(t, host, iface, addr, bits_of(p + strlen(addr)));
}

/* "eth0             UP             10.0.0.5/24 fe80::1/64" */
static void brief_row(struct asides *t, const char *host, const struct log_line *l, const char *up)
{
	char iface[24], addr[48];
	const char *p = said_spaces(up + strlen(" UP"));

	if (!isdigit((unsigned char)*p))
		return;
	said_word(iface, sizeof(iface), l->body, " \t@:");
	said_word(addr, sizeof(addr), p, ends);
	own(t, host, iface, addr, bits_of(p + strlen(addr)));
}

const struct owned *asides_owner(const struct asides *t, const char *addr)
{
	for (unsigned i = 0; i < t->nowned; i++)
		if (streq(t->owned[i].addr, addr))
			return &t->owned[i];
	return NULL;
}

static bool is_in_network(const struct owned *v, const char *addr)
{
	union addr own, at;

	return v->bits > 0 && !addr_parse(v->addr, &own) && own.sa.sa_family == AF_INET &&
	       !addr_parse(addr, &at) && addr_in_subnet(&at, &own, (unsigned)v->bits);
}

const char *asides_iface(const struct why *w, const char *addr)
{
	const struct asides *t = &w->asides;
	const struct offer *o = actors_offered(&w->actors, addr);
	const struct owned *v = asides_owner(t, addr);

	for (unsigned i = 0; !v && i < t->nowned; i++)
		if (is_in_network(&t->owned[i], addr))
			v = &t->owned[i];
	return o ? o->iface : v ? v->iface : "";
}

/* --- names -------------------------------------------------------------------------------- */
void asides_led(struct asides *t, const char *name, const char *addr, bool in_file)
{
	static const char *const kinds[] = {"STREAM", "DGRAM", "RAW", "localhost"};
	struct named *v = &t->named[t->nnamed];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (starts_with(name, kinds[i]))
			return;
	if (t->nnamed == ASIDES_MAX || !*name || is_ipv4(name) || !is_ipv4(addr))
		return;
	(void)snprintf(v->on, sizeof(v->on), "%s", t->host);
	(void)snprintf(v->name, sizeof(v->name), "%s", name);
	(void)snprintf(v->addr, sizeof(v->addr), "%s", addr);
	v->in_file = in_file;
	t->nnamed++;
}

bool asides_name(struct why_stream *s, const struct log_line *l)
{
	struct asides *t = &s->w->asides;
	const char *host = host_now(t, s, l), *p = l->text;
	char addr[48], name[64];

	if (strpbrk(p, "$@<"))
		return false;
	said_word(addr, sizeof(addr), p, " \t");
	if (!is_ipv4(addr))
		return true;
	if (host != t->host)
		(void)snprintf(t->host, sizeof(t->host), "%s", host);
	for (p = said_next(p); *p && *p != '#'; p = said_next(p)) {
		said_word(name, sizeof(name), p, " \t\r");
		asides_led(t, name, addr, t->shows_file);
	}
	return true;
}

/* --- firewalls ---------------------------------------------------------------------------- */
static struct wall *wall_of(struct asides *t, const char *host, int kind)
{
	struct wall *v = t->nwalls ? &t->walls[t->nwalls - 1] : NULL;

	if (v && (int)v->kind == kind && streq(v->host, host))
		return v;
	if (t->nwalls == WALLS_MAX)
		return NULL;
	v = &t->walls[t->nwalls++];
	(void)snprintf(v->host, sizeof(v->host), "%s", host);
	v->kind = kind;
	return v;
}

static void lets_subnet(struct wall *v, const char *from)
{
	char net[48];

	said_word(net, sizeof(net), from, " \t(");
	if (isdigit((unsigned char)*net) && strchr(net, '/') && !starts_with(net, "0.0.0.0"))
		(void)snprintf(v->subnet, sizeof(v->subnet), "%s", net);
}

/* "29500", "29500/tcp", "29500:29600/tcp", "22,80/tcp": a range, and what are too many to remember,
 * may be meant for all that ranks open. */
static void lets_ports(struct wall *v, const char *p, const char *last)
{

	while (p < last && isdigit((unsigned char)*p)) {
		char *end;
		unsigned long from = strtoul(p, &end, 10), to = from;

		if (*end == ':' || *end == '-')
			to = strtoul(end + 1, &end, 10);
		if (to > from || v->nports == WALL_PORTS)
			v->is_wide = true;
		else
			v->ports[v->nports++] = (unsigned)from;
		p = *end == ',' ? end + 1 : said_next(end);
	}
}

/* "29500/tcp                  ALLOW IN    192.168.1.0/24", "Anywhere  ALLOW  10.0.0.0/8" */
static void ufw_row(struct asides *t, const char *host, const struct log_line *l, const char *allow)
{
	struct wall *v = wall_of(t, host, WALL_UFW);
	const char *from = allow + strspn(allow, " ") + strlen("ALLOW");

	if (!v)
		return;
	from = said_spaces(from);
	if (starts_with(from, "OUT") || starts_with(from, "FWD"))
		return;
	from = said_spaces(from + (starts_with(from, "IN ") ? strlen("IN") : 0));
	lets_subnet(v, from);
	if (isdigit((unsigned char)*l->body) && !memchr(l->body, '.', strcspn(l->body, " ")))
		lets_ports(v, l->body, allow);
	else if (starts_with(l->body, "Anywhere"))
		v->is_wide = true;
}

static void firewalld_row(struct asides *t, const char *host, const struct log_line *l)
{
	struct wall *v = wall_of(t, host, WALL_FIREWALLD);
	const char *ports = said_after(l, "  ports: "), *sources = said_after(l, "  sources: ");

	if (!v)
		return;
	lets_ports(v, ports, ports + strlen(ports));
	v->is_wide |= isdigit((unsigned char)*sources) || strstr(l->text, "target: ACCEPT") ||
		      strstr(l->text, "trusted (active)");
}

static void walls(struct asides *t, const char *host, const struct log_line *l)
{
	static const char *const others[] = {"INPUT (policy DROP", "-P INPUT DROP",
					     "icmp-host-prohibited", NULL};
	const char *allow = strstr(l->text, "  ALLOW");

	if (streq(l->body, "Status: active"))
		(void)wall_of(t, host, WALL_UFW);
	else if (allow)
		ufw_row(t, host, l, allow);
	else if (strstr(l->text, "  services: ") || strstr(l->text, "  ports: ") ||
		 strstr(l->text, "  sources: ") || strstr(l->text, "target: ACCEPT") ||
		 strstr(l->text, "trusted (active)"))
		firewalld_row(t, host, l);
	else if (said_any(l->text, strlen(l->text), others))
		(void)wall_of(t, host, WALL_OTHER);
}

/* --- neighbours --------------------------------------------------------------------------- */
static void mute(struct asides *t, const char *from, const char *stop)
{
	char addr[48];

	said_word(addr, sizeof(addr), from, stop);
	for (unsigned i = 0; i < t->nmute; i++)
		if (streq(t->mute[i], addr))
			return;
	if (t->nmute < WALLS_MAX && is_ipv4(addr))
		(void)snprintf(t->mute[t->nmute++], sizeof(t->mute[0]), "%s", addr);
}

/* "10.0.0.7 dev eth0 FAILED", "? (10.0.0.7) at <incomplete> on eth0", "From 10.0.0.5 icmp_seq=1
 * Destination Host Unreachable", which an end says of itself where nobody answers. */
static void neighbours(struct why *w, const struct log_line *l)
{
	struct asides *t = &w->asides;
	const char *open = strchr(l->text, '(');

	if (strstr(l->text, " dev ") &&
	    (strstr(l->text, " FAILED") || strstr(l->text, "INCOMPLETE")))
		mute(t, l->body, " ");
	else if (strstr(l->text, "<incomplete>") && open)
		mute(t, open + 1, ")");
	else if (strstr(l->text, "Destination Host Unreachable") && w->pings.now)
		mute(t, w->pings.now->addr, " ");
}

/* "127.0.0.1:43117 0.0.0.0:* users:(("pt_main_thread"", "127.0.0.1:43117 0.0.0.0:* LISTEN
 * 9/python3": Gloo takes the port that the kernel gives it; a board or a notebook has one of its
 * own. */
static bool is_rank_on_loopback(const char *text)
{
	static const char *const ranks[] = {"pyt", "pt_main", NULL};
	enum { GIVEN = 32768 /* ... from there on, net.ipv4.ip_local_port_range */ };
	const char *addr = strstr(text, " 127."), *port = addr ? strchr(addr, ':') : NULL;

	return port && strtoul(port + 1, NULL, 10) >= GIVEN && said_any(text, strlen(text), ranks);
}

void asides_at(struct why *w, const struct why_stream *s, const struct log_line *l,
	       const char *command)
{
	struct asides *t = &w->asides;

	shell_host(l->text, command, t->host, sizeof(t->host));
	t->file = s->file;
	t->line = s->line;
}

void asides_hear(struct why *w, struct why_stream *s, const struct log_line *l)
{
	static const char *const wsl[] = {"(WSL",   "WSL2",    "wsl2", ".wslconfig",
					  "wsl --", "wsl.exe", " WSL", NULL};
	static const char *const rented[] = {"RUNPOD_",	  "RunPod",	"runpod",
					     "vast.ai",	  "Vast.ai",	"VAST_CONT",
					     "VAST_TCP_", "TensorDock", NULL};
	struct asides *t = &w->asides;
	const char *command = command_of(l), *up, *host;

	t->is_rented |= said_any(l->text, strlen(l->text), rented);

	if (command) {
		asides_at(w, s, l, command);
		t->shows_file = strstr(command, "/etc/hosts");
		if (t->shows_file || starts_with(command, "getent "))
			sequel_begin(s, SEQUEL_NAMES, l);
		return;
	}
	host = host_now(t, s, l);
	up = strstr(l->text, " UP       ");
	if (*said_after(l, " inet "))
		inet_row(t, host, said_after(l, " inet "));
	else if (up)
		brief_row(t, host, l, up);
	t->listens_alone |= strstr(l->text, "LISTEN") && is_rank_on_loopback(l->text);
	t->has_answered |= strstr(l->text, " succeeded!") != NULL;
	t->is_wsl |= said_any(l->text, strlen(l->text), wsl);
	walls(t, host, l);
	neighbours(w, l);
}
