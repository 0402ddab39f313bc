/* RDMA ports and GPUs, and which of them are near each other. */
#include "probes/iface/view.h"

#include "lib/report/json.h"

#include <math.h>

static struct cell text(const char *s) { return (struct cell){.text = s, .number = NAN}; }
static struct cell number(double v) { return (struct cell){.number = v}; }

static const struct column rdma_columns[] = {
	{.name = "rdma port", .is_text = true},	  {.name = "link", .is_text = true},
	{.name = "state", .is_text = true},	  {.name = "rate", .unit = "Gb/s"},
	{.name = "interface", .is_text = true},	  {.name = "GIDs", .is_text = true},
	{.name = "nearest GPU", .is_text = true},
};
static const struct series rdma_view = {"rdma", rdma_columns, ARRAY_LEN(rdma_columns), true};

/* "0000:10:1c.0 (PIX)": the closest GPU, or NULL. */
static const char *nearest_gpu(const struct facts *f, const char *pci, enum pci_distance *ret)
{
	const char *best = NULL;

	*ret = PCI_UNKNOWN;
	for (size_t g = 0; pci && g < f->gpus.n; g++) {
		enum pci_distance d = pci_distance(f->a, pci, f->gpus.v[g].pci);

		if (!best || d < *ret) {
			best = f->gpus.v[g].pci;
			*ret = d;
		}
	}
	return best;
}

static void rdma_port_data(const struct rdma_port *p, cJSON *ports)
{
	cJSON *o = json_push_object(ports), *gids;

	json_num(o, "port", p->number);
	json_str(o, "link_layer", rdma_link_name(p->link));
	json_str(o, "state", p->state);
	json_str(o, "phys_state", p->phys_state);
	json_num(o, "rate_gbps", p->rate_gbps);
	json_str(o, "interface", p->iface);
	gids = json_array(o, "gids");
	for (size_t g = 0; g < p->gids.n; g++) {
		cJSON *one = json_push_object(gids);

		json_num(one, "index", p->gids.v[g].index);
		json_str(one, "gid", p->gids.v[g].gid);
		json_str(one, "type", p->gids.v[g].type);
		json_str(one, "interface", p->gids.v[g].ndev);
	}
}

static void rdma_device_data(const struct facts *f, const struct rdma_device *d, cJSON *all)
{
	cJSON *o = json_push_object(all), *ports;
	enum pci_distance dist;
	const char *gpu = nearest_gpu(f, d->pci, &dist);

	json_str(o, "name", d->name);
	json_str(o, "driver", d->driver);
	json_str(o, "pci", d->pci);
	json_str(o, "firmware", d->firmware);
	json_num(o, "numa", d->numa >= 0 ? d->numa : NAN);
	if (gpu) {
		json_str(o, "nearest_gpu", gpu);
		json_str(o, "distance", pci_distance_name(dist));
	}
	ports = json_array(o, "ports");
	for (size_t p = 0; p < d->ports.n; p++)
		rdma_port_data(&d->ports.v[p], ports);
}

/* "2 RoCE v2, 2 IB/RoCE v1": NCCL looks for a v2 entry, and all must have one. */
static const char *gids(struct arena *a, const struct rdma_port *p)
{
	struct text t;

	if (!p->gids_read)
		return NULL;
	text_init(&t, a);
	for (size_t i = 0; i < p->gids.n; i++) {
		const char *type = p->gids.v[i].type ?: "untyped";
		size_t same = 0, before = 0;

		for (size_t k = 0; k < p->gids.n; k++)
			if (streq(p->gids.v[k].type ?: "untyped", type)) {
				same++;
				before += k < i;
			}
		if (!before)
			text_addf(&t, "%s%zu %s", t.n ? ", " : "", same, type);
	}
	return t.n ? t.s : "none";
}

static void rdma_rows(const struct facts *f, const struct rdma_device *d, struct report *r)
{
	enum pci_distance dist;
	const char *gpu = nearest_gpu(f, d->pci, &dist);

	for (size_t k = 0; k < d->ports.n; k++) {
		const struct rdma_port *p = &d->ports.v[k];
		const struct cell cells[] = {
			text(arena_printf(f->a, "%s:%u", d->name, p->number)),
			text(rdma_link_name(p->link)),
			text(p->state),
			number(p->rate_gbps),
			text(p->iface),
			text(gids(f->a, p)),
			text(gpu ? arena_printf(f->a, "%s (%s)", gpu, pci_distance_name(dist))
				 : NULL),
		};

		report_row(r, cells);
	}
}

void view_rdma(const struct facts *f, struct report *r)
{
	cJSON *all = report_wants_data(r) ? json_array(report_data(r), "rdma") : NULL;

	if (f->rdma.n)
		report_series(r, &rdma_view);
	for (size_t d = 0; d < f->rdma.n; d++) {
		if (all)
			rdma_device_data(f, &f->rdma.v[d], all);
		else
			rdma_rows(f, &f->rdma.v[d], r);
	}
}

static const struct column gpu_columns[] = {
	{.name = "gpu", .is_text = true},
	{.name = "vendor", .is_text = true},
	{.name = "driver", .is_text = true},
	{.name = "numa"},
	{.name = "nearest interface", .is_text = true},
};
static const struct series gpu_view = {"gpus", gpu_columns, ARRAY_LEN(gpu_columns), true};

static const struct iface *nearest_iface(const struct facts *f, const struct gpu *g,
					 enum pci_distance *ret)
{
	const struct iface *best = NULL;

	*ret = PCI_UNKNOWN;
	for (size_t k = 0; k < f->inv.ifaces.n; k++) {
		const struct iface *i = &f->inv.ifaces.v[k];
		enum pci_distance d;

		if (!i->bus || !streq(i->bus, "pci"))
			continue;
		d = pci_distance(f->a, g->pci, i->device);
		if (!best || d < *ret) {
			best = i;
			*ret = d;
		}
	}
	return best;
}

static const char *vendor_name(enum gpu_vendor v)
{
	static const char *const names[] = {
		[GPU_NVIDIA] = "NVIDIA", [GPU_AMD] = "AMD", [GPU_INTEL] = "Intel"};

	return names[v];
}

void view_gpus(const struct facts *f, struct report *r)
{
	cJSON *all = report_wants_data(r) ? json_array(report_data(r), "gpus") : NULL;

	if (f->gpus.n)
		report_series(r, &gpu_view);
	for (size_t k = 0; k < f->gpus.n; k++) {
		const struct gpu *g = &f->gpus.v[k];
		enum pci_distance d;
		const struct iface *near = nearest_iface(f, g, &d);

		if (all) {
			cJSON *o = json_push_object(all);

			json_str(o, "pci", g->pci);
			json_str(o, "vendor", vendor_name(g->vendor));
			json_str(o, "driver", g->driver);
			json_num(o, "numa", g->numa >= 0 ? g->numa : NAN);
			json_str(o, "nearest_interface", near ? near->name : NULL);
			json_str(o, "distance", near ? pci_distance_name(d) : NULL);
		} else {
			const struct cell cells[] = {
				text(g->pci),
				text(vendor_name(g->vendor)),
				text(g->driver),
				number(g->numa >= 0 ? g->numa : NAN),
				text(near ? arena_printf(f->a, "%s (%s)", near->name,
							 pci_distance_name(d))
					  : NULL),
			};

			report_row(r, cells);
		}
	}
}
