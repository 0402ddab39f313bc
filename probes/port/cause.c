#include "probes/port/cause.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>

/* Linux asks three times, a second apart, before it gives up on a neighbour. */
enum { NEIGHBOUR_US = 2500000 };

static const struct {
	const char *name;
	char letter;
} states[] = {
	[PORT_OPEN] = {"open", 'o'},	     [PORT_REFUSED] = {"refused", 'r'},
	[PORT_FILTERED] = {"filtered", 'f'}, [PORT_UNREACHABLE] = {"unreachable", 'u'},
	[PORT_DNS] = {"dns", 'd'},	     [PORT_SILENT] = {"silent", 's'},
	[PORT_UNKNOWN] = {NULL, '?'},
};

static const struct {
	const char *text;
	char letter;
} causes[CAUSE_COUNT] = {
	[CAUSE_NONE] = {NULL, '.'},
	[CAUSE_CLOSED] = {"nothing listens there now", 'c'},
	[CAUSE_DROPPED] = {"no answer at all: a security group, or a firewall that drops", 'g'},
	[CAUSE_HOST_FIREWALL] = {"that host's own firewall rejects it", 'h'},
	[CAUSE_PATH_FIREWALL] = {"a firewall on the way rejects it", 'p'},
	[CAUSE_NOBODY] = {"nobody on this network has that address", 'n'},
	[CAUSE_NOBODY_THERE] = {"a router says that nobody has that address", 'N'},
	[CAUSE_NO_ROUTE] = {"there is no route to it", 'r'},
	[CAUSE_NO_ROUTE_THERE] = {"a router says that there is no route to it", 'q'},
	[CAUSE_OWN_FIREWALL] = {"this host's own firewall does not let it out", 'l'},
	[CAUSE_OWN_ROUTE] = {"a route of this host forbids it", 'b'},
	[CAUSE_LIMITED] = {"no answer, probably that host's own firewall too: it rejects other "
			   "ports, and hosts limit how often they say so",
			   'i'},
	[CAUSE_NEIGHBOURS] =
		{"this host never asked who has that address: its neighbour table is full", 'a'},
	[CAUSE_UDP] = {"no answer, which with UDP proves nothing: open and silent look alike", 's'},
	[CAUSE_NAME] = {"the name does not resolve", 'd'},
	[CAUSE_INTERRUPTED] = {"interrupted before an answer came", 'I'},
	[CAUSE_LOCAL] = {"this host could not send it", 'e'},
	[CAUSE_RP_FILTER] = {"that host's reverse-path filter drops it: its route back leaves "
			     "through another interface",
			     'R'},
	[CAUSE_OWN_RP_FILTER] = {"it arrives, and the answer is dropped by this host's own "
				 "reverse-path filter: it comes in on another interface",
				 'O'},
	[CAUSE_WAY_BACK] = {"it arrives there, and the answer does not come back: it leaves that "
			    "host through another interface, an asymmetric route",
			    'w'},
	[CAUSE_LOST_ANSWER] = {"it arrives there, and the answer, which leaves the way it came, is "
			       "lost: a stateless rule that lets one way only, such as a network "
			       "ACL; less likely a route",
			       'L'},
	[CAUSE_OWN_ANSWER] = {"it arrives there, and this host's own firewall drops the answer",
			      'D'},
	[CAUSE_THEIR_ANSWER] = {"it arrives there, and that host's own firewall does not let the "
				"answer out",
				'E'},
	[CAUSE_OTHER_WAY] = {"no answer, and this host's route to it leaves through another "
			     "interface than its own address is on",
			     'A'},
	[CAUSE_ROUTER] =
		{"no answer, and this host's route to it leads to a router, though the two "
		 "are in one network",
		 'G'},
	[CAUSE_ROUTER_BACK] = {"it arrives there, and the answer does not come back: that host's "
			       "route leads to a router, though the two are in one network",
			       'H'},
	[CAUSE_DOWN] = {"no answer at all: a security group, or a firewall that drops; or the host "
			"is down",
			'W'},
	[CAUSE_NOT_SEEN] = {"no answer, and nobody on this network has answered for that address: "
			    "the host is down, or nobody has it",
			    'S'},
	[CAUSE_RESET] = {"a refusal comes from a port where portcheck itself listens: a firewall "
			 "that rejects with a reset, as ufw's reject does",
			 'T'},
	[CAUSE_IMPOSTOR] = {"something accepts connections at a port where portcheck itself "
			    "listens, and is not portcheck: a rule that redirects, a proxy, or "
			    "another machine with that address",
			    'U'},
	[CAUSE_NO_WAY_BACK] = {"no answer: that host has no route back", 'k'},
	[CAUSE_BULK] = {"small messages pass and bulk does not: a path-MTU black hole swallows "
			"large packets",
			'B'},
	[CAUSE_NO_BULK] = {"small messages pass and bulk does not, however small its packets: a "
			   "rule that counts bytes or looks into packets, or a link that loses "
			   "nearly all",
			   'Q'},
	[CAUSE_TRICKLE] = {"small messages pass, and bulk stalls when some of it has passed: a "
			   "link that loses packets or is very slow, or a rule that counts or "
			   "limits",
			   't'},
	[CAUSE_OWN_ND] = {"this host's own firewall drops ICMPv6, by which IPv6 finds its "
			  "neighbours",
			  'v'},
	[CAUSE_THEIR_ND] = {"that host's own firewall drops ICMPv6, by which IPv6 finds its "
			    "neighbours: it is there, and cannot be found",
			    'V'},
	[CAUSE_NOT_SEEN6] = {"no answer, and nobody on this network has answered for that address: "
			     "the host is down, or its firewall drops ICMPv6, or nobody has it",
			     'z'},
	[CAUSE_TIMESTAMPS] =
		{"it is answered without TCP timestamps and not with them: something on "
		 "the way drops what has that option, which is no security group",
		 'x'},
	[CAUSE_SCALING] =
		{"it is answered without TCP window scaling and not with it: something on "
		 "the way drops what has that option, which is no security group",
		 'y'},
	[CAUSE_SACK] =
		{"it is answered without TCP's SACK option and not with it: something on the "
		 "way drops what has that option, which is no security group",
		 'Y'},
	[CAUSE_OWN_LINK] = {"it does not leave this host: its own card to it has no link", 'C'},
	[CAUSE_PATHS] = {"it is answered from some source ports and never from others: one of "
			 "several paths to it is dead",
			 'P'},
	[CAUSE_COUNTED] = {"no answer, and some of its ports answered only when they were asked "
			   "again, a second later: a rule there or on the way that limits how many "
			   "new connections it lets in, or else a link that loses packets",
			   'm'},
	[CAUSE_LINK] = {"its packets go astray: see what is said of one of the two hosts", 'K'},
};

const char *port_state_name(enum port_state s) { return states[s].name; }
const char *port_cause_option(enum port_cause c)
{
	return c == CAUSE_TIMESTAMPS ? "sudo sysctl -w net.ipv4.tcp_timestamps=0"
	       : c == CAUSE_SCALING  ? "sudo sysctl -w net.ipv4.tcp_window_scaling=0"
	       : c == CAUSE_SACK     ? "sudo sysctl -w net.ipv4.tcp_sack=0"
				     : NULL;
}

char port_state_letter(enum port_state s) { return states[s].letter; }
const char *port_cause_text(enum port_cause c) { return causes[c].text; }
char port_cause_letter(enum port_cause c) { return causes[c].letter; }

int port_state_of_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (states[i].letter == letter)
			return (int)i;
	return -1;
}

int port_cause_of_letter(char letter)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (causes[i].letter == letter)
			return (int)i;
	return -1;
}

bool port_state_is_reached(enum port_state s) { return s == PORT_OPEN || s == PORT_REFUSED; }

enum said { SAID_PROHIBITED, SAID_NO_HOST, SAID_NO_NET, SAID_PORT, SAID_OTHER };

static enum said said4(const struct scan_probe *p)
{
	if (p->icmp_type != ICMP_DEST_UNREACH)
		return SAID_OTHER;
	switch (p->icmp_code) {
	case ICMP_NET_UNREACH:
	case ICMP_NET_UNKNOWN:
		return SAID_NO_NET;
	case ICMP_HOST_UNREACH:
	case ICMP_HOST_UNKNOWN:
		return SAID_NO_HOST;
	case ICMP_PORT_UNREACH:
		return SAID_PORT;
	case ICMP_PROT_UNREACH:
	case ICMP_NET_ANO:
	case ICMP_HOST_ANO:
	case ICMP_PKT_FILTERED:
	case ICMP_PREC_VIOLATION:
	case ICMP_PREC_CUTOFF:
		return SAID_PROHIBITED;
	}
	return SAID_OTHER;
}

static enum said said6(const struct scan_probe *p)
{
	if (p->icmp_type != ICMP6_DST_UNREACH)
		return SAID_OTHER;
	switch (p->icmp_code) {
	case ICMP6_DST_UNREACH_NOROUTE:
		return SAID_NO_NET;
	case ICMP6_DST_UNREACH_ADDR:
		return SAID_NO_HOST;
	case ICMP6_DST_UNREACH_NOPORT:
		return SAID_PORT;
	}
	return SAID_PROHIBITED;
}

/* What the message and its sender say. */
static enum port_cause from_icmp(const struct scan_probe *p, bool by_us)
{
	enum said said = p->by.sa.sa_family == AF_INET6 ? said6(p) : said4(p);

	/* Whatever its words: a host that answers for itself is there, and says no. */
	if (addr_equal(&p->by, &p->to))
		return CAUSE_HOST_FIREWALL;
	switch (said) {
	case SAID_NO_HOST: /* our own kernel says it when nobody answers ARP, or ICMPv6 */
		return !by_us				? CAUSE_NOBODY_THERE
		       : p->by.sa.sa_family == AF_INET6 ? CAUSE_NOT_SEEN6
							: CAUSE_NOBODY;
	case SAID_NO_NET:
		return by_us ? CAUSE_NO_ROUTE : CAUSE_NO_ROUTE_THERE;
	case SAID_PORT:
	case SAID_PROHIBITED:
		return by_us ? CAUSE_OWN_FIREWALL : CAUSE_PATH_FIREWALL;
	case SAID_OTHER:
		break;
	}
	return CAUSE_PATH_FIREWALL;
}

/* Before Linux 6.0 there is errno alone, and the time that it took. */
static enum port_cause from_errno(const struct scan_probe *p)
{
	switch (p->error) {
	case EPERM:
		return CAUSE_OWN_FIREWALL;
	case EACCES:
		return CAUSE_OWN_ROUTE;
	case ENETUNREACH:
		return CAUSE_NO_ROUTE;
	case EHOSTUNREACH:
		return p->took_us < NEIGHBOUR_US	? CAUSE_HOST_FIREWALL
		       : p->to.sa.sa_family == AF_INET6 ? CAUSE_NOT_SEEN6
							: CAUSE_NOBODY;
	}
	return CAUSE_HOST_FIREWALL;
}

static struct port_verdict refused(const struct scan_probe *p, bool udp, enum port_cause by_icmp)
{
	/* UDP has no RST: a closed port's answer is the message itself. */
	if (p->by.sa.sa_family && (!udp || by_icmp != CAUSE_HOST_FIREWALL))
		return (struct port_verdict){PORT_UNREACHABLE, by_icmp};
	return (struct port_verdict){PORT_REFUSED, CAUSE_CLOSED};
}

struct port_verdict port_verdict(const struct scan_probe *p, bool udp,
				 bool (*is_ours)(const union addr *a, void *arg), void *arg)
{
	bool icmp = p->by.sa.sa_family != 0;
	enum port_cause cause = icmp ? from_icmp(p, is_ours(&p->by, arg)) : from_errno(p);

	switch (p->state) {
	case TCP_OPEN:
		return (struct port_verdict){PORT_OPEN, CAUSE_NONE};
	case TCP_REFUSED:
		return refused(p, udp, cause);
	case TCP_FILTERED:
		return udp ? (struct port_verdict){PORT_SILENT, CAUSE_UDP}
			   : (struct port_verdict){PORT_FILTERED, CAUSE_DROPPED};
	case TCP_UNREACHABLE:
		return (struct port_verdict){PORT_UNREACHABLE, cause};
	case TCP_PENDING:
		return (struct port_verdict){PORT_UNKNOWN, CAUSE_INTERRUPTED};
	case TCP_ERROR:
		break;
	}
	return (struct port_verdict){PORT_UNKNOWN, CAUSE_LOCAL};
}
