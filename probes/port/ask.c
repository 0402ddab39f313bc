#include "probes/port/ask.h"

#include "lib/core/units.h"

#define AT(field) .off = offsetof(struct port_ask, field)

#define SILENCE_LEAST NS_PER_MS
#define SILENCE_MOST (600 * NS_PER_S)
#define JOIN_TIMES .min = NS_PER_MS, .max = 86400 * NS_PER_S

enum { JOINERS_MOST = 10000 };

static const char *const expectations[] = {"answer", "open", NULL};

const struct opt port_ask_rows[PORT_ASK_NROWS] = {
	{.help = "What to ask"},
	{0, "ports", "LIST",
	 "29500,30000-30010, nccl, ray, slurm, ssh; without it MASTER_PORT (or 29500) and a random "
	 "sample of the ephemeral range",
	 OPT_STR, AT(ports), .words = port_names},
	{0, "sample", "N", "how many random ephemeral ports that sample has", OPT_UINT, AT(sample),
	 .max = 1000, .def = "3"},
	{0, "udp", NULL, "ask with UDP instead of TCP", OPT_BOOL, AT(udp)},
	{0, "expect", "WHAT",
	 "what passes: any answer (a refusal proves that the way is free), or open only",
	 OPT_CHOICE, AT(expect), .choices = expectations, .def = "answer"},
	{0, "free", NULL,
	 "print a MASTER_PORT that is free here, or on all of --hosts and open between them",
	 OPT_BOOL, AT(free)},
	{0, "from", "IFACE|ADDR", "send from this interface or this address of this host", OPT_STR,
	 AT(from), .complete = OPT_C_IFACE},
	{0, "count", "N", "ask so many times and give the median latency", OPT_UINT, AT(count),
	 .min = 1, .max = 1000, .def = "1"},
	{0, "silence", "TIME", "how long a port may be silent before that is its answer",
	 OPT_DURATION, AT(silence_ns), .min = SILENCE_LEAST, .max = SILENCE_MOST, .def = "4s"},

	{.help = "Between hosts"},
	{OPT_HOSTS("every one of these to every other"), AT(hosts)},
	{OPT_RSH, AT(rsh)},
	{OPT_COPY_SELF, AT(copy_self)},
	{OPT_KEEP, AT(keep)},
	{0, "serve", NULL,
	 "no ssh: prints a line to paste on the other machines, and waits for them", OPT_BOOL,
	 AT(serve), .beside = "wait"},
	{0, "wait", "N", "with --serve: how many machines will join", OPT_STR, AT(wait),
	 .def = "1"},
	{0, "wait-time", "TIME", "with --serve: the longest wait for them", OPT_DURATION,
	 AT(wait_time_ns), JOIN_TIMES, .def = "10m"},
	{0, "port", "PORT", "with --serve: where they join", OPT_UINT, AT(port), .min = 1,
	 .max = 65535, .def = "29499"},
	{0, "bandwidth", "SECONDS",
	 "measure the throughput too, so long each way of each pair, every host in one pair at a "
	 "time",
	 OPT_DURATION, AT(rate_ns), .min = 10 * NS_PER_MS, .max = 600 * NS_PER_S},
	{0, "idle", "TIME",
	 "let connections between them be silent for so long, and for shorter times beside it, and "
	 "see which something in between has forgotten",
	 OPT_DURATION, AT(idle_ns), .min = NS_PER_S, .max = 86400 * NS_PER_S},

	{0, "joiners", "N", "--wait, by its old name", OPT_UINT, AT(joiners), .min = 1,
	 .max = JOINERS_MOST, .hidden = true},
	{0, "join-time", "TIME", "--wait-time, by its old name", OPT_DURATION, AT(join_ns),
	 JOIN_TIMES, .hidden = true},
	{0, "seed", "N", "draw this sample", OPT_UINT, AT(seed), .hidden = true},
	{0, "mesh-rank", NULL, "one rank of --hosts", OPT_BOOL, AT(is_rank), .hidden = true},
	{0, "why", "FROM:PORTS", "name the rule of this host that stops it", OPT_STR, AT(why),
	 .hidden = true},
};

const struct port_ask port_ask_defaults = {.expect = "answer", .count = 1, .sample = PORT_SAMPLE};

/* --- what goes with what ---------------------------------------------------------------- */

static int needs_serve(const char *option, struct err *e)
{
	return err_set(e, ERR_USAGE,
		       "%s goes with --serve, which prints a line to paste on other machines",
		       option);
}

static int settle_silence(struct port_ask *q, uint64_t ns, struct err *e)
{
	if (q->silence_ns)
		return err_set(e, ERR_USAGE, "--wait %s is the old name of --silence", q->wait);
	q->silence_ns = ns;
	return 0;
}

/*
 * Once --wait was what --silence is now. A time is still taken as one: nobody waits for "300ms"
 * machines, and where no machine joins a bare number is seconds of silence.
 */
static int settle_wait(struct port_ask *q, struct err *e)
{
	bool counts = q->wait && !parse_uint(q->wait, &q->machines);
	uint64_t ns;

	if (!q->wait)
		return 0;
	if (!(q->serve && counts) && !parse_duration(q->wait, &ns) && ns >= SILENCE_LEAST &&
	    ns <= SILENCE_MOST)
		return settle_silence(q, ns, e);
	if (!q->serve) {
		(void)needs_serve("--wait", e);
		return err_hint(e, "how long a port may be silent is --silence TIME");
	}
	if (!counts || q->machines < 1 || q->machines > JOINERS_MOST)
		return err_set(e, ERR_USAGE,
			       "--wait: '%s' is not a number of machines from 1 to %d", q->wait,
			       JOINERS_MOST);
	return q->joiners ? err_set(e, ERR_USAGE, "--joiners is the old name of --wait") : 0;
}

int port_ask_check(struct port_ask *q, const str_list *operands, bool cloud, struct err *e)
{
	const char *many = q->hosts ? "--hosts" : q->serve ? "--serve" : NULL;
	const char *other = q->hosts && q->serve ? "--serve"
			    : cloud		 ? "--cloud"
			    : q->from		 ? "--from"
			    : q->udp		 ? "--udp"
						 : NULL;
	const char *serves = q->joiners	       ? "--joiners"
			     : q->join_ns      ? "--join-time"
			     : q->wait_time_ns ? "--wait-time"
			     : q->port	       ? "--port"
					       : NULL;
	const char *both = q->rate_ns ? "--bandwidth" : q->idle_ns ? "--idle" : NULL;

	if (q->free && (q->ports || q->udp || q->from || q->serve || q->rate_ns || q->idle_ns ||
			cloud || operands->n || !streq(q->expect, "answer")))
		return err_set(
			e, ERR_USAGE,
			"--free looks for a port of its own: it goes alone, or with --hosts");
	if (operands->n == 3 && streq(operands->v[0], "join")) {
		err_set(e, ERR_USAGE, "join is windsock's, whichever command printed the line");
		return err_hint(e, "windsock join %s CODE", operands->v[1]);
	}
	if (many && other)
		return err_set(e, ERR_USAGE, "%s and %s cannot be combined", many, other);
	if (q->port && !q->serve && operands->n) {
		err_set(e, ERR_USAGE, "--port goes with --serve");
		return err_hint(e, "ports to ask stand behind their host: %s:%llu", operands->v[0],
				(unsigned long long)q->port);
	}
	if (serves && !q->serve)
		return needs_serve(serves, e);
	if (many && operands->n) {
		err_set(e, ERR_USAGE, "%s asks every pair of them; '%s' does not fit", many,
			operands->v[0]);
		return q->hosts ? err_hint(e, "hosts are one word: --hosts %s,%s", q->hosts,
					   operands->v[0])
				: -1;
	}
	if (both && (operands->n || cloud))
		return err_set(e, ERR_USAGE,
			       "%s needs a portcheck at both ends: --hosts or --serve", both);
	if (q->idle_ns && port_ask_open(q))
		return err_set(e, ERR_USAGE,
			       "--idle needs listeners of its own, and --expect open none of them");
	return settle_wait(q, e);
}

int port_ask_alone(const struct port_ask *q, struct err *e)
{
	const char *asks = q->ports			 ? "--ports"
			   : q->rate_ns			 ? "--bandwidth"
			   : q->idle_ns			 ? "--idle"
			   : q->udp			 ? "--udp"
			   : q->from			 ? "--from"
			   : !streq(q->expect, "answer") ? "--expect"
			   : q->count > 1		 ? "--count"
			   : q->copy_self		 ? "--copy-self"
			   : q->keep			 ? "--keep"
							 : NULL;

	if (!asks)
		return q->machines ? needs_serve("--wait", e) : 0;
	err_set(e, ERR_USAGE, "%s asks other hosts, and none is named", asks);
	return err_hint(e, "%s",
			q->rate_ns || q->idle_ns ? "add --hosts A,B or --serve"
						 : "name them: HOST, or --hosts A,B");
}

/* --- what is meant ---------------------------------------------------------------------- */

int port_ask_ports(const struct port_ask *q, const struct port_env *env, struct arena *a,
		   port_list *ret, struct err *e)
{
	if (q->ports)
		return ports_parse(q->ports, env, a, ret, e);
	ports_default(env, a, ret);
	return 0;
}

uint64_t port_ask_patience(const struct port_ask *q, uint64_t deadline_ns)
{
	uint64_t ns = q->silence_ns ?: SCAN_PATIENCE_S * NS_PER_S;

	return ns < deadline_ns ? ns : deadline_ns;
}

bool port_ask_open(const struct port_ask *q) { return streq(q->expect, "open"); }

struct mesh_opts port_ask_mesh(const struct port_ask *q, const port_list *list,
			       uint64_t deadline_ns)
{
	uint64_t machines = (q->serve ? q->machines : 0) ?: q->joiners ?: 1;

	return (struct mesh_opts){.rsh = q->rsh,
				  .copy_self = q->copy_self || q->keep,
				  .keep = q->keep,
				  .serve = q->serve,
				  .joiners = (unsigned)machines,
				  .join_ns = q->wait_time_ns ?: q->join_ns ?: 600 * NS_PER_S,
				  .serve_port = (uint16_t)q->port,
				  .deadline_ns = deadline_ns,
				  .patience_ns = port_ask_patience(q, deadline_ns),
				  .ports = q->ports ? list : NULL,
				  .sample = q->sample,
				  .expect_open = port_ask_open(q),
				  .count = (unsigned)q->count,
				  .rate_ns = q->rate_ns,
				  .idle_ns = q->idle_ns};
}
