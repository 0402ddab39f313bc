#ifndef TESTS_UNIT_STACKS_GROUND_H
#define TESTS_UNIT_STACKS_GROUND_H
/* A composed machine with an environment and Open MPI's files, for t_stacks.c and
 * t_stacks_suggest.c. */
#include <sys/stat.h>

#include "lib/core/file.h"
#include "probes/rules/rules.h"
#include "tests/unit/composed.h"

#define LO "link 1 lo type=loopback\naddr lo 127.0.0.1/8\naddr lo ::1/128\n"
#define TWO                                                                                        \
	LO "link 2 eth0 pci=0000:01:00.0\nlink 3 eth1 pci=0000:02:00.0\n"                          \
	   "addr eth0 10.0.0.5/24\naddr eth1 10.1.0.5/24\n"                                        \
	   "route default via=10.0.0.1 dev=eth0\n"
#define ME(addr) "file /etc/hosts \"127.0.0.1 localhost\" \"" addr " node0\"\n"
#define RDMA                                                                                       \
	"rdma mlx5_0 pci=0000:01:00.0\n"                                                           \
	"port mlx5_0 1 state=\"4: ACTIVE\" phys=\"5: LinkUp\" layer=Ethernet\n"
#define RDMA_DOWN                                                                                  \
	"rdma mlx5_0 pci=0000:01:00.0\n"                                                           \
	"port mlx5_0 1 state=\"1: DOWN\" phys=\"3: Disabled\" layer=Ethernet\n"

/* Folders with the programs of an Open MPI */
#define FOUR "/opt/four/bin"
#define FIVE "/opt/five/bin"

struct ground {
	struct composed c; /* made once for rows in a row that share a machine */
	const char *machine;
	struct settings settings;
	rdma_list rdma;
	struct rules_input in;
};

static const char *const ours[] = {
	"GLOO_SOCKET_IFNAME",
	"TP_SOCKET_IFNAME",
	"MASTER_ADDR",
	"MASTER_PORT",
	"RANK",
	"LOCAL_RANK",
	"NODE_RANK",
	"GROUP_RANK",
	"OMPI_MCA_btl_tcp_if_include",
	"OMPI_MCA_btl_tcp_if_exclude",
	"OMPI_MCA_btl",
	"OMPI_MCA_oob_tcp_if_include",
	"PRTE_MCA_prte_if_include",
	"PRTE_MCA_prte_if_exclude",
	"PRTE_MCA_oob_tcp_if_include",
	"UCX_NET_DEVICES",
	"UCX_TLS",
	"WORLD_SIZE",
	"LOCAL_WORLD_SIZE",
	"SLURM_NNODES",
};

static void write_file(struct ground *g, const char *path, const char *text)
{
	const char *full = arena_printf(&g->c.a, "%s%s", g->c.dir, path);
	struct err e = {0};

	assert_int_equal(file_replace(full, text, strlen(text),
				      &(struct file_replace_opts){.make_parents = true}, &e),
			 0);
}

static void install(struct ground *g, const char *program)
{
	write_file(g, program, "");
	assert_int_equal(chmod(arena_printf(&g->c.a, "%s%s", g->c.dir, program), 0755), 0);
}

static const struct {
	const char *name, *path;
} confs[] = {{"HOMECONF", "/home/u/.openmpi/mca-params.conf"},
	     {"ETCCONF", "/etc/openmpi/openmpi-mca-params.conf"},
	     {"FIVECONF", "/opt/five/etc/openmpi-mca-params.conf"}};

static const char *conf_path(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(confs); i++)
		if (streq(name, confs[i].name))
			return confs[i].path;
	return NULL;
}

/* "A=x;B=y"; HOMECONF and its like are Open MPI's files. */
static void set_env(struct ground *g, const char *env)
{
	unsetenv("PATH");
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		unsetenv(ours[i]);
	for (size_t i = 0; i < ARRAY_LEN(confs); i++)
		write_file(g, confs[i].path, "");
	install(g, FOUR "/ompi_info");
	install(g, FOUR "/orted");
	install(g, FIVE "/ompi_info");
	setenv("HOME", "/home/u", 1);
	while (env && *env) {
		size_t n = strcspn(env, ";"), eq = strcspn(env, "=");
		const char *name = arena_strndup(&g->c.a, env, eq);
		const char *value = arena_strndup(&g->c.a, env + eq + 1, n - eq - 1);

		if (conf_path(name))
			write_file(g, conf_path(name), value);
		else
			setenv(name, value, 1);
		env += n + (env[n] == ';');
	}
}

static struct ground *stand(const char *machine, const char *env)
{
	static struct ground g;

	setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin", 1); /* composing takes programs */
	if (!machine || !g.machine || !streq(machine, g.machine)) {
		if (g.machine)
			composed_done(&g.c);
		g = (struct ground){.machine = machine};
		if (!machine)
			return NULL;
		composed_load(&g.c, machine);
		rdma_read(&g.c.a, &g.rdma);
	}
	set_env(&g, env);
	g.settings.a = &g.c.a;
	g.in = (struct rules_input){.inv = &g.c.inv, .settings = &g.settings, .rdma = &g.rdma};
	g.in.master_addr = getenv("MASTER_ADDR");
	return &g;
}

#endif
