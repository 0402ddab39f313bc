#include "lib/cluster/world_env.h"
#include "lib/core/term.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/net/addr.h"

enum { QUOTE_MAX = 40 };

const char *launcher_name(enum launcher l)
{
	static const char *const name[] = {
		[LAUNCHER_NONE] = "none",	    [LAUNCHER_WINDSOCK] = "windsock",
		[LAUNCHER_TORCHRUN] = "torchrun",   [LAUNCHER_ACCELERATE] = "accelerate",
		[LAUNCHER_SRUN] = "srun",	    [LAUNCHER_OPENMPI] = "Open MPI",
		[LAUNCHER_MPICH] = "MPICH",	    [LAUNCHER_MVAPICH] = "MVAPICH",
		[LAUNCHER_FLUX] = "Flux",	    [LAUNCHER_PALS] = "PALS",
		[LAUNCHER_JSRUN] = "jsrun",	    [LAUNCHER_SAGEMAKER] = "SageMaker",
		[LAUNCHER_AWS_BATCH] = "AWS Batch", [LAUNCHER_KUBEFLOW] = "Kubeflow",
		[LAUNCHER_INIT] = "--init",	    [LAUNCHER_ENV] = "env://",
	};

	return l < ARRAY_LEN(name) ? name[l] : "none";
}

const char *env_peek(const struct env *v, const char *name)
{
	const char *s = v->get(name, v->arg);

	return s && *s ? s : NULL;
}

const char *env_take(struct env *v, const char *name)
{
	const char *s = env_peek(v, name);

	if (s)
		v->w->from = v->w->from ? arena_printf(v->a, "%s, %s", v->w->from, name) : name;
	return s;
}

const char *env_quote(struct env *v, const char *s)
{
	size_t n = strnlen(s, QUOTE_MAX + 1);
	char *t = arena_printf(v->a, "'%.*s%s'", n > QUOTE_MAX ? QUOTE_MAX : (int)n, s,
			       n > QUOTE_MAX ? "..." : "");

	term_tame(t);
	return t;
}

void env_trouble(struct env *v, const char *fmt, ...)
{
	va_list ap;

	if (v->w->trouble)
		return; /* the first one explains the rest */
	va_start(ap, fmt);
	v->w->trouble = arena_vprintf(v->a, fmt, ap);
	va_end(ap);
}

void env_note(struct env *v, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = arena_vprintf(v->a, fmt, ap);
	va_end(ap);
	v->w->note = v->w->note ? arena_printf(v->a, "%s; %s", v->w->note, s) : s;
}

bool env_digits(const char *s) { return *s && !s[strspn(s, "0123456789")]; }

int env_int(struct env *v, const char *name, int min)
{
	const char *s = name ? env_take(v, name) : NULL;
	uint64_t n;

	if (!s)
		return -1;
	if (env_digits(s) && !parse_uint(s, &n) && n >= (uint64_t)min && n <= WORLD_MAX)
		return (int)n;
	env_trouble(v, "%s is %s, not a whole number of %d to %d: set it right or unset it", name,
		    env_quote(v, s), min, WORLD_MAX);
	return -1;
}

static void check_below(struct env *v, const char *name, int n, const char *size_name, int size)
{
	if (n >= 0 && size >= 0 && n >= size)
		env_trouble(v, "%s is %d and %s is %d, so it can be 0 to %d only: set them right",
			    name, n, size_name, size, size - 1);
}

void env_read(struct env *v, const struct world_names *n)
{
	struct world *w = v->w;

	w->launcher = n->launcher;
	w->rank = env_int(v, n->rank, 0);
	w->size = env_int(v, n->size, 1);
	w->local_rank = env_int(v, n->local_rank, 0);
	w->local_size = env_int(v, n->local_size, 1);
	w->node_rank = env_int(v, n->node_rank, 0);
	w->nodes = env_int(v, n->nodes, 1);
	if (w->rank < 0 || w->size < 0)
		env_trouble(v, "%s is not set beside %s: start this under one launcher",
			    w->rank < 0 ? n->rank : n->size, w->rank < 0 ? n->size : n->rank);
	check_below(v, n->rank, w->rank, n->size, w->size);
	check_below(v, n->local_rank, w->local_rank, n->local_size, w->local_size);
	check_below(v, n->node_rank, w->node_rank, n->nodes, w->nodes);
	if (w->size >= 0 && w->local_size > w->size)
		env_trouble(v, "%s is %d in a world of %d (%s): set them right", n->local_size,
			    w->local_size, w->size, n->size);
}

void env_master(struct env *v, const char *addr_name, const char *port_name)
{
	const char *addr = env_take(v, addr_name), *port = env_take(v, port_name), *host;
	uint64_t n;
	uint16_t with_port;

	if (addr && (addr_split(addr, v->a, &host, &with_port) < 0 || with_port))
		env_trouble(v, "%s is %s, not a host name or address: set it to rank 0's host",
			    addr_name, env_quote(v, addr));
	else if (addr)
		v->w->master_addr = host;
	if (port && (!env_digits(port) || parse_uint(port, &n) < 0 || !n || n > UINT16_MAX))
		env_trouble(v, "%s is %s, not a port of 1 to 65535: set it right", port_name,
			    env_quote(v, port));
	else if (port)
		v->w->master_port = (uint16_t)n;
}

void env_rank0(struct env *v, const char *how, const char *program)
{
	struct world *w = v->w;

	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	if (!w->master_addr && w->size > 0 && w->local_size == w->size)
		w->master_addr = "127.0.0.1";
	else if (!w->master_addr)
		env_note(v, "%s does not say where rank 0 runs: add `%s` to %s",
			 launcher_name(w->launcher), how, program);
	if (!w->master_port)
		w->master_port = env_port_of_run(v);
}

/* Below the kernel's ephemeral ports, above the well-known ones. */
uint16_t env_port_of_run(const struct env *v)
{
	return v->w->run ? (uint16_t)(20000 + text_hash(0, v->w->run) % 10000) : 0;
}

static bool world_ours(struct env *v)
{
	static const struct world_names names = {
		LAUNCHER_WINDSOCK,     "WINDSOCK_RANK",	      "WINDSOCK_WORLD_SIZE",
		"WINDSOCK_LOCAL_RANK", "WINDSOCK_LOCAL_SIZE", "WINDSOCK_NODE_RANK",
		"WINDSOCK_NODES",
	};

	if (!env_peek(v, names.rank))
		return false;
	env_read(v, &names);
	env_master(v, "WINDSOCK_MASTER_ADDR", "WINDSOCK_MASTER_PORT");
	v->w->run = env_take(v, "WINDSOCK_RUN");
	return true;
}

static bool world_none(struct env *v) { return env_peek(v, WORLD_NO_RANK); }

/* A plain RANK beside a launcher's own is a leftover when it says something else. */
static void note_leftover(struct env *v)
{
	const char *s = env_peek(v, "RANK");
	struct arena *a = v->a;

	if (s && v->w->rank >= 0 && v->w->launcher != LAUNCHER_WINDSOCK &&
	    !streq(s, arena_printf(a, "%d", v->w->rank)))
		env_note(v, "RANK=%s is set as well and is not used", env_quote(v, s));
}

void world_clear(struct world *w)
{
	*w = (struct world){.rank = -1,
			    .size = -1,
			    .local_rank = -1,
			    .local_size = -1,
			    .node_rank = -1,
			    .nodes = -1};
}

const char *world_own_env(const char *name, void *arg UNUSED) { return getenv(name); }

void world_from_env(world_getenv *get, void *arg, struct arena *a, struct world *ret)
{
	/* ours, or none; those that speak to an MPI in its own variables too come before it */
	static bool (*const family[])(struct env *) = {
		world_ours,    world_none,	world_torch,	 world_flux,	 world_jsrun,
		world_openmpi, world_pals,	world_mvapich,	 world_mpich,	 world_plain,
		world_slurm,   world_sagemaker, world_aws_batch, world_kubeflow,
	};
	struct env v = {get, arg, a, ret};

	world_clear(ret);
	for (size_t i = 0; i < ARRAY_LEN(family); i++)
		if (family[i](&v)) {
			note_leftover(&v);
			return;
		}
	if (env_peek(&v, "RANK"))
		env_trouble(&v, "RANK is set and WORLD_SIZE is not: set both, or unset RANK");
	world_slurm_shell(&v);
}
