/* What the kernel's log of this boot says about GPUs, NVSwitches and PCIe. */
#include "probes/node/xid.h"
#include "lib/core/units.h"
#include "lib/host/klog.h"
#include "lib/report/json.h"
#include "probes/node/gpu_view.h"

#include <math.h>

#define FRESH_S (24 * 3600.0)
enum { MANY_CORRECTED = 100 };

/* Lines that say the same of the same device. */
struct event {
	enum event_kind { EV_XID, EV_SWITCH, EV_PCIE } kind;
	char where[16];
	int code;
	bool bad; /* a fatal one; PCIe's uncorrected one */
	size_t n;
	double last;
	const char *line;
};
typedef LIST(struct event) event_list;

struct look {
	struct gpu_view *v;
	event_list events;
	double now, loaded; /* seconds since boot; when the driver was loaded last */
};

static void add(struct look *l, const struct event *e)
{
	for (size_t i = 0; i < l->events.n; i++) {
		struct event *x = &l->events.v[i];

		if (x->kind == e->kind && x->code == e->code && x->bad == e->bad &&
		    streq(x->where, e->where)) {
			x->n++;
			x->last = e->last;
			x->line = e->line;
			return;
		}
	}
	*LIST_ADD(l->v->a, &l->events) = *e;
}

/* Does this device carry what GPUs and RDMA cards send? */
static bool is_on_way(struct look *l, const char *pci)
{
	struct gpu_view *v = l->v;

	for (size_t i = 0; i < v->pci.n + v->rdma.n; i++) {
		const char *end = i < v->pci.n ? v->pci.v[i].pci : v->rdma.v[i - v->pci.n].pci;
		const char *path = end ? pci_path(v->a, end) : NULL;

		if (end && (streq(end, pci) || (path && strstr(path, pci))))
			return true;
	}
	return false;
}

static void take(struct look *l, const struct klog_line *line)
{
	struct event e = {.n = 1, .last = line->seconds, .line = line->text};
	bool corrected;

	if (strstr(line->text, "NVRM: loading NVIDIA UNIX")) {
		l->loaded = line->seconds;
	} else if (xid_parse(line->text, e.where, &e.code)) {
		e.kind = EV_XID;
		e.bad = !strstr(line->text, " Nonfatal "); /* NVLink has both of one number */
		add(l, &e);
	} else if (sxid_parse(line->text, e.where, &e.code, &e.bad)) {
		e.kind = EV_SWITCH;
		add(l, &e);
	} else if (aer_parse(line->text, e.where, &corrected) && is_on_way(l, e.where)) {
		e.kind = EV_PCIE;
		e.bad = !corrected;
		add(l, &e);
	}
}

static const struct nvml_gpu *gpu_at(const struct look *l, const char *bus)
{
	for (size_t i = 0; i < l->v->nvml.gpus.n; i++)
		if (starts_with(l->v->nvml.gpus.v[i].pci, bus))
			return &l->v->nvml.gpus.v[i];
	return NULL;
}

static bool is_stale(const struct look *l, const struct event *e)
{
	return (!isnan(l->loaded) && e->last < l->loaded) || l->now - e->last > FRESH_S;
}

/* The driver has said since that this GPU needs no recovery any more. */
static bool is_recovered(const struct look *l, const struct event *e)
{
	enum { RECOVERY = 154 };
	struct xid x;

	for (size_t i = 0; i < l->events.n; i++) {
		const struct event *later = &l->events.v[i];

		if (later->kind == EV_XID && later->code == RECOVERY && later->last > e->last &&
		    streq(later->where, e->where) && xid_read(RECOVERY, later->line, &x) &&
		    x.action == XID_NOTE)
			return true;
	}
	return false;
}

/* What has happened since, which says that it is over; NULL: nothing. */
static const char *cure(const struct look *l, const struct event *e, const struct nvml_gpu *g,
			const struct xid *x)
{
	if (is_recovered(l, e))
		return "; its driver asks for no recovery any more";
	/* somebody has reset it, and nothing waits */
	if (x->is_memory && g && !g->error && g->ecc_uncorrected == 0 && g->rows_pending <= 0 &&
	    g->rows_failed <= 0)
		return "; its counters began anew since then";
	return NULL;
}

static const char *ago(struct look *l, const struct event *e)
{
	double s = l->now - e->last;
	struct unit_buf b;

	return isnan(s) || s < 0 ? "in this boot"
	       : s < 120 ? arena_printf(l->v->a, "%s ago", format_duration(&b, (uint64_t)(s * 1e9)))
	       : s < 7200   ? arena_printf(l->v->a, "%.0f minutes ago", s / 60)
	       : s < 172800 ? arena_printf(l->v->a, "%.0f hours ago", s / 3600)
			    : arena_printf(l->v->a, "%.0f days ago", s / 86400);
}

static enum status severity(enum xid_action action, bool stale, bool cured)
{
	if (action <= XID_NOTE || cured)
		return ST_INFO;
	return action == XID_CHECK || stale ? ST_WARN : ST_FAIL;
}

static void fix_xid(struct finding *f, enum xid_action action, const struct nvml_gpu *g)
{
	char which[16] = "GPU";

	if (g)
		(void)snprintf(which, sizeof(which), "%d", g->index);
	switch (action) {
	case XID_PROGRAM:
		finding_fix(f, "compute-sanitizer COMMAND   # of the job that ran then");
		return;
	case XID_NOTE:
		finding_fix(f, "dmesg | ncclwhy   # what came before it");
		return;
	case XID_CHECK:
	case XID_RESET:
		finding_fix(f,
			    "sudo nvidia-smi --gpu-reset -i %s   # with no process on it; replace "
			    "it when "
			    "it comes back",
			    which);
		return;
	case XID_REBOOT:
		finding_fix(f,
			    "sudo reboot   # drain the node first; when it comes back: replace GPU "
			    "or riser");
	}
}

static void tell_xid(struct look *l, const struct event *e)
{
	const struct nvml_gpu *g = gpu_at(l, e->where);
	const char *catalogued = NULL;
	struct xid x;
	bool known = xid_read(e->code, e->line, &x), stale = is_stale(l, e);
	const char *cured = cure(l, e, g, &x);
	struct finding *f =
		gpu_note(l->v, x.action <= XID_NOTE ? "xid.program" : "xid.gpu",
			 g ? gpu_subject(l->v, g) : arena_printf(l->v->a, "GPU at %s", e->where));

	if (!known)
		(void)xid_catalogued(e->line, &catalogued);
	finding_set(f,
		    l->v->confined && !g ? ST_INFO /* somebody else's on this host */
					 : severity(x.action, stale, cured != NULL),
		    "reported Xid %d%s, %s: %s%s", e->code,
		    e->n > 1 ? arena_printf(l->v->a, " %zu times", e->n) : "", ago(l, e),
		    known ? x.meaning : catalogued ?: "its driver met an error",
		    cured ?: "");
	finding_value(f, (double)e->n, NULL);
	finding_expect(f, "no Xid");
	fix_xid(f, x.action, g);
}

static void tell_switch(struct look *l, const struct event *e)
{
	struct finding *f =
		gpu_note(l->v, "xid.switch", arena_printf(l->v->a, "NVSwitch at %s", e->where));

	finding_set(f, e->bad && !is_stale(l, e) ? ST_FAIL : ST_WARN, "reported SXid %d%s, %s%s",
		    e->code, e->n > 1 ? arena_printf(l->v->a, " %zu times", e->n) : "", ago(l, e),
		    e->bad ? ": a fatal one" : "");
	finding_value(f, (double)e->n, NULL);
	finding_expect(f, "no SXid");
	finding_fix(f, "sudo systemctl stop nvidia-fabricmanager && sudo nvidia-smi --gpu-reset && "
		       "sudo systemctl start "
		       "nvidia-fabricmanager   # with no process on the GPUs");
}

static void tell_pcie(struct look *l, const struct event *e)
{
	struct finding *f = gpu_note(l->v, "pcie.aer", e->where);

	finding_set(f,
		    e->bad		     ? is_stale(l, e) ? ST_WARN : ST_FAIL
		    : e->n >= MANY_CORRECTED ? ST_WARN
					     : ST_INFO,
		    "reported %zu %s PCIe error%s, the last %s", e->n,
		    e->bad ? "uncorrectable" : "corrected", e->n == 1 ? "" : "s", ago(l, e));
	finding_value(f, (double)e->n, NULL);
	finding_expect(f, e->bad ? "0" : "fewer than 100");
	finding_fix(
		f,
		"lspci -s %s -vvv | grep -E 'LnkSta:|UESta|CESta'   # then reseat or replace card, "
		"riser or cable",
		e->where);
}

static void list(struct look *l)
{
	static const char *const kinds[] = {"xid", "sxid", "aer"};
	cJSON *all = l->v->data && l->events.n ? json_array(l->v->data, "kernel_log") : NULL;

	for (size_t i = 0; all && i < l->events.n; i++) {
		const struct event *e = &l->events.v[i];
		const char *meaning, *id = xid_catalogued(e->line, &meaning);
		cJSON *o = json_push_object(all);

		json_str(o, "kind", kinds[e->kind]);
		json_str(o, "where", e->where);
		if (e->kind != EV_PCIE)
			json_num(o, "code", e->code);
		json_num(o, "count", (double)e->n);
		json_num(o, "seconds_ago", l->now - e->last);
		json_str(o, "cause", id);
		json_str(o, "line", e->line);
	}
}

void xid_look(struct gpu_view *v)
{
	static const char *const words[] = {"NVRM: Xid (", "NVRM: loading NVIDIA UNIX", "SXid (",
					    "PCIe Bus Error: severity="};
	struct look l = {.v = v, .now = klog_now(v->a), .loaded = NAN};
	klog_list lines;

	if (!v->nvidia && !v->nvml.gpus.n)
		return;
	if (!klog_read(v->a, words, ARRAY_LEN(words), &lines)) {
		finding_set(
			gpu_note(v, "xid.log", "kernel log"), ST_SKIP,
			"may not be read here: Xid and PCIe errors were not looked for (root can)");
		return;
	}
	for (size_t i = 0; i < lines.n; i++)
		take(&l, &lines.v[i]);
	for (size_t i = 0; i < l.events.n; i++) {
		const struct event *e = &l.events.v[i];

		e->kind == EV_XID      ? tell_xid(&l, e)
		: e->kind == EV_SWITCH ? tell_switch(&l, e)
				       : tell_pcie(&l, e);
	}
	if (!l.events.n)
		finding_set(gpu_note(v, "xid.log", "kernel log"), ST_PASS,
			    "no error of a GPU, NVSwitch or their PCIe ways in this boot");
	list(&l);
}
