#ifndef PROBES_LOG_ASIDES_H
#define PROBES_LOG_ASIDES_H
/*
 * What commands that somebody ran beside the job show of its hosts: which addresses each has ("ip
 * a", ifconfig), where names lead ("/etc/hosts", getent), whom a firewall lets in (ufw, firewalld,
 * iptables), who did not answer in the same network ("ip neigh", ping), and that a host is WSL.
 * Bounded; whose it is the prompt before it says, or nobody.
 */
#include "probes/log/line.h"

enum { ASIDES_MAX = 32, WALLS_MAX = 8, WALL_PORTS = 16 };

#define ASIDES_ANCHORS                                                                             \
	"/etc/hosts|getent hosts|getent ahosts|ip addr|ip -br|ip -4 |ip -o |$ ip a|# ip a|"        \
	"ifconfig|ufw status|firewall-cmd|ip neigh|iptables -|nft list|arp -an| inet | UP       "  \
	"|"                                                                                        \
	"Status: active|  ALLOW|  services: |  ports: |  sources: |target: ACCEPT|trusted "        \
	"(active)|"                                                                                \
	"icmp-host-prohibited|INPUT (policy DROP|-P INPUT DROP| FAILED|INCOMPLETE|<incomplete>|"   \
	"Destination Host Unreachable| 127.0.1.1:| 127.0.0.1:|port [tcp/|tcp] "                    \
	"succeeded|RUNPOD_|RunPod|runpod|vast.ai|"                                                 \
	"Vast.ai|VAST_CONTAINERLABEL|VAST_TCP_PORT|TensorDock|"                                    \
	"net (WSL|n WSL2|r WSL2|h WSL2|(WSL2)|rd-WSL2|"                                            \
	"[wsl2]|.wslconfig|wsl --s|wsl --l|wsl.exe|in WSL|under WSL"

struct why;
struct why_stream;

struct owned {
	char host[64], iface[24], addr[48]; /* host: "": not said */
	int bits;			    /* of its network; 0: not said */
};

struct named {
	char on[64], name[64], addr[48];
	bool in_file; /* a line of /etc/hosts; else whoever answered */
};

/* A firewall that is on. */
struct wall {
	char host[64], subnet[48]; /* of which it lets somebody in; "": not said */
	enum { WALL_UFW, WALL_FIREWALLD, WALL_OTHER } kind;
	bool is_wide; /* it lets a whole network in, or a range of ports */
	unsigned nports, ports[WALL_PORTS];
};

struct asides {
	unsigned nowned, nnamed, nwalls, nmute;
	struct owned owned[ASIDES_MAX];
	struct named named[ASIDES_MAX];
	struct wall walls[WALLS_MAX];
	char mute[WALLS_MAX][48]; /* addresses that did not answer in their own network */
	bool has_answered;	  /* somebody knocked at a port, and was let in */
	bool shows_file;	  /* what is read is /etc/hosts */
	bool is_wsl, is_rented;	  /* its containers are those of a market for GPUs */
	bool listens_alone;	  /* a rank, as far as one sees, listens on loopback */
	/* whose output is read, since which line of which file; "": not said */
	char host[64];
	unsigned file;
	uint64_t line;
};

void asides_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* @command, which is in that line, is one whose output is read: on the prompt's host. */
void asides_at(struct why *w, const struct why_stream *s, const struct log_line *l,
	       const char *command);
/* A row of a hosts file, below the command that shows it. False: it has ended. */
bool asides_name(struct why_stream *s, const struct log_line *l);
/* Where that name led, on the host whose commands are read; @in_file: by a line of /etc/hosts. */
void asides_led(struct asides *t, const char *name, const char *addr, bool in_file);
/* Who has @addr, or NULL. */
const struct owned *asides_owner(const struct asides *t, const char *addr);
/* The interface that @addr was offered on, or is on, or in whose network it is; "": not known. */
const char *asides_iface(const struct why *w, const char *addr);

#endif
