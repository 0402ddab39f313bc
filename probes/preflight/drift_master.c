/* One name that leads to two machines. */
#include "lib/core/fix.h"
#include "lib/core/quote.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/preflight/drift.h"
#include "probes/rules/torch.h"
#include "probes/tally/names.h"

static const char set[] = "export MASTER_ADDR=";

/* ---- the name of the host that a job meets at ---- */

/* "node0" is "node0.cluster.local". */
static bool is_one_name(const char *x, const char *y)
{
	size_t n = strlen(x), m = strlen(y);

	return !strncmp(x, y, n < m ? n : m) && (n == m || (n < m ? y[n] : x[m]) == '.');
}

static const cJSON *meant(const struct answer *a)
{
	return json_get(json_get(a->data, "facts"), "master");
}

/* Does the name lead there? Its own host may take it for loopback: ifprobe's host.name. */
static bool leads_to(const struct answer *from, const struct answer *to)
{
	const cJSON *at;
	union addr addr;

	cJSON_ArrayForEach (at, meant(from)) {
		const char *text = cJSON_GetStringValue(at);

		if (text && answer_card(to, text) && !addr_parse(text, &addr) &&
		    addr_class(&addr) != ADDR_LOOPBACK)
			return true;
	}
	return false;
}

/* Where the name leads to, on whichever host; many have one answer. */
static const struct answer *find_led(const struct preflight *p, const struct answers *all)
{
	struct names seen = {0};

	for (size_t i = 0; i < all->n; i++) {
		const char *to = cJSON_GetStringValue(cJSON_GetArrayItem(meant(&all->v[i]), 0));

		if (!to || names_has(&seen, to))
			continue;
		names_add(&seen, p->a, to);
		for (size_t k = 0; k < all->n; k++)
			if (leads_to(&all->v[i], &all->v[k]))
				return &all->v[k];
	}
	return NULL;
}

/* By its own name; by another one, such as a service's, it is the host to which that leads. */
static const struct answer *find_master(const struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && (is_one_name(host_bare(all->v[i].host), p->master) ||
				      is_one_name(all->v[i].hostname, p->master)))
			return &all->v[i];
	return p->master_given ? find_led(p, all) : NULL;
}

/* @sure: another one finds the way there, so it can be found. */
static void tell_wrong(struct preflight *p, const struct answer *a, const struct answer *master,
		       bool sure)
{
	struct finding *f = drift_note(p, "master", p->master, a->host);
	const char *wrong = cJSON_GetStringValue(cJSON_GetArrayItem(meant(a), 0));
	const char *right = answer_address(master);

	if (wrong)
		finding_set(f, sure ? ST_FAIL : ST_WARN,
			    "leads to %s, which %s: a job that meets there waits for ever", wrong,
			    sure ? arena_printf(p->a, "is not %s", master->host)
				 : arena_printf(p->a, "%s does not have, unless it is translated",
						master->host));
	else
		finding_set(f, ST_FAIL, "is not known: a job that meets there does not start");
	if (!right)
		return;
	finding_expect(f, "%s", right);
	/* the first line that has the name is the one that counts */
	finding_fix(f,
		    "h=$(cat /etc/hosts); printf '%%s\\n' %s \"$h\" | sudo tee /etc/hosts "
		    ">/dev/null",
		    shell_quote(p->a, arena_printf(p->a, "%s %s", right, p->master)));
}

/* On the first host that knows the name; NULL: on none. */
static const char *where_led(const struct answers *all)
{
	const char *to = NULL;

	for (size_t i = 0; i < all->n && !to; i++)
		to = cJSON_GetStringValue(cJSON_GetArrayItem(meant(&all->v[i]), 0));
	return to;
}

static bool is_loopback(const char *address)
{
	union addr a;

	return address && !addr_parse(address, &a) && addr_class(&a) == ADDR_LOOPBACK;
}

/* A slip, or the host of another job; or one that gave no answer. */
static void tell_none(struct preflight *p, const struct answers *all)
{
	const char *to = where_led(all);
	struct finding *f;
	bool asked = false;

	for (size_t i = 0; i < all->n; i++)
		asked |= cJSON_IsArray(meant(&all->v[i]));
	if (!asked || answers_count(all) < all->n)
		return;
	f = drift_note(p, "master", p->master, NULL);
	if (to)
		finding_set(f, ST_WARN,
			    "is none of these hosts: it leads to %s, and a job of theirs that "
			    "meets there waits for ever, unless that is translated",
			    to);
	else
		finding_set(f, ST_FAIL,
			    "is none of these hosts, and known on none of them: a job that meets "
			    "there does not start");
	finding_expect(f, "a name of the host of rank 0");
	if (is_loopback(to) && answer_address(&all->v[0]))
		finding_fix(f, "%s%s   # in the job, the same on every host", set,
			    answer_address(&all->v[0]));
	else
		finding_fix(f, "getent hosts %s   # is it spelt right?",
			    shell_quote(p->a, p->master));
}

void drift_master(struct preflight *p, const struct answers *all)
{
	const struct answer *master = p->master ? find_master(p, all) : NULL;
	bool itself = master && leads_to(master, master);
	size_t right = 0;

	if (p->master_given && p->master && !master)
		tell_none(p, all);

	for (size_t i = 0; master && i < all->n; i++)
		right += &all->v[i] != master && leads_to(&all->v[i], master);
	/* Every host knows its own name. One that no other finds is for ssh alone, unless jobs are
	 * said to meet there, and one address for all may be translated. */
	for (size_t i = 0; master && i < all->n; i++) {
		const struct answer *a = &all->v[i];
		bool known = cJSON_GetArraySize(meant(a)) > 0;

		if (a == master || !cJSON_IsArray(meant(a)) || leads_to(a, master))
			continue;
		if (right || (itself && (known || p->master_given)))
			tell_wrong(p, a, master, right);
	}
}

/* What a host proposed for MASTER_ADDR is its own address, or that of somebody it does not know. */
static bool is_open(struct preflight *p, const struct answers *all, const struct finding *f)
{
	const char *fix = f->fix.n ? f->fix.v[0] : "", *proposed = fix + strlen(set);

	if (streq(fix_text(fix), TORCH_MASTER_IN_WORDS))
		return true;
	if (!starts_with(fix, set))
		return false;
	proposed = arena_strndup(p->a, proposed, strcspn(proposed, " "));
	for (size_t i = 0; i < all->n; i++)
		if (streq(all->v[i].host, f->host ?: ""))
			return answer_card(&all->v[i], proposed) != NULL;
	return false;
}

/* What each finds itself by is no choice of a host: it is the first one's part. */
static const struct answer *meeting_host(const struct preflight *p, const struct answers *all)
{
	const struct answer *named = p->master ? find_master(p, all) : NULL;

	if (named || !all->n)
		return named;
	return !p->master_given || is_loopback(p->master_at ?: where_led(all)) ? &all->v[0] : NULL;
}

/* NULL: nobody knows. */
static const char *meeting_address(const struct preflight *p, const struct answers *all)
{
	const struct answer *master = meeting_host(p, all);

	if (p->master_at && !master)
		return p->master_at;
	return master && master->doc ? answer_address(master) : NULL;
}

void drift_advise_master(struct preflight *p, const struct answers *all, size_t from)
{
	const char *at = meeting_address(p, all);

	for (size_t i = from; at && i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (streq(f->check, "lint.torch.master_addr") && is_open(p, all, f))
			f->fix.v[0] = arena_printf(p->a, "%s%s", set, at);
	}
}
