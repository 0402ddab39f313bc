#include "bench/ranks/mpirun_whose.h"

#include "lib/cluster/child.h"
#include "lib/core/units.h"

#include <dlfcn.h>
#include <limits.h>

static const uint64_t ANSWER_NS = 5 * NS_PER_S;
enum { ANSWER_MAX = 4096 };

static const struct {
	const char *names[3];	/* a part of the name that a plain mpirun is a link to */
	const char *answers[2]; /* a part of what it says */
	const char *library;
} known[MPI_FLAVOURS] = {
	[MPI_OPENMPI] = {{"orterun", "prterun", "openmpi"},
			 {"(Open MPI)", "PRRTE"},
			 "libmpi.so.40"},
	[MPI_MPICH] = {{"hydra", "mpich", "mpiexec.gforker"},
		       {"HYDRA build details", "Intel(R) MPI Library"},
		       "libmpi.so.12"},
};

static bool has_part(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

enum mpi_flavour mpirun_whose_answer(const char *said)
{
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if (has_part(said, known[f].answers, ARRAY_LEN(known[f].answers)))
			return f;
	return MPI_FLAVOURS;
}

static enum mpi_flavour by_name(const char *name)
{
	for (enum mpi_flavour f = 0; f < MPI_FLAVOURS; f++)
		if (has_part(name, known[f].names, ARRAY_LEN(known[f].names)))
			return f;
	return MPI_FLAVOURS;
}

static enum mpi_flavour by_answer(const char *path)
{
	char *const argv[] = {(char *)(uintptr_t)path, (char[]){"--version"}, NULL};
	AUTO(arena_done) struct arena a = {0};
	struct text said;

	text_init(&said, &a);
	child_answer(argv, ANSWER_NS, ANSWER_MAX, &said);
	return mpirun_whose_answer(said.s ?: "");
}

enum mpi_flavour mpirun_whose(const char *path)
{
	enum mpi_flavour f = MPI_FLAVOURS;
	char real[PATH_MAX];

	if (realpath(path, real))
		f = by_name(strrchr(real, '/') + 1);
	return f < MPI_FLAVOURS ? f : by_answer(path);
}

const char *mpirun_library_folder(const struct mpirun *m, struct arena *a)
{
	static const char *const folders[] = {"lib", "lib64"};
	char real[PATH_MAX];

	if (!m->path || !realpath(m->path, real))
		return NULL;
	*strrchr(real, '/') = '\0'; /* the program, */
	if (!strrchr(real, '/'))
		return NULL;
	*strrchr(real, '/') = '\0'; /* and its folder */
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		const char *folder = arena_printf(a, "%s/%s", real, folders[i]);

		if (!access(arena_printf(a, "%s/%s", folder, known[m->flavour].library), R_OK))
			return folder;
	}
	return NULL;
}

void mpirun_load_library(const struct mpirun *m, struct arena *a)
{
	if (m->libraries)
		(void)dlopen(arena_printf(a, "%s/%s", m->libraries, known[m->flavour].library),
			     RTLD_LAZY | RTLD_GLOBAL);
}
