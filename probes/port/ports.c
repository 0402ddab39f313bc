#include "probes/port/ports.h"

#include "lib/core/text.h"
#include "lib/core/units.h"

#include <sys/random.h>

enum { PORTS = 65536 };

/* Membership, for keeping a list free of doubles in linear time. */
struct port_bits {
	uint8_t v[PORTS / 8];
};

static bool bits_add(struct port_bits *b, unsigned port)
{
	uint8_t bit = (uint8_t)(1u << (port & 7));
	bool had = b->v[port >> 3] & bit;

	b->v[port >> 3] |= bit;
	return !had;
}

static bool bits_has(const struct port_bits *b, unsigned port)
{
	return b->v[port >> 3] >> (port & 7) & 1;
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void port_env_draw(struct port_env *env, size_t n, uint64_t seed, struct arena *a)
{
	unsigned size = env->range.last - env->range.first + 1u;
	struct port_bits drawn = {0};

	env->sample = (port_list){0};
	if (!seed && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = now_ns();
	while (env->sample.n < n && env->sample.n < size) {
		unsigned port = env->range.first + (unsigned)(next_random(&seed) % size);

		if (bits_add(&drawn, port))
			*LIST_ADD(a, &env->sample) = (uint16_t)port;
	}
}

static int parse_port(const char *s, uint64_t *ret)
{
	return parse_uint(s, ret) || !*ret || *ret >= PORTS ? -1 : 0;
}

int port_env_read(struct port_env *ret, size_t sample, uint64_t seed, struct arena *a,
		  struct err *e)
{
	const char *said = getenv("MASTER_PORT");
	uint64_t port = PORT_MASTER;

	*ret = (struct port_env){.range = port_range_read(a), .master_said = said && *said};
	if (ret->master_said && parse_port(said, &port)) {
		err_set(e, ERR_USAGE, "MASTER_PORT: '%s' is not a port", said);
		return err_hint(e, "a port is a number from 1 to 65535, such as 29500");
	}
	ret->master = (uint16_t)port;
	port_env_draw(ret, sample, seed, a);
	return 0;
}

struct filling {
	struct port_bits seen;
	struct arena *a;
	port_list *list;
};

static void fill(struct filling *f, unsigned first, unsigned last)
{
	for (unsigned p = first; p <= last; p++)
		if (bits_add(&f->seen, p))
			*LIST_ADD(f->a, f->list) = (uint16_t)p;
}

static void fill_list(struct filling *f, const port_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		fill(f, l->v[i], l->v[i]);
}

const char *const port_names[] = {"nccl", "ray", "slurm", "ssh", NULL};

/* Of each name in turn. */
static const struct port_group {
	bool master, sample; /* MASTER_PORT and the sample, too */
	struct {
		uint16_t first, last;
	} spans[10]; /* 0 ends them */
} groups[] = {
	{.master = true,
	 .sample = true,
	 .spans = {{29400, 29400},   /* torchrun's c10d rendezvous */
		   {29500, 29500},   /* its static one */
		   {28028, 28028}}}, /* NCCL's RAS */
	{.sample = true,	     /* its managers of nodes and objects, and its agents */
	 .spans = {{6379, 6379},     /* GCS, on the head node */
		   {8265, 8265},     /* its dashboard there */
		   {10001, 10002}, /* its client's server there; the first of the workers' range */
		   {12501, 12501}, /* ... which ends with 19999: all of it should be open */
		   {15000, 15000},
		   {17500, 17500},
		   {19999, 19999},
		   {52365, 52365}}}, /* the agent of the dashboard, on each node */
	{.sample = true,	     /* srun listens on one of these */
	 .spans = {{6817, 6819}}},   /* slurmctld, slurmd, slurmdbd */
	{.spans = {{22, 22}}},
};

static const struct port_group *group_named(const char *name, size_t len)
{
	for (size_t at = 0; port_names[at]; at++)
		if (strlen(port_names[at]) == len && !strncmp(port_names[at], name, len))
			return &groups[at];
	return NULL;
}

bool ports_draw(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == ',')) {
		const struct port_group *g;

		n = strcspn(text, ",");
		g = group_named(text, n);
		if (g && g->sample)
			return true;
	}
	return false;
}

static bool fill_named(struct filling *f, const char *name, const struct port_env *env)
{
	const struct port_group *g = group_named(name, strlen(name));

	if (!g)
		return false;
	if (g->master)
		fill(f, env->master, env->master);
	for (size_t i = 0; i < ARRAY_LEN(g->spans) && g->spans[i].first; i++)
		fill(f, g->spans[i].first, g->spans[i].last);
	if (g->sample)
		fill_list(f, &env->sample);
	return true;
}

static int fill_part(struct filling *f, const char *part, const struct port_env *env)
{
	const char *dash = strchr(part, '-');
	uint64_t first, last;

	if (fill_named(f, part, env))
		return 0;
	if (!dash) {
		if (parse_port(part, &first))
			return -1;
		last = first;
	} else if (parse_port(arena_strndup(f->a, part, (size_t)(dash - part)), &first) ||
		   parse_port(dash + 1, &last) || first > last) {
		return -1;
	}
	fill(f, (unsigned)first, (unsigned)last);
	return 0;
}

int ports_parse(const char *text, const struct port_env *env, struct arena *a, port_list *ret,
		struct err *e)
{
	struct filling f = {.a = a, .list = ret};

	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		const char *part = arena_strndup(a, p, n);

		if (fill_part(&f, part, env)) {
			err_set(e, ERR_USAGE, "'%s' is not a list of ports", text);
			return err_hint(e, PORTS_WRITTEN ", with commas between");
		}
		p += n;
		if (!*p)
			return 0;
	}
}

void ports_default(const struct port_env *env, struct arena *a, port_list *ret)
{
	struct filling f = {.a = a, .list = ret};

	fill(&f, env->master, env->master);
	fill_list(&f, &env->sample);
}

const char *ports_fold(const uint16_t *v, size_t n, size_t max, struct arena *a)
{
	struct port_bits b = {0};
	struct text t;

	for (size_t i = 0; i < n; i++)
		(void)bits_add(&b, v[i]);
	text_init(&t, a);
	for (unsigned p = 1, last; p < PORTS; p = last + 1) {
		last = p;
		if (!bits_has(&b, p))
			continue;
		while (last + 1 < PORTS && bits_has(&b, last + 1))
			last++;
		if (max && t.n + 12 > max) {
			text_add(&t, ",...");
			break;
		}
		text_addf(&t, last > p ? "%s%u-%u" : "%s%u", t.n ? "," : "", p, last);
	}
	return t.s;
}

const char *ports_spell(const port_list *l, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0, last; i < l->n; i = last + 1) {
		for (last = i; last + 1 < l->n && l->v[last + 1] == l->v[last] + 1;)
			last++;
		text_addf(&t, last > i ? "%s%u-%u" : "%s%u", i ? "," : "", l->v[i], l->v[last]);
	}
	return t.s;
}
