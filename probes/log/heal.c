#include "probes/log/heal.h"

#include "probes/log/bar.h"
#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

/* It helped the rank that says so; who says none, speaks for all. */
static void help(struct record *r, const struct log_who *who)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (!log_hosts_fit(who->host, r->events.v[i].who.host))
			return;
	r->is_open = false;
	r->open_ranks &= who->rank < 0 ? 0 : ~(UINT64_C(1) << (who->rank % 64));
}

void heal_retried(struct why *w, struct why_stream *s, const struct log_line *l)
{
	enum { NEAR = 40 /* lines from a failure to that word */ };

	for (size_t i = 0; ending_is_heal(l) && i < signature_count; i++) {
		struct record *r = &w->records[i];

		if (r->events.n && r->last_file == s->file && s->line - r->last_line <= NEAR)
			help(r, &l->who);
	}
}

/* "config.json: 100%|###| 665/665 [00:00<00:00, 1.21MB/s]": that file came. */
void heal_downloaded(struct why *w, struct why_stream *s, const struct log_line *l)
{
	char name[128];

	if (!bar_of_file(l->text, name, sizeof(name)))
		return;
	for (size_t i = 0; i < signature_count; i++) {
		struct record *r = &w->records[i];

		for (size_t j = 0; starts_with(signatures[i].id, "HUB-") && j < r->events.n; j++)
			r->events.v[j].has_come |= r->events.v[j].file == s->file &&
						   ending_names(r->events.v[j].text, name);
	}
}

/* Whether what @event, of a table or of the events of one pod, tells is of that pod. */
static bool is_of_pod(const struct log_event *event, const struct why_stream *s,
		      const struct log_line *l, const char *pod)
{
	enum { NEAR = 16 /* lines of one pod's events */ };
	static const char *const named[] = {"pod/", "pod=", "podgroup/"};

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (strstr(event->text, named[i]))
			return *pod && ending_names(event->text, pod);
	return s->line - event->line <= NEAR && event->who.rank == l->who.rank;
}

/* "Successfully assigned train/worker-0 to gpu-node-2", "podgroup/train-7c1  pod group is ready",
 * "pod scheduled on node g7": it waited, and waits no more. */
void heal_scheduled(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct record *r = &w->records[signature_find("K8S-001")];
	const char *slash = strchr(said_after(l, "Successfully assigned "), '/');
	char pod[254] = "";

	if (slash)
		said_word(pod, sizeof(pod), slash + 1, " ");
	else
		said_word(pod, sizeof(pod), said_after(l, "podgroup/"), " \t");
	for (size_t i = 0; i < r->events.n; i++) {
		struct log_event *e = &r->events.v[i];

		e->has_come |= e->file == s->file && is_of_pod(e, s, l, pod);
	}
}

/* What @id's lines tell of the pod of @l, an event of Kubernetes, is over; with @image, where they
 * name one, of that image only. */
static void pod_came(struct why *w, const struct why_stream *s, const struct log_line *l,
		     const char *id, const char *image)
{
	struct record *r = &w->records[signature_find(id)];
	char pod[254];

	said_word(pod, sizeof(pod), said_after(l, "pod/"), " \t");
	for (size_t i = 0; i < r->events.n; i++) {
		struct log_event *e = &r->events.v[i];

		e->has_come |= e->file == s->file && is_of_pod(e, s, l, pod) &&
			       (!image || !strchr(e->text, '"') || strstr(e->text, image));
	}
}

/* "Successfully pulled image "registry/train:1" in 14.2s" */
void heal_pulled(struct why *w, struct why_stream *s, const struct log_line *l)
{
	char image[256];

	said_word(image, sizeof(image), said_after(l, "pulled image \""), "\"");
	if (*image)
		pod_came(w, s, l, "K8S-003", image);
}

/* "Started container train": its volumes and its network are there. */
void heal_started(struct why *w, struct why_stream *s, const struct log_line *l)
{
	pod_came(w, s, l, "K8S-004", NULL);
	pod_came(w, s, l, "K8S-006", NULL);
}

/* "Node gpu-1 status is now: NodeReady" */
void heal_node(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct record *r = &w->records[signature_find("K8S-008")];
	char said[300], name[254];

	said_word(name, sizeof(name), said_after(l, "Node "), " ");
	(void)snprintf(said, sizeof(said), "Node %s status is now: ", name);
	for (size_t i = 0; i < r->events.n; i++)
		r->events.v[i].has_come |=
			r->events.v[i].file == s->file && strstr(r->events.v[i].text, said);
}

/* May @e be of that host's daemon? "Nodes gpu1 not responding" is of the one that it names; which
 * of "gpu[1-4]" came back is not asked. */
static bool is_of_node(const struct log_event *e, const char *host)
{
	static const char *const before[] = {"error: Nodes ", "Node failure on "};
	char node[254];

	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		const char *p = strstr(e->text, before[i]);

		if (!p)
			continue;
		said_word(node, sizeof(node), p + strlen(before[i]), " ");
		return strpbrk(node, "[,") || log_hosts_fit(node, host);
	}
	return log_hosts_fit(e->who.host, host);
}

static bool is_all_of_node(const struct record *r, const char *host)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (!is_of_node(&r->events.v[i], host))
			return false;
	return r->events.n;
}

void heal_slurmd(struct why *w, struct why_stream *s, const struct log_line *l)
{
	static const char *const lacked[] = {
		"SLM-003", "SLM-007", "SLM-026", /* it did not answer */
		"SLM-017", "SLM-018", "SLM-019", "SLM-023", "SLM-027", "SLM-033", "SLM-042",
		"SLM-043", "SLM-044", "SLM-049", "SLM-050", "SLM-069", /* ... since it met that */
	};

	for (size_t i = 0; i < ARRAY_LEN(lacked); i++) {
		struct record *r = &w->records[signature_find(lacked[i])];

		r->is_up_again |= r->last_file == s->file && is_all_of_node(r, l->who.host);
	}
}

/* ssh: "Permanently added 'worker-1.train,10.0.0.7' (ED25519) to the list of known hosts": a name
 * that did not resolve before does now. */
void heal_logged_in(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct record *r = &w->records[signature_find("MPI-050")];
	char name[254];

	said_word(name, sizeof(name), said_after(l, "Permanently added '"), "',");
	for (size_t i = 0; *name && i < r->events.n; i++) {
		struct log_event *e = &r->events.v[i];
		const char *asked = strstr(e->text, "resolve hostname ");

		if (asked && e->file == s->file) {
			asked += strlen("resolve hostname ");
			e->has_come |= starts_with(asked, name) && asked[strlen(name)] == ':';
		}
	}
}

/* uvicorn: 'INFO: 10.4.0.22:40118 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request': what it
 * raised before was of that request. */
void heal_answered(struct why *w, struct why_stream *s, const struct log_line *l)
{
	enum { NEAR = 80 /* lines of a traceback, and of others between */ };
	struct record *r = &w->records[signature_find("APP-001")];
	const char *code = said_after(l, "HTTP/1.1\" ");
	size_t n = 0;

	if (!strstr(l->text, "\"POST ") ||
	    !(starts_with(code, "400 ") || starts_with(code, "413 ") || starts_with(code, "422 ")))
		return;
	for (size_t i = 0; i < r->events.n; i++) {
		struct log_event *e = &r->events.v[i];

		e->has_come |= e->file == s->file && s->line - e->line <= NEAR;
		n += e->has_come;
	}
	if (n && n == r->events.n)
		r->back_line = s->line;
}

/* Words of a link, a server; the name of it stands before or behind them. */
static const struct words {
	const char *id;
	enum { NAME_BEFORE, NAME_BEHIND, NAME_OF_SERVER } where;
	const char *words, *rest;
} ups[] =
	{
#define UP(id, where, words, rest) {id, where, words, rest},
		HEAL_UPS(UP)
#undef UP
},
  downs[] = {
	  {"KRN-003", NAME_BEFORE, "ink down", ""},
	  {"KRN-003", NAME_BEFORE, "ink Down", ""},
	  {"KRN-003", NAME_BEFORE, "ink is down", ""},
	  {"KRN-003", NAME_BEFORE, "ink is Down", ""},
	  {"KRN-003", NAME_BEFORE, "link status definitely down", ""},
	  {"KRN-003", NAME_BEFORE, "ost carrier", ""},
	  {"KRN-003", NAME_BEFORE, "changed to down", ""},
	  {"SLM-003", NAME_BEHIND, "error: Nodes ", ""},
	  {"KRN-014", NAME_BEHIND, "nfs: server ", ""},
	  {"KRN-014", NAME_OF_SERVER, "Connection to ", ""},
	  {"KRN-014", NAME_OF_SERVER, "ptlrpc_expire_one_request", ""},
};

static bool is_device(char c) { return isalnum((unsigned char)c) || strchr("._-", c); }

static const char *word_before(const char *text, const char *p, const char **ret_end)
{
	while (p > text && !is_device(p[-1]))
		p--;
	for (*ret_end = p; p > text && is_device(p[-1]);)
		p--;
	return p;
}

/* "mlx5_core 0000:17:00.0 eth2: Link down", "igb: eth0 NIC Link is Down", "(slave ens1): link" */
static void device_before(const char *text, const char *p, char *out, size_t size)
{
	const char *end;

	while (p > text && is_device(p[-1])) /* "L" */
		p--;
	p = word_before(text, p, &end);
	if (end - p == 3 && memcmp(p, "NIC", 3) == 0)
		p = word_before(text, p, &end);
	(void)snprintf(out, size, "%.*s", (int)(end - p), p);
}

/* Lustre's: "scratch-OST0003 (at 10.0.0.3@o2ib)", "o4->scratch-OST0003-osc-ff@10.0.0.3@o2ib:6/4":
 * where that server is. */
static void server_of(const char *p, char *out, size_t size)
{
	const char *at = strstr(p, "(at "), *to = strstr(p, "->");

	*out = '\0';
	if (at)
		said_word(out, size, at + strlen("(at "), ")");
	else if (to && (to = strchr(to, '@')))
		said_word(out, size, to + 1, ":");
}

/* Whose name @text says with one of those words; false: none. */
static bool name_in(const char *text, const struct words *v, size_t n, const char *id, char *out,
		    size_t size)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = streq(v[i].id, id) ? strstr(text, v[i].words) : NULL;

		if (!p)
			continue;
		if (v[i].where == NAME_BEFORE) {
			device_before(text, p, out, size);
			return *out;
		}
		if (v[i].where == NAME_OF_SERVER) {
			server_of(p, out, size);
			return *out;
		}
		p += strlen(v[i].words);
		said_word(out, size, p, " ,");
		if (*out && starts_with(p + strlen(out), v[i].rest))
			return true;
	}
	return false;
}

static void come_back(struct record *r, const struct why_stream *s, const char *id,
		      const struct log_line *l)
{
	char up[64], down[64];
	size_t n = 0;

	if (!r->events.n || !name_in(l->text, ups, ARRAY_LEN(ups), id, up, sizeof(up)))
		return;
	for (size_t i = 0; i < r->events.n; i++) {
		struct log_event *e = &r->events.v[i];

		if (e->file != s->file || !log_hosts_fit(e->who.host, l->who.host) ||
		    !name_in(e->text, downs, ARRAY_LEN(downs), id, down, sizeof(down)) ||
		    !streq(up, down))
			continue;
		e->has_come = true;
		n++;
	}
	if (n && n == r->events.n) /* and those that were not kept are of the same */
		r->back_line = s->line;
}

void heal_up(struct why *w, struct why_stream *s, const struct log_line *l)
{
	for (size_t i = 0; i < ARRAY_LEN(ups); i++)
		if (!i || !streq(ups[i].id, ups[i - 1].id))
			come_back(&w->records[signature_find(ups[i].id)], s, ups[i].id, l);
}

bool heal_is_whole(const struct record *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->events.n; i++)
		n += r->events.v[i].has_come;
	return n && n == r->events.n && (n == r->count || r->back_line > r->last_line);
}
