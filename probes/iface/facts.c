#include "probes/iface/facts.h"

#include "lib/host/leader.h"
#include "lib/host/sysroot.h"
#include "probes/rules/nccl.h"

static void detail_all(struct inventory *inv)
{
	for (size_t i = 0; i < inv->ifaces.n; i++)
		inventory_detail(inv, &inv->ifaces.v[i]);
}

static int read_interfaces(struct facts *f, bool leader, struct arena *a, struct err *e)
{
	int read = leader ? leader_read(&f->inv, &f->nl, a, &f->ranked) : -1;

	f->leader_only = read == LEADER_KNOWN;
	return read < 0 ? inventory_read(&f->inv, &f->nl, INV_ALL, a, e) : 0;
}

int facts_read(struct facts *f, unsigned parts, struct arena *a, struct err *e)
{
	*f = (struct facts){
		.a = a, .nccl_version = f->nccl_version, .names.deadline_ns = f->names.deadline_ns};
	if (netlink_open(&f->nl, sysroot_netlink(a), e))
		return -1;
	if (read_interfaces(f, parts & FACTS_LEADER, a, e))
		return -1;
	if (parts & FACTS_DETAIL)
		detail_all(&f->inv);
	if (parts & FACTS_RDMA)
		rdma_read(a, &f->rdma);
	if (parts & FACTS_GPU)
		gpu_read(a, &f->gpus);
	if (parts & FACTS_SETTINGS)
		settings_read_for(&f->settings, a, f->nccl_version);
	f->in = (struct rules_input){.inv = &f->inv,
				     .settings = &f->settings,
				     .rdma = &f->rdma,
				     .names = &f->names,
				     .nccl_version = f->nccl_version,
				     .master_addr = settings_env("MASTER_ADDR")};
	return 0;
}

int facts_widen(struct facts *f, struct err *e)
{
	if (!f->leader_only)
		return 0;
	f->leader_only = false;
	return inventory_read(&f->inv, &f->nl, INV_ALL, f->a, e);
}

void facts_done(struct facts *f) { netlink_close(&f->nl); }
