/*
 * What keeps a launch by accelerate's file from starting, or lets each machine train alone. What it
 * refuses it says, in Python's words; of the rest nothing: torchrun waits, and ends with a timeout
 * after many minutes.
 */
#include "probes/rules/accelerate_look.h"

#include "lib/core/quote.h"
#include "lib/host/gpu.h"

struct finding *look_wrong(struct look *l, const char *what)
{
	l->wrong++;
	return report_find(l->r, arena_printf(l->a, "lint.accelerate.%s", what), l->c->path);
}

void look_fix(const struct look *l, struct finding *f, const char *key, const char *value)
{
	finding_fix(f, "%s", accelerate_fix(l->a, l->c->path, key, value));
}

/* --- numbers -------------------------------------------------------------------------------- */
static void judge_port(struct look *l)
{
	const char *v = accelerate_get(l->c, "main_process_port"), *why = NULL;
	long port = accelerate_int(l->c, "main_process_port", 29500);
	struct finding *f;

	if (!v)
		return; /* 29500 then, on all of them */
	if (port == 0)
		why = "lets each machine take a free port of its own, so they do not meet";
	else if (port < 1024)
		why = "is one where only root may listen";
	if (!why)
		return;
	f = look_wrong(l, "port");
	finding_set(f, l->bad, "main_process_port: %s %s", v, why);
	finding_expect(f, "one port for all machines, such as 29500");
	look_fix(l, f, "main_process_port", "29500");
	report_add(l->r, f);
}

static void judge_rank(struct look *l)
{
	const char *v = accelerate_get(l->c, ACCELERATE_RANK);
	struct finding *f;

	if (look_is_rank(l))
		return;
	f = look_wrong(l, "rank");
	finding_set(f, l->bad, ACCELERATE_RANK ": %s, where %ld machines have 0 to %ld", v ?: "",
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

/* As many as would use all that is here, on each. */
static const char *processes_to_set(const struct look *l)
{
	long gpus = gpus_here(l), each = l->processes / l->machines;

	return arena_printf(l->a, "%ld", l->machines * (gpus ? gpus : each > 0 ? each : 1));
}

static void judge_processes(struct look *l)
{
	long gpus = gpus_here(l);
	const char *why = trouble_of_processes(l, gpus);
	struct finding *f;

	if (!why)
		return;
	f = look_wrong(l, "processes");
	finding_set(f, ST_WARN, "num_processes: %ld %s", l->processes, why);
	finding_expect(f, "machines x GPUs of each");
	look_fix(l, f, "num_processes", processes_to_set(l));
	report_add(l->r, f);
}

/* --- what accelerate itself does not take --------------------------------------------------- */
static const char *id_of(const char *key)
{
	static const char *const ids[][2] = {{"main_process_ip", "address"},
					     {"main_process_port", "port"},
					     {"num_processes", "processes"},
					     {ACCELERATE_RANK, "rank"}};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (streq(key, ids[i][0]))
			return ids[i][1];
	return "file";
}

static void fix_anew(const struct look *l, struct finding *f)
{
	finding_fix(f, "%s", accelerate_fix(l->a, l->c->path, "", "")); /* no key: all of it */
}

static void fix_refused(struct look *l, struct finding *f, const struct accelerate_refusal *no)
{
	const char *value = no->fix;

	if (streq(no->key, "num_processes"))
		value = processes_to_set(l);
	else if (streq(no->key, "main_process_ip"))
		value = look_address_to_tell(l);
	if (value)
		look_fix(l, f, no->key, value);
	else
		fix_anew(l, f);
}

static void say_refused(struct look *l, const struct accelerate_refusal *no)
{
	const char *v;
	struct finding *f;

	f = look_wrong(l, id_of(no->key));
	v = accelerate_get(l->c, no->key);
	finding_set(f, no->is_guess ? ST_WARN : l->bad, "%s%s%.80s%s%s%s", no->key, v ? ": " : "",
		    v ?: "", *no->key ? " " : "", no->why,
		    no->is_guess ? "; such a one refuses to start"
				 : ": accelerate refuses to start");
	fix_refused(l, f, no);
	report_add(l->r, f);
}

/* It names one and ends; who mends that alone meets the next one. What decides how the rest is read
 * is mended first. */
static void judge_refused(struct look *l)
{
	static const char *const decides[] = {"", "num_machines", "distributed_type", "use_cpu"};
	const struct accelerate_refusal *no;
	bool last = false;

	while (!last && (no = accelerate_refuses(l->c, &l->refused, l->a)) != NULL &&
	       !list_has(&l->refused, no->key)) {
		*LIST_ADD(l->a, &l->refused) = no->key;
		for (size_t i = 0; i < ARRAY_LEN(decides); i++)
			last |= streq(no->key, decides[i]);
		say_refused(l, no);
	}
}

static bool is_refused(const struct look *l, const char *key) { return list_has(&l->refused, key); }

/* --- ways ----------------------------------------------------------------------------------- */
/* accelerate has a default for the option, and takes from the file only what has none. */
static void say_rendezvous(struct look *l)
{
	const char *v = accelerate_get(l->c, "rdzv_backend");
	struct finding *f;

	if (!v || streq(v, "static"))
		return;
	f = report_find(l->r, "lint.accelerate.rendezvous", l->c->path);
	finding_set(f, ST_INFO,
		    "rdzv_backend: %s is not taken from the file: the rendezvous is static, and "
		    "each machine needs its " ACCELERATE_RANK,
		    v);
	finding_fix(f, "accelerate launch --rdzv_backend %s ...   # where it is meant",
		    shell_quote(l->a, v));
	report_add(l->r, f);
}

/* One process, where the file speaks of more. */
static void judge_type(struct look *l)
{
	const char *type = accelerate_get(l->c, "distributed_type") ?: "";
	bool on_cpu = streq(type, "MULTI_CPU");
	struct finding *f;

	if (is_refused(l, "distributed_type") || !accelerate_is_single(l->c) ||
	    (l->machines < 2 && l->processes < 2))
		return;
	f = look_wrong(l, "type");
	finding_set(f, on_cpu ? ST_WARN : l->bad, "distributed_type: %s with %s: %ld%s: %s%s", type,
		    l->machines > 1 ? "num_machines" : "num_processes",
		    l->machines > 1 ? l->machines : l->processes,
		    on_cpu ? ", and no mpirun_hostfile" : "",
		    l->machines > 1
			    ? "each machine trains by itself, and all of them report success"
			    : "one process starts, and trains alone",
		    on_cpu ? ", unless mpirun starts accelerate itself" : "");
	finding_expect(f, on_cpu ? "mpirun_hostfile below mpirun_config, or mpirun that starts "
				   "accelerate"
				 : "distributed_type: MULTI_GPU");
	if (on_cpu)
		finding_fix(f, "accelerate config   # and yes to mpirun");
	else
		look_fix(l, f, "distributed_type", "MULTI_GPU");
	report_add(l->r, f);
}

static void judge_several(struct look *l)
{
	enum accelerate_way way = accelerate_way(l->c);

	if (way == ACCELERATE_APART)
		return;
	if (way == ACCELERATE_OTHER_WAY) {
		if (accelerate_get(l->c, "main_process_ip") && !is_refused(l, "main_process_ip"))
			look_at_address(l);
		return;
	}
	if (!is_refused(l, ACCELERATE_RANK))
		judge_rank(l);
	if (!is_refused(l, "main_process_ip"))
		look_at_address(l);
	if (!is_refused(l, "main_process_port"))
		judge_port(l);
	if (!is_refused(l, "num_processes"))
		judge_processes(l);
	say_rendezvous(l);
}

static void say_well(struct look *l)
{
	struct finding *f = report_find(l->r, "lint.accelerate", l->c->path);
	if (accelerate_way(l->c) == ACCELERATE_ALONE)
		finding_set(f, ST_PASS, "accelerate starts on this machine alone");
	else if (accelerate_way(l->c) == ACCELERATE_OTHER_WAY)
		finding_set(f, ST_INFO,
			    "accelerate leaves %ld machines to another launcher: that "
			    "is not judged",
			    l->machines);
	else
		finding_set(f, ST_PASS,
			    "accelerate starts %ld processes on %ld machines, this is machine %ld; "
			    "they meet at %s, port %ld",
			    l->processes, l->machines, l->rank, accelerate_address(l->c, l->a),
			    accelerate_int(l->c, "main_process_port", 29500));
	report_add(l->r, f);
}

static void say_unreadable(struct look *l)
{
	struct finding *f = look_wrong(l, "file");

	finding_set(f, l->bad, "%s", l->c->trouble);
	fix_anew(l, f);
	report_add(l->r, f);
}

void accelerate_check(const struct accelerate *c, const struct rules_input *in, struct report *r)
{
	struct look l = {.c = c, .in = in, .a = in->inv->a, .r = r};

	if (!c->path)
		return;
	l.bad = c->is_named ? ST_FAIL : ST_WARN;
	if (c->trouble) {
		say_unreadable(&l);
		return;
	}
	l.machines = accelerate_int(c, "num_machines", 1);
	l.machines = l.machines < 1 ? 1 : l.machines;
	l.processes = accelerate_int(c, "num_processes", 1);
	l.rank = accelerate_int(c, ACCELERATE_RANK, 0);
	judge_refused(&l);
	if (is_refused(&l, ""))
		return;
	judge_type(&l);
	if (l.machines > 1)
		judge_several(&l);
	if (!l.wrong)
		say_well(&l);
}
