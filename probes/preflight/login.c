/*
 * What is set on a host that was logged in to, its shells read from a file, each anew: a line that
 * is typed in one of them changes nothing of the next run. Those that joined are typed on, and
 * theirs stay as they are.
 */
#include "probes/preflight/drift.h"

static const char choice[] = "eval \"$(ifprobe --suggest)\"", master[] = "export MASTER_ADDR=";

void preflight_set_where(struct finding *f, const char *names)
{
	finding_fix(f,
		    "grep -nsE '(^|[[:space:]])(%s)=' ~/.bashrc ~/.profile ~/.bash_profile "
		    "~/.zshenv ~/.ssh/environment /etc/environment /etc/profile.d/*   # that line: "
		    "remove it",
		    names);
}

/* A job's master is the job's to name. */
static void for_master(struct finding *f)
{
	const char *right = f->fix.v[0] + strlen(master);

	if (!f->expected && !starts_with(right, "ADDRESS_OF_RANK_0"))
		finding_expect(f, "%.*s, or nothing", (int)strcspn(right, " "), right);
	f->fix.n = 0;
	preflight_set_where(f, "MASTER_ADDR");
}

/* By rank alone it may be one that leads to none of them. Where our programs do not stay they are
 * brought once more, to all: what those prove between them is written, and not what asks again. */
static const char *proven_choice(const struct preflight *p)
{
	if (p->copy_self && !p->keep && p->given)
		return arena_printf(p->a, "ifprobe --bashrc --fixed %s", preflight_to(p, p->given));
	return arena_printf(p->a, "ifprobe --bashrc%s", p->peers ?: "");
}

static const char *for_login(const struct preflight *p, const char *fix)
{
	if (!starts_with(fix, choice))
		return fix;
	return arena_printf(p->a, "%s%s", proven_choice(p), fix + strlen(choice));
}

/* Of a shell that goes on: the interface that it sets is proven against the others. */
static const char *for_shell(const struct preflight *p, const char *fix)
{
	if (!starts_with(fix, choice))
		return fix;
	return arena_printf(p->a, "eval \"$(ifprobe --suggest%s)\"%s", p->peers ?: "",
			    fix + strlen(choice));
}

void preflight_advise_logins(const struct preflight *p, size_t from)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;
		bool goes_on = p->crew || p->t.items.v[i].of_shell;

		if (!p->crew && streq(f->check, "lint.torch.master_addr") && f->fix.n &&
		    starts_with(f->fix.v[0], master))
			for_master(f);
		for (size_t k = 0; k < f->fix.n; k++)
			f->fix.v[k] =
				goes_on ? for_shell(p, f->fix.v[k]) : for_login(p, f->fix.v[k]);
	}
}
