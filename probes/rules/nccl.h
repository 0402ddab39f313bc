#ifndef PROBES_RULES_NCCL_H
#define PROBES_RULES_NCCL_H
/*
 * NCCL's own rules as pure functions, tested against the real libnccl
 * (tests/diff/diff-nccl): the interface list grammar, the conf file grammar,
 * NCCL_COMM_ID, the automatic choice. Where NCCL's behaviour differs between
 * releases the functions take a version code (22809 is 2.28.9).
 *
 * prediction.rule is one of
 *	NCCL_SOCKET_IFNAME            the list that is set chose (or left nothing)
 *	NCCL_COMM_ID                  first address in its subnet; IFNAME is not asked
 *	automatic:ib                  a name that begins with ib
 *	automatic:NCCL_COMM_ID        data only: NCCL_COMM_ID's subnet
 *	automatic:not docker,lo,virbr anything else (before 2.28.3: not docker,lo)
 *	automatic:docker automatic:lo automatic:virbr   the last resorts, in this order
 *	automatic                     nothing at all was left
 */
#include "probes/rules/rules.h"

enum {
	NCCL_MAX_IFS = 16,
	NCCL_NAME_SIZE = 64,		/* of one entry in a list; longer ones match nothing */
	NCCL_VERSION_GID = 22105,	/* finds RoCE's entry in the GID table itself: 0 before */
	NCCL_VERSION_CONF_FILE = 22304, /* NCCL_CONF_FILE is looked at */
	NCCL_VERSION_VIRBR = 22803,	/* virbr is left for last */
	NCCL_VERSION_RUNNING = 22803,	/* what is not running is passed over: not even up before */
	NCCL_VERSION_ENV_PLUGIN = 22807, /* NCCL_ENV_PLUGIN is looked at */
	NCCL_VERSION_INVERTED = 22902,	 /* takes the first IPv4 address NOT in NCCL_COMM_ID's
					    subnet, by mistake, */
	NCCL_VERSION_UPRIGHT = 23003,	 /* and no longer */
	NCCL_VERSION_HOME = 23003,	 /* $HOME instead of the passwd entry; \r is stripped;
					    lines are cut into pieces of 4095 bytes */
	NCCL_VERSION_BOOLEAN = 23007,	 /* T, TRUE, F and FALSE are booleans, of what is one */
	NCCL_VERSION_BOUNDED = 23007,	 /* an entry of a list is cut where its memory ends */
	NCCL_VERSION_NEWEST = 23203,
};

struct nccl_ifspec {
	char prefix[NCCL_MAX_IFS][NCCL_NAME_SIZE];
	int port[NCCL_MAX_IFS]; /* -1: none was written */
	size_t n;
	bool exact, negate;
	bool truncated; /* more than 16 were given */
	/*
	 * Characters of an entry that do not fit in NCCL's list. 0: all do. Ask
	 * nccl_ifspec_overrun() whether that matters.
	 */
	size_t overrun;
};
/* parseStringList and the ^ and = in front, as libnccl reads them. Never fails. */
void nccl_ifspec_parse(const char *value, struct nccl_ifspec *ret);
/* True when an interface of this name passes (XOR with ^ included). */
bool nccl_ifspec_match(const struct nccl_ifspec *spec, const char *name);
/* The same with a port, as NCCL_IB_HCA has it; -1: any. */
bool nccl_ifspec_match_port(const struct nccl_ifspec *spec, const char *name, int port);

/*
 * Characters of an entry that a release copies over the end of its list on the
 * stack: what happens then is nobody's promise, 2.28.9 dies of SIGSEGV. 0: it does not.
 */
size_t nccl_ifspec_overrun(const struct nccl_ifspec *spec, unsigned version);

/* One line of nccl.conf as libnccl reads it: true when it sets a variable. */
bool nccl_conf_line(const char *line, size_t n, struct arena *a, const char **ret_name,
		    const char **ret_value);
/* strtoll(value, 0) as NCCL_PARAM does; false when NCCL would ignore it. */
bool nccl_param_parse(const char *value, int64_t *ret);
/* "2.28.9" or "22809" -> 22809. */
int nccl_version_parse(const char *s, unsigned *ret) MUST_CHECK;
/* 22809 -> "2.28.9"; up to 2.8 the code has one digit less: 2804 is 2.8.4. */
const char *nccl_version_text(struct arena *a, unsigned code);
/*
 * The version of the NCCL that PyTorch would load here (lib/host/places.h), found without
 * loading it; 0: there is none, or this is a recorded tree. Remembered.
 */
unsigned nccl_installed(void);
const char *nccl_installed_path(void); /* of that one; NULL: there is none */
/* The version to judge by: @asked, else the installed library's, else the newest known. */
unsigned nccl_version(unsigned asked);

/* The home whose .nccl.conf NCCL reads: $HOME, before 2.30.3 the passwd entry's. NULL: none. */
const char *nccl_home(struct arena *a, unsigned nccl_version_asked);
/* settings_read() by the rules of a version; 0: as nccl_version(). */
void settings_read_for(struct settings *s, struct arena *a, unsigned nccl_version_asked);

/* AF_INET, AF_INET6, or 0: NCCL_SOCKET_FAMILY forces nothing (NULL, or a word NCCL ignores). */
int nccl_family_parse(const char *value);

/*
 * NCCL_COMM_ID to the address that NCCL compares subnets with; a host name is
 * looked up in @in's names. -1: NCCL refuses it, or what it would read is
 * undefined; @ret_why says so.
 */
int nccl_comm_id_resolve(const char *value, const struct rules_input *in, union addr *ret,
			 const char **ret_why) MUST_CHECK;

/* The port that NCCL makes of it: 65535 of none, 34463 of 99999, 0 of a word. */
uint16_t nccl_comm_id_port(const char *value, bool *ret_as_written);
/* Characters of a part of it that overrun NCCL's memory, as an nccl_ifspec's do; 0: all fit. */
size_t nccl_comm_id_overrun(const char *value, unsigned version);

/* What ncclFindInterfaces finds: first address of each name, in kernel order. */
struct nccl_choice {
	const struct iface_addr *v[NCCL_MAX_IFS];
	size_t n;
	const char *rule;
};
/*
 * One pass of the filter over the inventory; returns the number held. Here and below @version
 * is as nccl_version() takes it, and only asked for where releases differ.
 */
size_t nccl_select(const struct inventory *inv, const struct nccl_ifspec *spec, int family,
		   unsigned version, const struct iface_addr *ret[NCCL_MAX_IFS]);
/*
 * First address in @to's subnet; neither RUNNING nor loopback is looked at. NULL: none.
 * *ret_inverted, unless NULL: this release takes the first one outside of it instead.
 */
const struct iface_addr *nccl_same_subnet(const struct inventory *inv, const union addr *to,
					  unsigned version, bool *ret_inverted);
/* @ifname and @comm_id may be NULL. */
void nccl_choose(const struct inventory *inv, const char *ifname, int family,
		 const union addr *comm_id, unsigned version, struct nccl_choice *ret);
/*
 * What makes NCCL use one interface and nothing else: "=NAME", else a prefix
 * that fits no other one here, since a list ends a name at ',' and ':' and an
 * address may have a label of its own; with a family where the kernel's order
 * or a setting would give another address.
 */
struct nccl_naming {
	const char *list;		/* NCCL_SOCKET_IFNAME */
	int family;			/* NCCL_SOCKET_FAMILY, or 0: need not be said */
	const struct iface_addr *first; /* what peers are told then */
};
/* Of those that mean @i the one that tells peers @want, else one they can reach. False: none. */
bool nccl_naming_for(const struct rules_input *in, const struct iface *i,
		     const struct iface_addr *want, struct nccl_naming *ret);
/* True when NCCL would count this port a device: ACTIVE, InfiniBand or RoCE. */
bool nccl_ib_port_counts(const struct rdma_port *p);
/* And one that it can connect: RoCE whose GIDs are all zero is counted, and then fails. */
bool nccl_ib_port_connects(const struct rdma_port *p);
/* False where no program can open an RDMA device: NCCL then has none, whatever /sys shows. */
bool nccl_ib_can_open(const struct rules_input *in);
/* RDMA ports that will carry the data, by NCCL_NET, NCCL_IB_DISABLE and NCCL_IB_HCA, too. */
size_t nccl_ib_ports_used(const struct rules_input *in);
/* Those of them that are in another such list, too. */
size_t nccl_ib_ports_fit(const struct rules_input *in, const struct nccl_ifspec *also);
/* True when there is one, so that sockets serve the bootstrap only. */
bool nccl_ib_carries_data(const struct rules_input *in);
/* True when a network plug-in that NCCL would try is here, or that cannot be told. */
bool nccl_has_net_plugin(const struct rules_input *in);

/* The effective value of a setting, or NULL. */
const char *nccl_value(const struct rules_input *in, const char *name);

/* The parts of rules_nccl that have files of their own. */
void nccl_check(const struct rules_input *in, struct report *r);
void nccl_suggest(const struct rules_input *in, struct suggestion *s);

#endif
