/* What a host says of its RDMA ports to those that compare it with others. */
#include "lib/report/json.h"
#include "probes/node/facts.h"
#include "tests/unit/composed.h"

#define CARD(name, pci, model, fw)                                                                 \
	"pci pci0000:10/" pci " vendor=0x15b3 device=" model "\nrdma " name " pci=" pci " fw=" fw  \
	"\n"
#define PORT(name, number, state, layer, rate)                                                     \
	"port " name " " number " state=\"" state "\" layer=" layer " rate=\"" rate " Gb/sec\"\n"
#define TWO_KINDS                                                                                  \
	CARD("m0", "0000:10:00.0", "0x1021", "28.39.1002")                                         \
	CARD("m1", "0000:11:00.0", "0x1021", "28.39.1002")                                         \
	CARD("m2", "0000:12:00.0", "0x1021", "28.36.1010")                                         \
	CARD("m3", "0000:13:00.0", "0x1015", "14.32.1010")                                         \
	PORT("m0", "1", "4: ACTIVE", "InfiniBand", "400")                                          \
	PORT("m1", "1", "4: ACTIVE", "InfiniBand", "200")                                          \
	PORT("m2", "1", "4: ACTIVE", "InfiniBand", "400")                                          \
	PORT("m3", "1", "4: ACTIVE", "Ethernet", "25") PORT("m3", "2", "1: DOWN", "Ethernet", "25")

/* As many ports of each fabric, of which one is down, and of which it is no matter here. */
#define BOTH(ib, roce)                                                                             \
	CARD("m0", "0000:10:00.0", "0x1021", "1.2")                                                \
	CARD("m1", "0000:11:00.0", "0x1021", "1.2")                                                \
	PORT("m0", "1", roce, "Ethernet", "100")                                                   \
	PORT("m1", "1", ib, "InfiniBand", "400")                                                   \
	PORT("m0", "2", roce, "Ethernet", "100") PORT("m1", "2", "4: ACTIVE", "InfiniBand", "400")
#define OF_BOTH "\"rdma_fw\":\"1.2\",\"rdma_layer\":\"InfiniBand\",\"rdma_rate\":400}"
/* A card that was cut into parts. */
#define PART(name, pci)                                                                            \
	CARD(name, pci, "0x101e", "1.2")                                                           \
	"file /sys/bus/pci/devices/" pci                                                           \
	"/physfn/infiniband/m0/node_type x\n" PORT(name, "1", "4: ACTIVE", "InfiniBand", "400")

static const struct row {
	const char *machine, *facts;
} rows[] = {
	{"laptop", "{}"},
	{"aws-p4d", "{}"}, /* EFA has facts of its own */
	{"hgx-h100", "{\"rdma_ports\":7,\"rdma_down\":\"mlx5_6: DOWN\",\"rdma_fw\":\"28.39.1002\","
		     "\"rdma_layer\":\"InfiniBand\",\"rdma_rate\":200,\"rdma_slow\":\"mlx5_7\"}"},
	{TWO_KINDS, "{\"rdma_ports\":4,\"rdma_down\":\"m3:2: DOWN\","
		    "\"rdma_fw\":\"14.32.1010, 28.36.1010, 28.39.1002\","
		    "\"rdma_layer\":\"InfiniBand\",\"rdma_rate\":200,\"rdma_slow\":\"m1\"}"},
	{CARD("m0", "0000:10:00.0", "0x1021", "1.2") PORT("m0", "1", "2: INIT", "InfiniBand", "10"),
	 "{\"rdma_ports\":0,\"rdma_down\":\"m0: INIT\",\"rdma_fw\":\"1.2\"}"},
	{BOTH("4: ACTIVE", "4: ACTIVE"), "{\"rdma_ports\":4," OF_BOTH},
	{BOTH("1: DOWN", "4: ACTIVE"), "{\"rdma_ports\":3,\"rdma_down\":\"m1:1: DOWN\"," OF_BOTH},
	{CARD("m0", "0000:10:00.0", "0x1021", "1.2")
		 PORT("m0", "1", "4: ACTIVE", "InfiniBand", "400") PART("m1", "0000:10:00.1")
			 PART("m2", "0000:10:00.2"),
	 "{\"rdma_ports\":1," OF_BOTH},
};

static void t_facts(void **state)
{
	const char *last = NULL;
	struct composed c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cJSON *got = cJSON_CreateObject();
		char *text;

		composed_keep(&c, &last, rows[i].machine);
		facts_rdma(&c.a, got);
		text = cJSON_PrintUnformatted(got);
		assert_string_equal(text, rows[i].facts);
		cJSON_free(text);
		cJSON_Delete(got);
	}
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(t_facts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
