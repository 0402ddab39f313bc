/* Links of GPUs and RDMA cards: as many lanes as both ends have, as fast as they can. */
#include "lib/host/pcie.h"
#include "lib/report/json.h"
#include "probes/node/gpu_view.h"

#include <math.h>

/* A device, what its link is, and the narrower of what its two ends can. */
struct attached {
	const char *pci, *what, *bridge; /* the port above; NULL unknown */
	bool is_gpu;
	struct pcie_link link;
	int lanes, slot; /* possible; and what the slot has, 0 unknown */
	double gts;	 /* possible */
};
typedef LIST(struct attached) attached_list;

static void look(struct gpu_view *v, const char *pci, const char *what, bool is_gpu,
		 attached_list *all)
{
	struct attached *d = LIST_ADD(v->a, all);
	struct pcie_link above = {.gts_max = NAN};
	str_list bridges;

	*d = (struct attached){.pci = pci, .what = what, .is_gpu = is_gpu};
	pcie_link(v->a, pci, &d->link);
	pcie_bridges(v->a, pci, &bridges);
	if (bridges.n) {
		d->bridge = bridges.v[0];
		pcie_link(v->a, d->bridge, &above);
	}
	d->slot = above.width_max;
	d->lanes = d->link.width_max;
	if (above.width_max && above.width_max < d->lanes)
		d->lanes = above.width_max;
	d->gts = fmin(d->link.gts_max, above.gts_max);
}

static void collect(struct gpu_view *v, attached_list *all)
{
	for (size_t i = 0; i < v->pci.n; i++) {
		const struct gpu *g = &v->pci.v[i];
		const char *what = arena_printf(v->a, "GPU at %s", g->pci);

		for (size_t k = 0; k < v->nvml.gpus.n; k++)
			if (streq(v->nvml.gpus.v[k].pci, g->pci))
				what = gpu_subject(v, &v->nvml.gpus.v[k]);
		look(v, g->pci, what, true, all);
	}
	for (size_t i = 0; i < v->rdma.n; i++) {
		const struct rdma_device *d = &v->rdma.v[i];

		if (d->pci)
			look(v, d->pci, arena_printf(v->a, "%s (%s)", d->name, d->pci), false, all);
	}
}

/* The widest link among those of its kind: where no other is wider, it was built so. */
static int widest(const attached_list *all, bool gpus)
{
	int most = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].is_gpu == gpus && all->v[i].link.width > most)
			most = all->v[i].link.width;
	return most;
}

static bool width(struct gpu_view *v, const attached_list *all, const struct attached *d)
{
	int most = widest(all, d->is_gpu);
	struct finding *f;

	/* a card of few lanes is as fast as it was made; one of many in a short slot is not */
	if (!d->link.width || !d->lanes ||
	    (d->link.width >= d->lanes && (d->link.width >= most || d->lanes >= d->link.width_max)))
		return false;
	f = gpu_note(v, "pcie.width", d->what);
	finding_value(f, d->link.width, "lanes");
	if (d->link.width < d->lanes) {
		finding_set(f, d->link.width < most ? ST_FAIL : ST_WARN,
			    "runs on %d of %d PCIe lanes: its copies take %d times as long",
			    d->link.width, d->lanes, d->lanes / d->link.width);
		finding_expect(f, "%d", d->lanes);
		if (d->bridge)
			finding_fix(
				f,
				"sudo setpci -s %s CAP_EXP+10.w=20:20   # trains that link anew; "
				"else reseat the card or its riser",
				d->bridge);
		else
			finding_fix(
				f,
				"lspci -s %s -vv | grep LnkSta:   # then reseat the card or its "
				"riser",
				d->pci);
	} else {
		finding_set(f, ST_WARN, "is in a slot of %d PCIe lanes, the widest here has %d",
			    d->slot ? d->slot : d->link.width, most);
		finding_expect(f, "%d, as the others", most);
		finding_fix(f, "lspci -s %s -vv | grep -E 'LnkCap:|LnkSta:'   # another slot",
			    d->pci);
	}
	return true;
}

/* A GPU at rest slows its link down; a network card does not. */
static bool rate(struct gpu_view *v, const struct attached *d)
{
	struct finding *f;

	if (d->is_gpu || isnan(d->link.gts) || isnan(d->gts) || d->link.gts >= d->gts)
		return false;
	f = gpu_note(v, "pcie.speed", d->what);
	finding_set(f, ST_WARN, "its PCIe link runs at %.4g GT/s, %.4g are possible", d->link.gts,
		    d->gts);
	finding_value(f, d->link.gts, "GT/s");
	finding_expect(f, "%.4g GT/s", d->gts);
	finding_fix(f,
		    "lspci -s %s -vv | grep -E 'LnkCap:|LnkSta:'   # then reseat the card or its "
		    "riser; look at the BIOS setting of that slot",
		    d->pci);
	return true;
}

static void data(struct gpu_view *v, const attached_list *all)
{
	cJSON *list = v->data && all->n ? json_array(v->data, "pcie") : NULL;

	for (size_t i = 0; list && i < all->n; i++) {
		const struct attached *d = &all->v[i];
		cJSON *o;

		if (!d->link.width && isnan(d->link.gts))
			continue;
		o = json_push_object(list);
		json_str(o, "pci", d->pci);
		json_str(o, "kind", d->is_gpu ? "gpu" : "rdma");
		json_num(o, "lanes", d->link.width ? d->link.width : NAN);
		json_num(o, "lanes_possible", d->lanes ? d->lanes : NAN);
		json_num(o, "gts", d->link.gts);
		json_num(o, "gts_possible", d->gts);
	}
}

void pcie_links(struct gpu_view *v)
{
	size_t known = 0, bad = 0;
	attached_list all = {0};

	if (!v->pci.n && !v->rdma.n)
		return;
	collect(v, &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct attached *d = &all.v[i];
		bool narrow = width(v, &all, d), slow = rate(v, d);

		known += d->link.width && d->lanes;
		bad += narrow || slow;
	}
	if (known && !bad)
		finding_set(
			gpu_note(v, "pcie.width",
				 arena_printf(v->a, "%zu device%s", known, known == 1 ? "" : "s")),
			ST_PASS, "on all PCIe lanes that both ends have");
	data(v, &all);
}
