#include "bench/comm/backend.h"
#include "bench/comm/tcp.h"
#include "bench/ranks/mpirun_whose.h"
#include "lib/core/plugin.h"

/* By name: what people call it, the package of its library, and what building it takes. */
#define BACKENDS(X)                                                                                \
	X("auto", NULL, NULL, NULL)                                                                \
	X("tcp", "TCP", NULL, NULL)                                                                \
	X("nccl", "NCCL", "libnccl2", "nvcc and libnccl-dev")                                      \
	X("gloo", "Gloo", "libgloo0", "libgloo-dev")                                               \
	X("mpi", "MPI", NULL, NULL)                                                                \
	X("mpi-openmpi", "MPI", "libopenmpi3", "libopenmpi-dev")                                   \
	X("mpi-mpich", "MPI", "libmpich12", "libmpich-dev")

#define NAME(name, word, package, build) name,
#define ROW(name, word, package, build) {name, word, package, build},
const char *const backend_names[] = {BACKENDS(NAME) NULL};
static const struct backend {
	const char *name, *word, *package, *build; /* no package: it is no plug-in, by this name */
} backends[] = {BACKENDS(ROW)};

static const struct backend *row_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(backends); i++)
		if (streq(name, backends[i].name))
			return &backends[i];
	return NULL;
}

static struct dev *host_memory(const struct comm_world *w, struct err *e)
{
	(void)w;
	(void)e;
	return &dev_host;
}

static struct comm *connect_tcp(const struct comm_world *w, struct dev *d, int *ret_culprit,
				struct err *e)
{
	const struct tcp_opts o = {.rank = w->rank,
				   .size = w->size,
				   .at = w->at,
				   .host = w->host,
				   .sockets = w->sockets,
				   .deadline_ns = w->deadline_ns,
				   .deadline_given = w->deadline_given,
				   .stop_fds = {w->stop_fds[0], w->stop_fds[1]},
				   .exchange = w->exchange,
				   .arg = w->arg};

	(void)d;
	return tcp_comm_new(&o, ret_culprit, e);
}

const struct comm_plugin comm_tcp = {.version = COMM_PLUGIN_VERSION,
				     .name = "tcp",
				     .dev_new = host_memory,
				     .comm_new = connect_tcp};

const struct comm_plugin *backend_find(const char *name, struct arena *a, struct err *e)
{
	struct plugin_want want = {.symbol = "windsock_comm", .version = COMM_PLUGIN_VERSION};
	const struct backend *b;
	struct mpirun mpi;

	if (streq(name, "auto") || streq(name, "tcp"))
		return &comm_tcp;
	if (starts_with(name, "mpi")) {
		if (mpirun_find(name, a, &mpi, e))
			return NULL;
		mpirun_load_library(&mpi, a);
		name = mpi.plugin;
	}
	b = row_of(name);
	if (!b || !b->package) {
		err_set(e, ERR_USAGE, "there is no backend '%s'", name);
		return NULL;
	}
	want.name = b->name;
	want.package = b->package;
	want.build = b->build;
	return plugin_load(&want, a, e);
}

const char *backend_word(const char *name)
{
	const struct backend *b = row_of(name);

	return b && b->word ? b->word : name;
}

unsigned backend_links(const char *name, uint64_t sockets)
{
	bool is_ours = !starts_with(name, "mpi") && !streq(name, "gloo");

	return is_ours ? 1 + (unsigned)(sockets ? sockets : 1) : 0;
}
