#include "lib/host/nvml.h"

#include "lib/core/aside.h"
#include "lib/core/text.h"
#include "lib/host/nvml_abi.h"
#include "lib/host/sysroot.h"

#include <dlfcn.h>

enum { GPUS_MAX = 64 };

/* What travels from the child: the first about the machine, then one for each GPU. */
struct system_record {
	int error;
	char error_text[96], driver[96], library[96];
	int cuda, count;
};

struct reading {
	struct nvml_api api;
	struct arena *a;
	struct nvml *to;
	bool begun;
};

bool nvml_load(struct nvml_api *api)
{
	const char *set = getenv("WINDSOCK_NVML");
	void *so;

	if (!(set && *set) && !sysroot_is_real())
		return false;
	so = dlopen(set && *set ? set : "libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!so)
		return false;
#define NVML_LOAD(field, type, name, older)                                                        \
	*(void **)&api->field = dlsym(so, name);                                                   \
	if (!api->field && (older))                                                                \
		*(void **)&api->field = dlsym(so, (older) ? (older) : name);
	NVML_FUNCTIONS(NVML_LOAD)
#undef NVML_LOAD
	return api->init && api->shutdown && api->count && api->by_index;
}

static void copy_error(const struct nvml_api *api, int error, char *to, size_t n)
{
	const char *text = error && api->error_string ? api->error_string(error) : "";

	(void)snprintf(to, n, "%s", text ? text : "");
}

static void ask_system(const struct nvml_api *api, struct system_record *r)
{
	unsigned count = 0;

	*r = (struct system_record){.cuda = -1, .error = api->init()};
	if (!r->error) {
		if (api->driver_version && api->driver_version(r->driver, sizeof(r->driver)))
			r->driver[0] = '\0';
		if (api->library_version && api->library_version(r->library, sizeof(r->library)))
			r->library[0] = '\0';
		if (api->cuda_version && api->cuda_version(&r->cuda))
			r->cuda = -1;
		r->error = api->count(&count);
		r->count = count < GPUS_MAX ? (int)count : GPUS_MAX;
	}
	copy_error(api, r->error, r->error_text, sizeof(r->error_text));
}

static void work(int to, void *arg)
{
	const struct reading *reading = arg;
	const struct nvml_api *api = &reading->api;
	struct system_record system;

	ask_system(api, &system);
	aside_say(to, &system, sizeof(system));
	for (int i = 0; !system.error && i < system.count; i++) {
		struct nvml_gpu g;

		nvml_read_gpu(api, (unsigned)i, &g);
		copy_error(api, g.error, g.error_text, sizeof(g.error_text));
		copy_error(api, g.fabric.status > 0 ? g.fabric.status : 0, g.fabric.status_text,
			   sizeof(g.fabric.status_text));
		aside_say(to, &g, sizeof(g));
	}
	/* no shutdown: on a sick GPU it may hang, and this process ends anyway */
}

/* It counts those, too, that this process may not open. */
static void take_gpu(struct reading *reading, const void *record)
{
	struct nvml_gpu g;

	memcpy(&g, record, sizeof(g));
	if (g.error == NVML_NO_PERMISSION)
		reading->to->closed++;
	else
		*LIST_ADD(reading->a, &reading->to->gpus) = g;
}

static void take(void *arg, const void *record, size_t n)
{
	struct reading *reading = arg;
	struct nvml *to = reading->to;
	struct system_record s;

	if (reading->begun) {
		if (n == sizeof(struct nvml_gpu))
			take_gpu(reading, record);
		return;
	}
	if (n != sizeof(s))
		return;
	memcpy(&s, record, n);
	reading->begun = true;
	to->error = s.error;
	memcpy(to->error_text, s.error_text, sizeof(to->error_text));
	memcpy(to->driver, s.driver, sizeof(to->driver));
	memcpy(to->library, s.library, sizeof(to->library));
	to->cuda = s.cuda;
	to->count = s.count;
}

/* How it ended without a word of the driver's; of what is our own end nothing is known. */
static void take_end(struct nvml *n, enum aside_end end)
{
	const char *ours = end == ASIDE_INTERRUPTED ? "interrupted"
			   : end == ASIDE_NONE	    ? "no process could be started for it"
						    : NULL;

	n->answer = ours ? NVML_CUT : end == ASIDE_SILENT ? NVML_SILENT : NVML_CRASHED;
	if (ours)
		(void)snprintf(n->error_text, sizeof(n->error_text), "%s", ours);
}

void nvml_read(struct arena *a, uint64_t deadline_ns, struct nvml *ret)
{
	struct reading reading = {.a = a, .to = ret};
	const struct aside aside = {
		.work = work, .take = take, .arg = &reading, .deadline_ns = deadline_ns};
	enum aside_end end;

	*ret = (struct nvml){.answer = NVML_ABSENT, .cuda = -1, .stuck_at = -1};
	if (!nvml_load(&reading.api))
		return;
	end = aside_run(&aside);
	ret->stuck_at = reading.begun ? (int)ret->gpus.n + ret->closed : -1;
	if (reading.begun && ret->error)
		ret->answer = NVML_REFUSED;
	else if (end == ASIDE_DONE && reading.begun)
		ret->answer = NVML_FINE;
	else
		take_end(ret, end);
}

/* Two bits each, 1 is bad; of the configuration four bits, from 2 on bad. */
static const struct {
	unsigned shift;
	bool severe;
	const char *words;
} fields[] = {
	{0, true, "its bandwidth is degraded"},
	{2, false, "a route is being recovered"},
	{4, true, "a route is unhealthy"},
	{6, false, "it recovers from an access timeout"},
};
static const char *const configuration[] = {
	[2] = "wrong system GUID",	[3] = "wrong chassis serial number",
	[4] = "no partition",		[5] = "too few NVLinks",
	[6] = "incompatible firmware",	[7] = "wrong place in the chassis",
	[8] = "the GPU's state is bad",
};
enum { FIELD = 3, BAD = 1, CONFIGURATION_AT = 8, CONFIGURATION = 15, MANAGER_AT = 14, GONE = 2 };

const char *nvml_health_text(struct arena *a, int64_t health, bool *ret_severe)
{
	unsigned v = health > 0 ? (unsigned)health >> CONFIGURATION_AT & CONFIGURATION : 0;
	struct text t;

	*ret_severe = false;
	if (health <= 0)
		return NULL;
	text_init(&t, a);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (((unsigned)health >> fields[i].shift & FIELD) == BAD) {
			text_addf(&t, "%s%s", t.n ? ", " : "", fields[i].words);
			*ret_severe |= fields[i].severe;
		}
	if (v < ARRAY_LEN(configuration) && configuration[v]) {
		text_addf(&t, "%swrong configuration (%s)", t.n ? ", " : "", configuration[v]);
		*ret_severe = true;
	}
	if (((unsigned)health >> MANAGER_AT & FIELD) == GONE)
		text_addf(&t, "%sit has lost the fabric manager", t.n ? ", " : "");
	return t.n ? t.s : NULL;
}

const char *nvml_slow_text(struct arena *a, int64_t reasons)
{
	static const struct {
		int bit;
		const char *words;
	} known[] = {
		{NVML_SLOW_POWER_BRAKE, "the power supply asked for it (power brake)"},
		{NVML_SLOW_HEAT, "the hardware is too hot"},
		{NVML_SLOW_HARDWARE, "the hardware protects itself (heat, power or the supply)"},
		{NVML_SLOW_SOFT_HEAT, "the driver keeps it cool"},
	};
	struct text t;

	if (reasons <= 0)
		return NULL;
	text_init(&t, a);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		bool told =
			known[i].bit == NVML_SLOW_HARDWARE && t.n; /* it comes with its reason */

		if (reasons & known[i].bit && !told)
			text_addf(&t, "%s%s", t.n ? ", " : "", known[i].words);
	}
	return t.n ? t.s : NULL;
}
