/*
 * Plug-ins that are named and are not here. Which names NCCL tries for one has changed often
 * (src/plugin/plugin_open.cc; before 2.26 src/net.cc, src/misc/tuner.cc and profiler.cc). It says
 * so in lines of NCCL_DEBUG=INFO alone, and goes on with its own.
 */
#include "lib/host/loader.h"
#include "lib/host/sysroot.h"
#include "probes/rules/named_file.h"
#include "probes/rules/nccl_lint.h"

enum {
	AS_IT_IS = 1, /* the name as it is set goes to dlopen() */
	PREFIXED = 2, /* PREFIX-NAME.so does */
};
enum {
	NAMES_MAX = 14,	    /* of a list: 16, less the two of NCCL's own */
	SINCE_PATH = 22105, /* of networks and tuners both names are tried */
	SINCE_LIST =
		22703, /* several may be named for networks; in this one release a path is none */
};

static const struct plugin {
	const char *name, *prefix;
	bool is_list;
	unsigned since; /* NCCL looks at it */
	const char *since_text;
	unsigned both_since; /* it tries both names; before: */
	unsigned before;
	const char *without; /* it goes on with this */
} plugins[] = {
	{"NCCL_NET_PLUGIN", "libnccl-net", true, 0, NULL, SINCE_PATH, PREFIXED,
	 "its own networks, InfiniBand or sockets"},
	{"NCCL_TUNER_PLUGIN", "libnccl-tuner", false, 21903, "2.19.3", SINCE_PATH, AS_IT_IS,
	 "the network plug-in's tuner, or its own"},
	{"NCCL_PROFILER_PLUGIN", "libnccl-profiler", false, 22304, "2.23.4", 22602, AS_IT_IS,
	 "no profiler, unless the network plug-in has one"},
	{"NCCL_ENV_PLUGIN", "libnccl-env", false, 0, NULL, 0, 0, "the environment itself"},
	{"NCCL_GIN_PLUGIN", "libnccl-gin", true, 22907, "2.29.7", 0, 0, "its own"},
	{"NCCL_RMA_PLUGIN", "libnccl-rma", true, 23007, "2.30.7", 0, 0, "its own"},
};

static const struct plugin *plugin_of(const struct setting *s)
{
	for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
		if (streq(plugins[i].name, s->name))
			return &plugins[i];
	return NULL;
}

static bool is_library_name(const char *name)
{
	return starts_with(name, "lib") && ends_with(name, ".so");
}

/* Which of the names it tries. */
static unsigned tried(const struct plugin *p, unsigned version, const char *name)
{
	if (version < p->both_since)
		return p->before;
	if (version == SINCE_LIST)
		return is_library_name(name) ? AS_IT_IS : PREFIXED;
	return strchr(name, '/') || is_library_name(name) ? AS_IT_IS : AS_IT_IS | PREFIXED;
}

/* As dlopen() looks where NCCL calls it: what has a slash is a path. */
static bool is_found(struct arena *a, const char *name)
{
	const char *nccl;

	if (strchr(name, '/'))
		return !named_file_no_library(a, name);
	if (!sysroot_is_real() || loader_finds(a, name))
		return true;
	nccl = nccl_installed_path();
	return nccl && loader_finds_for(a, nccl, name);
}

/* NULL: one is found; else what NCCL looked for: "x (or libnccl-net-x.so)". */
static const char *not_found(struct arena *a, const struct plugin *p, unsigned version,
			     const char *name)
{
	const char *prefixed = arena_printf(a, "%s-%s.so", p->prefix, name);
	unsigned which = tried(p, version, name);

	if (((which & AS_IT_IS) && is_found(a, name)) ||
	    ((which & PREFIXED) && is_found(a, prefixed)))
		return NULL;
	return which == AS_IT_IS   ? name
	       : which == PREFIXED ? prefixed
				   : arena_printf(a, "%s (or %s)", name, prefixed);
}

/* Then it looks into the program itself. */
static bool is_static(const char *name) { return !strcasecmp(name, "STATIC_PLUGIN"); }

/* In a list "none" is a name as others are. */
static bool is_none(const char *value) { return !*value || !strcasecmp(value, "none"); }

/* NCCL_NET names a network that only a plug-in can bring. */
static const char *wanted_net(const struct lint *l, const struct plugin *p)
{
	const char *net = streq(p->name, "NCCL_NET_PLUGIN") ? nccl_value(l->in, "NCCL_NET") : NULL;

	return net && strcasecmp(net, "IB") && strcasecmp(net, "Socket") ? net : NULL;
}

/* @all: there is no other that it could take. */
static void say_missing(const struct lint *l, const struct setting *s, const struct plugin *p,
			const char *looked, bool all)
{
	struct finding *f = lint_find(l, "lint.plugin", s);
	const char *net = all ? wanted_net(l, p) : NULL;
	const char *why = strchr(looked, '/') ? named_file_no_library(f->a, looked) : NULL;

	why = why ?: "is not on the loader's path here";
	if (net)
		finding_set(f, ST_FAIL,
			    "%s %s, and NCCL_NET asks for %s, which only a plug-in has: NCCL ends "
			    "with \"invalid usage\"",
			    looked, why, net);
	else if (all)
		finding_set(f, ST_WARN,
			    "%s %s: NCCL says so at NCCL_DEBUG=INFO alone, and goes on with %s",
			    looked, why, p->without);
	else
		finding_set(f, ST_INFO, "%s %s: NCCL takes another one of the list", looked, why);
	finding_expect(f, "a path, or a library in LD_LIBRARY_PATH, in ldconfig's cache or in a "
			  "folder built into libnccl");
	if (all)
		lint_unset(f, s);
	report_add(l->r, f);
}

static bool is_too_old(const struct lint *l, const struct setting *s, const struct plugin *p,
		       unsigned version)
{
	struct finding *f;

	if (version >= p->since)
		return false;
	f = lint_find(l, "lint.plugin", s);
	finding_set(f, ST_INFO, "is %s, which NCCL before %s does not look at", s->value,
		    p->since_text);
	report_add(l->r, f);
	return true;
}

/* Since there are lists, each name is tried, and the first that works is taken. */
static size_t split(struct arena *a, const struct plugin *p, unsigned version, const char *value,
		    const char *ret[NAMES_MAX])
{
	size_t n = 0;

	if (!p->is_list || version < SINCE_LIST) {
		ret[0] = value;
		return 1;
	}
	while (n < NAMES_MAX && *(value += strspn(value, ","))) {
		size_t len = strcspn(value, ",");

		ret[n++] = arena_strndup(a, value, len);
		value += len;
	}
	return n;
}

bool lint_plugin_missing(const struct lint *l, const struct setting *s)
{
	struct arena *a = report_arena(l->r);
	unsigned version = nccl_version(l->in->nccl_version);
	const struct plugin *p = plugin_of(s);
	const char *names[NAMES_MAX], *looked[NAMES_MAX];
	size_t n, missing = 0;

	if (is_none(s->value) || is_too_old(l, s, p, version))
		return false;
	n = split(a, p, version, s->value, names);
	for (size_t i = 0; i < n; i++) {
		looked[i] = is_static(names[i]) ? NULL : not_found(a, p, version, names[i]);
		missing += looked[i] != NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (looked[i])
			say_missing(l, s, p, looked[i], missing == n);
	return n && missing == n;
}

bool nccl_has_net_plugin(const struct rules_input *in)
{
	const struct setting *s = settings_nccl(in->settings, "NCCL_NET_PLUGIN");
	unsigned version = nccl_version(in->nccl_version);
	struct arena *a = in->inv->a;
	const char *names[NAMES_MAX];
	size_t n;

	if (!s)
		return is_found(a, "libnccl-net.so");
	if (is_none(s->value))
		return false;
	n = split(a, plugin_of(s), version, s->value, names);
	for (size_t i = 0; i < n; i++)
		if (is_static(names[i]) || !not_found(a, plugin_of(s), version, names[i]))
			return true;
	return false;
}

void lint_plugin(const struct lint *l, const struct setting *s) { (void)lint_plugin_missing(l, s); }
