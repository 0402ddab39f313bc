/* What only a comparison of hosts shows: published addresses that others
 * cannot reach, and settings that disagree. */
#include "probes/iface/fleet_compare.h"

#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/host/nccl_alike.h"
#include "lib/report/json.h"
#include "probes/iface/fleet_pairs.h"
#include "probes/rules/accelerate.h"

static const char *published(const struct answer *a)
{
	return json_get_str(json_get(json_get(a->data, "predict"), "nccl"), "address");
}

/* An open or refused row, through any interface. */
static void read_proof(struct fleet *f, const struct answer *from, struct names *ret)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, json_get(json_get(from->data, "suggest"), "proof"))
		if (json_get_str(row, "address") && fleet_is_answer(row))
			names_add(ret, f->a, json_get_str(row, "address"));
}

/* The addresses that answered each host: of thousands the rows are read once, not for each pair. */
static struct names *read_proofs(struct fleet *f, const struct answers *proof)
{
	struct names *v = arena_alloc(f->a, (proof->n + 1) * sizeof(*v));

	for (size_t i = 0; i < proof->n; i++)
		read_proof(f, &proof->v[i], &v[i]);
	return v;
}

/* What NCCL on @to would publish: can every other host reach it? One finding per
 * host, since pairs are many. */
static void judge_published(struct fleet *f, const struct answers *proof,
			    const struct names *answered, size_t to, const char *addr)
{
	struct finding *g = report_find(f->report, "predict.reach", proof->v[to].host);
	host_list cannot = {0};
	size_t asked = 0;

	for (size_t i = 0; i < proof->n; i++) {
		if (i == to || !proof->v[i].doc)
			continue;
		asked++;
		if (!names_has(&answered[i], addr))
			*LIST_ADD(f->a, &cannot) = (struct host){.name = proof->v[i].host};
	}
	if (!asked)
		return;
	if (!cannot.n) {
		finding_set(g, ST_PASS, "NCCL there publishes %s, which answers from %zu host%s",
			    addr, asked, asked == 1 ? "" : "s");
	} else {
		finding_set(g, ST_FAIL, "NCCL there would publish %s, which %s cannot reach", addr,
			    hostlist_fold(f->a, &cannot));
		finding_expect(g, "an address that answers from every other host");
		finding_fix(g, "ifprobe --suggest --hosts %s   # one choice that reaches all",
			    shell_quote(f->a, f->given));
	}
	report_add(f->report, g);
}

/* No other host's, whatever the network is. */
static bool is_own(const char *addr)
{
	return starts_with(addr, "127.") || starts_with(addr, "169.254.") ||
	       starts_with(addr, "fe80:");
}

/*
 * Which hosts' addresses all others try: of so many that a command line holds them, and with
 * them, as many again at the most, those that cannot be right: not a host's alone.
 */
static size_t choose_tried(struct fleet *f, const struct answers *all, bool *ret)
{
	size_t step = fleet_step(all->n), n = 0, odd = step > 1 ? all->n / step : 0;
	struct names seen = {0};

	for (size_t i = 0; i < all->n; i++) {
		const char *addr = published(&all->v[i]);
		bool is_odd = odd && addr && (is_own(addr) || names_has(&seen, addr));

		if (addr)
			names_add(&seen, f->a, addr);
		ret[i] = addr && (i % step == 0 || is_odd);
		odd -= is_odd && i % step;
		n += ret[i];
	}
	return n;
}

int fleet_predict(struct fleet *f, const str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	AUTO(answers_done) struct answers proof = {0};
	const struct names *answered;
	str_list again = {0};
	bool *tried;
	size_t n;

	if (fleet_ask(f, args, true, &all, e) || interrupt_err(e))
		return -1;
	tried = arena_alloc(f->a, (all.n + 1) * sizeof(*tried));
	n = choose_tried(f, &all, tried);
	*LIST_ADD(f->a, &again) = "--suggest";
	fleet_deadline_args(f, &again);
	for (size_t i = 0; i < all.n; i++) {
		const char *addr = published(&all.v[i]);

		if (!tried[i] || strchr(addr, '%'))
			continue;
		*LIST_ADD(f->a, &again) = "--peer";
		*LIST_ADD(f->a, &again) = arena_printf(
			f->a, strchr(addr, ':') ? "%s=[%s]" : "%s=%s", all.v[i].host, addr);
	}
	if (fleet_ask(f, &again, false, &proof, e) || interrupt_err(e))
		return -1;
	answered = read_proofs(f, &proof);
	for (size_t i = 0; i < all.n; i++)
		if (tried[i])
			judge_published(f, &proof, answered, i, published(&all.v[i]));
	if (fleet_step(all.n) > 1)
		report_covers(f->report,
			      "what NCCL would publish on %zu hosts; %zu of them tried from all",
			      answers_count(&all), n);
	else
		report_covers(f->report, "what NCCL would publish on %zu hosts, each to each",
			      answers_count(&all));
	return 0;
}

/* --- settings ---------------------------------------------------------------- */

const char *fleet_setting(const struct answer *a, const char *name)
{
	const cJSON *row;

	cJSON_ArrayForEach (row, json_get(a->data, "lint")) {
		if (streq(json_text(row, "name"), name))
			return json_get_str(row, "value");
	}
	return NULL;
}

const char *fleet_who_has_what(struct fleet *f, const struct answers *all, const char *name)
{
	bool *told = arena_alloc(f->a, all->n * sizeof(*told));
	struct text t;

	text_init(&t, f->a);
	for (size_t i = 0; i < all->n; i++) {
		const char *value = fleet_setting(&all->v[i], name);
		host_list who = {0};

		if (told[i] || !all->v[i].doc)
			continue;
		for (size_t j = i; j < all->n; j++) {
			const char *other = fleet_setting(&all->v[j], name);

			if (!all->v[j].doc || !!value != !!other || (value && !streq(value, other)))
				continue;
			told[j] = true;
			*LIST_ADD(f->a, &who) = (struct host){.name = all->v[j].host};
		}
		text_addf(&t, "%s%s%s on %s", t.n ? "; " : "", value ? "" : "not set",
			  value ? value : "", hostlist_fold(f->a, &who));
	}
	return t.s;
}

bool fleet_differs(const struct answers *all, const char *name)
{
	const char *first = NULL;
	bool seen = false;

	for (size_t i = 0; i < all->n; i++) {
		const char *value = fleet_setting(&all->v[i], name);

		if (!all->v[i].doc)
			continue;
		if (seen && (!!first != !!value || (value && !streq(value, first))))
			return true;
		first = value;
		seen = true;
	}
	return false;
}

/* Names of interfaces and devices may differ with reason, and what NCCL does not care for. */
static bool may_differ(const char *variable)
{
	return (starts_with(variable, "NCCL_") && nccl_may_differ(variable)) ||
	       strstr(variable, "IFNAME") || strstr(variable, "IB_HCA") ||
	       strstr(variable, "NET_DEVICES") || strstr(variable, "if_include") ||
	       strstr(variable, "HOSTID");
}

int fleet_check(struct fleet *f, const str_list *args, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	str_list names = {0};
	const cJSON *row;
	size_t n = 0;

	if (fleet_ask(f, args, true, &all, e) || interrupt_err(e))
		return -1;
	for (size_t i = 0; i < all.n; i++)
		cJSON_ArrayForEach (row, json_get(all.v[i].data, "lint")) {
			const char *name = json_get_str(row, "name");

			if (name && !starts_with(name, ACCELERATE_IN_LINT) &&
			    !list_has(&names, name))
				*LIST_ADD(f->a, &names) = name;
		}
	for (size_t k = 0; k < names.n; k++) {
		struct finding *g;

		if (!fleet_differs(&all, names.v[k]))
			continue;
		n++;
		g = report_find(f->report, "lint.differs", names.v[k]);
		finding_set(g, may_differ(names.v[k]) ? ST_INFO : ST_WARN, "%s",
			    fleet_who_has_what(f, &all, names.v[k]));
		finding_expect(g, "one value on every host of a job");
		finding_fix(g, "- set %s alike everywhere, or nowhere", names.v[k]);
		report_add(f->report, g);
	}
	if (!n && answers_count(&all) > 1) {
		struct finding *g = report_find(f->report, "lint.differs", "between hosts");

		finding_set(g, ST_PASS, "the settings are the same on %zu hosts",
			    answers_count(&all));
		report_add(f->report, g);
	}
	fleet_accelerate(f, &all);
	n = answers_count(&all);
	report_covers(f->report, "the settings that a non-interactive shell has on %zu host%s", n,
		      n == 1 ? "" : "s");
	return 0;
}
