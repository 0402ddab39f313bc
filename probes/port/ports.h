#ifndef PROBES_PORT_PORTS_H
#define PROBES_PORT_PORTS_H
/*
 * Lists of ports: `29500,30000-30010`, and names for what a cluster needs
 * (`nccl`, `ray`, `slurm`, `ssh`), which may stand between the numbers. Order is
 * kept, what is named twice is there once.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/host/port_range.h"

enum { PORT_MASTER = 29500, PORT_SAMPLE = 3 };

typedef LIST(uint16_t) port_list;

/* What lists with a name are made of on this host. */
struct port_env {
	uint16_t master;  /* MASTER_PORT, or PORT_MASTER */
	bool master_said; /* MASTER_PORT was set */
	struct port_range range;
	port_list sample; /* random ports of the range */
};
/* @seed 0: another sample every time. MASTER_PORT that is no port is a usage error. */
int port_env_read(struct port_env *ret, size_t sample, uint64_t seed, struct arena *a,
		  struct err *e) MUST_CHECK;

/* Another sample, of @env's range. */
void port_env_draw(struct port_env *env, size_t n, uint64_t seed, struct arena *a);

/* The names that a list may have; NULL-terminated. */
extern const char *const port_names[];
int ports_parse(const char *text, const struct port_env *env, struct arena *a, port_list *ret,
		struct err *e) MUST_CHECK;
/* A name in that list stands for the sample, too. */
bool ports_draw(const char *text);
/* MASTER_PORT and the sample: what is asked when nobody said which ports. */
void ports_default(const struct port_env *env, struct arena *a, port_list *ret);
/* 29500,30000-30010: sorted. At most @max characters (0: all), then "...". */
const char *ports_fold(const uint16_t *v, size_t n, size_t max, struct arena *a);
/* All of them in their order, as ports_parse() reads them: whoever reads that asks the same ones.
 */
const char *ports_spell(const port_list *l, struct arena *a);
#define PORTS_WRITTEN "ports are written 29500, 30000-30010, nccl, ray, slurm or ssh"

#endif
