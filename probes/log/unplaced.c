/* A pod that does not run has neither name nor address: that the others do not find it is the
 * effect, and what keeps it from running the cause. And which taint that is. */
#include "probes/log/explain.h"

#include "lib/core/text.h"
#include "probes/log/said.h"

#include <ctype.h>

enum { MORE = 5, /* than what it explains */ MOST = 98, SHOWN = 200 };

static const char *const nameless[] = {"MPI-050", "PT-002", "K8S-028", "MPI-010", NULL};
/* What the scheduler, its queues and a kubelet say. */
static const char *const unstarted[] = {"K8S-001", "K8S-034", "K8S-035", "K8S-064", "K8S-065",
					"K8S-013", "K8S-042", "K8S-049", "K8S-051", "K8S-003",
					"K8S-004", "K8S-006", "K8S-010", NULL};

/* The pod of a row of "kubectl get pods", without its namespace. */
static const char *pod_of(struct arena *a, const char *row)
{
	const char *p = said_spaces(row), *ready = said_next(p);
	char name[192];

	if (*ready && !isdigit((unsigned char)*ready)) /* -A has a column more */
		p = ready;
	said_word(name, sizeof(name), p, " \t");
	return arena_strdup(a, name);
}

/* It is that pod's, or that pod's in a domain: "trainer-1.trainer". */
static bool names(const char *text, const char *pod)
{
	size_t n = strlen(pod);

	for (const char *p = text; n && (p = strstr(p, pod)); p++)
		if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '-')) &&
		    !isalnum((unsigned char)p[n]) && p[n] != '-' && p[n] != '_')
			return true;
	return false;
}

static bool is_missed(const struct cause *e, const char *pod)
{
	for (size_t i = 0; i < e->record->events.n; i++)
		if (names(e->record->events.v[i].text, pod))
			return true;
	return false;
}

/* The pod of that table which does not run, and which @e misses; NULL: none. */
static const char *missed(struct arena *a, const struct cause *rows, const struct cause *e,
			  const struct log_event **ret)
{
	for (size_t i = 0; rows && i < rows->record->events.n; i++) {
		const char *pod = pod_of(a, rows->record->events.v[i].text);

		*ret = &rows->record->events.v[i];
		if (is_missed(e, pod))
			return pod;
	}
	return NULL;
}

/* "pod/trainer-1" of an event in a line of its own. */
static const char *pod_of_event(struct arena *a, const struct cause *c, const struct cause *e)
{
	for (size_t i = 0; i < c->record->events.n; i++) {
		const char *p = strstr(c->record->events.v[i].text, "pod/");
		char name[192];

		said_word(name, sizeof(name), p ? p + strlen("pod/") : "", " \t");
		if (*name && is_missed(e, name))
			return arena_strdup(a, name);
	}
	return NULL;
}

static void no_name(struct arena *a, struct explanation *x)
{
	const struct cause *e = explain_surest(x, nameless, CONFIDENT);
	struct cause *rows = explain_find(x, "K8S-077"), *c = explain_surest(x, unstarted, 0);
	const struct log_event *row = NULL;
	const char *pod = e ? missed(a, rows, e, &row) : NULL;
	int weight = e ? e->weight + MORE : 0;

	if (rows)
		rows->weight = 0;
	if (e && c && !pod)
		pod = pod_of_event(a, c, e);
	if (!pod)
		return;
	if (!c) {
		c = rows;
		c->first = row;
	}
	explain_reason(c, e, weight < MOST ? weight : MOST,
		       arena_printf(a, "%s does not run, so its name is not known", pod));
}

/* --- what the scheduler says ------------------------------------------------------------- */
/* "{maintenance: planned}" behind "taint"; not of a control plane's nodes, which are not meant. */
static const char *taint_of(struct arena *a, const char *text)
{
	static const char *const stems[] = {"node-role.kubernetes.io/", "node.kubernetes.io/",
					    "node.cloudprovider"};
	char key[100];

	for (const char *p = text; (p = strstr(p, "taint {")); p++) {
		bool is_own = true;

		said_word(key, sizeof(key), p + strlen("taint {"), ": }=");
		for (size_t i = 0; i < ARRAY_LEN(stems); i++)
			is_own &= !starts_with(key, stems[i]);
		if (is_own && *key)
			return explain_word(a, arena_strdup(a, key));
	}
	return NULL;
}

/* Without what preemption would help. */
static int shown_length(const char *said)
{
	const char *end = strstr(said, " preemption:");
	size_t n = end ? (size_t)(end - said) : strlen(said);

	return n < SHOWN ? (int)n : SHOWN;
}

static bool is_for_gpus(const char *key)
{
	return strcasestr(key, "gpu") || strcasestr(key, "accelerator");
}

static void taint(struct arena *a, struct cause *c)
{
	const char *text = c->first ? c->first->text : "", *key = taint_of(a, text), *said;

	if (!key)
		return;
	said = strstr(text, "nodes are ");
	while (said && said > text && strchr("0123456789/ ", said[-1]))
		said--;
	if (said)
		said = arena_printf(a, "%.*s", shown_length(said_spaces(said)), said_spaces(said));
	if (said && c->because)
		said = arena_printf(a, "%s: %s", c->because, said);
	c->because = said ? said : c->because;
	c->cure =
		is_for_gpus(key)
			? arena_printf(a,
				       "- tolerations: [{key: %s, operator: Exists}]   # in the "
				       "pod; or as many GPUs as are free",
				       key)
			: arena_printf(a,
				       "kubectl taint nodes NODE %s-   # when what it stands for "
				       "is over; or a toleration in the pod, or more nodes. NODE: "
				       "kubectl describe nodes | grep -E '^Name:|%s'",
				       key, key);
}

void unplaced(struct arena *a, struct explanation *x)
{
	static const char *const tainted[] = {"K8S-001", "K8S-035", "K8S-065"};

	no_name(a, x);
	for (size_t i = 0; i < ARRAY_LEN(tainted); i++) {
		struct cause *c = explain_find(x, tainted[i]);

		if (c && !c->is_over)
			taint(a, c);
	}
}
