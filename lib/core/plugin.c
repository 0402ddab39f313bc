#include "lib/core/plugin.h"

#include "lib/core/self.h"

#include <dlfcn.h>

static const char *folder(struct arena *a)
{
	const char *set = getenv("WINDSOCK_PLUGINS");

	if (set && *set)
		return set;
	/* never what happens to be beside the current folder: anybody's code */
	return self_beside(a, "../lib/windsock") ?: "/usr/lib/windsock";
}

static int missing(const struct plugin_want *w, const char *dir, struct err *e)
{
	err_set(e, ERR_ABSENT, "the plug-in %s.so is not there (looked in %.300s)", w->name, dir);
	return err_hint(e,
			"`make` builds it where %s is installed, `make install` puts it there; "
			"WINDSOCK_PLUGINS names another folder",
			w->build);
}

/* What vendors' libraries have is bound when it is called, and they are found by then. */
static bool are_bound_at_once(void)
{
	const char *set = getenv("LD_BIND_NOW");

	return set && *set;
}

static int unloadable(const struct plugin_want *w, const char *path, struct err *e)
{
	const char *why = dlerror();

	err_set(e, ERR_ABSENT, "cannot load %.200s: %.250s", path, why ? why : "no reason given");
	if (why && strstr(why, "undefined symbol") && are_bound_at_once())
		return err_command(
			e, "unset LD_BIND_NOW   # it asks for the vendor's functions before the "
			   "vendor's library is looked for");
	return err_command(e, "apt-get install %s", w->package);
}

const void *plugin_load(const struct plugin_want *w, struct arena *a, struct err *e)
{
	const char *dir = folder(a), *path = arena_printf(a, "%s/%s.so", dir, w->name);
	const unsigned *exported;
	void *so;

	if (access(path, F_OK)) {
		missing(w, dir, e);
		return NULL;
	}
	so = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	exported = so ? dlsym(so, w->symbol) : NULL;
	if (!exported) {
		unloadable(w, path, e);
		return NULL;
	}
	if (*exported == w->version)
		return exported;
	err_set(e, ERR_ABSENT, "%.300s is of another version: it speaks %u, this program %u", path,
		*exported, w->version);
	err_hint(e, "install the plug-ins that came with this program");
	return NULL;
}
