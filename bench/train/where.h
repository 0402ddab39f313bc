#ifndef BENCH_TRAIN_WHERE_H
#define BENCH_TRAIN_WHERE_H
/*
 * Where the ranks of a run are, as its options say it, and what this process is
 * in it: the one that starts the ranks, or a rank that somebody started.
 */
#include "lib/cluster/launch.h"
#include "lib/core/opt.h"

#define WHERE_NOT_GIVEN UINT64_MAX

struct where {
	const char *hosts, *rsh, *init;
	uint64_t np, np_per_host, wait, port, rank, size, heartbeat_ns;
	bool srun, serve, no_local, require_token;
};

/* The rows of an option table; @at(field) says where in its struct a field of struct where is. */
#define WHERE_ROWS(at)                                                                             \
	{.help = "Where the ranks are (else: two here, or what torchrun, srun or mpirun "          \
		 "started)"},                                                                      \
		{0, "np", "N", "ranks in all", OPT_UINT, at(np), .min = 1, .max = 4096},           \
		{0,	   "np-per-host",   "N",      "ranks on each host",                        \
		 OPT_UINT, at(np_per_host), .min = 1, .max = 4096},                                \
		{0,                                                                                \
		 "hosts",                                                                          \
		 "LIST",                                                                           \
		 "start them there over ssh: a list, a Slurm hostlist, a "                         \
		 "hostfile, or the word lab",                                                      \
		 OPT_STR,                                                                          \
		 at(hosts),                                                                        \
		 .complete = OPT_C_HOST},                                                          \
		{0, "rsh", "CMD", "instead of ssh", OPT_STR, at(rsh), .env = "WINDSOCK_RSH"},      \
		{0,	   "srun",  NULL, "start them with srun, in an allocation of Slurm's",     \
		 OPT_BOOL, at(srun)},                                                              \
		{0,	   "serve",  NULL, "print a line to paste on the other machines; no ssh",  \
		 OPT_BOOL, at(serve)},                                                             \
		{0,	    "wait",   "N",	"with --serve: how many machines will join",       \
		 OPT_UINT,  at(wait), .min = 1, .max = 4096,                                       \
		 .def = "1"},                                                                      \
		{0,                                                                                \
		 "port",                                                                           \
		 "PORT",                                                                           \
		 "with --serve: where they join",                                                  \
		 OPT_UINT,                                                                         \
		 at(port),                                                                         \
		 .min = 1,                                                                         \
		 .max = 65535,                                                                     \
		 .def = "29499"},                                                                  \
		{0,	   "no-local",	NULL, "with --serve: this machine has no rank",            \
		 OPT_BOOL, at(no_local)},                                                          \
		{0,	  "init",                                                                  \
		 "URL",	  "meet as PyTorch does: tcp://HOST:PORT, file:///PATH, env://",           \
		 OPT_STR, at(init)},                                                               \
		{0,	   "rank",   "N",	    "with --init: which rank this is",             \
		 OPT_UINT, at(rank), .max = 1 << 20},                                              \
		{0,	   "world-size", "N",	   "with --init: of how many",                     \
		 OPT_UINT, at(size),	 .min = 1, .max = 1 << 20},                                \
		{0,                                                                                \
		 "heartbeat",                                                                      \
		 "TIME",                                                                           \
		 "a rank that is silent for so long is lost",                                      \
		 OPT_DURATION,                                                                     \
		 at(heartbeat_ns),                                                                 \
		 .min = 100 * 1000 * 1000,                                                         \
		 .def = "10s"},                                                                    \
	{                                                                                          \
		0, "require-token", NULL, "refuse ranks without WINDSOCK_TOKEN", OPT_BOOL,         \
			at(require_token)                                                          \
	}
#define WHERE_DEFAULTS                                                                             \
	{                                                                                          \
		.rank = WHERE_NOT_GIVEN, .size = WHERE_NOT_GIVEN                                   \
	}

struct where_role {
	bool is_rank;  /* else it starts the ranks */
	bool ours;     /* by our own launcher, which reads our report */
	int rank;      /* -1: not known yet */
	uint64_t size; /* of the world; 0: not known yet */
};

/* Looks and joins nothing yet. A contradiction in the options is an ERR_USAGE. */
int where_role(const struct where *w, struct arena *a, struct where_role *ret,
	       struct err *e) MUST_CHECK;
struct world_opts where_world(const struct where *w, uint64_t deadline_ns);
/* Everything but argv and the descriptors. */
int where_launch(const struct where *w, uint64_t deadline_ns, struct arena *a,
		 struct launch_opts *ret, struct err *e) MUST_CHECK;

#endif
