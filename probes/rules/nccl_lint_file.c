/* Settings that name a file to be read: a topology, and the graphs of rings and trees. */
#include "lib/core/file.h"
#include "lib/host/gpu.h"
#include "lib/host/sysroot.h"
#include "probes/rules/named_file.h"
#include "probes/rules/nccl_lint.h"
#include "probes/rules/nccl_xml.h"

#include <errno.h>
#include <sys/stat.h>

enum { XML_MAX = 8 << 20 };

static const struct xml_kind {
	const char *root;    /* its element, with version="1" */
	const char *without; /* what NCCL does where there is no such file */
} topology = {"system",
	      "NCCL goes on with what it finds itself, which in a virtual machine is not how GPUs "
	      "and cards are connected"},
  graph = {"graphs", "NCCL ends with \"Could not open XML graph file\""};

static void wrong(const struct lint *l, const struct setting *s, const char *fmt, ...) PRINTF(3, 4);
static void wrong(const struct lint *l, const struct setting *s, const char *fmt, ...)
{
	struct finding *f = lint_find(l, "lint.file", s);
	va_list ap;

	va_start(ap, fmt);
	finding_set(f, ST_FAIL, "%s %s", s->value, arena_vprintf(f->a, fmt, ap));
	va_end(ap);
	finding_expect(f, "a file that is here, as NCCL reads it, or none");
	lint_unset(f, s);
	report_add(l->r, f);
}

static bool is_version_1(const struct nccl_xml_node *n)
{
	const char *version = nccl_xml_attr(n, "version");

	return version && strtol(version, NULL, 0) == 1;
}

static const struct nccl_xml_node *root_of(const struct nccl_xml *x, const char *name)
{
	for (size_t i = 0; i < x->nodes.n; i++)
		if (x->nodes.v[i].parent == NCCL_XML_TOP && streq(x->nodes.v[i].name, name))
			return &x->nodes.v[i];
	return NULL;
}

/* Of what is there and was not read; /dev/null is as good as none. A recorded tree need not have
 * any. */
static void say_odd(const struct lint *l, const struct setting *s, int why)
{
	struct stat st;

	if (!sysroot_is_real())
		return;
	if (why == EFBIG)
		wrong(l, s, "is larger than %d MiB, as no such file is", XML_MAX >> 20);
	else if (!stat(s->value, &st) && S_ISFIFO(st.st_mode))
		wrong(l, s, "is a pipe: NCCL waits for ever for somebody to write there");
}

/* False: it is no such file, and that is said. */
static bool read_xml(const struct lint *l, const struct setting *s, const struct xml_kind *k,
		     struct nccl_xml *ret)
{
	struct arena *a = report_arena(l->r);
	const char *why = named_file_unreadable(a, s->value), *text;
	const struct nccl_xml_node *root;
	struct err e = {0};
	size_t n;

	if (why) {
		wrong(l, s, "%s: %s", why, k->without);
		return false;
	}
	if (file_read(sysroot_path(a, s->value), XML_MAX, a, (char **)&text, &n, &e)) {
		say_odd(l, s, errno);
		return false;
	}
	if (nccl_xml_read(a, text, n, ret)) {
		wrong(l, s,
		      "is not what NCCL's parser reads, line %u: %s; NCCL ends with \"internal "
		      "error\"",
		      ret->line, ret->why);
		return false;
	}
	root = root_of(ret, k->root);
	if (!root)
		wrong(l, s, "has no <%s> in it: NCCL takes nothing from it", k->root);
	else if (!is_version_1(root))
		wrong(l, s, "is no version=\"1\" of <%s>: NCCL ends with \"%s\"", k->root,
		      nccl_xml_attr(root, "version") ? "invalid usage" : "internal error");
	return root && is_version_1(root);
}

/* ---- is it of this machine? ---- */

/* How many of what the file names; of what is here, what it has not; and the other way round. */
struct match {
	const char *what;
	size_t there, here;
	const char *absent, *unnamed; /* the first of them; NULL: none */
};

static bool names_pci(const struct nccl_xml *x, const char *pci)
{
	for (size_t i = 0; i < x->nodes.n; i++) {
		const char *id = nccl_xml_attr(&x->nodes.v[i], "busid");

		if (id && streq(id, pci))
			return true;
	}
	return false;
}

/* PCI functions of a class ("0x03": displays, "0x02": networks). */
static void count_named(const struct nccl_xml *x, const char *class, struct match *m)
{
	for (size_t i = 0; i < x->nodes.n; i++) {
		const struct nccl_xml_node *n = &x->nodes.v[i];
		const char *id = nccl_xml_attr(n, "busid"), *c = nccl_xml_attr(n, "class");

		if (!streq(n->name, "pci") || !id || !c || !starts_with(c, class))
			continue;
		m->there++;
		if (!m->absent && !sysroot_exists("/sys/bus/pci/devices/%s", id))
			m->absent = id;
	}
}

static void count_here(const struct nccl_xml *x, const char *pci, struct match *m)
{
	m->here++;
	if (!m->unnamed && !names_pci(x, pci))
		m->unnamed = pci;
}

static void match_gpus(struct arena *a, const struct nccl_xml *x, struct match *m)
{
	gpu_list gpus;

	gpu_read(a, &gpus);
	count_named(x, "0x03", m);
	for (size_t i = 0; i < gpus.n; i++)
		if (gpus.v[i].vendor == GPU_NVIDIA)
			count_here(x, gpus.v[i].pci, m);
}

/* What it does not name NCCL finds itself: a card for storage, or of Azure's accelerated
 * networking, is in no file of the vendors'. */
static void match_cards(const struct lint *l, const struct nccl_xml *x, struct match *m)
{
	count_named(x, "0x02", m);
	m->here = l->in->rdma ? l->in->rdma->n : 0;
}

static bool differs(const struct match *m) { return m->here && (m->absent || m->unnamed); }

static void say_other(const struct lint *l, const struct setting *s, const struct match *m)
{
	struct finding *f = lint_find(l, "lint.file.machine", s);

	finding_set(f, ST_WARN,
		    "%s has %zu %s and this host %zu (%s %s): what it says of the ways between "
		    "them is another machine's",
		    s->value, m->there, m->what, m->here, m->absent ?: m->unnamed,
		    m->absent ? "is not here" : "is not in it");
	finding_expect(f, "the file for this kind of machine, or none");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_topology(const struct lint *l, const struct setting *s)
{
	struct match gpus = {.what = "GPUs"}, cards = {.what = "network cards"};
	struct nccl_xml x;

	if (!*s->value || !read_xml(l, s, &topology, &x))
		return;
	match_gpus(report_arena(l->r), &x, &gpus);
	if (!gpus.here) /* it is not this host that trains */
		return;
	match_cards(l, &x, &cards);
	if (differs(&gpus))
		say_other(l, s, &gpus);
	else if (differs(&cards))
		say_other(l, s, &cards);
}

/* ---- graphs ---- */

/* The numbers that <gpu dev="0x0"> and <net dev="0x0"> of its channels have, each once. */
static size_t count_devs(const struct nccl_xml *x, const char *name)
{
	enum { DEVS = 64 };
	bool seen[DEVS] = {0};
	size_t n = 0;

	for (size_t i = 0; i < x->nodes.n; i++) {
		const char *dev = nccl_xml_attr(&x->nodes.v[i], "dev");
		unsigned long at = dev ? strtoul(dev, NULL, 16) : DEVS;

		if (!streq(x->nodes.v[i].name, name) || at >= DEVS || seen[at])
			continue;
		seen[at] = true;
		n++;
	}
	return n;
}

void lint_graph(const struct lint *l, const struct setting *s)
{
	struct arena *a = report_arena(l->r);
	size_t here = 0, there;
	struct finding *f;
	struct nccl_xml x;
	gpu_list gpus;

	if (!*s->value || !read_xml(l, s, &graph, &x))
		return;
	gpu_read(a, &gpus);
	for (size_t i = 0; i < gpus.n; i++)
		here += gpus.v[i].vendor == GPU_NVIDIA;
	there = count_devs(&x, "gpu");
	if (!here || !there || here == there)
		return;
	f = lint_find(l, "lint.file.machine", s);
	finding_set(f, ST_WARN, "%s has channels of %zu GPUs, this host %zu: NCCL %s", s->value,
		    there, here,
		    there > here ? "ends with \"XML Import Channel : dev not found\", or in rings "
				   "that lead nowhere"
				 : "takes its rings for those of all ranks here");
	finding_expect(f, "graphs of %zu GPUs, or none", here);
	lint_unset(f, s);
	report_add(l->r, f);
}
