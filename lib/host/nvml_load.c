/* One GPU while it works: its clock, and why that is not higher. */
#include "lib/core/aside.h"
#include "lib/host/nvml.h"
#include "lib/host/nvml_abi.h"

enum { CLOCK_SM = 1, SENSOR_GPU = 0 };

struct reading {
	struct nvml_api api;
	const char *pci;
	struct nvml_load *to;
};

static void work(int to, void *arg)
{
	const struct reading *r = arg;
	const struct nvml_api *api = &r->api;
	struct nvml_load load = {-1, -1, -1};
	unsigned long long reasons;
	unsigned mhz, celsius;
	abi_gpu gpu;

	if (!api->by_pci || api->init() || api->by_pci(r->pci, &gpu))
		return;
	if (api->reasons && !api->reasons(gpu, &reasons))
		load.reasons = (int64_t)reasons;
	if (api->clock && !api->clock(gpu, CLOCK_SM, &mhz))
		load.sm_mhz = mhz;
	if (api->temperature && !api->temperature(gpu, SENSOR_GPU, &celsius))
		load.celsius = celsius;
	aside_say(to, &load, sizeof(load));
}

static void take(void *arg, const void *record, size_t n)
{
	if (n == sizeof(struct nvml_load))
		memcpy(((struct reading *)arg)->to, record, n);
}

void nvml_read_load(const char *pci, uint64_t deadline_ns, struct nvml_load *ret)
{
	struct reading r = {.pci = pci, .to = ret};
	const struct aside aside = {
		.work = work, .take = take, .arg = &r, .deadline_ns = deadline_ns};

	*ret = (struct nvml_load){-1, -1, -1};
	if (nvml_load(&r.api))
		(void)aside_run(&aside);
}
