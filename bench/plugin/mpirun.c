#include "bench/plugin/mpirun.h"

#include <limits.h>

static const struct {
	const char *plugin, *name, *package;
	const char *rank_of[2];	 /* a rank has one of these variables */
	const char *programs[2]; /* the name says whose it is */
	const char *parts[3];	 /* of the name that a plain mpirun is a link to */
} flavours[MPI_FLAVOURS] = {
	[MPI_OPENMPI] = {"mpi-openmpi",
			 "Open MPI",
			 "openmpi-bin",
			 {"OMPI_COMM_WORLD_SIZE"},
			 {"mpirun.openmpi"},
			 {"orterun", "prterun", "openmpi"}},
	[MPI_MPICH] = {"mpi-mpich",
		       "MPICH",
		       "mpich",
		       {"PMI_SIZE", "MPI_LOCALNRANKS"},
		       {"mpirun.mpich", "mpiexec.hydra"},
		       {"hydra", "mpich", "mpiexec.gforker"}},
};

static bool is_rank_of(enum mpi_flavour f)
{
	for (size_t i = 0; i < 2 && flavours[f].rank_of[i]; i++)
		if (getenv(flavours[f].rank_of[i]))
			return true;
	return false;
}

static const char *in_path(const char *name, struct arena *a)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t n = strcspn(at, ":");
		const char *path = arena_printf(a, "%.*s/%s", (int)n, at, name);

		if (n && !access(path, X_OK))
			return path;
		at += n + (at[n] == ':');
	}
	return NULL;
}

/* Whose is it, by what it is a link to? MPI_FLAVOURS: nobody's that is known. */
static enum mpi_flavour flavour_of(const char *path)
{
	char real[PATH_MAX];
	const char *name;

	if (!realpath(path, real))
		return MPI_FLAVOURS;
	name = strrchr(real, '/') + 1;
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		for (size_t i = 0; i < 3; i++)
			if (strstr(name, flavours[f].parts[i]))
				return f;
	return MPI_FLAVOURS;
}

static const char *program_of(enum mpi_flavour f, const char *plain, struct arena *a)
{
	if (plain && flavour_of(plain) == f)
		return plain;
	for (size_t i = 0; i < 2 && flavours[f].programs[i]; i++)
		if (in_path(flavours[f].programs[i], a))
			return in_path(flavours[f].programs[i], a);
	return NULL;
}

static int found(enum mpi_flavour f, const char *path, struct mpirun *ret)
{
	*ret = (struct mpirun){.flavour = f, .path = path, .plugin = flavours[f].plugin};
	return 0;
}

static int none(const char *wanted, struct err *e)
{
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if (streq(wanted, flavours[f].plugin)) {
			err_set(e, ERR_ABSENT, "there is no mpirun of %s's in PATH",
				flavours[f].name);
			return err_hint(e, "apt-get install %s", flavours[f].package);
		}
	err_set(e, ERR_ABSENT, "there is no mpirun of Open MPI or MPICH in PATH");
	return err_hint(e, "apt-get install openmpi-bin; WINDSOCK_MPIRUN names one elsewhere");
}

int mpirun_find(const char *wanted, struct arena *a, struct mpirun *ret, struct err *e)
{
	const char *given = getenv("WINDSOCK_MPIRUN");
	const char *plain = given && *given ? given : in_path("mpirun", a);
	bool any = streq(wanted, "mpi");

	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if ((any || streq(wanted, flavours[f].plugin)) && is_rank_of(f))
			return found(f, NULL, ret);
	if (any && plain && flavour_of(plain) < MPI_FLAVOURS)
		return found(flavour_of(plain), plain, ret);
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if ((any || streq(wanted, flavours[f].plugin)) && program_of(f, plain, a))
			return found(f, program_of(f, plain, a), ret);
	return none(wanted, e);
}

typedef LIST(const char *) words;

static void add(struct arena *a, words *w, const char *word) { *LIST_ADD(a, w) = word; }

static const char *joined(const char *const *names, struct arena *a)
{
	const char *all = *names;

	while (*++names)
		all = arena_printf(a, "%s,%s", all, *names);
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

static void add_hosts(const struct mpirun *m, const char *const *hosts, const char *rsh,
		      struct arena *a, words *w)
{
	bool hydra = m->flavour == MPI_MPICH;

	rsh = rsh ? rsh : getenv("WINDSOCK_RSH");
	add(a, w, hydra ? "-hosts" : "--host");
	add(a, w, joined(hosts, a));
	/* the first host's ranks come first, and rank 0 keeps the rendezvous */
	if (hydra) {
		add(a, w, "-genv");
		add(a, w, "MASTER_ADDR");
		add(a, w, hosts[0]);
		add(a, w, "-genv");
		add(a, w, "WINDSOCK_RELAY");
		add(a, w, "1");
	} else {
		add(a, w, "-x");
		add(a, w, arena_printf(a, "MASTER_ADDR=%s", hosts[0]));
		add(a, w, "-x");
		add(a, w, "WINDSOCK_RELAY");
	}
	if (!rsh || !*rsh)
		return;
	if (!hydra)
		add(a, w, "--mca");
	add(a, w, hydra ? "-launcher-exec" : "plm_rsh_agent");
	add(a, w, rsh);
}

const char *const *mpirun_argv(const struct mpirun *m, unsigned np, const char *const *hosts,
			       const char *const *argv, const char *rsh, struct arena *a)
{
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	words w = {0};

	add(a, &w, m->path);
	add_options(m->flavour, a, &w);
	add(a, &w, "-np");
	add(a, &w, arena_printf(a, "%u", np));
	if (hosts && *hosts)
		add_hosts(m, hosts, rsh, a, &w);
	add(a, &w, n > 0 ? arena_strdup(a, self) : argv[0]);
	for (argv++; *argv; argv++)
		add(a, &w, *argv);
	add(a, &w, NULL);
	return w.v;
}

int mpirun_exec(const char *const *argv, struct err *e)
{
	(void)fflush(NULL);
	(void)execv(argv[0], (char *const *)(uintptr_t)argv);
	return err_sys(e, "cannot run %s", argv[0]);
}
