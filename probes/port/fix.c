#include "probes/port/fix.h"

#include "probes/port/firewall.h"

const char *fix_subnet(const struct iface_addr *x, struct arena *a)
{
	union addr net = addr_network(&x->addr, x->prefix);
	struct addr_text at;

	return arena_printf(a, "%s/%u", addr_print(&net, &at), x->prefix);
}

bool has_others_subnet(const struct iface_addr *x)
{
	return x->prefix < (x->addr.sa.sa_family == AF_INET ? 32 : 128);
}

const char *others_subnet(const struct iface_addr *x, struct arena *a)
{
	if (has_others_subnet(x))
		return fix_subnet(x, a);
	return x->addr.sa.sa_family == AF_INET ? "SUBNET" : "SUBNET::/64";
}

void fix_let_in(struct finding *f, enum port_cause cause, const char *source, const char *host)
{
	if (cause == CAUSE_DROPPED)
		finding_fix(f,
			    "aws ec2 authorize-security-group-ingress --group-id GROUP --protocol "
			    "-1 --source-group GROUP   # on EC2; GROUP: the one that all nodes "
			    "are in");
	finding_fix(f, "portcheck   # on %s: shows its firewall and names the rule", host);
	finding_fix(f, "sudo ufw prepend allow from %s   # on %s, if ufw runs there", source, host);
	if (cause == CAUSE_HOST_FIREWALL || cause == CAUSE_LIMITED)
		finding_fix(f,
			    "sudo firewall-cmd --permanent --zone=trusted --add-source=%s && sudo "
			    "firewall-cmd --reload   # on %s, if firewalld runs there",
			    source, host);
}

static void fix_counted(struct finding *f, const struct reach_result *x)
{
	union addr one = *x->addr;
	struct addr_text at;

	addr_set_port(&one, x->port);
	finding_fix(f, "portcheck %s   # alone: answered at once, it is a limit",
		    addr_print_port(&one, &at));
	finding_fix(f,
		    "sudo nft list ruleset | grep limit   # on %s, and: sudo iptables-save | "
		    "grep limit",
		    x->target->given);
}

void fix_one(struct finding *f, const struct reach_result *x, const struct reach_way *way,
	     const char *own_fix)
{
	const char *host = x->target->given;
	struct addr_text at;

	switch ((enum port_cause)x->cause) {
	case CAUSE_DOWN:
		finding_fix(f, "ping -c 1 %s; ip neigh show %s   # FAILED: that host is down",
			    addr_print(x->addr, &at), at.s);
		fix_let_in(f, CAUSE_DROPPED,
			   way->source ? others_subnet(way->source, f->a) : "ADDRESS", host);
		break;
	case CAUSE_DROPPED:
	case CAUSE_HOST_FIREWALL:
	case CAUSE_LIMITED:
		if (x->cause == CAUSE_DROPPED && way->paths && way->undo)
			finding_fix(f, "sudo %s   # is it answered then?", way->undo);
		if (x->cause == CAUSE_DROPPED && way->limits)
			finding_fix(f, "portcheck %s   # alone: does that router say it then?",
				    host);
		fix_let_in(f, x->cause, way->source ? others_subnet(way->source, f->a) : "ADDRESS",
			   host);
		break;
	case CAUSE_COUNTED:
		fix_counted(f, x);
		break;
	case CAUSE_PATH_FIREWALL:
	case CAUSE_NO_ROUTE_THERE:
		finding_fix(f, "tracepath -n %s   # the network's owner has to %s at %s",
			    addr_print(x->addr, &at),
			    x->cause == CAUSE_PATH_FIREWALL ? "allow it" : "add a route to it",
			    x->by.sa.sa_family ? addr_print(&x->by, &(struct addr_text){0})
					       : "that router");
		break;
	case CAUSE_NOT_SEEN:
	case CAUSE_NOBODY:
	case CAUSE_NOBODY_THERE:
		finding_fix(f, "ifprobe   # on %s: is it up, and is %s its address?", host,
			    addr_print(x->addr, &at));
		finding_fix(f, "- its address, and up? Then not one VLAN (or VNI), or ports of a "
			       "switch, or macvlans "
			       "of one card, that are kept apart");
		break;
	case CAUSE_OWN_LINK:
		if (way->undo)
			finding_fix(f,
				    "%s   # on this host, where no two of its ports lead to one "
				    "switch; or look again in half a minute",
				    way->undo);
		else
			finding_fix(f,
				    "ip -br link show dev %s   # its cable or transceiver, the "
				    "port of the switch; of a bridge: its ports",
				    way->unlinked ?: "IFACE");
		break;
	case CAUSE_PATHS:
		if (way->undo)
			finding_fix(f,
				    "sudo %s   # until that next hop is mended; and its routing "
				    "daemon is to see that it is dead (BFD)",
				    way->undo);
		finding_fix(f,
			    "ip route get %s   # several next hops here, or else in the "
			    "network: ports of a bundle (LAG), routers beside each other",
			    addr_print(x->addr, &at));
		break;
	case CAUSE_OWN_ROUTE:
	case CAUSE_OTHER_WAY:
	case CAUSE_ROUTER:
		if (way->undo)
			finding_fix(f, "sudo %s", way->undo);
		finding_fix(f, "ip route get %s   # which route says so", addr_print(x->addr, &at));
		break;
	case CAUSE_NO_ROUTE:
		finding_fix(f, "ip route get %s   # which route says so", addr_print(x->addr, &at));
		break;
	case CAUSE_NOT_SEEN6:
		finding_fix(f,
			    "sudo portcheck   # on %s: is it up, is %s its address, does its "
			    "firewall let ICMPv6 in?",
			    host, addr_print(x->addr, &at));
		break;
	case CAUSE_OWN_ND:
	case CAUSE_OWN_FIREWALL:
		if (own_fix) {
			finding_fix(f, "%s", own_fix);
			break;
		}
		finding_fix(f, "portcheck   # on this host: shows its firewall");
		finding_fix(f, FIREWALL_LIST "   # look for the chains with hook output");
		break;
	case CAUSE_TIMESTAMPS:
	case CAUSE_SCALING:
	case CAUSE_SACK:
		finding_fix(f, "%s   # on this host; " FIX_OPTIONS, port_cause_option(x->cause));
		break;
	case CAUSE_NEIGHBOURS:
		finding_fix(f, "%s", FIX_NEIGHBOURS);
		break;
	case CAUSE_NAME:
		finding_fix(f, "getent ahosts %s   # then mend /etc/hosts or DNS", x->target->host);
		break;
	case CAUSE_CLOSED:
	case CAUSE_UDP:
		finding_fix(f, "ss -lnp | grep ':%u '   # on %s: does anything listen there?",
			    x->port, host);
		break;
	case CAUSE_NONE:
	case CAUSE_LOCAL:
	case CAUSE_INTERRUPTED:
	case CAUSE_RP_FILTER: /* seen between hosts only */
	case CAUSE_OWN_RP_FILTER:
	case CAUSE_WAY_BACK:
	case CAUSE_ROUTER_BACK:
	case CAUSE_LOST_ANSWER:
	case CAUSE_OWN_ANSWER:
	case CAUSE_THEIR_ANSWER:
	case CAUSE_NO_WAY_BACK:
	case CAUSE_THEIR_ND:
	case CAUSE_RESET:
	case CAUSE_IMPOSTOR:
	case CAUSE_BULK:
	case CAUSE_NO_BULK:
	case CAUSE_TRICKLE:
	case CAUSE_LINK:
	case CAUSE_COUNT:
		break;
	}
}
