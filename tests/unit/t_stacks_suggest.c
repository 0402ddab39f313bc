/* Which lines of a suggestion Gloo, torch, Open MPI and UCX get on composed machines. */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/iface/suggest.h"
#include "tests/unit/stacks_ground.h"

#define LABELLED                                                                                   \
	LO "link 2 eth0\naddr eth0 10.0.0.5/24 label=eth0:1\nlink 3 eth1\naddr eth1 10.1.0.5/24\n"
/* Beside one that shares its subnet, so that only a name tells them apart. */
#define ODD(name)                                                                                  \
	LO "link 2 " name "\naddr " name " 10.0.0.5/24\nlink 3 eth1\naddr eth1 10.0.0.6/24\n"

static const struct want {
	const char *machine, *env, *name, *value; /* value NULL: left out, with a reason */
} wants[] = {
	{TWO ME("10.0.0.5"), NULL, "GLOO_SOCKET_IFNAME", NULL},
	{TWO ME("10.0.0.5"), NULL, "TP_SOCKET_IFNAME", NULL},
	{TWO ME("127.0.1.1"), NULL, "GLOO_SOCKET_IFNAME", "eth0"},
	{TWO ME("127.0.1.1"), NULL, "TP_SOCKET_IFNAME", "eth0"},
	{TWO, NULL, "GLOO_SOCKET_IFNAME", "eth0"},
	{TWO ME("10.0.0.5"), "GLOO_SOCKET_IFNAME=eth1", "GLOO_SOCKET_IFNAME", "eth0"},
	/* a value of ours, read back from ~/.bashrc, does not make the line disappear */
	{TWO, "GLOO_SOCKET_IFNAME=eth0", "GLOO_SOCKET_IFNAME", "eth0"},
	{TWO, "OMPI_MCA_btl_tcp_if_include=10.0.0.0/24", "OMPI_MCA_btl_tcp_if_include",
	 "10.0.0.0/24"},
	{TWO, NULL, "OMPI_MCA_btl_tcp_if_include", "10.0.0.0/24"},
	{TWO "addr eth1 10.0.0.6/24\n", NULL, "OMPI_MCA_btl_tcp_if_include", "eth0"},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24\n", NULL, "OMPI_MCA_btl_tcp_if_include", NULL},
	{TWO, "OMPI_MCA_btl_tcp_if_exclude=lo", "OMPI_MCA_btl_tcp_if_include", NULL},
	{TWO, NULL, "UCX_NET_DEVICES", "eth0"},
	{TWO RDMA, NULL, "UCX_NET_DEVICES", NULL},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24\n", NULL, "UCX_NET_DEVICES", NULL},
	/* what is set and not meant does not stay */
	{TWO RDMA, "UCX_NET_DEVICES=eth0", "UCX_NET_DEVICES", "all"},
	{TWO RDMA, "UCX_NET_DEVICES=^mlx5_0:1", "UCX_NET_DEVICES", "all"},
	{TWO RDMA, "UCX_NET_DEVICES=mlx5_0:1", "UCX_NET_DEVICES", NULL},
	{TWO RDMA_DOWN, "UCX_NET_DEVICES=eth1", "UCX_NET_DEVICES", "all"},
	{TWO RDMA_DOWN, "UCX_NET_DEVICES=eth0", "UCX_NET_DEVICES", NULL},
	{TWO RDMA_DOWN, NULL, "UCX_NET_DEVICES", NULL},
	{LO "link 2 eth0\naddr eth0 10.0.0.5/24\n", "UCX_NET_DEVICES=eth7", "UCX_NET_DEVICES",
	 "eth0"},
	/* a label is a name of its own to all but UCX */
	{LABELLED, NULL, "GLOO_SOCKET_IFNAME", "eth0:1"},
	{LABELLED, NULL, "TP_SOCKET_IFNAME", "eth0:1"},
	{LABELLED "addr eth1 10.0.0.6/24\n", NULL, "OMPI_MCA_btl_tcp_if_include", "eth0:1"},
	{LABELLED, NULL, "UCX_NET_DEVICES", "eth0"},
	/* Open MPI knows the first address of a label only, and leaves out what begins with lo */
	{LO "link 2 eth0\naddr eth0 169.254.1.5/16\naddr eth0 10.0.0.5/24\nlink 3 eth1\n"
	    "addr eth1 10.1.0.5/24\n",
	 NULL, "OMPI_MCA_btl_tcp_if_include", "eth0"},
	{LO "link 2 lost0\naddr lost0 10.0.0.5/24\n", NULL, "OMPI_MCA_btl_tcp_if_include",
	 "10.0.0.0/24"},
	/* names that a list cuts, or takes for something else */
	{ODD("a,b"), NULL, "GLOO_SOCKET_IFNAME", NULL},
	{ODD("a,b"), NULL, "TP_SOCKET_IFNAME", "a,b"},
	{ODD("a,b"), NULL, "UCX_NET_DEVICES", NULL},
	{ODD("a,b"), NULL, "OMPI_MCA_btl_tcp_if_include", NULL},
	{ODD("^b"), NULL, "GLOO_SOCKET_IFNAME", "^b"},
	{ODD("^b"), NULL, "UCX_NET_DEVICES", NULL},
	{ODD("^b"), NULL, "OMPI_MCA_btl_tcp_if_include", NULL},
	{ODD("b"), NULL, "GLOO_SOCKET_IFNAME", "b,"},
	{ODD("b"), NULL, "UCX_NET_DEVICES", "b"},
};

static const struct env_line *line_of(const struct suggestion *s, const char *name)
{
	for (size_t i = 0; i < s->env.n; i++)
		if (streq(s->env.v[i].name, name))
			return &s->env.v[i];
	return NULL;
}

static const char *value_of(const struct suggestion *s, const char *name)
{
	const struct env_line *l = line_of(s, name);

	return l ? l->value : NULL;
}

static bool left_out(const struct suggestion *s, const char *name)
{
	for (size_t i = 0; i < s->left_out.n; i++)
		if (starts_with(s->left_out.v[i], name) && s->left_out.v[i][strlen(name)] == ':')
			return true;
	return false;
}

static void suggestions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		struct suggestion s;
		struct ground *g;
		const char *got;

		g = stand(wants[i].machine, wants[i].env);
		suggest_by_rank(&g->in, &s);
		assert_non_null(s.iface);
		assert_non_null(strstr(wants[i].machine,
				       arena_printf(&g->c.a, "link 2 %s", s.iface->name)));
		got = value_of(&s, wants[i].name);
		if (!got != !wants[i].value || (got && !streq(got, wants[i].value)) ||
		    (!got && !left_out(&s, wants[i].name)))
			fail_msg("want %zu %s=%s: got %s", i, wants[i].name,
				 wants[i].value ? wants[i].value : "(left out)",
				 got ? got : "nothing");
	}
	(void)stand(NULL, NULL);
}

/* Where no port of the card is up, nothing can switch RDMA off. */
static void why_all_devices(void **state UNUSED)
{
	static const struct {
		const char *machine, *env, *comment;
	} whys[] = {
		{TWO RDMA, "UCX_NET_DEVICES=eth1", "what is set would switch RDMA off"},
		{TWO RDMA_DOWN, "UCX_NET_DEVICES=eth1", "what is set leaves this interface out"},
		{TWO RDMA_DOWN, "UCX_NET_DEVICES=^eth0", "what is set leaves this interface out"},
	};

	for (size_t i = 0; i < ARRAY_LEN(whys); i++) {
		struct ground *g = stand(whys[i].machine, whys[i].env);
		const struct env_line *l;
		struct suggestion s;

		suggest_by_rank(&g->in, &s);
		l = line_of(&s, "UCX_NET_DEVICES");
		assert_non_null(l);
		assert_string_equal(l->value, "all");
		assert_string_equal(l->comment, whys[i].comment);
	}
	(void)stand(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suggestions),
		cmocka_unit_test(why_all_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
