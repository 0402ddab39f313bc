#ifndef PROBES_PORT_ASK_H
#define PROBES_PORT_ASK_H
/*
 * What a person asks of portcheck: one struct, the table of options that fills it, and the way
 * from there to a run. What --cloud asks is another table's (probes/secgroup/audit.h).
 *
 *	.rows = port_ask_rows, .nrows = PORT_ASK_NROWS, .cfg = &ask	in the struct app_spec
 *
 *	ask = port_ask_defaults;		before the options are parsed
 *	port_ask_check(&ask, operands, ...)	what goes with what
 *	port_ask_alone(&ask, e)			once it is known that no other host is asked
 *	port_ask_ports(&ask, env, a, &list, e)	which ports are meant
 *	port_ask_mesh(&ask, ...)		what everybody asks everybody
 */
#include "lib/core/opt.h"
#include "probes/port/mesh.h"

struct port_ask {
	const char *ports, *expect, *from;
	bool udp, free;
	uint64_t count, silence_ns /* 0: not said */, sample;
	const char *hosts, *rsh;
	bool serve, copy_self, keep;
	const char *wait;  /* as it was typed, or NULL */
	uint64_t machines; /* what port_ask_check() read of it, where a number */
	uint64_t wait_time_ns, port, rate_ns, idle_ns; /* 0: not said */
	uint64_t joiners, join_ns; /* --wait and --wait-time, by their old names */
	/* for our own processes, and for tests */
	uint64_t seed;
	bool is_rank;
	const char *why;
};

enum { PORT_ASK_NROWS = 25 };
extern const struct opt port_ask_rows[PORT_ASK_NROWS];
extern const struct port_ask port_ask_defaults;

/* ERR_USAGE. @cloud: the cloud is asked, and @operands are files. */
int port_ask_check(struct port_ask *q, const str_list *operands, bool cloud,
		   struct err *e) MUST_CHECK;
/* Of a look at this host alone: what would ask somebody else is ERR_USAGE. */
int port_ask_alone(const struct port_ask *q, struct err *e) MUST_CHECK;
/* Those that were named, or the usual ones of @env. ERR_USAGE. */
int port_ask_ports(const struct port_ask *q, const struct port_env *env, struct arena *a,
		   port_list *ret, struct err *e) MUST_CHECK;
/* How long a port may be silent, in a run of which each part has @deadline_ns. */
uint64_t port_ask_patience(const struct port_ask *q, uint64_t deadline_ns);
bool port_ask_open(const struct port_ask *q); /* a refusal does not pass */
/* Everything but which hosts. @list lives as long as the run. */
struct mesh_opts port_ask_mesh(const struct port_ask *q, const port_list *list,
			       uint64_t deadline_ns);

#endif
