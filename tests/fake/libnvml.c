/*
 * A stand-in for NVIDIA's management library, for tests on machines without a
 * GPU: it says what the file WINDSOCK_FAKE_NVML holds, line by line, the last
 * that fits wins, and "not supported" where no line does. No result of it is
 * ever a measurement.
 *
 *	driver 550.54.15	what the machine says
 *	cuda 12040
 *	gpus 8
 *	init 18			what nvmlInit returns
 *	hang init		a call that never comes back
 *	hang load		... when a GPU is asked for by its PCI address
 *	crash 2			... or ends the process, when GPU 2 is opened
 *	* name NVIDIA H100	every GPU's
 *	3 open 15		GPU 3's: opening it fails with this
 *	3 links 110111		NVLinks, one digit each
 *	3 link.errors 5 0 2 0	what each of these has counted
 *	3 margin 5		degrees to its limit
 *	3 field.214 7		a field of nvmlDeviceGetFieldValues, whatever its scope
 *	3 fabric STATE STATUS CLUSTER CLIQUE HEALTH SUMMARY
 *	3 processes PID:BYTES PID:BYTES
 *	long			their entries are 32 bytes long, as early drivers 535 have them
 */
#include "lib/host/nvml_abi.h"

#include <inttypes.h>
#include <stdint.h>

enum { OK = 0, UNSUPPORTED = 3, SMALL = 7, OLD = 25, VALUE = 256 };

/* The file, read once: who calls this lives for one reading. */
static char *lines[512];
static int nlines = -1;

static void load(void)
{
	const char *path = getenv("WINDSOCK_FAKE_NVML");
	FILE *in = path ? fopen(path, "re") : NULL;
	char line[512];

	nlines = 0;
	while (in && nlines < (int)ARRAY_LEN(lines) && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		lines[nlines++] = strdup(line);
	}
	if (in)
		(void)fclose(in);
}

/* The text behind "WHO KEY", WHO a number or *; behind "KEY" where @gpu is below 0. */
static bool get(int gpu, const char *key, char *ret)
{
	char who[16] = "", what[64];

	if (nlines < 0)
		load();
	for (int i = nlines - 1; i >= 0; i--) {
		int at = 0;

		if (gpu < 0 ? sscanf(lines[i], "%63s %n", what, &at) != 1
			    : sscanf(lines[i], "%15s %63s %n", who, what, &at) != 2)
			continue;
		if (!at || strcmp(what, key) ||
		    (gpu >= 0 && strcmp(who, "*") && strtol(who, NULL, 10) != gpu))
			continue;
		(void)snprintf(ret, VALUE, "%s", lines[i] + at);
		return true;
	}
	return false;
}

static int number_of(abi_gpu gpu) { return (int)(intptr_t)gpu - 1; }

/* Numbers behind a key. */
static int numbers(abi_gpu gpu, const char *key, unsigned long long *v, int n)
{
	char text[VALUE], *at = text, *end;

	if (!get(number_of(gpu), key, text))
		return UNSUPPORTED;
	for (int i = 0; i < n; i++, at = end) {
		v[i] = strtoull(at, &end, 0);
		if (end == at)
			return UNSUPPORTED;
	}
	return OK;
}

static int one(abi_gpu gpu, const char *key, unsigned *ret)
{
	unsigned long long v = 0;
	int rc = numbers(gpu, key, &v, 1);

	if (!rc)
		*ret = (unsigned)v;
	return rc;
}

static int text_of(int gpu, const char *key, char *to, unsigned n)
{
	char text[VALUE];

	if (!get(gpu, key, text))
		return UNSUPPORTED;
	return strlen(text) >= n ? SMALL : (snprintf(to, n, "%s", text), OK);
}

static void trouble(const char *where)
{
	char text[VALUE];

	if (get(-1, "hang", text) && !strcmp(text, where))
		for (;;)
			(void)pause();
	if (get(-1, "crash", text) && !strcmp(text, where))
		abort();
}

#define OUT __attribute__((visibility("default")))
#define NUMBER(name, key)                                                                          \
	OUT int name(abi_gpu gpu, unsigned *ret);                                                  \
	OUT int name(abi_gpu gpu, unsigned *ret) { return one(gpu, key, ret); }
#define TEXT(name, key)                                                                            \
	OUT int name(abi_gpu gpu, char *to, unsigned n);                                           \
	OUT int name(abi_gpu gpu, char *to, unsigned n)                                            \
	{                                                                                          \
		return text_of(number_of(gpu), key, to, n);                                        \
	}
#define CHOICE(name, first, second)                                                                \
	OUT int name(abi_gpu gpu, int which, unsigned *ret);                                       \
	OUT int name(abi_gpu gpu, int which, unsigned *ret)                                        \
	{                                                                                          \
		return one(gpu, which == 1 ? (first) : (second), ret);                             \
	}

NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "mode")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "pages.pending")
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "limit.default")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "gen")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "gen.max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "width.max")
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetSerial, "serial")
CHOICE(nvmlDeviceGetClockInfo, "clock", "clock.memory")
CHOICE(nvmlDeviceGetMaxClockInfo, "clock.max", "clock.memory.max")
CHOICE(nvmlDeviceGetApplicationsClock, "clock.app", "clock.memory.app")
CHOICE(nvmlDeviceGetDefaultApplicationsClock, "clock.app.default", "clock.memory.app.default")
CHOICE(nvmlDeviceGetTemperature, "-", "temperature")
CHOICE(nvmlDeviceGetTemperatureThreshold, "temperature.slow", "temperature.off")

OUT int nvmlInit_v2(void);
OUT int nvmlInit_v2(void)
{
	char text[VALUE];

	trouble("init");
	return get(-1, "init", text) ? (int)strtol(text, NULL, 10) : OK;
}

OUT int nvmlShutdown(void);
OUT int nvmlShutdown(void) { return OK; }

OUT const char *nvmlErrorString(int error);
OUT const char *nvmlErrorString(int error)
{
	switch (error) {
	case 15:
		return "GPU is lost";
	case 18:
		return "Driver/library version mismatch";
	default:
		return "Some error";
	}
}

OUT int nvmlSystemGetDriverVersion(char *to, unsigned n);
OUT int nvmlSystemGetDriverVersion(char *to, unsigned n) { return text_of(-1, "driver", to, n); }
OUT int nvmlSystemGetNVMLVersion(char *to, unsigned n);
OUT int nvmlSystemGetNVMLVersion(char *to, unsigned n) { return text_of(-1, "driver", to, n); }

OUT int nvmlSystemGetCudaDriverVersion_v2(int *ret);
OUT int nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
	char text[VALUE];

	return get(-1, "cuda", text) ? (*ret = (int)strtol(text, NULL, 10), OK) : UNSUPPORTED;
}

OUT int nvmlDeviceGetCount_v2(unsigned *ret);
OUT int nvmlDeviceGetCount_v2(unsigned *ret)
{
	char text[VALUE];

	*ret = get(-1, "gpus", text) ? (unsigned)strtoul(text, NULL, 10) : 0;
	return OK;
}

OUT int nvmlDeviceGetHandleByIndex_v2(unsigned i, abi_gpu *ret);
OUT int nvmlDeviceGetHandleByIndex_v2(unsigned i, abi_gpu *ret)
{
	unsigned error = 0;
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", i);
	trouble(number);
	*ret = (abi_gpu)(intptr_t)(i + 1);
	return one(*ret, "open", &error) ? OK : (int)error;
}

/* "0000:18:00.0" is "00000000:18:00.0". Only whoever asks for one while it works asks so. */
OUT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, abi_gpu *ret);
OUT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, abi_gpu *ret)
{
	const size_t tail = strlen("0000:18:00.0");
	unsigned gpus;
	char text[VALUE];

	(void)nvmlDeviceGetCount_v2(&gpus);
	trouble("load");
	for (unsigned i = 0; i < gpus; i++)
		if (get((int)i, "pci", text) && strlen(text) >= tail && strlen(pci) >= tail &&
		    !strcasecmp(text + strlen(text) - tail, pci + strlen(pci) - tail)) {
			*ret = (abi_gpu)(intptr_t)(i + 1);
			return OK;
		}
	return 6; /* not found */
}

OUT int nvmlDeviceGetUUID(abi_gpu gpu, char *to, unsigned n);
OUT int nvmlDeviceGetUUID(abi_gpu gpu, char *to, unsigned n)
{
	if (text_of(number_of(gpu), "uuid", to, n))
		(void)snprintf(to, n, "GPU-00000000-0000-0000-0000-%012d", number_of(gpu));
	return OK;
}

OUT int nvmlDeviceGetPciInfo_v3(abi_gpu gpu, struct abi_pci *ret);
OUT int nvmlDeviceGetPciInfo_v3(abi_gpu gpu, struct abi_pci *ret)
{
	return text_of(number_of(gpu), "pci", ret->id, sizeof(ret->id));
}

OUT int nvmlDeviceGetMemoryInfo(abi_gpu gpu, struct abi_memory *ret);
OUT int nvmlDeviceGetMemoryInfo(abi_gpu gpu, struct abi_memory *ret)
{
	unsigned long long v[2];
	int rc = numbers(gpu, "memory", v, 2);

	if (!rc)
		*ret = (struct abi_memory){v[0], v[0] - v[1], v[1]};
	return rc;
}

OUT int nvmlDeviceGetMarginTemperature(abi_gpu gpu, struct abi_margin *ret);
OUT int nvmlDeviceGetMarginTemperature(abi_gpu gpu, struct abi_margin *ret)
{
	unsigned celsius = 0;
	int rc = ret->version == ABI_VERSION(sizeof(*ret), 1) ? one(gpu, "margin", &celsius) : OLD;

	ret->celsius = (int)celsius;
	return rc;
}

OUT int nvmlDeviceGetFieldValues(abi_gpu gpu, int n, struct abi_field *list);
OUT int nvmlDeviceGetFieldValues(abi_gpu gpu, int n, struct abi_field *list)
{
	for (struct abi_field *f = list; f < list + n; f++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "field.%u", f->id);
		f->type = f->id == ABI_SLOWDOWN_TLIMIT ? ABI_INT : ABI_ULONGLONG;
		f->error = numbers(gpu, key, &f->value.ull, 1);
	}
	return OK;
}

OUT int nvmlDeviceGetEccMode(abi_gpu gpu, unsigned *now, unsigned *later);
OUT int nvmlDeviceGetEccMode(abi_gpu gpu, unsigned *now, unsigned *later)
{
	int rc = one(gpu, "ecc", now);

	*later = *now;
	return rc;
}

OUT int nvmlDeviceGetTotalEccErrors(abi_gpu gpu, int type, int counter, unsigned long long *ret);
OUT int nvmlDeviceGetTotalEccErrors(abi_gpu gpu, int type, int counter, unsigned long long *ret)
{
	return numbers(gpu,
		       !type	 ? "ecc.corrected"
		       : counter ? "ecc.lifetime"
				 : "ecc.uncorrected",
		       ret, 1);
}

OUT int nvmlDeviceGetRemappedRows(abi_gpu gpu, unsigned *a, unsigned *b, unsigned *c, unsigned *d);
OUT int nvmlDeviceGetRemappedRows(abi_gpu gpu, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
	unsigned *to[] = {a, b, c, d};
	unsigned long long v[4];
	int rc = numbers(gpu, "rows", v, 4);

	for (int i = 0; i < 4 && !rc; i++)
		*to[i] = (unsigned)v[i];
	return rc;
}

OUT int nvmlDeviceGetRetiredPages(abi_gpu gpu, int cause, unsigned *n, unsigned long long *to);
OUT int nvmlDeviceGetRetiredPages(abi_gpu gpu, int cause, unsigned *n, unsigned long long *to)
{
	unsigned room = *n;
	int rc = one(gpu, cause ? "pages.double" : "pages.single", n);

	return rc ? rc : to == NULL && *n > room ? SMALL : OK;
}

OUT int nvmlDeviceGetCurrentClocksEventReasons(abi_gpu gpu, unsigned long long *ret);
OUT int nvmlDeviceGetCurrentClocksEventReasons(abi_gpu gpu, unsigned long long *ret)
{
	return numbers(gpu, "reasons", ret, 1);
}

OUT int nvmlDeviceGetUtilizationRates(abi_gpu gpu, struct abi_utilization *ret);
OUT int nvmlDeviceGetUtilizationRates(abi_gpu gpu, struct abi_utilization *ret)
{
	ret->memory = 0;
	return one(gpu, "busy", &ret->gpu);
}

OUT int nvmlDeviceGetComputeRunningProcesses_v3(abi_gpu gpu, unsigned *n, struct abi_process *to);
OUT int nvmlDeviceGetComputeRunningProcesses_v3(abi_gpu gpu, unsigned *n, struct abi_process *to)
{
	char text[VALUE], *at = text;
	unsigned room = *n, found = 0, pid;
	size_t entry = get(-1, "long", text) ? ABI_PROCESS_LONG_BYTES : sizeof(*to);
	unsigned long long bytes;
	int used;

	if (!get(number_of(gpu), "processes", text))
		return *n = 0, OK;
	for (; sscanf(at, "%u:%llu %n", &pid, &bytes, &used) == 2; at += used) {
		const struct abi_process p = {pid, bytes, UINT32_MAX, UINT32_MAX};

		if (found++ >= room)
			continue;
		memset((char *)to + (found - 1) * entry, 0xff, entry);
		memcpy((char *)to + (found - 1) * entry, &p, sizeof(p));
	}
	*n = found;
	return found > room ? SMALL : OK;
}

OUT int nvmlDeviceGetCudaComputeCapability(abi_gpu gpu, int *major, int *minor);
OUT int nvmlDeviceGetCudaComputeCapability(abi_gpu gpu, int *major, int *minor)
{
	unsigned long long v = 0;
	int rc = numbers(gpu, "capability", &v, 1);

	*major = (int)v / 10;
	*minor = (int)v % 10;
	return rc;
}

OUT int nvmlDeviceGetMigMode(abi_gpu gpu, unsigned *now, unsigned *later);
OUT int nvmlDeviceGetMigMode(abi_gpu gpu, unsigned *now, unsigned *later)
{
	unsigned long long v[2];
	int rc = numbers(gpu, "mig", v, 2);

	if (!rc)
		*now = (unsigned)v[0], *later = (unsigned)v[1];
	return rc;
}

OUT int nvmlDeviceGetNvLinkState(abi_gpu gpu, unsigned link, unsigned *ret);
OUT int nvmlDeviceGetNvLinkState(abi_gpu gpu, unsigned link, unsigned *ret)
{
	char text[VALUE];

	if (!get(number_of(gpu), "links", text) || link >= strlen(text))
		return UNSUPPORTED;
	*ret = text[link] == '1';
	return OK;
}

OUT int nvmlDeviceGetNvLinkErrorCounter(abi_gpu gpu, unsigned link, int which,
					unsigned long long *ret);
OUT int nvmlDeviceGetNvLinkErrorCounter(abi_gpu gpu, unsigned link, int which,
					unsigned long long *ret)
{
	unsigned long long v[4];
	char text[VALUE];

	(void)link;
	if (!get(number_of(gpu), "link.errors", text) || which < 0 || which > 3 ||
	    sscanf(text, "%llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3]) != 4)
		return UNSUPPORTED;
	*ret = v[which];
	return OK;
}

OUT int nvmlDeviceGetNvLinkRemoteDeviceType(abi_gpu gpu, unsigned link, int *ret);
OUT int nvmlDeviceGetNvLinkRemoteDeviceType(abi_gpu gpu, unsigned link, int *ret)
{
	unsigned v = 0;
	int rc = one(gpu, "remote", &v);

	(void)link;
	*ret = (int)v;
	return rc;
}

/* STATE STATUS CLUSTER CLIQUE [HEALTH [SUMMARY]]: as new a form as there are words. */
static int fabric(abi_gpu gpu, struct abi_fabric *ret)
{
	char text[VALUE], cluster[33];
	unsigned state, health = 0, summary = 0, byte;
	int words;

	if (!get(number_of(gpu), "fabric", text))
		return 0;
	words = sscanf(text, "%u %d %32s %u %x %u", &state, &ret->status, cluster, &ret->clique,
		       &health, &summary);
	ret->state = (unsigned char)state;
	ret->health = health;
	ret->summary = (unsigned char)summary;
	for (size_t i = 0; i < sizeof(ret->cluster); i++)
		ret->cluster[i] =
			sscanf(cluster + 2 * i, "%2x", &byte) == 1 ? (unsigned char)byte : 0;
	return words;
}

OUT int nvmlDeviceGetGpuFabricInfoV(abi_gpu gpu, struct abi_fabric *ret);
OUT int nvmlDeviceGetGpuFabricInfoV(abi_gpu gpu, struct abi_fabric *ret)
{
	struct abi_fabric now = {0};
	int words = fabric(gpu, &now);
	unsigned version = ret->version;

	if (!words)
		return UNSUPPORTED;
	if (version == ABI_VERSION(sizeof(now), 3) && words == 6) {
		now.version = version;
		*ret = now;
		return OK;
	}
	if (version == ABI_VERSION(ABI_FABRIC_V2_BYTES, 2) && words == 5) {
		now.version = version;
		memcpy(ret, &now, ABI_FABRIC_V2_BYTES);
		return OK;
	}
	return OLD;
}

OUT int nvmlDeviceGetGpuFabricInfo(abi_gpu gpu, struct abi_fabric_old *ret);
OUT int nvmlDeviceGetGpuFabricInfo(abi_gpu gpu, struct abi_fabric_old *ret)
{
	struct abi_fabric now = {0};

	if (!fabric(gpu, &now))
		return UNSUPPORTED;
	memcpy(ret->cluster, now.cluster, sizeof(ret->cluster));
	ret->status = now.status;
	ret->clique = now.clique;
	ret->state = now.state;
	return OK;
}
