#include "probes/log/settings.h"

#include "probes/log/explain.h"
#include "probes/log/said.h"

enum {
	SETTINGS_MAX = 12,
	BESIDE = 44,
	OF_PLUGIN = 47 /* under a plug-in that brings a network of its own */
};

/* What a script that is shown has behind '#' is not set. */
static bool is_remark(const char *text, const char *at)
{
	const char *p = memchr(text, '#', (size_t)(at - text));

	return p && (p == text || strchr(" \t", p[-1]));
}

static bool is_before_a_name(const char *text, const char *at)
{
	return at == text || (strchr(" \t'\"", at[-1]) && !is_remark(text, at));
}

/* "NCCL_ALGO=Ring", "NCCL_ALGO set by environment to Ring."; false where it is switched off. */
static bool value_of(const char *after, char *out, size_t size)
{
	const char *p = *after == '=' ? after + 1 : after;
	size_t n;

	if (starts_with(p, " set ") && (p = strstr(p, "to ")))
		p += strlen("to ");
	else if (*after != '=')
		return false;
	p += strspn(p, "'\"");
	said_word(out, size, p, " \t\r\n'\";)");
	n = strlen(out);
	if (n && out[n - 1] == '.')
		out[n - 1] = '\0';
	return *out && !streq(out, "0") && !streq(out, "LOC");
}

/* What NCCL does by itself. */
static bool is_default(const char *name, const char *value)
{
	return (starts_with(name, "NCCL_CROSS_NIC") && streq(value, "2")) ||
	       (starts_with(name, "NCCL_NVLS_ENABLE") && streq(value, "2")) ||
	       (starts_with(name, "NCCL_LAUNCH_MODE") && streq(value, "PARALLEL")) ||
	       (starts_with(name, "NCCL_IB_QPS_PER_CONNECTION") && streq(value, "1"));
}

static void note(struct why *w, const char *name, size_t n, const char *value)
{
	const char *said = arena_printf(&w->a, "%.*s=%s", (int)n, name, value);

	for (size_t i = 0; i < w->settings.n; i++)
		if (!strncmp(w->settings.v[i], said, n + 1))
			return;
	if (w->settings.n < SETTINGS_MAX)
		*LIST_ADD(&w->a, &w->settings) = said;
}

void settings_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	for (const char *name = TRANSPORT_SETTINGS; *name;) {
		size_t n = strcspn(name, "|");
		char value[64];

		for (const char *p = l->text; (p = strstr(p, "NCCL_")); p++)
			if (!strncmp(p, name, n) && is_before_a_name(l->text, p) &&
			    value_of(p + n, value, sizeof(value)) && !is_default(name, value))
				note(w, name, n, value);
		name += n + (name[n] == '|');
	}
}

static const char *join(const struct why *w, struct arena *a, bool with_values)
{
	const char *all = "";

	for (size_t i = 0; i < w->settings.n; i++) {
		const char *s = w->settings.v[i];
		int n = (int)(with_values ? strlen(s) : strcspn(s, "="));

		all = arena_printf(a, "%s%s%.*s", all, *all ? " " : "", n, s);
	}
	return all;
}

/* A network that is neither of NCCL's own. */
static bool has_plugin(const struct why *w)
{
	for (size_t i = 0; i < w->actors.v.n; i++) {
		const char *network = w->actors.v.v[i].network;

		if (*network && !streq(network, "Socket") && !streq(network, "IB"))
			return true;
	}
	return false;
}

void settings_judge(struct why *w, struct arena *a, struct explanation *x)
{
	const struct cause *timeout = explain_find(x, "PT-006");
	struct cause *c = explain_find(x, "PT-104");

	if (!c)
		return;
	c->weight = 0;
	if (timeout && !timeout->is_over && w->settings.n)
		explain_raise(c, has_plugin(w) ? OF_PLUGIN : BESIDE,
			      arena_printf(a, "the log has %s", join(w, a, true)));
}

void settings_advise(const struct why *w, struct arena *a, struct cause *c)
{
	str_list fix = {0};

	if (!w->settings.n || (!streq(c->sig->id, "PT-006") && !streq(c->sig->id, "PT-104")))
		return;
	*LIST_ADD(a, &fix) =
		arena_printf(a, "unset %s   # take these out first, in every file that sets them",
			     join(w, a, false));
	for (size_t i = 0; i < c->fix.n; i++)
		*LIST_ADD(a, &fix) = c->fix.v[i];
	c->fix = fix;
}
