/*
 * What `accelerate launch` ends with, by a file, before it starts anything: as accelerate 0.34 to
 * 1.15 and torchrun 2.15 do it, in their order. scripts/check-launchers compares it with theirs.
 */
#include "probes/rules/accelerate_trial.h"

#include "lib/core/units.h"

bool trial_refuse(struct trial *t, const char *key, const char *why, const char *fix)
{
	struct accelerate_refusal *r;

	if (t->but && list_has(t->but, key))
		return false;
	r = arena_alloc(t->a, sizeof(*r));
	*r = (struct accelerate_refusal){.key = key, .why = why, .fix = fix};
	t->found = r;
	return true;
}

bool trial_doubt(struct trial *t, unsigned since)
{
	struct accelerate_refusal *r = t->found;

	if (t->c->version)
		return true;
	if (since)
		r->why = arena_printf(t->a, "%s (accelerate from %u.%u on)", r->why, since / 100,
				      since % 100);
	r->is_guess = true;
	t->guess = t->guess ?: r;
	t->found = NULL;
	return false;
}

static bool is_any(const char *v, const char *const *words)
{
	for (; v && *words; words++)
		if (!strcasecmp(v, *words))
			return true;
	return false;
}

static enum accelerate_kind kind(const struct trial *t, const char *key)
{
	return accelerate_kind(t->c, key);
}

/* Python counts with booleans, too. */
static bool is_number(const struct trial *t, const char *key)
{
	enum accelerate_kind k = kind(t, key);

	return k == ACCELERATE_ABSENT || k == ACCELERATE_INT || k == ACCELERATE_BOOL ||
	       k == ACCELERATE_FLOAT;
}

/* What Python takes for true. */
static bool is_true(const struct trial *t, const char *key, bool otherwise)
{
	const char *v = accelerate_get(t->c, key);

	switch (kind(t, key)) {
	case ACCELERATE_ABSENT:
		return otherwise;
	case ACCELERATE_BOOL:
		return accelerate_says_yes(t->c, key);
	case ACCELERATE_INT:
	case ACCELERATE_FLOAT:
		return v[strspn(v, "-+0.")] != 0;
	case ACCELERATE_TEXT:
		return *v;
	default:
		return false;
	}
}

static bool is_text(const struct trial *t, const char *key, const char *word)
{
	return kind(t, key) == ACCELERATE_TEXT && streq(accelerate_get(t->c, key), word);
}

/* --- what each launch looks at -------------------------------------------------------------- */
static bool by_gpus(struct trial *t)
{
	const char *ids = accelerate_get(t->c, "gpu_ids") ?: "all";
	bool is_known = kind(t, "gpu_ids") <= ACCELERATE_NULL;

	if (!is_known && kind(t, "gpu_ids") != ACCELERATE_TEXT)
		return trial_refuse(t, "gpu_ids",
				    "is read as a number, and it splits a text: quotes are missing",
				    arena_printf(t->a, "'%s'", ids));
	if (kind(t, "distributed_type") == ACCELERATE_TEXT &&
	    trial_is_for_cards(accelerate_get(t->c, "distributed_type")) && t->machines <= 1 &&
	    !strchr(ids, ',') && !streq(ids, "all"))
		return trial_refuse(t, "gpu_ids", "is one GPU, and distributed_type is for several",
				    "all");
	return false;
}

static bool by_number(struct trial *t, const char *key, const char *otherwise)
{
	const char *v = accelerate_get(t->c, key);
	uint64_t n;

	if (is_number(t, key))
		return false;
	if (v && kind(t, key) == ACCELERATE_TEXT && parse_uint(v, &n) == 0)
		return trial_refuse(t, key, "in quotes is a text, and it counts with it", v);
	return trial_refuse(t, key, "is no number", otherwise);
}

static bool by_precision(struct trial *t)
{
	static const char *const known[] = {"no", "fp8", "fp16", "bf16", NULL};
	enum accelerate_kind k = kind(t, "mixed_precision");

	if (k <= ACCELERATE_NULL ||
	    (k == ACCELERATE_TEXT && is_any(accelerate_get(t->c, "mixed_precision"), known)))
		return false;
	if (k == ACCELERATE_BOOL)
		return trial_refuse(t, "mixed_precision",
				    "without quotes is a boolean in YAML, and it wants the word",
				    "'no'");
	return trial_refuse(t, "mixed_precision", "is none of no, fp16, bf16, fp8", "'no'");
}

static bool by_dynamo(struct trial *t)
{
	static const char *const known[] = {"no",
					    "eager",
					    "aot_eager",
					    "inductor",
					    "aot_ts_nvfuser",
					    "nvprims_nvfuser",
					    "cudagraphs",
					    "ofi",
					    "fx2trt",
					    "onnxrt",
					    "tensorrt",
					    "aot_torchxla_trace_once",
					    "torchxla_trace_once",
					    "tvm",
					    "hpu_backend",
					    "neuron",
					    NULL};
	static const char *const keys[] = {"dynamo_backend", "dynamo_config.dynamo_backend",
					   "dynamo_config.backend"};
	bool is_old = kind(t, keys[0]) != ACCELERATE_ABSENT; /* and takes the place of the others */
	size_t n = is_old ? 1 : accelerate_is_from(t->c, 114) ? 3 : 2;

	for (size_t i = 0; i < n; i++)
		if (kind(t, keys[i]) != ACCELERATE_ABSENT &&
		    (kind(t, keys[i]) != ACCELERATE_TEXT ||
		     !is_any(accelerate_get(t->c, keys[i]), known)))
			return trial_refuse(
				       t, keys[i],
				       "is no backend of torch.compile that it knows, or a word "
				       "without quotes that YAML takes for a boolean",
				       "'NO'") &&
			       (i < 2 || trial_doubt(t, 114));
	return false;
}

/* --- torchrun ------------------------------------------------------------------------------- */
static bool by_port(struct trial *t)
{
	long port = accelerate_int(t->c, "main_process_port", 29500);
	enum accelerate_kind k = kind(t, "main_process_port");
	bool opens = t->machines <= 1 || t->rank == 0;

	if (k <= ACCELERATE_NULL)
		return false;
	if (!opens && k == ACCELERATE_TEXT && accelerate_int(t->c, "main_process_port", -1) >= 0)
		k = ACCELERATE_INT; /* only pasted into an address then */
	if (k != ACCELERATE_INT)
		return trial_refuse(t, "main_process_port", "is no number, or has quotes", "29500");
	if (port < 0 || port > 65535)
		return trial_refuse(t, "main_process_port", "is no port between 1 and 65535",
				    "29500");
	return false;
}

/* It wants [\w.:-]+ for a host, after it has put the port behind it and cut blanks before it. */
static bool by_address(struct trial *t)
{
	const char *ip = accelerate_address(t->c, t->a);
	size_t n = ip ? strlen(ip) : 0;

	if (kind(t, "main_process_ip") == ACCELERATE_OTHER)
		return trial_refuse(t, "main_process_ip", "is no address", "ADDRESS_OF_MACHINE_0");
	if (!ip)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("_.:-", ip[i]) && !(ip[i] & 0x80) && !(ip[i] >= '0' && ip[i] <= '9') &&
		    !(ip[i] >= 'a' && ip[i] <= 'z') && !(ip[i] >= 'A' && ip[i] <= 'Z'))
			n = 0;
	if (!n)
		return trial_refuse(t, "main_process_ip", "is no address and no name of a machine",
				    "ADDRESS_OF_MACHINE_0");
	return false;
}

static bool by_rank(struct trial *t)
{
	if (kind(t, ACCELERATE_RANK) == ACCELERATE_TEXT &&
	    accelerate_int(t->c, ACCELERATE_RANK, -1) >= 0)
		return false;
	if (!is_number(t, ACCELERATE_RANK))
		return trial_refuse(t, ACCELERATE_RANK, "is no number", "0");
	return false;
}

static bool is_whole(const struct trial *t, const char *key)
{
	return kind(t, key) == ACCELERATE_INT || kind(t, key) == ACCELERATE_ABSENT;
}

/* On one machine the value is only printed for torchrun, so also a text may be right. */
static bool by_alone(struct trial *t)
{
	static const char *const words[] = {"auto", "gpu", "cpu", "xpu", NULL};
	const char *v = accelerate_get(t->c, "num_processes");

	if (kind(t, "num_processes") == ACCELERATE_TEXT &&
	    (accelerate_int(t->c, "num_processes", 0) > 0 || is_any(v, words)))
		return false;
	if (!is_whole(t, "num_processes") || t->processes < 1)
		return trial_refuse(t, "num_processes", "starts nothing", "1");
	return false;
}

static bool by_several(struct trial *t)
{
	if (by_number(t, "num_processes", "2"))
		return true;
	if (!is_whole(t, "num_machines"))
		return trial_refuse(t, "num_machines", "is no whole number", "2");
	if (kind(t, "num_processes") == ACCELERATE_FLOAT)
		return trial_refuse(t, "num_processes", "is no whole number", "2");
	if (t->processes < t->machines)
		return trial_refuse(
			t, "num_processes",
			arena_printf(t->a, "on %ld machines is none on each", t->machines),
			arena_printf(t->a, "%ld", t->machines));
	if (!accelerate_is_from(t->c, 107) && kind(t, "main_process_port") <= ACCELERATE_NULL)
		return trial_refuse(t, "main_process_port",
				    "is not set, and for several machines accelerate before 1.7 "
				    "has none of its own",
				    "29500");
	return by_rank(t) || by_address(t);
}

static bool by_fsdp(struct trial *t)
{
	static const char key[] = "fsdp_config.fsdp_sync_module_states";

	if (!is_text(t, "distributed_type", "FSDP") ||
	    !is_true(t, "fsdp_config.fsdp_cpu_ram_efficient_loading", true) ||
	    is_true(t, key, true))
		return false;
	return trial_refuse(t, key, "does not go with fsdp_cpu_ram_efficient_loading", "true");
}

static bool by_torchrun(struct trial *t)
{
	if (by_number(t, "num_machines", "1") || (t->machines > 1 ? by_several(t) : by_alone(t)))
		return true;
	return by_port(t) || by_precision(t) ||
	       (!is_text(t, "distributed_type", "DEEPSPEED") && by_dynamo(t)) || by_fsdp(t);
}

/* --- one process, mpirun, DeepSpeed's own --------------------------------------------------- */
static bool by_use_cpu(struct trial *t)
{
	static const char *const words[] = {"y",  "yes", "t",	  "true", "on", "1", "n",
					    "no", "f",	 "false", "off",  "0",	NULL};

	if (!accelerate_is_from(t->c, 115) || kind(t, "use_cpu") == ACCELERATE_ABSENT ||
	    is_any(accelerate_get(t->c, "use_cpu"), words))
		return false;
	return trial_refuse(t, "use_cpu", "is neither true nor false", "false") &&
	       trial_doubt(t, 115);
}

static bool by_meeting(struct trial *t, const char *key, const char *fix)
{
	if (t->machines <= 1 || kind(t, key) > ACCELERATE_NULL)
		return false;
	return trial_refuse(t, key, "is not set, and there are several machines", fix);
}

/* Before 1.8 it looked at them on one machine, where they had to be set, and for mpirun. */
static bool by_processes(struct trial *t)
{
	bool is_new = accelerate_is_from(t->c, 108);
	bool is_old_blind = t->machines > 1 && accelerate_is_single(t->c);

	if (is_new ? kind(t, "num_processes") == ACCELERATE_NULL : is_old_blind)
		return false;
	return by_number(t, "num_processes", "1") && (!is_old_blind || trial_doubt(t, 108));
}

static bool by_simple(struct trial *t)
{
	if (by_number(t, "num_machines", "1") || by_processes(t) ||
	    by_meeting(t, "main_process_ip", "ADDRESS_OF_MACHINE_0") ||
	    (accelerate_is_from(t->c, 108) && by_meeting(t, "main_process_port", "29500") &&
	     trial_doubt(t, 108)))
		return true;
	if ((t->machines > 1 || t->processes > 1) && kind(t, "main_process_ip") > ACCELERATE_NULL &&
	    kind(t, "main_process_ip") != ACCELERATE_TEXT)
		return trial_refuse(t, "main_process_ip", "is no address", "ADDRESS_OF_MACHINE_0");
	return by_use_cpu(t) || by_precision(t) || by_dynamo(t);
}

static bool by_deepspeed(struct trial *t)
{
	return by_number(t, "num_machines", "2") || by_number(t, "num_processes", "2") ||
	       by_rank(t) || by_port(t) || by_precision(t);
}

/* On CPUs it divides one number by the other, for the threads of each. */
static bool by_threads(struct trial *t)
{
	if (by_number(t, "num_processes", "1") || by_number(t, "num_machines", "1"))
		return true;
	return is_number(t, "num_machines") && !is_true(t, "num_machines", true) &&
	       trial_refuse(t, "num_machines", "is none", "1");
}

static bool by_launch(struct trial *t)
{
	const char *by = accelerate_starter(t->c);
	bool counts = kind(t, "num_processes") != ACCELERATE_ABSENT;

	if (streq(by, "sagemaker"))
		return false;
	if (by_gpus(t))
		return true;
	if ((!counts && !is_text(t, "distributed_type", "NO")) ||
	    (is_number(t, "num_processes") && t->processes == -1))
		return trial_refuse(t, "num_processes", "is not set", NULL);
	if (is_true(t, "use_cpu", false) && by_threads(t))
		return true;
	if (streq(by, "torchrun"))
		return by_torchrun(t);
	if (streq(by, "deepspeed"))
		return by_deepspeed(t);
	return !streq(by, "tpu") && by_simple(t);
}

const struct accelerate_refusal *accelerate_refuses(const struct accelerate *c, const str_list *but,
						    struct arena *a)
{
	struct trial t = {.c = c, .a = a, .but = but};

	t.machines = accelerate_int(c, "num_machines", 1);
	t.processes =
		accelerate_int(c, "num_processes", is_text(&t, "distributed_type", "NO") ? 1 : -1);
	t.rank = accelerate_int(c, ACCELERATE_RANK, 0);
	(void)(trial_by_file(&t) || by_launch(&t));
	return t.found ?: t.guess;
}
