/* NVLinks of each GPU against its peers, and the fabric that NVSwitches make of them. */
#include "lib/host/cuda.h"
#include "lib/host/sysroot.h"
#include "probes/node/gpu_view.h"

static size_t active(const struct nvml_gpu *g)
{
	size_t n = 0;

	for (size_t i = 0; i < NVML_LINKS; i++)
		n += g->links[i] == 1;
	return n;
}

static size_t present(const struct nvml_gpu *g)
{
	size_t n = 0;

	for (size_t i = 0; i < NVML_LINKS; i++)
		n += g->links[i] >= 0;
	return n;
}

/* One that is cut into parts (MIG) uses none, and is no measure of the others. */
static const char *links_of(struct arena *a, const struct nvml_gpu *g)
{
	return present(g) && g->mig != 1 ? arena_printf(a, "%zu", active(g)) : NULL;
}

/* Those that are down here and up on a GPU that has what most have. */
static const char *which_are_down(struct gpu_view *v, const struct nvml_gpu *g, size_t usual)
{
	const struct nvml_gpu *peer = NULL;
	struct text t;

	text_init(&t, v->a);
	for (size_t i = 0; i < v->nvml.gpus.n && !peer; i++)
		if (active(&v->nvml.gpus.v[i]) == usual)
			peer = &v->nvml.gpus.v[i];
	for (size_t i = 0; peer && i < NVML_LINKS; i++)
		if (g->links[i] == 0 && peer->links[i] == 1)
			text_addf(&t, "%s%zu", t.n ? ", " : "", i);
	return t.s;
}

static bool is_switched(const struct gpu_view *v)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		if (v->nvml.gpus.v[i].to_switch)
			return true;
	return false;
}

/* Without a switch only some GPUs may have a bridge, and that is how it was bought. */
static void link_down(struct gpu_view *v, const struct nvml_gpu *g, size_t usual, size_t alike)
{
	const char *which = which_are_down(v, g, usual);
	bool certain = is_switched(v) || active(g);
	struct finding *f = gpu_note(v, "nvlink.link", gpu_subject(v, g));

	finding_set(f, certain ? ST_FAIL : ST_WARN, "has %zu NVLinks up, %zu on %zu others%s%s",
		    active(g), usual, alike, *which ? "; down: " : "", which);
	finding_value(f, (double)active(g), NULL);
	finding_expect(f, "%zu", usual);
	finding_fix(f,
		    "nvidia-smi nvlink -s -i %d   # then nvidia-smi --gpu-reset, else reseat or "
		    "replace that GPU or bridge",
		    g->index);
}

static void links(struct gpu_view *v)
{
	size_t alike, bad = 0, up = 0;
	const char *usual = gpu_usual(v, links_of, &alike);
	size_t most = usual ? strtoul(usual, NULL, 10) : 0;

	for (size_t i = 0; i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];

		up += active(g);
		if (g->error || !links_of(v->a, g) || !usual || active(g) >= most)
			continue;
		bad++;
		link_down(v, g, most, alike);
	}
	if (!bad && up)
		finding_set(gpu_note(v, "nvlink.link", gpu_all(v)), ST_PASS, "%zu NVLinks up%s", up,
			    usual ? ", as many on each" : "");
}

static bool fabric_known(const struct nvml_gpu *g) { return g->fabric.state > NVML_FABRIC_NONE; }

static void fix_fabric(struct finding *f)
{
	finding_expect(f, "registered with the fabric manager, healthy");
	finding_fix(
		f,
		"sudo systemctl restart nvidia-fabricmanager   # with no process on the GPUs; then "
		"nvidia-smi -q | grep -A 9 Fabric");
}

static bool is_unregistered(const struct nvml_gpu *g)
{
	return g->fabric.state == NVML_FABRIC_NOT_STARTED ||
	       g->fabric.state == NVML_FABRIC_IN_PROGRESS;
}

/* A part of a board that was lent alone is "in progress" for ever, and needs no fabric. */
static void works_without(const struct gpu_view *v, struct finding *f)
{
	bool alone = v->nvml.gpus.n == 1;

	finding_set(f, alone ? ST_INFO : ST_WARN,
		    "is not registered with the NVLink fabric, as NVML has it, but CUDA works on "
		    "it%s",
		    alone ? "" : ": not all of its NVLinks may be of use");
	if (alone)
		f->fix.n = 0;
}

/* Below a sysroot only WINDSOCK_CUDA is asked, and once for all GPUs. */
static const struct cuda_answer *cuda_answer(struct gpu_view *v)
{
	const char *set = getenv("WINDSOCK_CUDA");
	bool named = set && *set;

	if (v->cuda)
		return v->cuda;
	v->cuda = arena_alloc(v->a, sizeof(*v->cuda));
	*v->cuda = (struct cuda_answer){0};
	if (named || sysroot_is_real())
		(void)cuda_ask_aside(named ? set : NULL, v->look->cap_ns, v->cuda);
	return v->cuda;
}

/* What CUDA makes of it decides; where it does not say, whether there is anything to link with. */
static void unregistered(struct gpu_view *v, const struct nvml_gpu *g, struct finding *f)
{
	const struct cuda_answer *cuda = cuda_answer(v);
	const char *is =
		g->fabric.state == NVML_FABRIC_NOT_STARTED ? "not registered" : "still registering";

	if (cuda->n)
		works_without(v, f);
	else if (cuda->error == CUDA_NOT_READY || v->nvml.gpus.n > 1)
		finding_set(f, ST_FAIL,
			    "is %s with the NVLink fabric: until it is, CUDA fails with error "
			    "802 (system not yet initialized)",
			    is);
	else
		finding_set(f, ST_WARN,
			    "is %s with the NVLink fabric: with error 802 (system not yet "
			    "initialized) CUDA fails for that",
			    is);
}

static bool fabric(struct gpu_view *v, const struct nvml_gpu *g)
{
	const struct nvml_fabric *b = &g->fabric;
	bool severe = false, bad_summary = b->summary == 2 || b->summary == 3;
	const char *ill = nvml_health_text(v->a, b->health, &severe);
	struct finding *f;

	if (b->state == NVML_FABRIC_COMPLETED && b->status <= 0 && !ill && !bad_summary)
		return false;
	f = gpu_note(v, "nvlink.fabric", gpu_subject(v, g));
	fix_fabric(f);
	if (is_unregistered(g))
		unregistered(v, g, f);
	else if (b->status > 0)
		finding_set(f, ST_FAIL, "could not register with the NVLink fabric: %s (%d)",
			    b->status_text, b->status);
	else if (ill)
		finding_set(f, severe ? ST_FAIL : ST_WARN, "its NVLink fabric is not healthy: %s",
			    ill);
	else
		finding_set(f, b->summary == 2 ? ST_FAIL : ST_WARN, "its NVLink fabric is %s",
			    b->summary == 2 ? "unhealthy" : "of limited capacity");
	return true;
}

void gpu_links_worked(struct gpu_view *v, const struct nvml_gpu *g)
{
	const char *subject = gpu_subject(v, g);

	for (size_t i = 0; is_unregistered(g) && i < v->look->t->items.n; i++) {
		struct finding *f = v->look->t->items.v[i].f;

		if ((f->status == ST_FAIL || f->status == ST_WARN) &&
		    streq(f->check, "nvlink.fabric") &&
		    streq(f->subject ? f->subject : "", subject))
			works_without(v, f);
	}
}

static const char *clique_of(struct arena *a, const struct nvml_gpu *g)
{
	const struct nvml_fabric *b = &g->fabric;

	return b->state == NVML_FABRIC_COMPLETED
		       ? arena_printf(a, "%s.%lld", b->cluster, (long long)b->clique)
		       : NULL;
}

static void cliques(struct gpu_view *v)
{
	size_t alike;
	const char *usual = gpu_usual(v, clique_of, &alike);

	for (size_t i = 0; usual && i < v->nvml.gpus.n; i++) {
		const struct nvml_gpu *g = &v->nvml.gpus.v[i];
		const char *own = clique_of(v->a, g);
		struct finding *f;

		if (!own || streq(own, usual))
			continue;
		f = gpu_note(v, "nvlink.clique", gpu_subject(v, g));
		finding_set(f, ST_FAIL,
			    "is in clique %s of the NVLink fabric, %zu others in %s: no NVLink "
			    "between them",
			    own, alike, usual);
		finding_expect(f, "%s", usual);
		finding_fix(f,
			    "nvidia-smi -q | grep -A 9 Fabric   # then repair the partition in the "
			    "fabric manager");
	}
}

void gpu_links(struct gpu_view *v)
{
	static const struct gpu_check checks[] = {
		{"nvlink.fabric", fabric_known, fabric, "registered with the NVLink fabric"}};

	links(v);
	gpu_each(v, checks, ARRAY_LEN(checks));
	cliques(v);
}
