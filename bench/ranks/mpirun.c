#include "bench/ranks/mpirun.h"

#include "bench/ranks/mpirun_whose.h"
#include "lib/core/file.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/net/token.h"

#include <sys/wait.h>

/* In the environment of ranks that are heard; what they prove to each other that they are ours. */
static const char relay[] = "WINDSOCK_RELAY", token[] = "WINDSOCK_TOKEN";
static const char libraries[] = "LD_LIBRARY_PATH", replay[] = "WINDSOCK_REPLAY";

static const struct {
	const char *plugin, *name, *package;
	const char *rank_of[2];	 /* a rank has one of these variables */
	const char *programs[2]; /* the name says whose it is */
} flavours[MPI_FLAVOURS] = {
	[MPI_OPENMPI] = {"mpi-openmpi",
			 "Open MPI",
			 "openmpi-bin",
			 {"OMPI_COMM_WORLD_SIZE"},
			 {"mpirun.openmpi"}},
	[MPI_MPICH] = {"mpi-mpich",
		       "MPICH",
		       "mpich",
		       {"PMI_SIZE", "MPI_LOCALNRANKS"},
		       {"mpirun.mpich", "mpiexec.hydra"}},
};

static bool is_rank_of(enum mpi_flavour f)
{
	for (size_t i = 0; i < 2 && flavours[f].rank_of[i]; i++)
		if (getenv(flavours[f].rank_of[i]))
			return true;
	return false;
}

/* @whose: the plain mpirun is. */
static const char *program_of(enum mpi_flavour f, const char *plain, enum mpi_flavour whose,
			      struct arena *a)
{
	if (whose == f)
		return plain;
	for (size_t i = 0; i < 2 && flavours[f].programs[i]; i++) {
		const char *at = file_on_path(a, flavours[f].programs[i]);

		if (at)
			return at;
	}
	return NULL;
}

static int found(enum mpi_flavour f, const char *path, struct arena *a, struct mpirun *ret)
{
	*ret = (struct mpirun){.flavour = f, .path = path, .plugin = flavours[f].plugin};
	ret->libraries = mpirun_library_folder(ret, a);
	return 0;
}

static int none(const char *wanted, struct err *e)
{
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if (streq(wanted, flavours[f].plugin)) {
			err_set(e, ERR_ABSENT, "there is no mpirun of %s's in PATH",
				flavours[f].name);
			return err_command(e, "apt-get install %s", flavours[f].package);
		}
	err_set(e, ERR_ABSENT, "there is no mpirun of Open MPI or MPICH in PATH");
	return err_hint(e, "apt-get install openmpi-bin; WINDSOCK_MPIRUN names one elsewhere");
}

/* The one that a person named, or a plain mpirun in PATH; NULL: there is none. */
static int plain_one(struct arena *a, const char **ret, enum mpi_flavour *ret_whose, struct err *e)
{
	const char *given = getenv("WINDSOCK_MPIRUN");
	bool named = given && *given;
	const char *plain = file_on_path(a, "mpirun");
	enum mpi_flavour whose;

	if (named) /* a word without a slash is looked up as a shell would */
		plain = strchr(given, '/') ? given : file_on_path(a, given) ?: given;
	whose = plain ? mpirun_whose(plain) : MPI_FLAVOURS;
	if (named && whose == MPI_FLAVOURS) {
		err_set(e, ERR_ABSENT,
			"WINDSOCK_MPIRUN=%s is no mpirun of Open MPI's, MPICH's or Intel MPI's",
			given);
		return err_hint(e, "see what it answers to --version: it may need its vendor's "
				   "setvars.sh, or module load");
	}
	*ret = plain;
	*ret_whose = whose;
	return 0;
}

int mpirun_find(const char *wanted, struct arena *a, struct mpirun *ret, struct err *e)
{
	bool any = streq(wanted, "mpi");
	enum mpi_flavour whose = MPI_FLAVOURS;
	const char *plain = NULL;

	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if ((any || streq(wanted, flavours[f].plugin)) && is_rank_of(f))
			return found(f, NULL, a, ret);
	if (plain_one(a, &plain, &whose, e))
		return -1;
	if (any && whose < MPI_FLAVOURS)
		return found(whose, plain, a, ret);
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if ((any || streq(wanted, flavours[f].plugin)) && program_of(f, plain, whose, a))
			return found(f, program_of(f, plain, whose, a), a, ret);
	return none(wanted, e);
}

typedef LIST(const char *) words;

static void add(struct arena *a, words *w, const char *word) { *LIST_ADD(a, w) = word; }

/* "a:2,b" */
static const char *joined(const char *const *names, const unsigned *counts, struct arena *a)
{
	const char *all = "";

	for (size_t i = 0; names[i]; i++) {
		all = arena_printf(a, "%s%s%s", all, i ? "," : "", names[i]);
		if (counts[i] > 1)
			all = arena_printf(a, "%s:%u", all, counts[i]);
	}
	return all;
}

/* Survivors have to outlive a dead rank for a moment: they say who it was. */
static void add_options(enum mpi_flavour f, struct arena *a, words *w)
{
	if (f == MPI_MPICH) {
		add(a, w, "-disable-auto-cleanup");
		return;
	}
	add(a, w, "--oversubscribe");
	add(a, w, "--enable-recovery");
	if (!geteuid())
		add(a, w, "--allow-run-as-root");
}

/* Hydra takes a program alone, and what it is to be told from the environment. */
static void add_rsh(const struct mpirun *m, const char *rsh, struct arena *a, words *w)
{
	bool hydra = m->flavour == MPI_MPICH;

	if (hydra) { /* the one that adds no options of its own */
		add(a, w, "-launcher");
		add(a, w, "rsh");
	} else {
		add(a, w, "--mca");
	}
	add(a, w, hydra ? "-launcher-exec" : "plm_rsh_agent");
	add(a, w, hydra ? arena_strndup(a, rsh, strcspn(rsh, " ")) : rsh);
}

static void add_hosts(const struct mpirun *m, const char *const *hosts, const unsigned *counts,
		      const char *rsh, struct arena *a, words *w)
{
	bool hydra = m->flavour == MPI_MPICH;

	add(a, w, hydra ? "-hosts" : "--host");
	add(a, w, joined(hosts, counts, a));
	if (!hydra) { /* 5's fills the first host otherwise, where it may oversubscribe */
		add(a, w, "--map-by");
		add(a, w, "slot");
	}
	/* the first host's ranks come first, and rank 0 keeps the rendezvous */
	if (hydra) {
		add(a, w, "-genv");
		add(a, w, "MASTER_ADDR");
		add(a, w, hosts[0]);
		add(a, w, "-genv");
		add(a, w, relay);
		add(a, w, "1");
	} else {
		add(a, w, "-x");
		add(a, w, arena_printf(a, "MASTER_ADDR=%s", hosts[0]));
		add(a, w, "-x");
		add(a, w, relay);
		add(a, w, "-x");
		add(a, w, token);
		if (getenv(replay)) {
			add(a, w, "-x");
			add(a, w, replay);
		}
	}
	if (rsh && *rsh)
		add_rsh(m, rsh, a, w);
}

/* The ranks' alone: the ssh that mpirun starts would load what else lies there, too. */
static void add_libraries(const struct mpirun *m, struct arena *a, words *w)
{
	const char *others = getenv(libraries), *value;

	if (!m->libraries)
		return;
	value = arena_printf(a, "%s%s%s", m->libraries, others && *others ? ":" : "", others ?: "");
	if (m->flavour == MPI_MPICH) {
		add(a, w, "-genv");
		add(a, w, libraries);
		add(a, w, value);
	} else {
		add(a, w, "-x");
		add(a, w, arena_printf(a, "%s=%s", libraries, value));
	}
}

/* What Hydra itself is to find in its environment. */
static void add_environment(const struct mpirun *m, const char *rsh, struct arena *a, words *w)
{
	if (m->flavour != MPI_MPICH || !rsh || !strchr(rsh, ' '))
		return;
	add(a, w, "/usr/bin/env");
	add(a, w, arena_printf(a, "HYDRA_LAUNCHER_EXTRA_ARGS=%s", strchr(rsh, ' ') + 1));
}

const char *const *mpirun_argv(const struct mpirun *m, const struct mpirun_place *at,
			       const char *const *argv, const char *rsh, struct arena *a)
{
	words w = {0};

	rsh = rsh ? rsh : getenv("WINDSOCK_RSH");
	add_environment(m, at->hosts ? rsh : NULL, a, &w);
	add(a, &w, m->path);
	add_options(m->flavour, a, &w);
	add_libraries(m, a, &w);
	add(a, &w, "-np");
	add(a, &w, arena_printf(a, "%u", at->np));
	if (at->hosts && *at->hosts)
		add_hosts(m, at->hosts, at->counts, rsh, a, &w);
	add(a, &w, self_path(a) ?: argv[0]);
	for (argv++; *argv; argv++)
		add(a, &w, *argv);
	add(a, &w, NULL);
	return w.v;
}

/* Zero hosts: @l->np, or a few, here. */
static int place(const struct launch_opts *l, struct arena *a, struct mpirun_place *ret,
		 struct err *e)
{
	size_t n = l->hosts ? l->hosts->n : 0, used = 0;
	const char **hosts;
	unsigned *counts;

	*ret = (struct mpirun_place){.np = l->np ? l->np : l->np_per_host ? l->np_per_host : 2};
	if (!n)
		return 0;
	hosts = arena_alloc(a, (n + 1) * sizeof(*hosts));
	counts = arena_alloc(a, n * sizeof(*counts));
	if (launch_place(l->hosts, l->np, l->np_per_host, counts, e))
		return -1;
	ret->np = 0;
	for (size_t i = 0; i < n; i++) {
		ret->np += counts[i];
		if (!counts[i])
			continue;
		counts[used] = counts[i];
		hosts[used++] = l->hosts->v[i].name;
	}
	hosts[used] = NULL;
	ret->hosts = hosts;
	ret->counts = counts;
	return 0;
}

/* Open MPI's mpirun and Hydra cut what a host is called at its first colon. */
static int check_names(const char *const *hosts, struct err *e)
{
	for (size_t i = 0; hosts && hosts[i]; i++) {
		if (!strchr(hosts[i], ':'))
			continue;
		err_set(e, ERR_USAGE, "--backend mpi: mpirun takes no IPv6 address for a host: %s",
			hosts[i]);
		return err_hint(e, "give it a name, in /etc/hosts: %s node1; or --backend gloo",
				hosts[i]);
	}
	return 0;
}

int mpirun_plan(const char *wanted, const struct launch_opts *l, struct arena *a,
		const char *const **ret, struct err *e)
{
	struct mpirun_place at;
	struct mpirun m;

	*ret = NULL;
	if (mpirun_find(wanted, a, &m, e))
		return -1;
	if (!m.path)
		return 0;
	if (l->serve || l->srun)
		return err_set(e, ERR_USAGE,
			       "--backend mpi: mpirun starts the ranks, not --serve or --srun");
	if (l->copy_self) {
		err_set(e, ERR_USAGE, "--backend mpi: mpirun starts the ranks, and copies nothing");
		return err_hint(e, "install windsock on every host, or --backend gloo --copy-self");
	}
	if (place(l, a, &at, e) || check_names(at.hosts, e))
		return -1;
	*ret = mpirun_argv(&m, &at, l->argv, l->rsh, a);
	return 0;
}

bool mpirun_relays(void)
{
	return getenv(relay) && (is_rank_of(MPI_OPENMPI) || is_rank_of(MPI_MPICH));
}

/* The ranks of this run and nobody else take part in it. */
static int keep_strangers_out(struct err *e)
{
	char code[TOKEN_CODE_SIZE];
	struct token t;

	if (getenv(token) && *getenv(token))
		return 0;
	if (token_new(&t, e))
		return -1;
	token_code(&t, code);
	(void)setenv(token, code, 1);
	return 0;
}

int mpirun_exec(const char *const *argv, struct err *e)
{
	char run[64];

	if (keep_strangers_out(e))
		return -1;

	/* Hydra has no name for a run, without which two of them would meet at one place */
	(void)snprintf(run, sizeof(run), "windsock-%d-%llu", (int)getpid(),
		       (unsigned long long)now_ns());
	(void)setenv("PMI_JOBID", run, 1);
	(void)setenv(relay, "1", 1);
	(void)unsetenv(WORLD_NO_RANK);
	(void)fflush(NULL);
	(void)execv(argv[0], (char *const *)(uintptr_t)argv);
	return err_sys(e, "cannot run %s", argv[0]);
}

const char *mpirun_failure(int status, struct arena *a)
{
	if (WIFSIGNALED(status))
		return arena_printf(a, "mpirun was killed by signal %d", WTERMSIG(status));
	if (!status)
		return NULL;
	return arena_printf(a, "a rank died or could not start: mpirun ended with exit code %d",
			    WEXITSTATUS(status));
}
