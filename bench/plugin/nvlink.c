#include "bench/plugin/nvlink.h"

#include "lib/host/nvml.h"

static const struct {
	const char *name, *meaning;
	bool severe;
} known[NVML_LINK_COUNTERS] = {
	[NVML_REPLAYS] = {"replay", "transfers had to be repeated", false},
	[NVML_RECOVERIES] = {"recovery", "the link had to recover", true},
	[NVML_CRC_FLIT] = {"crc_flit", "packets arrived damaged and were sent again", false},
	[NVML_CRC_DATA] = {"crc_data", "data arrived damaged", true},
	[NVML_DAMAGED] = {"rcv_errors", "packets arrived damaged and were sent again", false},
	[NVML_INTEGRITY] = {"link_integrity", "too many errors on the link", true},
	[NVML_LOST] = {"recovery_failed", "the link had to recover, and could not", true},
	[NVML_RETRAINED] = {"recovery_events", "the link had to recover", false},
};

static void add_link(struct arena *a, const struct nvml_link *l, counter_list *ret)
{
	const char *port = arena_printf(a, "GPU %d NVLink %d", l->gpu, l->link);
	size_t before = ret->n;

	for (size_t c = 0; c < NVML_LINK_COUNTERS; c++)
		if (l->errors[c] >= 0)
			*LIST_ADD(a, ret) = (struct counter){.port = port,
							     .name = known[c].name,
							     .meaning = known[c].meaning,
							     .severe = known[c].severe,
							     .value = (uint64_t)l->errors[c]};
	if (ret->n == before)
		*LIST_ADD(a, ret) = (struct counter){.port = port, .name = "", .meaning = ""};
}

void nvlink_read(struct arena *a, uint64_t silence_ns, counter_list *ret)
{
	nvml_link_list links;

	nvml_read_links(a, silence_ns, &links);
	for (size_t i = 0; i < links.n; i++)
		add_link(a, &links.v[i], ret);
}
