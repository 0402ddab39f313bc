#include "bench/sweep/expect.h"

#include "bench/sweep/expect_gpu.h"
#include "bench/sweep/instances.h"

#include <math.h>

const double EXPECT_WARN = 0.55, EXPECT_FAIL = 0.38;
static const double RING_WARN = 0.62; /* half of the cards of two p5 are 0.61, with trees */
static const double NVLINK_REACHED = 0.78;

/* Smaller sizes are too little of the ramp below, and of what a shaper lets pass at once. */
static const uint64_t RAMP_FROM = 64ull << 20, LEAST_FROM = 16ull << 20;

/* Whose ramp that is: four hosts with eight cards of 400 Gb/s. */
enum { RAMP_GBPS = 400, RAMP_HOSTS = 4 };

double expect_reached(uint64_t bytes)
{
	/* 12 % of what the cards do at 16 MiB, 38 at 128, 63 at 512, 70 at 1 GiB */
	static const struct {
		double log2_bytes, share;
	} known[] = {{20, 0.01}, {24, 0.18}, {27, 0.53}, {29, 0.86}, {30, 0.94}, {32, 1}};
	double x = log2((double)(bytes ? bytes : 1));

	if (x <= known[0].log2_bytes)
		return known[0].share;
	for (size_t i = 1; i < ARRAY_LEN(known); i++) {
		double from = known[i - 1].log2_bytes, to = known[i].log2_bytes;

		if (x <= to)
			return known[i - 1].share +
			       (known[i].share - known[i - 1].share) * (x - from) / (to - from);
	}
	return 1;
}

double expect_share(const struct expect *x, uint64_t bytes)
{
	if (bytes < x->judged_from)
		return 0;
	return x->ramp > 0 ? expect_reached((uint64_t)((double)bytes / x->ramp)) : 1;
}

/*
 * A message takes its latency, and its size by the rate: so much slower, so much smaller are the
 * sizes where the latter is most of it. Latency grows with the hosts that a ring goes round. More
 * than of that fabric is asked of nobody.
 */
static void set_ramp(struct expect *ret, int hosts)
{
	ret->ramp = fmin(1, ret->asked / RAMP_GBPS * fmax(1, (double)hosts / RAMP_HOSTS));
	ret->judged_from = (uint64_t)((double)RAMP_FROM * ret->ramp);
	if (ret->judged_from < LEAST_FROM)
		ret->judged_from = LEAST_FROM;
}

static void nothing(struct expect *ret, const char *why)
{
	*ret = (struct expect){.busbw = NAN, .asked = NAN, .why = why};
}

/* What a rank, a single thread that also adds, is asked to bring through TCP; most do more. */
enum { TCP_RANK_GBPS = 10 };

/* TCP goes through one card, and in some clouds no flow may use all of it. */
static double tcp_gbps(const struct expect_facts *f, const struct instance_net *net,
		       struct arena *a, const char **why)
{
	int each = f->ranks / f->hosts, flows = (int)f->sockets * each * (f->ranks - each);
	double gbps = net->gbps / net->cards;

	if (net->cards > 1)
		*why = arena_printf(a, "%s, and TCP uses one: %g Gb/s", *why, gbps);
	if (flows && flows * net->flow_gbps < gbps) {
		gbps = flows * net->flow_gbps;
		*why = arena_printf(a,
				    "%s; of that %d flow%s may use %g Gb/s each (more inside a "
				    "cluster placement group)",
				    *why, flows, flows > 1 ? "s" : "", net->flow_gbps);
	}
	return gbps;
}

/* The lower of what the cloud grants and what the card reports; ENA reports nothing. */
static double node_gbps(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	bool tcp = streq(f->backend, "tcp"), known;
	struct instance_net net = {0};
	double gbps = 0;

	known = instance_net(f->instance, &net);
	if (known && net.cards > 1)
		ret->why = arena_printf(a, "%s has %d network cards of %g Gb/s", f->instance,
					net.cards, net.gbps / net.cards);
	else if (known)
		ret->why = arena_printf(a, "%s has %g Gb/s at all times%s", f->instance, net.gbps,
					f->nic_gbps > 0 ? "" : " (its card reports no speed)");
	if (known)
		gbps = tcp ? tcp_gbps(f, &net, a, &ret->why) : net.gbps;
	ret->always = known && net.cards == 1;
	/* who is not tcp uses more cards than the one that carries our address */
	if (!(f->nic_gbps > 0) || (known && (!tcp || gbps <= f->nic_gbps)))
		return gbps;
	ret->always = false;
	ret->why = arena_printf(a, "each host's network cards do %g Gb/s%s%s", f->nic_gbps,
				known ? ", less than " : "", known ? ret->why : "");
	return f->nic_gbps;
}

/*
 * Why the links that join these, and no others, are not known; NULL: they have all of theirs.
 * Without a switch each two have some of their links, and of four, as half of a board for eight,
 * nobody says whether the others lead to any. With one, which boards of eight have, any of them
 * have all.
 */
static const char *unknown_links(const struct expect_facts *f, const struct expect_gpu *g)
{
	enum { BOARD = 8 };
	int here = f->gpus > 0 ? f->gpus : BOARD;

	if (f->ranks < here && !(g->is_switched && here >= BOARD))
		return "a part of the host's GPUs: how many links join just them is not known";
	if (here < BOARD && !g->is_switched)
		return "fewer than eight GPUs without a switch: how many of their links join them "
		       "is not known";
	return NULL;
}

static void by_nvlink(const struct expect_gpu *g, const char *where, struct arena *a,
		      struct expect *ret)
{
	*ret = (struct expect){
		.busbw = g->nvlink,
		.asked = g->nvlink,
		.warn = 0.7,
		.fail = 0.5,
		.judged_from = RAMP_FROM,
		.ramp = 1,
		.why = arena_printf(a,
				    "%s %s: %s does %g GB/s each way; healthy rings reach "
				    "78-82 %% of it, NVLink SHARP more",
				    g->name, where, g->generation, g->nvlink)};
}

static void inside_one_host(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	const char *unknown;
	struct expect_gpu g;

	if (!expect_gpu(f->gpu, &g))
		return nothing(ret, f->gpu ? "one host, and this GPU's links are not in the table"
					   : "one host without a GPU: it measures memory and "
					     "processors");
	if (!(g.nvlink > 0))
		return nothing(ret, "a PCIe card: it depends on bridges and switches");
	unknown = unknown_links(f, &g);
	if (unknown)
		return nothing(ret, unknown);
	by_nvlink(&g, "in one host", a, ret);
}

/* Several ranks on each host, whose cards do @node GB/s: what is said of the speeds. */
static const char *ask_hosts_of_many(const struct expect_gpu *g, double node, struct arena *a,
				     struct expect *ret)
{
	bool is_held = g->nvlink > 0 && g->nvlink < node; /* back, by NVLink */
	double ring = is_held ? g->nvlink : node;

	if (2 * node <= NVLINK_REACHED * g->nvlink) { /* up and down: trees have room */
		ret->fail = EXPECT_FAIL * ring / ret->busbw;
		return NULL;
	}
	ret->asked = ring;
	ret->warn = RING_WARN;
	return arena_printf(a,
			    "rings do %.3g GB/s%s%s, and nothing does more than %.4g; healthy "
			    "clusters reach 63 %% of what rings do, and more",
			    ring, is_held ? " over " : "", is_held ? g->generation : "",
			    ret->busbw);
}

static const char *gpu_of(const struct expect_facts *f)
{
	return f->gpu ?: instance_gpu(f->instance);
}

/* False: it is known that no NVLink is between a host's GPUs, or not whether one is. */
static bool find_nvlink(const struct expect_facts *f, struct expect_gpu *ret)
{
	const char *gpu = gpu_of(f);

	*ret = (struct expect_gpu){0};
	return !gpu || (expect_gpu(gpu, ret) && ret->nvlink > 0);
}

/* In host memory a rank's thread adds and moves: cards that are faster wait for it. */
static void spare_a_thread(struct arena *a, struct expect *ret)
{
	if (!(ret->asked * 8 > TCP_RANK_GBPS))
		return;
	ret->asked = TCP_RANK_GBPS / 8.;
	ret->always = true;
	ret->capped = false;
	ret->why = arena_printf(a, "%s; of a rank, one thread, %d Gb/s are asked", ret->why,
				TCP_RANK_GBPS);
}

static void between_hosts(const struct expect_facts *f, double node, struct arena *a,
			  struct expect *ret)
{
	bool tcp = streq(f->backend, "tcp");
	int each = f->ranks / f->hosts;
	const char *speeds = NULL;
	struct expect_gpu g = {0};

	if (!tcp && each > 1 && !find_nvlink(f, &g))
		return nothing(ret, "several ranks on each host, and no NVLink is known between "
				    "them: it depends on bridges and switches");
	/* tcp: everybody trades with everybody; nccl: what stays inside a host is free */
	ret->busbw = tcp ? node * (f->ranks - 1) / ((double)each * (f->ranks - each))
			 : node / each * (f->ranks - 1) / (f->hosts - 1);
	ret->asked = ret->busbw;
	ret->capped = !ret->always && !tcp; /* whose ranks share a host */
	ret->judged_from = LEAST_FROM;
	if (!tcp && each > 1)
		speeds = ask_hosts_of_many(&g, node, a, ret);
	ret->why = arena_printf(
		a, "%s, %d rank%s on each of %d hosts: %s", ret->why, each, each > 1 ? "s" : "",
		f->hosts,
		speeds
			?: arena_printf(a, "%s %.3g GB/s; healthy clusters reach 59-86 %% of that",
					ret->always ? "always" : "at most", ret->busbw));
	if (tcp)
		return;
	if (!streq(f->backend, "nccl"))
		spare_a_thread(a, ret);
	set_ramp(ret, f->hosts);
}

/* Several hosts, and the network cards are all there is between them. */
static void over_cards(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	double node;
	int each;

	if (f->uneven || f->ranks % f->hosts)
		return nothing(ret, "hosts with different numbers of ranks");
	*ret = (struct expect){.warn = EXPECT_WARN, .fail = EXPECT_FAIL};
	each = f->ranks / f->hosts;
	node = node_gbps(f, a, ret) / 8;
	if (streq(f->backend, "tcp") && node * 8 > TCP_RANK_GBPS * each) {
		node = (double)(TCP_RANK_GBPS * each) / 8;
		ret->always = true;
		ret->why = arena_printf(a, "%s; of a rank, one thread, %d are asked", ret->why,
					TCP_RANK_GBPS);
	}
	if (!(node > 0))
		return nothing(ret, f->instance
					    ? arena_printf(a,
							   "the speed of the network cards is "
							   "not known, and %s is not in the table",
							   f->instance)
					    : "the speed of the network cards is not known");
	between_hosts(f, node, a, ret);
}

void expect_derive(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	struct expect_gpu g;
	bool may_join;

	if (f->ranks == 1)
		return nothing(ret, "one rank: nothing is carried");
	if (!streq(f->coll, "all_reduce"))
		return nothing(ret,
			       "only all_reduce is judged: the others depend on the algorithm");
	if (f->hosts < 2)
		return inside_one_host(f, a, ret);
	may_join = streq(f->backend, "nccl") && expect_gpu(gpu_of(f), &g) && g.domain;
	if (may_join && f->joined == JOINED_BY_NVLINK)
		return by_nvlink(&g, arena_printf(a, "on %d hosts that NVLink joins", f->hosts), a,
				 ret);
	over_cards(f, a, ret);
	if (may_join && f->joined == JOINED_UNKNOWN)
		nothing(ret, arena_printf(a,
					  "whether NVLink joins these hosts is not said; if it "
					  "does, %s does %g GB/s each way; if not: %s",
					  g.generation, g.nvlink, ret->why));
}

const char *expect_word(const struct expect *x)
{
	return x->always	     ? "what is always there"
	       : x->asked < x->busbw ? "what rings do"
				     : "what is possible";
}

void expect_divide(struct expect *x, double share)
{
	x->busbw *= share;
	x->asked *= share;
	x->capped = false;
	x->is_share = true;
}

void expect_derive_group(const struct expect_facts *all, int ranks, int hosts, int groups,
			 struct arena *a, struct expect *ret)
{
	const double on_each = (double)ranks / hosts, of = (double)all->ranks / all->hosts;
	struct expect_facts f = *all;

	f.ranks = ranks;
	f.hosts = hosts;
	expect_derive(&f, a, ret);
	if (hosts < 2 || !isfinite(ret->busbw) || !(on_each < of))
		return;
	expect_divide(ret, on_each / of);
	ret->why = arena_printf(a, "%s; of one of %d groups at once: %.3g GB/s", ret->why, groups,
				ret->asked);
}

/* Rounding, and clocks of cards, are worth a little. */
static const double TOO_MUCH = 1.05, MORE = 1.1; /* the latter where nothing caps it */

const char *expect_doubt(const struct expect *x, double busbw, struct arena *a)
{
	if (x->is_share)
		return NULL;
	if (!x->always && !x->capped && busbw > MORE * x->busbw)
		return arena_printf(a,
				    "%.1f times what was thought possible, so that this was wrong: "
				    "--expect GB/s says what it should be",
				    busbw / x->busbw);
	if (!x->capped || !(busbw > TOO_MUCH * x->busbw))
		return NULL;
	return arena_printf(a,
			    "%.0f %% of all that the network cards could do: their speed or the "
			    "number of hosts cannot be right, unless the switches reduce (SHARP)",
			    busbw / x->busbw * 100);
}
