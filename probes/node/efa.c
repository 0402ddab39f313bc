/* Adapters: as many as the instance type has, each with its driver, each open to programs. */
#include "probes/node/efa.h"

#include "lib/host/sysroot.h"
#include "lib/report/json.h"

enum { VENDOR_AMAZON = 0x1d0f, DEVICE_EFA_FIRST = 0xefa0, DEVICE_EFA_LAST = 0xefaf };

/*
 * How many adapters an instance type takes: MaximumEfaInterfaces of Amazon EC2's
 * DescribeInstanceTypes, as the instance type reference of Karpenter's provider for AWS
 * lists it; dl1 after Amazon's page on it. A type that is not here has no number.
 */
static const struct {
	const char *name;
	int adapters;
} types[] = {
	{"p3dn.24xlarge", 1},  {"p4d.24xlarge", 4},	{"p4de.24xlarge", 4},
	{"p5.4xlarge", 1},     {"p5.48xlarge", 32},	{"p5e.48xlarge", 32},
	{"p5en.48xlarge", 16}, {"p6-b200.48xlarge", 8}, {"p6-b300.48xlarge", 16},
	{"trn1.32xlarge", 8},  {"trn1n.32xlarge", 16},	{"trn2.48xlarge", 16},
	{"dl1.24xlarge", 4},   {"dl2q.24xlarge", 1},	{"inf1.24xlarge", 1},
	{"g4dn.8xlarge", 1},   {"g4dn.12xlarge", 1},	{"g4dn.16xlarge", 1},
	{"g4dn.metal", 1},     {"g5.8xlarge", 1},	{"g5.12xlarge", 1},
	{"g5.16xlarge", 1},    {"g5.24xlarge", 1},	{"g5.48xlarge", 1},
	{"g6.8xlarge", 1},     {"g6.12xlarge", 1},	{"g6.16xlarge", 1},
	{"g6.24xlarge", 1},    {"g6.48xlarge", 1},	{"gr6.8xlarge", 1},
	{"g6e.8xlarge", 1},    {"g6e.12xlarge", 1},	{"g6e.16xlarge", 1},
	{"g6e.24xlarge", 2},   {"g6e.48xlarge", 4},	{"g7.8xlarge", 1},
	{"g7.12xlarge", 1},    {"g7.24xlarge", 1},	{"g7.48xlarge", 2},
	{"g7e.8xlarge", 1},    {"g7e.12xlarge", 1},	{"g7e.24xlarge", 2},
	{"g7e.48xlarge", 4},
};

struct finding *efa_note(struct efa *e, const char *check, const char *subject)
{
	return gpu_note(e->v, check, subject);
}

enum status efa_grave(const struct efa *e) { return e->v->look->asked ? ST_FAIL : ST_WARN; }

int efa_compare(const char *version, unsigned major, unsigned minor)
{
	unsigned x, y;

	if (!version || sscanf(version, "%u.%u", &x, &y) != 2)
		return 0;
	return x != major ? (x > major) - (x < major) : (y > minor) - (y < minor);
}

/* Machines of the Nitro kind carry their type's name where others have the product's. */
static void find_instance(struct efa *e)
{
	const char *vendor = sysroot_line(e->v->a, "/sys/class/dmi/id/sys_vendor");

	e->expected = -1;
	if (!vendor || !streq(vendor, "Amazon EC2"))
		return;
	e->instance = sysroot_line(e->v->a, "/sys/class/dmi/id/product_name");
	for (size_t i = 0; e->instance && i < ARRAY_LEN(types); i++)
		if (streq(e->instance, types[i].name))
			e->expected = types[i].adapters;
}

static void count_cards(struct efa *e)
{
	str_list all;

	sysroot_list(e->v->a, &all, "/sys/bus/pci/devices");
	for (size_t i = 0; i < all.n; i++) {
		static const char pci[] = "/sys/bus/pci/devices/%s/%s";
		int64_t device;

		if (sysroot_int(e->v->a, 0, pci, all.v[i], "vendor") != VENDOR_AMAZON)
			continue;
		device = sysroot_int(e->v->a, 0, pci, all.v[i], "device");
		if (device < DEVICE_EFA_FIRST || device > DEVICE_EFA_LAST)
			continue;
		e->cards++;
		e->unbound += !sysroot_exists(pci, all.v[i], "driver");
	}
	for (size_t i = 0; i < e->v->rdma.n; i++) {
		const struct rdma_device *d = &e->v->rdma.v[i];

		e->devices += d->driver && streq(d->driver, "efa");
	}
}

static void tell_few(struct efa *e, struct finding *f)
{
	/* what takes one is often used without; what takes many was bought for them */
	finding_set(f, e->expected > 1 ? ST_WARN : ST_INFO, "%zu of the %d that %s can have: %s",
		    e->devices, e->expected, e->instance,
		    e->devices ? "between hosts NCCL reaches only that share of its bandwidth"
		    : e->expected > 1 ? "between hosts NCCL uses TCP, many times slower"
				      : "between hosts NCCL uses TCP");
	finding_value(f, (double)e->devices, NULL);
	finding_expect(f, "%d", e->expected);
	finding_fix(f,
		    "aws ec2 run-instances --instance-type %s --network-interfaces "
		    "'NetworkCardIndex=1,DeviceIndex=1,InterfaceType=efa-only,...' ...   # one for "
		    "each network card, when the instance is launched",
		    e->instance);
}

static void adapters(struct efa *e)
{
	struct finding *f = efa_note(e, "efa.adapters", "EFA adapters");

	if (e->unbound) {
		finding_set(f, ST_FAIL, "%zu of %zu have no driver", e->unbound, e->cards);
		finding_value(f, (double)(e->cards - e->unbound), NULL);
		finding_expect(f, "the efa driver on each");
		finding_fix(f, "sudo modprobe efa   # it comes with the EFA installer");
	} else if (e->cards && !e->devices) {
		finding_set(f, ST_FAIL, "%zu are driven, but no RDMA device came of them",
			    e->cards);
		finding_value(f, 0, NULL);
		finding_expect(f, "%zu", e->cards);
		finding_fix(f,
			    "sudo modprobe ib_uverbs && sudo modprobe -r efa && sudo modprobe efa");
	} else if (e->expected > 0 && e->devices < (size_t)e->expected) {
		tell_few(e, f);
	} else {
		finding_set(f, ST_PASS, "%zu%s%s", e->devices,
			    !e->instance      ? ""
			    : e->expected > 0 ? ", as many as fit on "
					      : " on ",
			    e->instance ? e->instance : "");
		finding_value(f, (double)e->devices, NULL);
	}
}

/* A container sees the adapters of its host in /sys, but may lack the way to use them. */
static void uverbs(struct efa *e)
{
	struct finding *f;
	str_list nodes;
	size_t n = 0;

	sysroot_list(e->v->a, &nodes, "/dev/infiniband");
	for (size_t i = 0; i < nodes.n; i++)
		n += starts_with(nodes.v[i], "uverbs");
	if (!e->devices || n >= e->devices)
		return;
	f = efa_note(e, "efa.open", "/dev/infiniband");
	finding_set(f, efa_grave(e),
		    "has %zu of %zu adapters' device files: programs here can use no more", n,
		    e->devices);
	finding_value(f, (double)n, NULL);
	finding_expect(f, "uverbs0 to uverbs%zu", e->devices - 1);
	finding_fix(f, e->v->confined
			       ? "docker run --device=/dev/infiniband ...   # Kubernetes: ask for "
				 "vpc.amazonaws.com/efa"
			       : "sudo modprobe ib_uverbs");
}

static void pages(struct efa *e)
{
	int64_t n =
		sysroot_int(e->v->a, -1, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
	struct finding *f;

	if (n < 0 || !e->devices)
		return;
	f = efa_note(e, "efa.hugepages", "huge pages");
	if (n) {
		finding_set(f, ST_PASS, "%lld set aside for EFA's buffers", (long long)n);
		return;
	}
	finding_set(f, ST_INFO,
		    "none are set aside: EFA takes its buffers from small pages, of which an "
		    "adapter can register fewer");
	finding_expect(f, "some thousand, as the EFA installer sets them");
	finding_fix(f, "sudo sysctl -w vm.nr_hugepages=5128");
}

static void data(const struct efa *e)
{
	cJSON *o = e->v->data ? json_object(e->v->data, "efa") : NULL;
	cJSON *facts = e->v->facts;

	if (!o)
		return;
	json_str(o, "instance_type", e->instance);
	json_num(o, "adapters", (double)e->devices);
	if (e->expected >= 0)
		json_num(o, "adapters_of_type", e->expected);
	json_str(o, "installer", e->installer);
	json_str(o, "libfabric", e->fabric);
	json_str(o, "libfabric_version", e->fabric_version);
	json_str(o, "plugin", e->plugin);
	json_str(o, "plugin_version", e->plugin_version);
	json_num(facts, "efa", (double)e->devices);
	json_str(facts, "efa_installer", e->installer);
	json_str(facts, "libfabric", e->fabric_version);
	json_str(facts, "ofi_nccl", e->plugin_version);
}

void efa_look(struct gpu_view *v)
{
	struct efa e = {.v = v};

	find_instance(&e);
	if (!e.instance && !v->rdma.n)
		return;
	count_cards(&e);
	if (!e.cards && !e.devices && e.expected <= 0)
		return;
	adapters(&e);
	if (!e.cards && !e.devices) { /* nothing that a stack would serve */
		data(&e);
		return;
	}
	uverbs(&e);
	if (v->nvidia || v->nvml.gpus.n) { /* else nothing here runs NCCL */
		efa_stack(&e);
		efa_settings(&e);
	}
	pages(&e);
	data(&e);
}
