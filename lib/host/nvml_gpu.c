/* One GPU, asked function by function; what is missing or refused stays unknown. */
#include "lib/host/nvml.h"
#include "lib/host/nvml_abi.h"

#include <ctype.h>

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0, AT_SHUTDOWN = 0, AT_SLOWDOWN = 1 };
enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0, ECC_AGGREGATE = 1 };
enum { PAGES_SINGLE = 0, PAGES_DOUBLE = 1, TO_SWITCH = 2, TOO_SMALL = 7 };

/* A number, or -1 when the function is not there or fails. */
#define ASK(fn, ...)                                                                               \
	({                                                                                         \
		unsigned v_ = 0;                                                                   \
		(fn) && !(fn)(__VA_ARGS__, &v_) ? (int64_t)v_ : -1;                                \
	})
#define ASK_TEXT(fn, gpu, to)                                                                      \
	do {                                                                                       \
		if (!(fn) || (fn)(gpu, to, sizeof(to)))                                            \
			(to)[0] = '\0';                                                            \
		(to)[sizeof(to) - 1] = '\0';                                                       \
	} while (0)

/* "00000000:10:1C.0" as sysfs writes it: "0000:10:1c.0". */
static void take_pci(const char *id, size_t room, char *to, size_t n)
{
	size_t skip =
		strnlen(id, room) == strlen("00000000:10:1C.0") && starts_with(id, "0000") ? 4 : 0;

	(void)snprintf(to, n, "%.*s", (int)(room - skip), id + skip);
	for (char *c = to; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

static void identity(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	struct abi_memory memory = {0};
	struct abi_pci pci = {0};

	ASK_TEXT(api->name, gpu, g->name);
	ASK_TEXT(api->uuid, gpu, g->uuid);
	ASK_TEXT(api->vbios, gpu, g->vbios);
	ASK_TEXT(api->serial, gpu, g->serial);
	if (api->pci && !api->pci(gpu, &pci))
		take_pci(pci.id, sizeof(pci.id), g->pci, sizeof(g->pci));
	g->memory_bytes = g->used_bytes = -1;
	if (api->memory && !api->memory(gpu, &memory)) {
		g->memory_bytes = (int64_t)memory.total;
		g->used_bytes = (int64_t)memory.used;
	}
}

static int64_t errors(const struct nvml_api *api, abi_gpu gpu, int type, int counter)
{
	unsigned long long v = 0;

	return api->ecc_errors && !api->ecc_errors(gpu, type, counter, &v) ? (int64_t)v : -1;
}

/* Asked without room for their addresses: then it says how many there are. */
static int64_t pages(const struct nvml_api *api, abi_gpu gpu, int cause)
{
	unsigned n = 0;
	int rc = api->pages ? api->pages(gpu, cause, &n, NULL) : -1;

	return rc == NVML_OK || rc == TOO_SMALL ? (int64_t)n : -1;
}

static void memory_health(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	unsigned corrected, uncorrected, pending, failed, mode, later;

	g->ecc = api->ecc_mode && !api->ecc_mode(gpu, &mode, &later) ? (int)mode : -1;
	g->ecc_uncorrected = errors(api, gpu, ECC_UNCORRECTED, ECC_VOLATILE);
	g->ecc_corrected = errors(api, gpu, ECC_CORRECTED, ECC_VOLATILE);
	g->ecc_lifetime = errors(api, gpu, ECC_UNCORRECTED, ECC_AGGREGATE);
	g->rows_corrected = g->rows_uncorrected = g->rows_pending = g->rows_failed = -1;
	if (api->rows && !api->rows(gpu, &corrected, &uncorrected, &pending, &failed)) {
		g->rows_corrected = corrected;
		g->rows_uncorrected = uncorrected;
		g->rows_pending = pending;
		g->rows_failed = failed;
	}
	g->pages_single = pages(api, gpu, PAGES_SINGLE);
	g->pages_double = pages(api, gpu, PAGES_DOUBLE);
	g->pages_pending = ASK(api->pages_pending, gpu);
}

/* Where it slows itself down: from Ada on the old question may be refused, and margins are told. */
static int64_t slowdown(const struct nvml_api *api, abi_gpu gpu, int64_t celsius)
{
	struct abi_margin margin = {.version = ABI_VERSION(sizeof(margin), 1)};
	int64_t at = ASK(api->threshold, gpu, AT_SLOWDOWN);

	if (at > 0 || celsius < 0 || !api->margin || api->margin(gpu, &margin) ||
	    !nvml_field(api, gpu, ABI_SLOWDOWN_TLIMIT, 0, &at))
		return at;
	return celsius + margin.celsius - at;
}

static void clocks(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	unsigned long long reasons = 0;

	g->reasons = api->reasons && !api->reasons(gpu, &reasons) ? (int64_t)reasons : -1;
	g->sm_mhz = ASK(api->clock, gpu, CLOCK_SM);
	g->sm_max_mhz = ASK(api->max_clock, gpu, CLOCK_SM);
	g->memory_mhz = ASK(api->clock, gpu, CLOCK_MEMORY);
	g->app_mhz = ASK(api->app_clock, gpu, CLOCK_SM);
	g->app_default_mhz = ASK(api->app_default, gpu, CLOCK_SM);
	g->power_mw = ASK(api->power, gpu);
	g->limit_mw = ASK(api->limit, gpu);
	g->default_limit_mw = ASK(api->default_limit, gpu);
	g->celsius = ASK(api->temperature, gpu, SENSOR_GPU);
	g->slowdown_celsius = slowdown(api, gpu, g->celsius);
	g->shutdown_celsius = ASK(api->threshold, gpu, AT_SHUTDOWN);
}

static void links(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	for (unsigned i = 0; i < NVML_LINKS; i++) {
		int64_t active = ASK(api->link, gpu, i);
		int remote;

		g->links[i] = (signed char)(active < 0 ? -1 : active != 0);
		if (active == 1 && api->link_remote && !api->link_remote(gpu, i, &remote))
			g->to_switch |= remote == TO_SWITCH;
	}
}

static void take_fabric(struct nvml_fabric *f, const unsigned char *cluster, int status,
			unsigned clique, unsigned char state)
{
	for (size_t i = 0; i < 16; i++)
		(void)snprintf(f->cluster + 2 * i, 3, "%02x", cluster[i]);
	f->status = status;
	f->clique = clique;
	f->state = state;
}

/* The newest form that this library knows. */
static void fabric(const struct nvml_api *api, abi_gpu gpu, struct nvml_fabric *f)
{
	struct abi_fabric v3 = {.version = ABI_VERSION(sizeof(v3), 3)};
	struct abi_fabric v2 = {.version = ABI_VERSION(ABI_FABRIC_V2_BYTES, 2)};
	struct abi_fabric_old v1 = {.state = 0};

	*f = (struct nvml_fabric){
		.state = -1, .status = -1, .clique = -1, .health = -1, .summary = -1};
	if (api->fabric && !api->fabric(gpu, &v3)) {
		take_fabric(f, v3.cluster, v3.status, v3.clique, v3.state);
		f->health = v3.health;
		f->summary = v3.summary;
	} else if (api->fabric && !api->fabric(gpu, &v2)) {
		take_fabric(f, v2.cluster, v2.status, v2.clique, v2.state);
		f->health = v2.health;
	} else if (api->fabric_old && !api->fabric_old(gpu, &v1)) {
		take_fabric(f, v1.cluster, v1.status, v1.clique, v1.state);
	}
}

/* The bytes of an entry: what lies behind so many short ones is as it was, or they are long. */
static size_t entry_bytes(const unsigned char *list, unsigned n, unsigned char untouched)
{
	for (size_t i = n * sizeof(struct abi_process); i < (size_t)n * ABI_PROCESS_LONG_BYTES; i++)
		if (list[i] != untouched)
			return ABI_PROCESS_LONG_BYTES;
	return sizeof(struct abi_process);
}

static void users(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	enum { ROOM = 4 * NVML_PROCESSES, UNTOUCHED = 0xa5 };
	_Alignas(8) unsigned char list[ROOM * ABI_PROCESS_LONG_BYTES];
	unsigned n = ROOM;
	struct abi_utilization busy;
	size_t bytes;
	int rc;

	memset(list, UNTOUCHED, sizeof(list));
	rc = api->processes ? api->processes(gpu, &n, (void *)list) : -1;
	g->nprocesses = rc == NVML_OK || rc == TOO_SMALL ? (int)n : -1;
	bytes = rc == NVML_OK && n <= ROOM ? entry_bytes(list, n, UNTOUCHED) : 0;
	for (unsigned i = 0; bytes && i < n && i < NVML_PROCESSES; i++) {
		struct abi_process p;

		memcpy(&p, list + i * bytes, sizeof(p));
		g->processes[i] = (struct nvml_process){
			.pid = p.pid, .bytes = p.bytes > INT64_MAX ? -1 : (int64_t)p.bytes};
	}
	g->busy_percent =
		api->utilization && !api->utilization(gpu, &busy) ? (int64_t)busy.gpu : -1;
}

static void settings(const struct nvml_api *api, abi_gpu gpu, struct nvml_gpu *g)
{
	unsigned now, later;
	int major, minor;

	g->capability =
		api->capability && !api->capability(gpu, &major, &minor) ? major * 10 + minor : -1;
	g->persistence = (int)ASK(api->persistence, gpu);
	g->mode = (int)ASK(api->mode, gpu);
	g->mig = g->mig_pending = -1;
	if (api->mig && !api->mig(gpu, &now, &later)) {
		g->mig = (int)now;
		g->mig_pending = (int)later;
	}
	g->pcie_gen = ASK(api->pcie_gen, gpu);
	g->pcie_gen_max = ASK(api->pcie_gen_max, gpu);
	g->pcie_width = ASK(api->pcie_width, gpu);
	g->pcie_width_max = ASK(api->pcie_width_max, gpu);
}

void nvml_read_gpu(const struct nvml_api *api, unsigned index, struct nvml_gpu *ret)
{
	abi_gpu gpu = NULL;

	*ret = (struct nvml_gpu){.index = (int)index, .error = api->by_index(index, &gpu)};
	if (ret->error)
		return;
	identity(api, gpu, ret);
	settings(api, gpu, ret);
	memory_health(api, gpu, ret);
	clocks(api, gpu, ret);
	links(api, gpu, ret);
	fabric(api, gpu, &ret->fabric);
	users(api, gpu, ret);
}
