/* Where two lines are cause and effect of one thing, the one that can be mended goes first. */
#include "probes/log/explain.h"

enum { MORE = 5, /* than what it explains */ MOST = 98 };

struct cause *explain_surest(struct explanation *x, const char *const *ids, int least)
{
	struct cause *best = NULL;

	for (size_t i = 0; ids[i]; i++) {
		struct cause *c = explain_find(x, ids[i]);

		if (c && !c->is_over && c->weight >= least && (!best || c->weight > best->weight))
			best = c;
	}
	return best;
}

int explain_above(const struct cause *effect, int more, int most)
{
	return effect->weight + more < most ? effect->weight + more : most;
}

static void named(struct explanation *x)
{
	static const struct {
		const char *effect, *reason, *because;
	} pairs[] = {
		{"IF-017", "IF-015", "so it published loopback, and the others connected to it"},
		{"IF-016", "IF-015", "so the connections failed"},
		{"NET-001", "NET-007", "the network that was asked for comes with it"},
		{"NVS-001", "NVS-002", "a transport failed for that"},
		{"NVS-001", "NVS-014", "so IBGDA could not start"},
		{"GPU-005", "GPU-032", "so the NVSwitch fabric was not made ready"},
		{"GPU-005", "GPU-068", "so the NVSwitch fabric was not made ready"},
		{"GPU-006", "GPU-068", "so the NVSwitch fabric was not made ready"},
		{"GPU-021", "CTR-003", "so nothing in that container finds them"},
		{"GPU-003", "SLM-077", "so there is no other number in a task"},
		{"PT-002", "K8S-076", "so its name is not given to the others"},
		{"K8S-028", "K8S-076", "so its name is not given to the others"},
		{"SLM-002", "PT-078", "the job was preempted, and then met its own earlier run"},
		{"SLM-007", "SLM-015", "so the daemons of Slurm do not hear each other"},
		{"SLM-051", "SLM-015", "so slurmd takes no job's credential"},
		{"SLM-007", "SLM-017", "so that daemon does not run"},
		{"LIM-001", "KRN-025", "so the card refused it, whatever the limit"},
		{"SHM-005", "CON-013", "so no more shared memory could be opened"},
		{"SHM-005", "LIM-005", "so no more shared memory could be opened"},
		{"GPU-021", "GPU-065", "so no GPU is seen there"},
		{"GPU-021", "GPU-099", "so no GPU is seen there"},
		{"GPU-065", "GPU-099", "so it was not built for that kernel"},
		{"GPU-065", "GPU-078", "so the driver's module was not loaded"},
		{"GPU-065", "GPU-082", "so the driver's module was not loaded"},
		{"LIB-010", "SLM-009", "so the program began in another folder"},
		{"GPU-028", "GPU-022", "NVML says how the two differ"},
		{"CON-018", "IB-063", "so NCCL read sizes that were stale"},
		{"HUB-001", "HUB-007", "so the hub could not be reached"},
		{"HUB-001", "HUB-025", "so the hub could not be reached"},
		{"HUB-001", "HUB-026", "so the hub could not be reached"},
		{"KRN-008", "KRN-049", "so what was written or read there failed"},
		{"GPU-021", "CTR-076", "so nothing in that container finds them"},
		{"GPU-093", "CTR-076", "so nothing in that container finds them"},
		{"SLM-003", "CLD-001", "so Slurm gave nodes up that the cloud was to start"},
		{"SLM-005", "CLD-001", "so Slurm had no nodes to give"},
		{"SLM-026", "CLD-001", "so nodes that the cloud was to start did not come"},
		{"IB-017", "IB-070", "so UCX found no way"},
		{"MPI-010", "MPI-039", "so nobody answers there"},
		{"MPI-010", "MPI-100", "so nobody gets in there"},
		{"MPI-006", "MPI-100", "so no key is taken there"},
		{"MPI-006", "MPI-040", "so no key is taken there"},
		{"MPI-010", "MPI-101", "so nobody answers there"},
		{"MPI-010", "MPI-102", "so some logins were dropped"},
		{"MPI-050", "MPI-039", "so that host or pod is not ready, and has no name"},
		{"LIM-006", "LIM-017", "so no more threads could be made"},
		{"LIB-004", "LIB-019", "so its programs are not on the PATH"},
		{"LIB-011", "LIB-019", "so its packages are not there"},
		{"K8S-008", "K8S-066", "so that node was given up"},
		{"K8S-009", "K8S-066", "so that node was given up, and its pods with it"},
		{"CON-004", "K8S-067", "so nothing answered there"},
		{"CON-006", "K8S-067", "so nothing answered there"},
		{"PT-004", "K8S-067", "so nothing answered there"},
		{"CON-002", "K8S-071", "so pods of other nodes are not reached"},
		{"CON-004", "K8S-071", "so pods of other nodes are not reached"},
		{"CON-006", "K8S-071", "so pods of other nodes are not reached"},
		{"PT-004", "K8S-071", "so pods of other nodes are not reached"},
		{"PT-012", "K8S-071", "so pods of other nodes are not reached"},
		{"PT-002", "K8S-071", "so names of pods are not found there"},
		{"K8S-028", "K8S-071", "so names of pods are not found there"},
		{"K8S-006", "K8S-071", "so no pod gets its network there"},
		{"CON-002", "K8S-073", "so pods of other nodes are not reached"},
		{"CON-004", "K8S-073", "so pods of other nodes are not reached"},
		{"PT-004", "K8S-073", "so pods of other nodes are not reached"},
		{"K8S-071", "K8S-073", "so its network does not reach the other nodes"},
		{"PT-038", "K8S-072", "so the signal was the eviction's"},
		{"SHM-004", "K8S-072", "so its pod was ended"},
		{"CON-010", "K8S-072", "so that pod went away"},
		{"CON-020", "K8S-072", "so that pod went away"},
		{"PT-057", "K8S-072", "so its pod was ended"},
		{"PT-038", "K8S-075", "so the signal was the eviction's"},
		{"SHM-004", "K8S-075", "so its pod was ended"},
		{"CON-010", "K8S-075", "so that pod went away"},
		{"CON-020", "K8S-075", "so that pod went away"},
		{"PT-057", "K8S-075", "so its pod was ended"},
		{"PT-002", "K8S-074", "so no name is found"},
		{"K8S-028", "K8S-074", "so no name is found"},
		{"MPI-050", "K8S-074", "so no name is found"},
		{"PT-006", "KRN-014", "so a rank waits for its files, and the others for it"},
		{"KRN-014", "KRN-051", "so nothing answers there"},
		{"KRN-008", "KRN-051", "so nothing answers there"},
		{"SLM-007", "SLM-016", "so nothing was launched there"},
		{"SLM-016", "GPU-141", "so the prolog let no job in"},
		{"NET-001", "IB-047", "so NCCL found no port that it may use"},
		{"IB-007", "IB-047", "so no port may be used"},
		{"IB-017", "IB-047", "so no port may be used"},
		{"EFA-023", "LIM-002", "so the device was not what had no room"},
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct cause *e = explain_find(x, pairs[i].effect);
		struct cause *c = explain_find(x, pairs[i].reason);

		if (e && c && c->weight > 0 && !e->is_over && !c->is_over)
			explain_reason(c, e, explain_above(e, MORE, MOST), pairs[i].because);
	}
}

/* The runtime repeats what its hook said, mostly in a line before it. */
static void containers(struct explanation *x)
{
	static const char *const said[] = {"CTR-002", "CTR-016", "CTR-021", "CTR-022",
					   "CTR-023", "CTR-030", "CTR-031", "CTR-032",
					   "CTR-033", "CTR-039", "GPU-004", "GPU-022"};
	static const char *const unstarted[] = {"CTR-007", "K8S-010"};

	for (size_t i = 0; i < ARRAY_LEN(unstarted) * ARRAY_LEN(said); i++) {
		const struct cause *e = explain_find(x, unstarted[i / ARRAY_LEN(said)]);
		struct cause *c = explain_find(x, said[i % ARRAY_LEN(said)]);

		if (e && !e->is_over && c && !c->is_over)
			explain_reason(c, e, e->weight + MORE, "so no container was started");
	}
}

/* What ranks say who did not meet the others. */
static const char *const missed[] = {"PT-013", "PT-004",  "PT-023",  "PT-099",	"PT-030",
				     "IF-016", "CON-001", "CON-010", "APP-001", NULL};

static bool is_broken_connection(const struct cause *c)
{
	static const char *const words[] = {"connection refused", "reset by peer", "closed by",
					    "broken pipe"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (explain_says(c, words[i]))
			return true;
	return false;
}

/* Something else says why. */
static bool is_told(const struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->sig->tier == TIER_ROOT && !c->is_over && c->weight >= CONFIDENT &&
		    !explain_is_one_of(c, missed))
			return true;
	}
	return false;
}

/* A rank of a pod with a mesh's proxy did not meet the others: it speaks of an address that the
 * proxy alone has, or a connection broke, which the proxy takes over. */
static void mesh(const struct why *w, struct explanation *x)
{
	enum { BROKE = 58 /* at least: what says that a connection broke is mostly an echo */ };
	struct cause *c = explain_find(x, "K8S-012");
	bool by_address = explain_says(c, "127.0.0.6") || explain_says(c, "127.0.0.1:150");

	if (!c || (!by_address && (w->healthy || why_has_worked(w) || is_told(x))))
		return;
	for (size_t i = 0; missed[i]; i++) {
		const struct cause *e = explain_find(x, missed[i]);

		if (!e || e->is_over ||
		    !(is_broken_connection(e) || (by_address && !streq(e->sig->id, "APP-001"))))
			continue;
		explain_reason(c, e,
			       by_address || e->weight + MORE > BROKE ? e->weight + MORE : BROKE,
			       by_address ? "a connection of a rank has the proxy's address"
					  : "a connection broke in a pod that has its proxy");
	}
}

/* Who asks NCCL for a network that no plug-in brought; one that failed says why itself, and keeps
 * its family's id. */
static void asked_for_network(struct explanation *x)
{
	static const char *const failed[] = {"EFA-003", "EFA-006", "EFA-026", "EFA-028"};
	const struct cause *none = explain_find(x, "NET-001");
	struct cause *asked = explain_find(x, "NET-014");
	bool is_told = explain_find(x, "NET-007");

	if (asked)
		asked->weight = 0;
	if (!none || none->is_over)
		return;
	for (size_t i = 0; i < ARRAY_LEN(failed); i++) {
		struct cause *c = explain_find(x, failed[i]);

		is_told |= c != NULL;
		if (c && !c->is_over)
			explain_raise(c, none->weight + MORE,
				      "the network that was asked for comes with it");
	}
	if (!is_told)
		explain_reason(asked, none, none->weight + MORE,
			       "and NCCL found no network at all");
}

/* A node whose plug-in sees no device offers none to the scheduler. */
static void offers_no_device(struct explanation *x)
{
	static const char *const devices[] = {"nvidia.com", "amd.com", "rdma", "vpc."};
	const struct cause *lacks = explain_find(x, "K8S-001");
	struct cause *c = explain_find(x, "K8S-015");

	for (size_t i = 0; c && !c->is_over && i < ARRAY_LEN(devices); i++)
		if (explain_says(lacks, devices[i]))
			explain_reason(c, lacks, lacks->weight + MORE,
				       "so the node offers none of what the pod asks for");
}

/* A host that is in no partition with the others, or only in ones whose limited members both are.
 */
static const char *partition_text(const struct why *w, struct arena *a)
{
	const struct pkey *of;
	const char *host = pkeys_lacks(&w->pkeys, &of);

	if (host)
		return arena_printf(a, "%s has not the P_Key 0x%04x that %s has", host, of->key,
				    of->host);
	host = pkeys_limited(&w->pkeys, &of);
	return host ? arena_printf(a,
				   "%s and %s are both limited members (0x%04x): those reach full "
				   "ones (0x%04x) alone",
				   of->host, host, of->key, of->key | 0x8000)
		    : NULL;
}

static void partition(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const effects[] = {"IB-001", "IB-002", "IB-017", "PT-006"};
	struct cause *c = explain_find(x, "IB-071");
	const char *said = c ? partition_text(w, a) : NULL;

	for (size_t i = 0; said && i < ARRAY_LEN(effects); i++) {
		const struct cause *e = explain_find(x, effects[i]);

		if (!e || e->is_over)
			continue;
		explain_reason(c, e, e->weight + MORE, said);
		return;
	}
}

/* Elsewhere than in WSL it is where a distribution's driver has it. */
static void driver_in_wsl(const struct why *w, struct explanation *x)
{
	static const char *const effects[] = {"GPU-021", "GPU-050", "GPU-004", "GPU-035",
					      "GPU-093"};
	struct cause *c = w->asides.is_wsl ? explain_find(x, "GPU-152") : NULL;

	for (size_t i = 0; c && i < ARRAY_LEN(effects); i++) {
		const struct cause *e = explain_find(x, effects[i]);

		if (!e || e->is_over)
			continue;
		explain_reason(c, e, MOST, "so CUDA finds no GPU there");
		return;
	}
}

/* A cordon counts where the scheduler says that one kept a pod out. */
static void cordoned(struct explanation *x)
{
	static const char *const pending[] = {"K8S-001", "K8S-035"};
	struct cause *c = explain_find(x, "K8S-068");

	for (size_t i = 0; c && i < ARRAY_LEN(pending); i++) {
		const struct cause *e = explain_find(x, pending[i]);

		if (e && !e->is_over && explain_says(e, "were unschedulable"))
			explain_reason(c, e, e->weight + MORE, "so too few nodes are left");
	}
}

void reasons(const struct why *w, struct arena *a, struct explanation *x)
{
	partition(w, a, x);
	cordoned(x);
	driver_in_wsl(w, x);
	named(x);
	containers(x);
	asked_for_network(x);
	offers_no_device(x);
	mesh(w, x);
}
