#include "bench/plugin/nvlink.h"

#include <dlfcn.h>

enum { LINKS_MAX = 18, NVML_SUCCESS = 0 };

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*device)(unsigned i, void **ret);
	int (*state)(void *device, unsigned link, int *ret_active);
	int (*errors)(void *device, unsigned link, int counter, unsigned long long *ret);
};

static bool load(struct nvml *n)
{
	void *so = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
	const struct {
		void **to;
		const char *name;
	} symbols[] = {
		{(void **)&n->init, "nvmlInit_v2"},
		{(void **)&n->shutdown, "nvmlShutdown"},
		{(void **)&n->count, "nvmlDeviceGetCount_v2"},
		{(void **)&n->device, "nvmlDeviceGetHandleByIndex_v2"},
		{(void **)&n->state, "nvmlDeviceGetNvLinkState"},
		{(void **)&n->errors, "nvmlDeviceGetNvLinkErrorCounter"},
	};

	for (size_t i = 0; i < ARRAY_LEN(symbols) && so; i++)
		if (!(*symbols[i].to = dlsym(so, symbols[i].name)))
			return false;
	return so != NULL;
}

/* In the order of nvmlNvLinkErrorCounter_t. */
static const struct {
	const char *name, *meaning;
	bool severe;
} known[] = {
	{"replay", "transfers had to be repeated", false},
	{"recovery", "the link had to recover", true},
	{"crc_flit", "packets arrived damaged and were sent again", false},
	{"crc_data", "data arrived damaged", true},
};

static void read_link(const struct nvml *n, void *device, unsigned gpu, unsigned link,
		      struct arena *a, counter_list *ret)
{
	int active = 0;

	if (n->state(device, link, &active) != NVML_SUCCESS || !active)
		return;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		unsigned long long v;

		if (n->errors(device, link, (int)i, &v) == NVML_SUCCESS)
			*LIST_ADD(a, ret) = (struct counter){
				.port = arena_printf(a, "GPU %u NVLink %u", gpu, link),
				.name = known[i].name,
				.meaning = known[i].meaning,
				.severe = known[i].severe,
				.value = v};
	}
}

void nvlink_read(struct arena *a, counter_list *ret)
{
	struct nvml n = {0};
	unsigned gpus = 0;
	void *device;

	if (!load(&n) || n.init() != NVML_SUCCESS)
		return;
	if (n.count(&gpus) != NVML_SUCCESS)
		gpus = 0;
	for (unsigned g = 0; g < gpus; g++)
		for (unsigned l = 0; l < LINKS_MAX && n.device(g, &device) == NVML_SUCCESS; l++)
			read_link(&n, device, g, l, a, ret);
	(void)n.shutdown();
}
