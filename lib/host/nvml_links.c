/* The error counters of NVLinks: read twice in a run, and nothing else is asked with them. */
#include "lib/core/aside.h"
#include "lib/host/nvml.h"
#include "lib/host/nvml_abi.h"

struct reading {
	struct nvml_api api;
	struct arena *a;
	nvml_link_list *to;
};

/* NVML_FI_DEV_NVLINK_COUNT_*, of NVLink 5 */
static const unsigned fields[NVML_LINK_COUNTERS] = {
	[NVML_DAMAGED] = 208,	/* RCV_ERRORS */
	[NVML_INTEGRITY] = 211, /* LOCAL_LINK_INTEGRITY_ERRORS */
	[NVML_LOST] = 214,	/* LINK_RECOVERY_FAILED_EVENTS */
	[NVML_RETRAINED] = 215, /* LINK_RECOVERY_EVENTS */
};

static int64_t by_function(const struct nvml_api *api, abi_gpu gpu, int link, int counter)
{
	unsigned long long v = 0;

	return api->link_errors && !api->link_errors(gpu, (unsigned)link, counter, &v) ? (int64_t)v
										       : -1;
}

static int64_t by_field(const struct nvml_api *api, abi_gpu gpu, int link, int counter)
{
	int64_t v;

	return nvml_field(api, gpu, fields[counter], (unsigned)link, &v) ? v : -1;
}

static bool read_link(const struct nvml_api *api, abi_gpu gpu, struct nvml_link *l)
{
	unsigned active = 0;
	bool is_told = false;

	if (api->link(gpu, (unsigned)l->link, &active) || !active)
		return false;
	for (int i = 0; i < NVML_DAMAGED; i++) {
		l->errors[i] = by_function(api, gpu, l->link, i);
		is_told |= l->errors[i] >= 0;
	}
	for (int i = NVML_DAMAGED; i < NVML_LINK_COUNTERS; i++)
		l->errors[i] = is_told ? -1 : by_field(api, gpu, l->link, i);
	return true;
}

static void work(int to, void *arg)
{
	const struct nvml_api *api = &((const struct reading *)arg)->api;
	unsigned gpus = 0;
	abi_gpu gpu;

	if (!api->link || api->init() || api->count(&gpus))
		return;
	for (unsigned g = 0; g < gpus; g++) {
		if (api->by_index(g, &gpu))
			continue;
		for (int l = 0; l < NVML_LINKS; l++) {
			struct nvml_link link = {.gpu = (int)g, .link = l};

			if (read_link(api, gpu, &link))
				aside_say(to, &link, sizeof(link));
		}
	}
}

static void take(void *arg, const void *record, size_t n)
{
	struct reading *r = arg;

	if (n == sizeof(struct nvml_link))
		memcpy(LIST_ADD(r->a, r->to), record, n);
}

void nvml_read_links(struct arena *a, uint64_t deadline_ns, nvml_link_list *ret)
{
	struct reading r = {.a = a, .to = ret};
	const struct aside aside = {
		.work = work, .take = take, .arg = &r, .deadline_ns = deadline_ns};

	*ret = (nvml_link_list){0};
	if (nvml_load(&r.api))
		(void)aside_run(&aside);
}
