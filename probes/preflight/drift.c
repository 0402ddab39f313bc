/* What differs between hosts: the odd one is named against the majority. */
#include "lib/core/units.h"
#include "lib/core/version.h"
#include "lib/report/json.h"
#include "probes/preflight/drift_values.h"

static const struct drift_kind kinds[] = {
	{"gpus", "number of GPUs", COUNT, ST_FAIL,
	 "dmesg | grep -i -e xid -e 'fallen off the bus'   # then reboot it; the others have %s"},
	{"gpu", "kind of GPU", TEXT, ST_WARN, "lspci -nn | grep -i nvidia   # the others have %s"},
	{"driver", "NVIDIA driver", TEXT, ST_WARN,
	 "sudo apt-get install --only-upgrade 'nvidia-driver*'   # to %s, then reboot"},
	{"nccl", "NCCL", TEXT, ST_WARN, "pip install 'nvidia-nccl-cu12==%s'   # or its package"},
	{"torch", "PyTorch", TEXT, ST_WARN, "pip install 'torch==%s'"},
	{"torch_cuda", "PyTorch's CUDA", TEXT, ST_WARN, "pip install torch   # for CUDA %s"},
	{"cuda", "the driver's CUDA", TEXT, ST_WARN,
	 "sudo apt-get install --only-upgrade 'nvidia-driver*'   # the others serve %s; then "
	 "reboot"},
	{"gpu_name", "model of GPU", TEXT, ST_WARN, "nvidia-smi -L   # the others have %s"},
	{"vbios", "VBIOS of the GPUs", TEXT, ST_INFO,
	 "nvidia-smi -q | grep -i vbios   # the others: %s"},
	{"nvlinks", "NVLinks up", COUNT, ST_FAIL, "nvidia-smi nvlink -s   # the others have %s"},
	{"nvlink_domain", "NVLink domain", TEXT, ST_INFO,
	 "nvidia-smi -q | grep -A 9 Fabric   # the others are in %s"},
	{"ecc", "ECC of the GPUs", TEXT, ST_WARN,
	 "sudo nvidia-smi -e 1 && sudo reboot   # the others: %s"},
	{"mig", "MIG of the GPUs", TEXT, ST_WARN, "sudo nvidia-smi -mig 0   # the others: %s"},
	{"persistence", "persistence of the GPUs", TEXT, ST_INFO,
	 "sudo nvidia-smi -pm 1   # the others: %s"},
	{"power_limit", "power limit of the GPUs", TEXT, ST_WARN,
	 "sudo nvidia-smi -pl WATT   # the others: %s"},
	{"matmul_tflops", "slowest GPU's TFLOP/s", RATE, ST_WARN,
	 "nvidia-smi -q -d PERFORMANCE,CLOCK,POWER   # the others reach %s"},
	{"memory_gbps", "slowest GPU memory's GB/s", RATE, ST_WARN,
	 "nvidia-smi -q -d ECC,ROW_REMAPPER,CLOCK   # the others reach %s"},
	{"to_gpu_gbps", "slowest copy to a GPU, GB/s", RATE, ST_WARN,
	 "nvidia-smi -q | grep -A 8 'GPU Link Info'   # the others reach %s"},
	{"from_gpu_gbps", "slowest copy from a GPU, GB/s", RATE, ST_WARN,
	 "nvidia-smi -q | grep -A 8 'GPU Link Info'   # the others reach %s"},
	{"acs", "PCIe access control (ACS)", TEXT, ST_WARN,
	 "lspci -vvv | grep ACSCtl   # the others: %s"},
	{"iommu", "IOMMU", TEXT, ST_WARN, "cat /proc/cmdline   # the others: %s"},
	{"gpudirect", "GPUDirect RDMA", TEXT, ST_WARN,
	 "sudo modprobe nvidia-peermem   # the others: %s"},
	{"efa", "EFA adapters", COUNT, ST_WARN,
	 "ls /sys/class/infiniband   # the others have %s; launch it as they were"},
	{"efa_installer", "EFA installer", TEXT, ST_WARN,
	 "sudo ./efa_installer.sh -y   # of version %s"},
	{"libfabric", "libfabric", TEXT, ST_WARN,
	 "sudo ./efa_installer.sh -y   # the others have %s"},
	{"ofi_nccl", "aws-ofi-nccl", TEXT, ST_WARN,
	 "sudo ./efa_installer.sh -y   # the others have %s"},
	{"windsock", "windsock", TEXT, ST_WARN, NULL},
	{"cpus", "processors", COUNT, ST_WARN, "lscpu -e   # the others have %s"},
	{"cpus_usable", "processors that may be used", COUNT, ST_WARN,
	 "srun --cpus-per-task=%s ...   # Kubernetes: resources.limits.cpu; docker: --cpus; else: "
	 "taskset -p $$"},
	{"memory", "memory", SIZE, ST_WARN, "sudo dmidecode -t memory   # the others have %s"},
	{"nofile", "open files", LIMIT, ST_WARN,
	 "for u in '*' root; do echo \"$u - nofile %s\"; done | sudo tee "
	 "/etc/security/limits.d/90-nofile.conf   # then log in "
	 "again; LimitNOFILE= for slurmd"},
	{"memlock", "locked memory, in bytes", LIMIT, ST_WARN,
	 "for u in '*' root; do echo \"$u - memlock %s\"; done | sudo tee "
	 "/etc/security/limits.d/90-memlock.conf   # in kB here; "
	 "then log in again; LimitMEMLOCK= for slurmd"},
	{"congestion", "congestion control", TEXT, ST_WARN,
	 "sudo sysctl -w net.ipv4.tcp_congestion_control=%s"},
	{"tcp_rmem", "TCP's receive buffers", TEXT, ST_WARN,
	 "sudo sysctl -w net.ipv4.tcp_rmem='%s'"},
	{"tcp_wmem", "TCP's send buffers", TEXT, ST_WARN, "sudo sysctl -w net.ipv4.tcp_wmem='%s'"},
	{"governor", "clock governor", TEXT, ST_WARN, "sudo cpupower frequency-set -g %s"},
	{"thp", "transparent huge pages", TEXT, ST_INFO,
	 "echo %s | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"},
	{"clocksource", "clock source", TEXT, ST_INFO,
	 "echo %s | sudo tee "
	 "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
	{"kernel", "kernel", TEXT, ST_INFO, "uname -r   # the others have %s"},
};

/* Of these a host that names none has none; there this is typed, or the usual (NULL). */
static const struct {
	const char *key, *fix;
} nones[] = {
	{"gpus", "lspci | grep -i nvidia   # none in it, as in a head node? leave it out of "
		 "--hosts"},
	{"driver", "sudo modprobe nvidia   # install NVIDIA's driver first if that fails; the "
		   "others have %s"},
	{"nccl", NULL},
	{"torch", NULL},
	{"efa", NULL},
};

static bool may_be_none(const struct drift_kind *k, const char **ret_fix)
{
	*ret_fix = NULL;
	for (size_t i = 0; i < ARRAY_LEN(nones); i++)
		if (streq(nones[i].key, k->key)) {
			*ret_fix = nones[i].fix;
			return true;
		}
	return false;
}

struct finding *drift_note(struct preflight *p, const char *key, const char *subject,
			   const char *host)
{
	struct finding *f = tally_add(&p->t, S_DRIFT, stages[S_DRIFT].name,
				      arena_printf(p->a, "drift.%s", key ?: "same"), subject);

	if (host)
		tally_of_host(&p->t, host);
	return f;
}

/* limits.conf takes kB where the limit is in bytes, and more open files than fs.nr_open, as
 * "unlimited" would be, keep people from logging in. */
static const char *in_fix(struct arena *a, const struct drift_kind *k, const char *text)
{
	uint64_t bytes;

	if (streq(k->key, "nofile") && streq(text, "unlimited"))
		return "1048576";
	if (!streq(k->key, "memlock") || parse_uint(text, &bytes))
		return text;
	return arena_printf(a, "%llu", (unsigned long long)(bytes >> 10));
}

/* The table's text has at most one %s. */
static const char *fix_of(struct arena *a, const struct drift_kind *k, const struct drift_value *v,
			  const struct drift_value *usual)
{
	const char *fix, *hole;

	if (!streq(v->text, DRIFT_NONE) || !may_be_none(k, &fix) || !fix)
		fix = k->fix;
	hole = strstr(fix, "%s");

	return hole ? arena_printf(a, "%.*s%s%s", (int)(hole - fix), fix, in_fix(a, k, usual->text),
				   hole + 2)
		    : fix;
}

/* Hosts where a limit that is wrong by itself has been said to be; and those that have fewer
 * processors, of which fewer may be used. */
static void find_said(const struct preflight *p, const struct drift_kind *k, struct names *ret)
{
	bool usable = streq(k->key, "cpus_usable");
	const char *check = arena_printf(p->a, "limits.%s", usable ? "cpus" : k->key);

	for (size_t i = 0; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if ((f->status == ST_FAIL || f->status == ST_WARN) && f->host &&
		    (streq(f->check, check) || (usable && streq(f->check, "drift.cpus"))))
			names_add(ret, p->a, f->host);
	}
}

/* Without those hosts, are the others alike? */
static bool is_said(const struct preflight *p, const struct drift_kind *k, const drift_values *l)
{
	const struct drift_value *first = NULL;
	struct names said = {0};

	find_said(p, k, &said);
	for (size_t i = 0; i < l->n; i++) {
		if (names_has(&said, l->v[i].host))
			continue;
		if (first && !drift_alike(k, first, &l->v[i]))
			return false;
		first = first ?: &l->v[i];
	}
	return true;
}

/* Where every host may use all it has, how many there are has been compared. */
static bool is_compared(const struct answers *all, const struct drift_kind *k)
{
	for (size_t i = 0; i < all->n; i++) {
		const cJSON *facts = json_get(all->v[i].data, "facts");

		if (!streq(k->key, "cpus_usable") ||
		    json_get_num(facts, k->key, 0) != json_get_num(facts, "cpus", 0))
			return false;
	}
	return true;
}

/* Where ours is the odd one, or nobody's is (NULL), it goes to all others. */
static void advise_ours(struct preflight *p, struct finding *f, const drift_values *l,
			const struct drift_value *odd)
{
	host_list others = {0};

	if (odd && streq(odd->text, WINDSOCK_VERSION))
		odd = NULL;
	for (size_t i = 0; i < l->n; i++)
		if ((!odd || &l->v[i] == odd) && !streq(l->v[i].text, WINDSOCK_VERSION))
			LIST_ADD(p->a, &others)->name = l->v[i].host;
	drift_advise_version(p, f, &others);
}

static void name_odd(struct preflight *p, const struct drift_kind *k, const drift_values *l,
		     const struct drift_value *usual)
{
	struct names said = {0};

	find_said(p, k, &said);
	for (size_t i = 0; i < l->n; i++) {
		const struct drift_value *v = &l->v[i];
		struct finding *f;
		bool more;

		if (drift_alike(k, v, usual) || names_has(&said, v->host) ||
		    (k->type == RATE && v->number > usual->number))
			continue;
		more = k->type == COUNT && v->number > usual->number;
		f = drift_note(p, k->key, k->subject, v->host);
		finding_set(f, more ? ST_WARN : k->st, "%s here, %s on %zu of %zu hosts", v->text,
			    usual->text, usual->alike, l->n);
		finding_expect(f, "%s, as on the others", usual->text);
		if (k->fix)
			finding_fix(f, "%s", fix_of(p->a, k, v, usual));
		else
			advise_ours(p, f, l, v);
	}
}

/* Two against two: nobody is odd, and yet they differ. Of very many values the first are told. */
static void name_all(struct preflight *p, const struct drift_kind *k, const drift_values *l)
{
	enum { VALUES_MAX = 8 };
	struct finding *f = drift_note(p, k->key, k->subject, NULL);
	bool *told = arena_alloc(p->a, l->n * sizeof(*told));
	size_t values = 0, left = l->n;
	struct text t;

	text_init(&t, p->a);
	for (size_t i = 0; i < l->n && values < VALUES_MAX; i++) {
		host_list who = {0};

		for (size_t j = i; !told[i] && j < l->n; j++)
			if (!told[j] && drift_alike(k, &l->v[i], &l->v[j])) {
				told[j] = i != j;
				LIST_ADD(p->a, &who)->name = l->v[j].host;
			}
		if (!who.n)
			continue;
		text_addf(&t, "%s%s on %s", t.n ? "; " : "", l->v[i].text, names_brief(p->a, &who));
		values++;
		left -= who.n;
	}
	if (left)
		text_addf(&t, "; others on %zu more", left);
	finding_set(f, k->st == ST_FAIL ? ST_WARN : k->st, "%s", t.s);
	finding_expect(f, "the same on all hosts of a job");
	if (!k->fix)
		advise_ours(p, f, l, NULL);
}

static bool compare(struct preflight *p, const struct answers *all, const struct drift_kind *k)
{
	drift_values l = {0};
	const struct drift_value *usual;
	const char *ignored;

	if (is_compared(all, k))
		return false;
	drift_collect(p->a, all, k, may_be_none(k, &ignored), &l);
	usual = drift_usual(p->a, k, &l);
	if (!usual)
		return l.n > 1;
	if (2 * usual->alike > l.n)
		name_odd(p, k, &l, usual);
	else if (!is_said(p, k, &l))
		name_all(p, k, &l);
	return true;
}

void preflight_drift(struct preflight *p, const struct answers *all, double asked, double answered)
{
	size_t from = p->t.items.n, compared = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		compared += compare(p, all, &kinds[i]);
	for (size_t i = 0; i < p->same.n; i++)
		compared += drift_same(p, all, p->same.v[i]);
	drift_names(p, all);
	drift_master(p, all);
	drift_ranks(p, all);
	drift_addresses(p, all);
	drift_families(p, all);
	drift_clocks(p, all, asked, answered);
	if (compared && p->t.items.n == from)
		finding_set(
			tally_add(&p->t, S_DRIFT, stages[S_DRIFT].name, "drift.all", "all hosts"),
			ST_PASS, "are alike in %zu respects: hardware, versions, limits", compared);
}
