/*
 * What keeps a launch by accelerate's file from starting, or lets each machine train alone. Not one
 * of these is said by accelerate: torchrun waits, and ends with a timeout after many minutes.
 */
#include "lib/host/gpu.h"
#include "probes/rules/accelerate.h"
#include "probes/rules/names.h"
#include "probes/rules/torch.h"

struct look {
	const struct accelerate *c;
	const struct rules_input *in;
	struct arena *a;
	struct report *r;
	long machines, processes, rank;
	size_t wrong;
};

static struct finding *wrong(struct look *l, const char *what)
{
	l->wrong++;
	return report_find(l->r, arena_printf(l->a, "lint.accelerate.%s", what), l->c->path);
}

static void fix(const struct look *l, struct finding *f, const char *key, const char *value)
{
	finding_fix(f, "%s", accelerate_fix(l->a, l->c->path, key, value));
}

/* --- main_process_ip ------------------------------------------------------------------------ */
/* The address of ours that the others should be told, or a word for that of rank 0's machine. */
static const char *address_to_tell(const struct look *l)
{
	candidate_list best = {0};
	struct addr_text t;

	rank_ifaces(l->in->inv, 0, &best);
	if (l->rank > 0 || !best.n || !best.v[0].usable)
		return "ADDRESS_OF_MACHINE_0";
	return arena_strdup(l->a, addr_print(&best.v[0].addr->addr, &t));
}

static void say_address(struct look *l, const char *why, const char *instead)
{
	struct finding *f = wrong(l, "address");
	const char *ip = accelerate_get(l->c, "main_process_ip");

	if (ip)
		finding_set(f, ST_WARN, "main_process_ip: %s %s", ip, why);
	else
		finding_set(f, ST_WARN, "%s", why);
	finding_expect(f, "the private address of the machine with " ACCELERATE_RANK ": 0");
	fix(l, f, "main_process_ip", instead);
	report_add(l->r, f);
}

static bool is_rank(const struct look *l) { return l->rank >= 0 && l->rank < l->machines; }

/* Most often the file of machine 0 was copied; or its address has changed. */
static void fix_copied(const struct look *l, struct finding *f)
{
	const char *path = l->c->path;

	finding_fix(f, "%s   # where another machine is 0: 1, 2, ...",
		    accelerate_fix(l->a, path, ACCELERATE_RANK, "1"));
	finding_fix(f, "%s   # where this one is 0: on all machines",
		    accelerate_fix(l->a, path, "main_process_ip", address_to_tell(l)));
}

/* Rank 0's machine, and no other, has the address. */
static void judge_owner(struct look *l, bool ours)
{
	const char *ip = accelerate_get(l->c, "main_process_ip");
	struct finding *f;

	if (accelerate_way(l->c) != ACCELERATE_STATIC || ours == (l->rank == 0) ||
	    !is_rank(l)) /* that is said */
		return;
	f = wrong(l, "rank");
	finding_set(f, ST_WARN,
		    ACCELERATE_RANK
		    ": %ld, but main_process_ip: %s is %s: the store is where rank 0 "
		    "is, so nobody listens there and all wait for ever",
		    l->rank, ip, ours ? "this machine" : "another machine's, or nobody's");
	finding_expect(f, ACCELERATE_RANK ": 0 on the machine that has main_process_ip, alone");
	if (ours)
		fix(l, f, ACCELERATE_RANK, "0");
	else
		fix_copied(l, f);
	report_add(l->r, f);
}

static void judge_leads_to(struct look *l, const char *ip)
{
	const struct name_answer *got = name_ask(l->in->names, ip, l->a);
	const struct iface_addr *owner = NULL;
	enum addr_class class;

	if (!got->addrs.n) {
		say_address(l, arena_printf(l->a, "leads nowhere: %s", got->trouble),
			    address_to_tell(l));
		return;
	}
	class = addr_class(&got->addrs.v[0]);
	for (size_t i = 0; i < got->addrs.n && !owner; i++)
		owner = names_owner(l->in->inv, &got->addrs.v[i]);
	if (class == ADDR_LOOPBACK)
		say_address(l, "is loopback: each machine waits for the others at itself",
			    address_to_tell(l));
	else if (class == ADDR_PUBLIC && !owner)
		say_address(l,
			    "is public: behind it the ports of training are seldom open; inside "
			    "a cloud machines meet at their private addresses",
			    address_to_tell(l));
	else
		judge_owner(l, owner != NULL);
}

static void judge_address(struct look *l)
{
	const char *ip = accelerate_get(l->c, "main_process_ip"), *meant, *trouble;

	if (!ip) {
		say_address(l,
			    "main_process_ip is not set: torchrun is told to meet at a machine "
			    "called None",
			    address_to_tell(l));
		return;
	}
	trouble = torch_master_trouble(ip, l->a, &meant);
	if (trouble)
		say_address(l, trouble, *meant ? meant : address_to_tell(l));
	else
		judge_leads_to(l, ip);
}

/* --- numbers -------------------------------------------------------------------------------- */
static void judge_port(struct look *l)
{
	const char *v = accelerate_get(l->c, "main_process_port"), *why = NULL;
	long port = accelerate_number(l->c, "main_process_port");
	struct finding *f;

	if (!v)
		return; /* 29500 then, on all of them */
	if (port == 0)
		why = "lets each machine take a free port of its own, so they do not meet";
	else if (port < 0 || port > 65535)
		why = "is no port between 1 and 65535";
	else if (port < 1024)
		why = "is one where only root may listen";
	if (!why)
		return;
	f = wrong(l, "port");
	finding_set(f, ST_WARN, "main_process_port: %s %s", v, why);
	finding_expect(f, "one port for all machines, such as 29500");
	fix(l, f, "main_process_port", "29500");
	report_add(l->r, f);
}

static void judge_rank(struct look *l)
{
	const char *v = accelerate_get(l->c, ACCELERATE_RANK);
	struct finding *f;

	if (is_rank(l))
		return;
	f = wrong(l, "rank");
	finding_set(f, ST_WARN, ACCELERATE_RANK ": %s, where %ld machines have 0 to %ld", v ?: "",
		    l->machines, l->machines - 1);
	finding_expect(f, "another one on each machine, 0 on that of main_process_ip");
	finding_fix(f, "%s   # 0 where main_process_ip is, then 1, ...",
		    accelerate_fix(l->a, l->c->path, ACCELERATE_RANK, "0"));
	report_add(l->r, f);
}

/* NVIDIA's cards, where all of them would be used; 0: not known. */
static long gpus_here(const struct look *l)
{
	gpu_list all = {0};
	long n = 0;

	if (!streq(accelerate_get(l->c, "gpu_ids") ?: "all", "all") ||
	    accelerate_says_yes(l->c, "use_cpu"))
		return 0;
	gpu_read(l->a, &all);
	for (size_t i = 0; i < all.n; i++)
		n += all.v[i].vendor == GPU_NVIDIA;
	return n;
}

/* NULL: nothing is wrong with it. */
static const char *trouble_of_processes(const struct look *l, long gpus)
{
	long each = l->processes / l->machines;

	if (l->processes < 0)
		return "is not set, and accelerate refuses to start without it";
	if (each == 0)
		return arena_printf(l->a, "on %ld machines is none on each", l->machines);
	if (l->processes % l->machines)
		return arena_printf(l->a,
				    "on %ld machines: no more than %ld on each start, %ld in all",
				    l->machines, each, each * l->machines);
	if (gpus && each > gpus)
		return arena_printf(l->a, "on %ld machines is %ld on each; here %s %ld GPU%s",
				    l->machines, each, gpus == 1 ? "is" : "are", gpus,
				    gpus == 1 ? "" : "s");
	if (gpus && each < gpus)
		return arena_printf(l->a,
				    "is the number of all %ld machines together, %ld on each: of "
				    "the %ld GPUs here %ld %s left idle",
				    l->machines, each, gpus, gpus - each,
				    gpus - each == 1 ? "is" : "are");
	return NULL;
}

static void judge_processes(struct look *l)
{
	long gpus = gpus_here(l), each = l->processes / l->machines;
	const char *why = trouble_of_processes(l, gpus), *v;
	struct finding *f;

	if (!why)
		return;
	v = accelerate_get(l->c, "num_processes");
	f = wrong(l, "processes");
	finding_set(f, ST_WARN, "num_processes%s%s %s", v ? ": " : "", v ?: "", why);
	finding_expect(f, "machines x GPUs of each");
	fix(l, f, "num_processes",
	    arena_printf(l->a, "%ld",
			 l->machines * (gpus	   ? gpus
					: each > 0 ? each
						   : 1)));
	report_add(l->r, f);
}

/* --- ways ----------------------------------------------------------------------------------- */
static void judge_rendezvous(struct look *l)
{
	struct finding *f;

	if (accelerate_way(l->c) != ACCELERATE_C10D || !accelerate_says_yes(l->c, "same_network"))
		return;
	f = wrong(l, "rendezvous");
	finding_set(f, ST_WARN,
		    "rdzv_backend: %s with same_network: true: torchrun is not told of "
		    "main_process_ip, and each machine waits for the others at itself",
		    accelerate_get(l->c, "rdzv_backend"));
	finding_expect(f, "rdzv_backend: static, or same_network: false");
	fix(l, f, "same_network", "false");
	report_add(l->r, f);
}

static void judge_type(struct look *l)
{
	struct finding *f = wrong(l, "type");

	finding_set(f, ST_WARN,
		    "distributed_type: NO with num_machines: %ld: each machine trains by itself, "
		    "and all of them report success",
		    l->machines);
	finding_expect(f, "distributed_type: MULTI_GPU");
	fix(l, f, "distributed_type", "MULTI_GPU");
	report_add(l->r, f);
}

static void judge_several(struct look *l)
{
	enum accelerate_way way = accelerate_way(l->c);

	if (way == ACCELERATE_APART)
		judge_type(l);
	if (way == ACCELERATE_OTHER) {
		if (accelerate_get(l->c, "main_process_ip"))
			judge_address(l);
		return;
	}
	if (way == ACCELERATE_STATIC)
		judge_rank(l);
	judge_address(l);
	judge_port(l);
	judge_processes(l);
	judge_rendezvous(l);
}

static void say_well(struct look *l)
{
	struct finding *f = report_find(l->r, "lint.accelerate", l->c->path);
	const char *ip = accelerate_get(l->c, "main_process_ip") ?: "-";

	if (accelerate_way(l->c) == ACCELERATE_ALONE)
		finding_set(f, ST_PASS, "accelerate starts on this machine alone");
	else if (accelerate_way(l->c) == ACCELERATE_OTHER)
		finding_set(f, ST_INFO,
			    "accelerate leaves %ld machines to another launcher: that "
			    "is not judged",
			    l->machines);
	else
		finding_set(f, ST_PASS,
			    "accelerate starts %ld processes on %ld machines, this is machine %ld; "
			    "they meet at %s",
			    l->processes, l->machines, l->rank, ip);
	report_add(l->r, f);
}

static bool is_readable(struct look *l)
{
	bool typed = accelerate_get(l->c, "distributed_type");
	struct finding *f;

	if (!l->c->trouble && typed)
		return true;
	f = wrong(l, "file");
	if (l->c->trouble)
		finding_set(f, ST_WARN, "%s", l->c->trouble);
	else
		finding_set(f, ST_WARN, "has no distributed_type: accelerate does not start");
	finding_fix(f, "accelerate config   # asks, and writes it anew");
	report_add(l->r, f);
	return false;
}

void accelerate_check(const struct accelerate *c, const struct rules_input *in, struct report *r)
{
	struct look l = {.c = c, .in = in, .a = in->inv->a, .r = r};

	if (!c->path || !is_readable(&l))
		return;
	l.machines = accelerate_number(c, "num_machines");
	l.processes = accelerate_number(c, "num_processes");
	l.rank = accelerate_get(c, ACCELERATE_RANK) ? accelerate_number(c, ACCELERATE_RANK) : 0;
	if (l.machines > 1)
		judge_several(&l);
	if (!l.wrong)
		say_well(&l);
}
