/* A pod that does not run has neither name nor address: that the others do not find it is the
 * effect, and what keeps it from running the cause. And what is done about a taint. */
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

/* A pod, where it is known with its namespace; "": that is not said. */
struct pod {
	char space[64], name[192];
};

/* Of a row of "kubectl get pods". */
static struct pod pod_of(const char *row)
{
	const char *p = said_spaces(row), *ready = said_next(p);
	struct pod ret = {.space = ""};

	if (*ready && !isdigit((unsigned char)*ready)) { /* -A has a column more */
		said_word(ret.space, sizeof(ret.space), p, " \t");
		p = ready;
	}
	said_word(ret.name, sizeof(ret.name), p, " \t");
	return ret;
}

/* "trainer-1.trainer", "trainer-1.trainer.team-a.svc": a Service stands before the namespace, if
 * there is one. */
static bool is_name_of(const char *name, const struct pod *pod)
{
	const char *one = name + strlen(pod->name), *two;
	size_t n = strlen(pod->space);

	if (!n || !starts_with(name, pod->name) || *one != '.')
		return starts_with(name, pod->name) && (!*one || *one == '.');
	one++;
	two = strchr(one, '.');
	if (!two) /* of a Service, in whatever namespace */
		return true;
	two++;
	return (strcspn(one, ".") == n && starts_with(one, pod->space)) ||
	       (strcspn(two, ".") == n && starts_with(two, pod->space));
}

/* Does the line say that this pod's name was not found? It may have other names too: the
 * speaker's. */
static bool misses(const char *text, const struct pod *pod)
{
	static const char *const keys[] = {"hostname ",	  "addresses of ", "to host ",
					   "can't find ", "lookup ",	   "("};
	char name[192];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		for (const char *p = text; (p = strstr(p, keys[i]));) {
			p += strlen(keys[i]);
			said_word(name, sizeof(name), p + strspn(p, "[('\""), " ,:;)]'\"\t");
			if (is_name_of(name, pod))
				return true;
		}
	return false;
}

static bool is_missed(const struct cause *e, const struct pod *pod)
{
	for (size_t i = 0; *pod->name && i < e->record->events.n; i++)
		if (misses(e->record->events.v[i].text, pod))
			return true;
	return false;
}

/* The row of a pod that does not run, nor does later, and which @e misses; NULL: none. */
static const struct log_event *missed(const struct why *w, const struct cause *rows,
				      const struct cause *e, struct pod *ret)
{
	for (size_t i = 0; rows && i < rows->record->events.n; i++) {
		const struct log_event *row = &rows->record->events.v[i];

		*ret = pod_of(row->text);
		if (is_missed(e, ret) &&
		    !podrows_runs(&w->podrows, ret->space, ret->name, row->order))
			return row;
	}
	return NULL;
}

/* "pod/trainer-1" of an event in a line of its own; "": it names none. */
static struct pod pod_of_event(const char *text)
{
	const char *p = strstr(text, "pod/");
	struct pod ret = {.space = ""};

	said_word(ret.name, sizeof(ret.name), p ? p + strlen("pod/") : "", " \t,:;]\"");
	return ret;
}

/* The line of @c that says why @pod does not run, or one that names no pod. @pod is none yet: of
 * one that @e misses, which it then is. */
static const struct log_event *told_of(const struct why *w, const struct cause *c,
				       const struct cause *e, struct pod *pod)
{
	const struct log_event *nameless_one = NULL;

	for (size_t i = 0; i < c->record->events.n; i++) {
		const struct log_event *event = &c->record->events.v[i];
		const struct pod of = pod_of_event(event->text);

		if (*pod->name && streq(of.name, pod->name))
			return event;
		if (*pod->name && !*of.name && !nameless_one)
			nameless_one = event;
		if (!*pod->name && is_missed(e, &of) &&
		    !podrows_runs(&w->podrows, "", of.name, event->order)) {
			*pod = of;
			return event;
		}
	}
	return nameless_one;
}

/* The surest cause that tells why; NULL: none does. */
static struct cause *reason_of(const struct why *w, struct explanation *x, const struct cause *e,
			       struct pod *pod, const struct log_event **ret)
{
	struct cause *best = NULL;

	for (size_t i = 0; unstarted[i]; i++) {
		struct cause *c = explain_find(x, unstarted[i]);
		const struct log_event *event = c && !c->is_over ? told_of(w, c, e, pod) : NULL;

		if (!event || (best && best->weight >= c->weight))
			continue;
		best = c;
		*ret = event;
	}
	return best;
}

static void no_name(const struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *e = explain_surest(x, nameless, CONFIDENT);
	struct cause *rows = explain_find(x, "K8S-077"), *c;
	const struct log_event *shown, *row;
	struct pod pod = {.space = ""};
	int weight = e ? e->weight + MORE : 0;

	if (rows)
		rows->weight = 0;
	if (!e)
		return;
	row = missed(w, rows, e, &pod);
	if (!row)
		pod = (struct pod){.space = ""};
	shown = row;
	c = reason_of(w, x, e, &pod, &shown);
	c = c ? c : rows;
	if (!c || !shown)
		return;
	c->first = shown;
	explain_reason(c, e, weight < MOST ? weight : MOST,
		       arena_printf(a, "%s does not run, so its name is not known", pod.name));
}

/* --- what the scheduler says ------------------------------------------------------------- */
struct taint {
	const char *key, *value; /* "": it has none, or one that only says that it is there */
};

/* "{maintenance: planned}" behind "taint"; not of a control plane's nodes, which are not meant. */
static bool taint_of(struct arena *a, const char *text, struct taint *ret)
{
	static const char *const stems[] = {"node-role.kubernetes.io/", "node.kubernetes.io/",
					    "node.cloudprovider"};
	char key[100], value[100];

	for (const char *p = text; (p = strstr(p, "taint {")); p++) {
		bool is_own = true;

		p += strlen("taint {");
		said_word(key, sizeof(key), p, ": }=");
		for (size_t i = 0; i < ARRAY_LEN(stems); i++)
			is_own &= !starts_with(key, stems[i]);
		if (!is_own || !*key)
			continue;
		p += strlen(key);
		said_word(value, sizeof(value), p + strspn(p, ":= "), "}");
		ret->key = explain_word(a, arena_strdup(a, key));
		ret->value = explain_word(a, arena_strdup(a, value));
		if (!ret->value || streq(value, "present"))
			ret->value = "";
		return ret->key != NULL;
	}
	return false;
}

/* The largest number right before @words. */
static long most_before(const char *text, const char *words)
{
	long most = 0;

	for (const char *p = text; (p = strstr(p, words)); p++) {
		const char *digits = p;
		long n;

		while (digits > text && isdigit((unsigned char)digits[-1]))
			digits--;
		n = strtol(digits, NULL, 10);
		most = n > most ? n : most;
	}
	return most;
}

/* Without what preemption would help. */
static int shown_length(const char *said)
{
	const char *end = strstr(said, " preemption:");
	size_t n = end ? (size_t)(end - said) : strlen(said);

	return n < SHOWN ? (int)n : SHOWN;
}

/* "0/6 nodes are available: ..." */
static const char *said_of_nodes(struct arena *a, const char *text)
{
	const char *p = strstr(text, " nodes are ");

	if (!p)
		return NULL;
	while (p > text && strchr("0123456789/", p[-1]))
		p--;
	return arena_printf(a, "%.*s", shown_length(said_spaces(p)), said_spaces(p));
}

/* Somebody works on the node, and takes the taint away when that is done. */
static bool will_pass(const char *key)
{
	static const char *const words[] = {"maintenance", "drain",  "cordon", "repair",
					    "upgrade",	   "reboot", NULL};

	return said_any_anyhow(key, words);
}

static const char *untaint(struct arena *a, const struct taint *t)
{
	if (will_pass(t->key))
		return arena_printf(a,
				    "kubectl taint nodes NODE %s-   # when what it stands for is "
				    "over; or a toleration in the pod, or more nodes. NODE: "
				    "kubectl describe nodes | grep -E '^Name:|%s'",
				    t->key, t->key);
	if (!*t->value)
		return arena_printf(a,
				    "- tolerations: [{key: %s, operator: Exists}]   # in the pod; "
				    "or as many GPUs as are free",
				    t->key);
	return arena_printf(a,
			    "- tolerations: [{key: %s, operator: Equal, value: \"%s\"}]   # in the "
			    "pod, where it may use these nodes; or nodes without the taint",
			    t->key, t->value);
}

static void taint(struct arena *a, struct cause *c)
{
	const char *text = c->first ? c->first->text : "", *said;
	struct taint t;

	if (!taint_of(a, text, &t))
		return;
	said = said_of_nodes(a, text);
	if (said && c->because)
		said = arena_printf(a, "%s: %s", c->because, said);
	c->because = said ? said : c->because;
	if (most_before(text, " Insufficient ") <= most_before(text, " node(s) had "))
		c->cure = untaint(a, &t);
}

void unplaced(const struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const tainted[] = {"K8S-001", "K8S-035", "K8S-065"};

	no_name(w, a, x);
	for (size_t i = 0; i < ARRAY_LEN(tainted); i++) {
		struct cause *c = explain_find(x, tainted[i]);

		if (c && !c->is_over)
			taint(a, c);
	}
}
