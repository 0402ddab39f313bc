/* RDMA devices and ports as /sys/class/infiniband shows them. */
#include "lib/host/rdma.h"
#include "tests/unit/composed.h"

#include <math.h>

static void t_devices(void **state)
{
	static const struct {
		const char *machine;
		size_t at;
		const char *name, *driver, *pci, *state, *phys, *iface;
		enum rdma_link link;
		double gbps;
		size_t gids;
	} rows[] = {
		{"aws-p4d", 0, "rdmap16s27", "efa", "0000:10:1b.0", "ACTIVE", "LinkUp", NULL,
		 RDMA_EFA, 100, 1},
		{"aws-p4d", 3, "rdmap160s27", "efa", "0000:a0:1b.0", "ACTIVE", "LinkUp", NULL,
		 RDMA_EFA, 100, 1},
		{"hgx-h100", 0, "mlx5_0", "mlx5_core", "0000:19:00.0", "ACTIVE", "LinkUp",
		 "ibp25s0", RDMA_INFINIBAND, 400, 1},
		{"hgx-h100", 6, "mlx5_6", "mlx5_core", "0000:bb:00.0", "DOWN", "Polling",
		 "ibp187s0", RDMA_INFINIBAND, 10, 1},
		{"dgx-roce", 0, "mlx5_0", "mlx5_core", "0000:11:00.0", "ACTIVE", "LinkUp",
		 "enp17s0np0", RDMA_ROCE, 200, 4},
		{"dgx-roce", 1, "mlx5_1", "mlx5_core", "0000:4c:00.0", "ACTIVE", "LinkUp",
		 "enp76s0np0", RDMA_ROCE, 200, 0},
		{"dgx-roce", 3, "mlx5_3", "mlx5_core", "0000:e1:00.1", "DOWN", "Disabled",
		 "enp225s0f1np1", RDMA_ROCE, 25, 0},
	};

	const char *last = NULL;
	struct composed c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rdma_list all;

		composed_keep(&c, &last, rows[i].machine);
		rdma_read(&c.a, &all);
		assert_true(all.n > rows[i].at);

		const struct rdma_device *d = &all.v[rows[i].at];
		const struct rdma_port *p = &d->ports.v[0];

		assert_string_equal(d->name, rows[i].name);
		assert_string_equal(d->driver, rows[i].driver);
		assert_string_equal(d->pci, rows[i].pci);
		assert_int_equal(d->ports.n, 1);
		assert_int_equal(p->number, 1);
		assert_string_equal(p->state, rows[i].state);
		assert_string_equal(p->phys_state, rows[i].phys);
		assert_int_equal(p->active, streq(rows[i].state, "ACTIVE"));
		assert_int_equal(p->link, rows[i].link);
		assert_true(p->rate_gbps == rows[i].gbps);
		assert_true(p->gids_read);
		assert_int_equal(p->gids.n, rows[i].gids);
		if (rows[i].iface)
			assert_string_equal(p->iface, rows[i].iface);
		else
			assert_null(p->iface);
	}
	composed_done(&c);
}

static void t_gids(void **state)
{
	struct composed c;
	rdma_list all;

	(void)state;
	composed_load(&c, "dgx-roce");
	rdma_read(&c.a, &all);
	const struct rdma_gid *g = all.v[0].ports.v[0].gids.v;

	assert_int_equal(g[3].index, 3);
	assert_string_equal(g[3].gid, "0000:0000:0000:0000:0000:ffff:c0a8:2803");
	assert_string_equal(g[3].type, "RoCE v2");
	assert_string_equal(g[3].ndev, "enp17s0np0");
	assert_true(g[3].ipv4_mapped);
	assert_false(g[0].ipv4_mapped);
	assert_string_equal(rdma_link_name(RDMA_ROCE), "RoCE");
	composed_done(&c);
}

/* Two ports of one PCI function, the order of ten devices, and attributes that are not there. */
static void t_odd(void **state)
{
	struct composed c;
	rdma_list all;

	(void)state;
	composed_load(&c, "link 2 ens1 pci=0000:05:00.0 driver=mlx4_core port=0\n"
			  "link 3 ens1d1 pci=0000:05:00.0 port=1\n"
			  "rdma mlx4_0 pci=0000:05:00.0\n"
			  "port mlx4_0 1 layer=Ethernet rate=junk\nport mlx4_0 2 layer=Ethernet\n"
			  "rdma mlx4_10 pci=0000:06:00.0\nrdma mlx4_9 pci=0000:07:00.0\n"
			  "rdma siw0 pci=0000:08:00.0 node='4: RNIC'\nport siw0 1 layer=Ethernet\n"
			  "port siw0 x state=junk\n");
	rdma_read(&c.a, &all);
	assert_int_equal(all.n, 4);
	assert_string_equal(all.v[0].ports.v[0].iface, "ens1");
	assert_string_equal(all.v[0].ports.v[1].iface, "ens1d1");
	assert_null(all.v[0].ports.v[0].state);
	assert_false(all.v[0].ports.v[0].active);
	assert_false(all.v[0].ports.v[0].gids_read);
	assert_true(isnan(all.v[0].ports.v[0].rate_gbps));
	assert_string_equal(all.v[1].name, "mlx4_9");
	assert_null(all.v[1].driver);
	assert_int_equal(all.v[1].numa, -1);
	assert_int_equal(all.v[3].ports.n, 1);
	assert_int_equal(all.v[3].ports.v[0].link, RDMA_IWARP);
	composed_done(&c);

	composed_load(&c, "host plain\n");
	rdma_read(&c.a, &all);
	assert_int_equal(all.n, 0);
	composed_done(&c);
}

#define ACTIVE(name, rate)                                                                         \
	"port " name " 1 state=\"4: ACTIVE\" layer=InfiniBand rate=\"" rate " Gb/sec\"\n"
#define CARD(name, pci, model, rate)                                                               \
	"pci pci0000:10/" pci " vendor=0x15b3 device=" model "\nrdma " name " pci=" pci            \
	"\n" ACTIVE(name, rate)

#define BOARD(name, id) "file /sys/class/infiniband/" name "/board_id " id "\n"

/* What most of a kind run at: three at least, more than half of them, of one model. */
static void t_usual_rate(void **state)
{
	static const struct {
		const char *machine;
		double gbps; /* as most of the first one's kind; NAN: none */
	} rows[] = {
		{CARD("a", "0000:10:00.0", "0x1021", "200")
			 CARD("b", "0000:11:00.0", "0x1021", "400")
				 CARD("c", "0000:12:00.0", "0x1021", "400"),
		 400},
		{CARD("a", "0000:10:00.0", "0x1021", "200")
			 CARD("b", "0000:11:00.0", "0x1021", "400"),
		 NAN},
		{CARD("a", "0000:10:00.0", "0x1021", "200")
			 CARD("b", "0000:11:00.0", "0x1021", "400")
				 CARD("c", "0000:12:00.0", "0x1021", "200")
					 CARD("d", "0000:13:00.0", "0x1021", "400"),
		 NAN},
		{CARD("a", "0000:10:00.0", "0x1015", "25")
			 CARD("b", "0000:11:00.0", "0x1021", "400")
				 CARD("c", "0000:12:00.0", "0x1021", "400")
					 CARD("d", "0000:13:00.0", "0x1021", "400"),
		 NAN},
		/* another board of that model, for storage, may be slower */
		{CARD("a", "0000:10:00.0", "0x1021", "200") BOARD("a", "MT_0000000834") CARD(
			 "b", "0000:11:00.0", "0x1021", "400") BOARD("b", "MT_0000000838")
			 CARD("c", "0000:12:00.0", "0x1021", "400") BOARD("c", "MT_0000000838")
				 CARD("d", "0000:13:00.0", "0x1021", "400")
					 BOARD("d", "MT_0000000838"),
		 NAN},
	};
	const char *last = NULL;
	struct composed c;
	rdma_list all;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double got;

		composed_keep(&c, &last, rows[i].machine);
		rdma_read(&c.a, &all);
		got = rdma_usual_gbps(&all, &all.v[0], &all.v[0].ports.v[0]);
		assert_true(isnan(rows[i].gbps) ? isnan(got) : got == rows[i].gbps);
	}
	composed_done(&c);
}

static void t_firmware(void **state)
{
	struct composed c;
	rdma_list all;

	(void)state;
	composed_load(&c, "hgx-h100");
	rdma_read(&c.a, &all);
	assert_string_equal(all.v[0].firmware, "28.39.1002");
	assert_true(all.v[0].model == 0x15b31021);
	composed_done(&c);
	composed_load(&c, "dgx-roce");
	rdma_read(&c.a, &all);
	assert_null(all.v[0].firmware);
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_devices),  cmocka_unit_test(t_gids),
		cmocka_unit_test(t_odd),      cmocka_unit_test(t_usual_rate),
		cmocka_unit_test(t_firmware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
