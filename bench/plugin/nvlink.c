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
};

void nvlink_read(struct arena *a, uint64_t silence_ns, counter_list *ret)
{
	nvml_link_list links;

	nvml_read_links(a, silence_ns, &links);
	for (size_t i = 0; i < links.n; i++) {
		const struct nvml_link *l = &links.v[i];

		for (size_t c = 0; c < NVML_LINK_COUNTERS; c++)
			if (l->errors[c] >= 0)
				*LIST_ADD(a, ret) =
					(struct counter){.port = arena_printf(a, "GPU %d NVLink %d",
									      l->gpu, l->link),
							 .name = known[c].name,
							 .meaning = known[c].meaning,
							 .severe = known[c].severe,
							 .value = (uint64_t)l->errors[c]};
	}
}
