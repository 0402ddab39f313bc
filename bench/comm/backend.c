#include "bench/comm/backend.h"
#include "bench/comm/tcp.h"
#include "bench/ranks/mpirun_whose.h"
#include "lib/core/plugin.h"

const char *const backend_names[] = {"auto", "tcp",	    "nccl",	 "gloo",
				     "mpi",  "mpi-openmpi", "mpi-mpich", NULL};

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
	static const struct {
		const char *name, *package, *build;
	} plugins[] = {
		{"nccl", "libnccl2", "nvcc and libnccl-dev"},
		{"gloo", "libgloo0", "libgloo-dev"},
		{"mpi-openmpi", "libopenmpi3", "libopenmpi-dev"},
		{"mpi-mpich", "libmpich12", "libmpich-dev"},
	};

	if (streq(name, "auto") || streq(name, "tcp"))
		return &comm_tcp;
	if (starts_with(name, "mpi")) {
		struct mpirun mpi;

		if (mpirun_find(name, a, &mpi, e))
			return NULL;
		mpirun_load_library(&mpi, a);
		name = mpi.plugin;
	}
	for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
		const struct plugin_want want = {.name = name,
						 .symbol = "windsock_comm",
						 .version = COMM_PLUGIN_VERSION,
						 .package = plugins[i].package,
						 .build = plugins[i].build};

		if (streq(name, plugins[i].name))
			return plugin_load(&want, a, e);
	}
	err_set(e, ERR_USAGE, "there is no backend '%s'", name);
	return NULL;
}

const char *backend_word(const char *name)
{
	static const char *const words[][2] = {
		{"tcp", "TCP"}, {"gloo", "Gloo"}, {"mpi", "MPI"}, {"nccl", "NCCL"}};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (streq(name, words[i][0]))
			return words[i][1];
	return name;
}

unsigned backend_links(const char *name, uint64_t sockets)
{
	bool is_ours = !starts_with(name, "mpi") && !streq(name, "gloo");

	return is_ours ? 1 + (unsigned)(sockets ? sockets : 1) : 0;
}
