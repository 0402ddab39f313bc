/* data.host: what the GPUs are, for programs, and in few words for the comparison of hosts. */
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/node/gpu_view.h"

/* -1 is "unknown": no key. */
static void known(cJSON *o, const char *key, int64_t v)
{
	if (v >= 0)
		json_num(o, key, (double)v);
}

static void text(cJSON *o, const char *key, const char *v) { json_str(o, key, *v ? v : NULL); }

static void fabric(cJSON *o, const struct nvml_fabric *f, struct arena *a)
{
	static const char *const states[] = {"none", "not started", "in progress", "completed"};
	bool severe;

	if (f->state < 0)
		return;
	o = json_object(o, "fabric");
	json_str(o, "state", (size_t)f->state < ARRAY_LEN(states) ? states[f->state] : NULL);
	known(o, "status", f->status);
	text(o, "status_text", f->status_text);
	text(o, "cluster", f->cluster);
	known(o, "clique", f->clique);
	known(o, "health_mask", f->health);
	json_str(o, "health", nvml_health_text(a, f->health, &severe));
	known(o, "health_summary", f->summary);
}

static void processes(cJSON *o, const struct nvml_gpu *g)
{
	cJSON *list;

	if (g->nprocesses < 0)
		return;
	list = json_array(o, "processes");
	for (int i = 0; i < g->nprocesses && i < NVML_PROCESSES; i++) {
		cJSON *p = json_push_object(list);

		json_num(p, "pid", g->processes[i].pid);
		known(p, "bytes", g->processes[i].bytes);
	}
}

static void links(cJSON *o, const struct nvml_gpu *g)
{
	int up = 0, all = 0;

	for (size_t i = 0; i < NVML_LINKS; i++) {
		all += g->links[i] >= 0;
		up += g->links[i] == 1;
	}
	if (!all)
		return;
	json_num(o, "nvlinks", all);
	json_num(o, "nvlinks_up", up);
	json_bool(o, "nvswitch", g->to_switch);
}

static void numbers(cJSON *o, const struct nvml_gpu *g)
{
	const struct {
		const char *key;
		int64_t v;
	} all[] = {
		{"memory_bytes", g->memory_bytes},
		{"compute_capability", g->capability},
		{"used_bytes", g->used_bytes},
		{"persistence", g->persistence},
		{"compute_mode", g->mode},
		{"ecc", g->ecc},
		{"ecc_uncorrected", g->ecc_uncorrected},
		{"ecc_corrected", g->ecc_corrected},
		{"ecc_uncorrected_ever", g->ecc_lifetime},
		{"rows_remapped_corrected", g->rows_corrected},
		{"rows_remapped_uncorrected", g->rows_uncorrected},
		{"rows_pending", g->rows_pending},
		{"rows_failed", g->rows_failed},
		{"pages_retired_single", g->pages_single},
		{"pages_retired_double", g->pages_double},
		{"pages_pending", g->pages_pending},
		{"clock_reasons", g->reasons},
		{"sm_mhz", g->sm_mhz},
		{"sm_max_mhz", g->sm_max_mhz},
		{"memory_mhz", g->memory_mhz},
		{"app_mhz", g->app_mhz},
		{"app_default_mhz", g->app_default_mhz},
		{"power_mw", g->power_mw},
		{"power_limit_mw", g->limit_mw},
		{"power_default_mw", g->default_limit_mw},
		{"celsius", g->celsius},
		{"slowdown_celsius", g->slowdown_celsius},
		{"shutdown_celsius", g->shutdown_celsius},
		{"pcie_generation", g->pcie_gen},
		{"pcie_generation_max", g->pcie_gen_max},
		{"pcie_width", g->pcie_width},
		{"pcie_width_max", g->pcie_width_max},
		{"busy_percent", g->busy_percent},
		{"mig", g->mig},
		{"mig_pending", g->mig_pending},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		known(o, all[i].key, all[i].v);
}

static void one(struct gpu_view *v, cJSON *list, const struct nvml_gpu *g)
{
	cJSON *o = json_push_object(list);

	json_num(o, "index", g->index);
	json_str(o, "vendor", "nvidia");
	if (g->error) {
		json_str(o, "error", g->error_text);
		return;
	}
	text(o, "name", g->name);
	text(o, "uuid", g->uuid);
	text(o, "pci", g->pci);
	text(o, "vbios", g->vbios);
	text(o, "serial", g->serial);
	numbers(o, g);
	links(o, g);
	fabric(o, &g->fabric, v->a);
	processes(o, g);
}

/* Those that only the PCI tree shows: no driver, or another vendor's. */
static void bare(struct gpu_view *v, cJSON *list)
{
	static const char *const vendors[] = {
		[GPU_NVIDIA] = "nvidia", [GPU_AMD] = "amd", [GPU_INTEL] = "intel"};

	for (size_t i = 0; i < v->pci.n; i++) {
		const struct gpu *g = &v->pci.v[i];
		bool listed = false;
		cJSON *o;

		for (size_t k = 0; k < v->nvml.gpus.n; k++)
			listed |= streq(v->nvml.gpus.v[k].pci, g->pci);
		if (listed)
			continue;
		o = json_push_object(list);
		json_str(o, "vendor", vendors[g->vendor]);
		json_str(o, "pci", g->pci);
		json_str(o, "driver", g->driver);
	}
}

/* What hosts of one job must have alike. */
static void in_short(struct gpu_view *v)
{
	const struct nvml *n = &v->nvml;
	const struct nvml_gpu *g = n->gpus.n && !n->gpus.v[0].error ? &n->gpus.v[0] : NULL;
	size_t links = 0;

	text(v->facts, "driver", n->driver); /* also where /sys does not tell */
	if (n->cuda > 0)
		json_str(v->facts, "cuda",
			 arena_printf(v->a, "%d.%d", n->cuda / 1000, n->cuda / 10 % 100));
	if (!g)
		return;
	for (size_t i = 0; i < n->gpus.n; i++)
		for (size_t k = 0; k < NVML_LINKS; k++)
			links += n->gpus.v[i].links[k] == 1;
	text(v->facts, "gpu_name", g->name);
	text(v->facts, "vbios", g->vbios);
	json_num(v->facts, "nvlinks", (double)links);
	if (g->ecc >= 0)
		json_str(v->facts, "ecc", g->ecc ? "on" : "off");
	if (g->mig >= 0)
		json_str(v->facts, "mig", g->mig ? "on" : "off");
	if (g->persistence >= 0)
		json_str(v->facts, "persistence", g->persistence ? "on" : "off");
	if (g->default_limit_mw > 0)
		json_str(v->facts, "power_limit",
			 arena_printf(v->a, "%lld W", (long long)g->limit_mw / 1000));
	if (g->fabric.state == NVML_FABRIC_COMPLETED)
		text(v->facts, "nvlink_domain", g->fabric.cluster);
}

void gpu_data(struct gpu_view *v)
{
	cJSON *list;

	if (!v->data)
		return;
	list = json_array(v->data, "gpus");
	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		one(v, list, &v->nvml.gpus.v[i]);
	bare(v, list);
	if (v->nvml.driver[0])
		json_str(v->data, "nvidia_driver", v->nvml.driver);
	in_short(v);
}
