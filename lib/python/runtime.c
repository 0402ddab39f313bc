#include "lib/python/runtime.h"

#include "lib/core/file.h"
#include "lib/python/peek.h"
#include "lib/python/symbols.h"

#include <ctype.h>

enum { MAPS_MAX = 16 << 20 };

/* "…/libpython3.11.so.1.0", "…/bin/python3.12", "…/lib/python3.10/lib-dynload/…": 0x030b */
static unsigned named_version(const char *path)
{
	for (const char *at = path; (at = strstr(at, "python3."));) {
		unsigned minor = 0;

		at += strlen("python3.");
		for (; isdigit((unsigned char)*at) && minor < 100; at++)
			minor = minor * 10 + (unsigned)(*at - '0');
		if (minor)
			return 0x0300 + minor;
	}
	return 0;
}

struct mapping {
	uint64_t start, offset;
	const char *path;
};

/* "55d0-55d1 r--p 00000000 08:01 123   /usr/bin/python3.11"; false: it is of no file. */
static bool parse(char *line, struct mapping *ret)
{
	char *path = strchr(line, '/');
	unsigned long long start, offset;

	if (!path || sscanf(line, "%llx-%*x %*4s %llx", &start, &offset) != 2)
		return false;
	*ret = (struct mapping){.start = start, .offset = offset, .path = path};
	return true;
}

static bool may_be_python(const char *path, const char *program)
{
	const char *name = strrchr(path, '/') + 1;

	return streq(path, program) || starts_with(name, "libpython") ||
	       starts_with(name, "python");
}

static void look_into(pid_t pid, const struct mapping *m, const char *program, struct arena *a,
		      struct py_runtime *ret)
{
	const char *path = streq(m->path, program)
				   ? arena_printf(a, "/proc/%d/exe", (int)pid)
				   : arena_printf(a, "/proc/%d/root%s", (int)pid, m->path);
	struct symbol found[] = {{.name = "_PyRuntime"}, {.name = "Py_Version"}};
	unsigned long hex = 0;

	symbols_find(path, found, ARRAY_LEN(found));
	if (!found[0].is_there)
		return;
	ret->at = m->start + found[0].offset;
	if (found[1].is_there && peek(pid, m->start + found[1].offset, &hex, sizeof(hex)))
		ret->version = (unsigned)(hex >> 16) & 0xffff;
}

void py_find(pid_t pid, struct arena *a, struct py_runtime *ret)
{
	char program[4096] = "";
	ssize_t len =
		readlink(arena_printf(a, "/proc/%d/exe", (int)pid), program, sizeof(program) - 1);
	struct err ignored;
	unsigned named = 0;
	char *text, *rest;
	size_t n;

	*ret = (struct py_runtime){0};
	program[len > 0 ? len : 0] = '\0';
	if (file_read(arena_printf(a, "/proc/%d/maps", (int)pid), MAPS_MAX, a, &text, &n, &ignored))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct mapping m;

		if (!parse(line, &m))
			continue;
		named = named ? named : named_version(m.path);
		if (!ret->at && m.offset == 0 && may_be_python(m.path, program))
			look_into(pid, &m, program, a, ret);
	}
	ret->version = ret->version ? ret->version : named;
}
