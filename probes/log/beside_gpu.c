/* What a line about a GPU means beside others: memory that ran out on a slice of one, a torch
 * without CUDA where the GPUs are of another make, a peer's memory that is not to be had over the
 * NVLink fabric, a kernel that the GPU does not get rid of, "no GPU" in a Slurm step's
 * container, several processes on the first GPU, memory that is handed on in two ways, and where
 * one works afterwards.
 */
#include "probes/log/explain.h"

#include "lib/core/text.h"

#include <ctype.h>

enum {
	MORE = 6,   /* than what it explains */
	IMEX = 86,  /* nearly always that */
	FAINT = 46, /* seen, and not what ended the job */
};

/* What torch says that the GPU has, in GiB: "GPU 3 has a total capacity of 4.75 GiB", and formerly
 * "(GPU 3; 4.75 GiB total capacity"; 0: not said. */
static double capacity_of(const struct cause *oom)
{
	double v = 0;

	for (size_t i = 0; i < oom->record->events.n && v <= 0; i++) {
		const char *text = oom->record->events.v[i].text, *p;

		if ((p = strstr(text, "capacity of ")) || (p = strstr(text, "capacty of ")))
			v = strtod(strstr(p, "of ") + strlen("of "), NULL);
		else if ((p = strstr(text, "(GPU ")) && (p = strstr(p, "; ")))
			v = strtod(p + strlen("; "), NULL);
	}
	return v;
}

/* "MIG 3g.20gb": the largest of those that are listed; 0: none is. */
static double slice_of(const struct cause *c)
{
	double most = 0;

	for (size_t i = 0; i < c->record->events.n; i++) {
		const char *p = strstr(c->record->events.v[i].text, "MIG "), *g;
		double v = p && (g = strstr(p, "g.")) ? strtod(g + strlen("g."), NULL) : 0;

		most = v > most ? v : most;
	}
	return most;
}

/* Slices may be listed of other GPUs than the one whose memory ran out. */
static void slice(struct arena *a, struct explanation *x)
{
	enum { WHOLE = 60 /* GiB: no slice is said to have that */ };
	struct cause *c = explain_find(x, "GPU-094");
	const struct cause *oom = explain_find(x, "GPU-017");
	double has, slice_gb;

	if (!c)
		return;
	c->weight = 0;
	if (!oom || oom->is_over || !oom->first)
		return;
	has = capacity_of(oom);
	slice_gb = slice_of(c);
	if (has > (slice_gb > 0 ? slice_gb : WHOLE))
		return;
	c->first = oom->first;
	if (has <= 0)
		explain_suspect(c, FAINT, "the log lists slices of GPUs");
	else
		explain_reason(c, oom, oom->weight + MORE,
			       arena_printf(a, "that slice has %.2f GiB", has));
}

/* NCCL knows a GPU by its bus number, which all slices of one share. */
static void slices_are_one(struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-140");
	const struct cause *same = explain_find(x, "GPU-001");

	if (!c)
		return;
	c->weight = 0;
	if (!same || same->is_over || c->is_over)
		return;
	c->first = same->first;
	explain_reason(c, same, same->weight + MORE, "the log lists slices of GPUs");
}

static void another_make(struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-095"), *none = explain_find(x, "GPU-021");
	const struct log_event *e = explain_event(none, "not compiled with CUDA");

	if (!c)
		return;
	c->weight = 0;
	if (!e)
		return;
	c->first = e;
	explain_reason(
		c, none, none->weight + MORE,
		"the log has signs of GPUs that are not CUDA's, or of a call in torch itself");
	none->weight = FAINT;
}

/* What CUDA says where a handle of the NVLink fabric was not let in: the channel's device is not
 * there, or the hosts are not of one domain. */
static const struct log_event *not_let_in(const struct cause *failed)
{
	static const char *const said[] = {"operation not permitted", "operation not supported",
					   "unknown error"};
	const struct log_event *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(said) && !e; i++)
		e = explain_event(failed, said[i]);
	return e && (strstr(e->text, "p2p.cc") || strstr(e->text, "cuMem")) ? e : NULL;
}

static void fabric_handle(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *failed = explain_find(x, "GPU-031"),
			   *mnnvl = explain_find(x, "GPU-049");
	const struct log_event *e = not_let_in(failed);
	struct cause effect, *c;

	if (!e || !mnnvl)
		return;
	effect = *failed; /* the list may grow */
	c = explain_add(w, a, x, "GPU-026");
	if (c->is_over)
		return;
	c->first = c->first ? c->first : e;
	explain_reason(c, &effect, IMEX, "a peer's memory could not be imported");
}

/* "(PCI:0000:cb:00)" of both is one. */
static bool is_one_gpu(const char *a, const char *b)
{
	const char *p = strstr(a, "(PCI:"), *q = strstr(b, "(PCI:");
	size_t n = p ? strcspn(p, ")") : 0;

	return q && n && n == strcspn(q, ")") && memcmp(p, q, n) == 0;
}

static bool stood_before(const struct cause *kernel, const struct log_event *e)
{
	for (size_t i = 0; i < kernel->record->events.n; i++)
		if (event_before(&kernel->record->events.v[i], e) &&
		    is_one_gpu(kernel->record->events.v[i].text, e->text))
			return true;
	return false;
}

/* A GPU that stopped a program's kernel cannot switch to another program while that hangs in it
 * (Xid 109): it is not the GPU that needs a cure. */
static void not_switched(struct explanation *x)
{
	const struct cause *kernel = explain_find(x, "XID-013");
	struct cause *c = explain_find(x, "XID-119");

	if (!c || !kernel)
		return;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, "): 109, ") ||
		    !stood_before(kernel, &c->record->events.v[i]))
			return;
	c->weight = FAINT;
}

/* What was said of a driver, or of its tool, that is not there. */
static struct cause *lacking(struct explanation *x, const struct cause *driver)
{
	static const char *const ids[] = {"GPU-021", "LIB-004"};

	for (size_t i = 0; driver && i < ARRAY_LEN(ids); i++) {
		struct cause *c = explain_find(x, ids[i]);

		if (c && !c->is_over && c->first && event_shares_line(driver->first, c->first))
			return c;
	}
	return NULL;
}

/* A container of a Slurm step: who asks for GPUs, and who numbers them, is another than elsewhere.
 */
static void in_a_step(struct explanation *x)
{
	struct cause *c = explain_find(x, "CTR-045"), *none = explain_find(x, "GPU-021");
	struct cause *driver = explain_find(x, "CTR-074"), *lacks;

	if (driver)
		driver->weight = 0;
	if (!c)
		return;
	c->weight = 0;
	lacks = lacking(x, driver);
	if (lacks && c->first->file == lacks->first->file) {
		explain_instead(driver, lacks, lacks->first, lacks->weight + MORE,
				"it is a container of a Slurm step");
		return;
	}
	if (!none || none->is_over || !none->first || c->first->file != none->first->file ||
	    explain_says(none, "not compiled with CUDA"))
		return;
	explain_instead(c, none, none->first, none->weight + MORE,
			explain_says(c, "gpus-per-task")
				? "--gpus-per-task gives each task a GPU, and a node's tasks share "
				  "one container"
				: "it is a container of a Slurm step");
}

/* "(GPU 3; 4.75 GiB total capacity", "GPU 3 has a total capacity": not the first one. */
static bool is_of_another(const struct log_event *e)
{
	const char *p = strstr(e->text, "GPU ");

	return p && isdigit((unsigned char)p[strlen("GPU ")]) &&
	       strtol(p + strlen("GPU "), NULL, 10);
}

/* Rows of nvidia-smi: who has memory of GPU 0, where memory ran out. */
static void crowd(struct explanation *x)
{
	enum { SEVERAL = 2 };
	struct cause *c = explain_find(x, "GPU-130"), *oom = explain_find(x, "GPU-017");

	if (!c)
		return;
	c->weight = 0;
	if (c->record->count < SEVERAL || !oom || oom->is_over || !oom->first ||
	    is_of_another(oom->first))
		return;
	explain_reason(c, oom, oom->weight + MORE,
		       "nvidia-smi lists several processes on that GPU");
}

/* Over a channel with GPUDirect it is the GPU's memory that the NIC may not reach. */
static void refused_memory(const struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "IB-002");
	bool direct = false;

	for (size_t i = 0; i < w->actors.v.n; i++)
		direct |= w->actors.v.v[i].direct > 0;
	if (c && direct && !c->because && !c->is_over)
		c->because = "the channels have GPUDirect RDMA: the NIC was refused the GPU's "
			     "memory, mostly by PCIe ACS or the IOMMU";
}

/* Some ranks hand their memory on with cuMem's calls, others as IPC handles. */
static void two_ways(const struct why *w, struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-132");
	const struct cause *failed = explain_find(x, "GPU-038");
	bool cumem = false, ipc = false;

	if (!c)
		return;
	c->weight = 0;
	for (size_t i = 0; i < w->setup.nways; i++) {
		cumem |= streq(w->setup.ways[i].name, "P2P/CUMEM");
		ipc |= streq(w->setup.ways[i].name, "P2P/IPC");
	}
	if (cumem && ipc && failed && !failed->is_over)
		explain_reason(c, failed, failed->weight + MORE,
			       "channels of both kinds were set up: P2P/CUMEM and P2P/IPC");
}

/* A process sees one slice of a GPU that is cut, and nothing else. */
static void cut_up(struct explanation *x)
{
	struct cause *c = explain_find(x, "GPU-151"), *e = explain_find(x, "GPU-003");

	if (!c)
		return;
	c->weight = 0;
	if (e && !e->is_over && e->first)
		explain_reason(c, e, e->weight + MORE, "so each process sees one slice");
}

void beside_gpu(struct why *w, struct arena *a, struct explanation *x)
{
	slice(a, x);
	slices_are_one(x);
	another_make(x);
	fabric_handle(w, a, x);
	not_switched(x);
	in_a_step(x);
	crowd(x);
	two_ways(w, x);
	cut_up(x);
	refused_memory(w, x);
}

/* An exception ended who raised it, whatever GPUs the others have. */
static bool is_exception(const struct log_event *e)
{
	return e->after_traceback || strstr(e->text, "Error:") || strstr(e->text, "Exception") ||
	       strstr(e->text, "raise ");
}

/* One of many ranks may lack what the others of its host have. */
static bool may_be_one(const struct log_who *a, const struct log_who *b)
{
	return log_hosts_fit(a->host, b->host) &&
	       (a->rank < 0 || b->rank < 0 || a->rank == b->rank);
}

/* A communicator of that host was complete afterwards, whoever had one last. */
static bool joined_later(const struct why *w, const struct log_event *e)
{
	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->ready && y->ready_at >= e->order && y->gpu && may_be_one(&e->who, &y->who))
			return true;
	}
	return false;
}

/* Where nobody says whose line it is, and there are several hosts, another one may have the GPU. */
static bool works_later(const struct why *w, const struct log_event *e)
{
	const struct log_progress *p = &w->progress.v[e->file];

	if (is_exception(e) || (!*e->who.host && w->actors.nhosts > 1))
		return false;
	return joined_later(w, e) || (p->gpu > e->line && may_be_one(&e->who, &p->gpu_owner));
}

bool is_refuted(const struct why *w, struct cause *c)
{
	const struct record *r = c->record;

	if (!streq(c->sig->id, "GPU-021") || !c->first)
		return false;
	for (size_t i = 0; i < r->events.n; i++)
		if (!works_later(w, &r->events.v[i])) {
			c->first = &r->events.v[i];
			return false;
		}
	return true;
}
