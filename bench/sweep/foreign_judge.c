/* Is what another tool measured normal, and what is to be measured next? */
#include "bench/sweep/foreign.h"
#include "lib/core/units.h"

#include <math.h>

/* Of a card's rate: what headers leave (RDMA 97 %, TCP 94 %), and what something is wrong with. */
static const double NORMAL = 0.85, BAD = 0.6;
static const double QUICK_US = 5, SLOW_US = 15;	 /* a message over RDMA: through a switch or two */
static const double HOST_US = 0.5;		 /* less is between two processes of one host */
static const double SMALL = 4096, LARGE = 32768; /* sizes: a time, and a rate, says something */
static const double MOST = 1.03;		 /* of a card's rate nobody measures more */
static const double PROCESSOR_GBPS = 20;	 /* what a processor carries of TCP, at least */
static const double LOSSY = 0.01;		 /* of datagrams: more is more than a burst's */

/* What network cards have, Gb/s. */
static double next_rate(double gbps)
{
	static const double rates[] = {1, 2.5, 10, 25, 40, 50, 56, 100, 200, 400, 800};

	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		if (gbps <= rates[i])
			return rates[i];
	return NAN;
}

/* ", 123 segments sent again", ", 17.4 % of the datagrams were lost" or "" */
static const char *missing(const struct foreign *f, struct arena *a)
{
	if (f->lost > 0)
		return arena_printf(a, ", %.3g %% of the datagrams were lost", f->lost * 100);
	return f->resent > 0 ? arena_printf(a, ", %.0f segment%s sent again", f->resent,
					    f->resent > 1 ? "s" : "")
			     : "";
}

/* "11.1 Gb/s (1.39 GB/s) at 64 KiB, 123 segments sent again" */
static const char *measured(const struct foreign *f, struct arena *a)
{
	struct unit_buf size;
	const char *at = f->bytes > 0
				 ? arena_printf(a, " at %s", format_size(&size, (uint64_t)f->bytes))
				 : "";
	const char *both = f->both_ways ? " both ways together" : "";

	return arena_printf(a, "%.4g Gb/s (%.3g GB/s)%s%s%s", f->gbps, f->gbps / 8, both, at,
			    missing(f, a));
}

/* A stream of TCP is one processor's work, and before iperf3 3.16 all of its streams are: a fast
 * card cannot be judged by it. */
static bool is_few(const struct foreign *f, double rate)
{
	int processors = f->is_threaded && f->streams > 1 ? f->streams : 1;

	return f->by == BY_IPERF && rate > PROCESSOR_GBPS * processors;
}

static const char *by_few(const struct foreign *f)
{
	return f->streams == 1	? ", by one stream of TCP"
	       : f->is_threaded ? ", by few streams of TCP"
				: ", by one processor, if iperf3 is older than 3.16";
}

static void next_step(const struct foreign *f, double rate, struct finding *x)
{
	if (is_few(f, rate))
		finding_fix(x, "- several streams at once: iperf3 -P 8, of 3.16 or later (before, "
			       "they are one processor's work)");
	finding_fix(x, "ncclbench --hosts HOSTS --pairs  # the link between them, both ways");
	if (f->by == BY_PERFTEST)
		finding_fix(x, "ifprobe  # the card's speed, MTU and PCIe link, on each host");
}

static void judge_rate(const struct foreign *f, const struct saved_opts *o, struct finding *x)
{
	double ways = f->both_ways ? 2 : 1, share = f->gbps / ways / o->nic_gbps;
	double warn = o->expect_share > 0 ? o->expect_share : NORMAL;
	double fail = o->expect_share > 0 ? o->expect_share : BAD;
	bool few = is_few(f, o->nic_gbps);

	if (share > MOST) {
		finding_set(x, ST_WARN,
			    "%s: %.0f %% of the %g Gb/s of --nic, more than that card carries: "
			    "are both ends on one host, or has it a higher rate?",
			    measured(f, x->a), share * 100, o->nic_gbps);
		finding_expect(x, "<= %.4g GB/s", o->nic_gbps * ways / 8);
		finding_fix(x, "ethtool IFACE  # or ibstat: the card's rate");
		return;
	}
	finding_set(x,
		    share >= warn	   ? ST_PASS
		    : share < fail && !few ? ST_FAIL
					   : ST_WARN,
		    "%s: %.0f %% of the %g Gb/s of --nic%s", measured(f, x->a), share * 100,
		    o->nic_gbps, few && share < warn ? by_few(f) : "");
	finding_expect(x, ">= %.4g GB/s", o->nic_gbps * ways * warn / 8);
	if (share < warn)
		next_step(f, o->nic_gbps, x);
}

/* Nobody said what the card has. */
static void guess_rate(const struct foreign *f, const struct saved_opts *o, struct finding *x)
{
	double ways = f->both_ways ? 2 : 1, rate = next_rate(f->gbps / ways);
	double share = f->gbps / ways / rate;

	if (o->expect_share > 0)
		finding_set(x, ST_ERROR, "%s: there is nothing to take --expect PERCENT of",
			    measured(f, x->a));
	else if (isnan(rate))
		finding_set(x, ST_INFO, "%s, more than one card has", measured(f, x->a));
	else if (share >= NORMAL)
		finding_set(x, ST_INFO,
			    "%s: %.0f %% of %g Gb/s, which is normal of a card of that rate; of a "
			    "faster one it is too little",
			    measured(f, x->a), share * 100, rate);
	else
		finding_set(x, ST_INFO,
			    "%s: no card has a rate of about that (the next is %g Gb/s): something "
			    "limits it, or it is shared",
			    measured(f, x->a), rate);
	finding_fix(x, "- with --nic GBITS, the rate of the card (ethtool IFACE, ibstat), it is "
		       "judged");
	if (!(share >= NORMAL))
		next_step(f, rate, x);
}

static void fix_lossy(struct finding *x)
{
	finding_fix(x,
		    "nstat -az UdpRcvbufErrors UdpInErrors  # on the receiver: was it too slow?");
	finding_fix(x, "- once more at half of that -b: what is lost then, too, the network loses");
}

static void judge_bandwidth(const struct foreign *f, const struct saved_opts *o, struct finding *x)
{
	finding_value(x, f->gbps / 8, "GB/s");
	if (o->expect_gbps > 0 && !f->is_broken) {
		finding_set(x,
			    f->gbps / 8 < o->expect_gbps ? ST_FAIL
			    : f->lost > LOSSY		 ? ST_WARN
							 : ST_PASS,
			    "%s, expected %g GB/s", measured(f, x->a), o->expect_gbps);
		finding_expect(x, ">= %g GB/s", o->expect_gbps);
		if (x->status == ST_FAIL)
			next_step(f, NAN, x);
	} else if (!(f->gbps > 0)) {
		finding_set(x, ST_FAIL, "nothing came through");
		next_step(f, NAN, x);
	} else if (f->unjudged) {
		finding_set(x, f->is_broken || f->lost > LOSSY ? ST_WARN : ST_INFO,
			    "%s; not judged: %s", measured(f, x->a), f->unjudged);
		if (f->is_broken)
			finding_fix(x, "- once more, to its end: what broke it is in what it said");
	} else if (f->bytes > 0 && f->bytes < LARGE) {
		finding_set(x, ST_INFO, "%s: too small to judge by", measured(f, x->a));
		finding_fix(x, "- once more with large messages: -s 65536, with OSU -m 4194304");
	} else if (o->nic_gbps > 0) {
		judge_rate(f, o, x);
	} else {
		guess_rate(f, o, x);
	}
	if (f->lost > LOSSY)
		fix_lossy(x);
}

/* The ranks of an MPI job stand nowhere: on one host nothing goes over a network. */
static void tell_mpi(const struct foreign *f, struct finding *x)
{
	if (f->us < HOST_US)
		finding_set(x, ST_INFO,
			    "%.3g us for the smallest message, less than any network takes: both "
			    "ranks are on one host",
			    f->us);
	else if (f->us <= QUICK_US)
		finding_set(x, ST_INFO,
			    "%.3g us for the smallest message, which is normal over RDMA; that "
			    "the ranks are on two hosts it does not say",
			    f->us);
	else
		finding_set(x, ST_INFO,
			    "%.3g us for the smallest message; RDMA through a switch or two takes "
			    "1 to %g us, TCP 15 to 50",
			    f->us, QUICK_US);
	if (f->us < HOST_US)
		finding_fix(x, "mpirun -np 2 --host A,B osu_latency  # a rank on each");
	else if (f->us > QUICK_US)
		finding_fix(x, "ucx_info -d  # does MPI see the RDMA cards?");
}

static void judge_rdma(const struct foreign *f, struct finding *x)
{
	finding_expect(x, "<= %g us", SLOW_US);
	if (f->us <= QUICK_US) {
		finding_set(x, ST_PASS, "%.3g us for the smallest message: normal over RDMA",
			    f->us);
		return;
	}
	finding_set(x, f->us <= SLOW_US ? ST_INFO : ST_WARN,
		    "%.3g us for the smallest message; RDMA through a switch or two takes 1 to %g "
		    "us",
		    f->us, QUICK_US);
	finding_fix(x, "cpupower frequency-info  # power saving? and how far apart are they: "
		       "ibtracert, traceroute");
}

static void judge_latency(const struct foreign *f, struct finding *x)
{
	struct unit_buf size;

	finding_value(x, f->us, "us");
	if (f->least > SMALL) {
		finding_set(x, ST_INFO, "%.3g us for %s; not judged: most of it is sending so much",
			    f->us, format_size(&size, (uint64_t)f->least));
		finding_fix(x, "- once more with small messages: -s 2, with OSU -m 1:8");
	} else if (f->unjudged) {
		finding_set(x, ST_INFO, "%.3g us for the smallest message; not judged: %s", f->us,
			    f->unjudged);
	} else if (f->by == BY_PERFTEST) {
		judge_rdma(f, x);
	} else {
		tell_mpi(f, x);
	}
}

/* How many ranks it had stands nowhere, so that there is no bus bandwidth. */
static void tell_collective(const struct foreign *f, struct finding *x)
{
	struct unit_buf size;

	finding_value(x, f->us, "us");
	finding_set(x, ST_INFO,
		    "from %.3g us for the smallest message to %.3g GB/s (size by time) at %s, over "
		    "MPI; not judged: it does not say how many ranks it had",
		    f->us, f->gbps / 8, format_size(&size, (uint64_t)f->bytes));
	finding_fix(x, "ncclbench --hosts HOSTS --backend mpi -b 8 -e 1G  # the same, judged");
}

void foreign_judge(const struct foreign *f, const char *subject, const struct saved_opts *o,
		   struct report *r)
{
	struct finding *x =
		report_find(r, f->is_latency ? "link.latency" : "link.bandwidth", subject);

	if (f->is_collective)
		tell_collective(f, x);
	else if (f->is_latency)
		judge_latency(f, x);
	else
		judge_bandwidth(f, o, x);
	report_add(r, x);
	report_remark(r,
		      "%s: %s; what NCCL makes of it says "
		      "ncclbench --hosts A,B -b 8 -e 1G.",
		      f->test,
		      f->is_collective	     ? "it measured MPI, not a link"
		      : f->by == BY_PERFTEST ? "it measured one RDMA card's link"
		      : f->is_udp	     ? "it measured UDP"
		      : f->by == BY_IPERF    ? "it measured TCP"
					     : "it measured MPI");
}
