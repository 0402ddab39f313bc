#include "lib/python/runtime.h"

#include "lib/core/file.h"
#include "lib/core/text.h"
#include "lib/python/peek.h"
#include "lib/python/symbols.h"

#include <ctype.h>

enum { MAPS_MAX = 16 << 20, MOST_VARIABLES = 4096, VARIABLE_MAX = 4096 };

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

/* What is mapped of files, line by line. */
struct mappings {
	char program[4096]; /* that runs */
	char *text, *rest;
};

static bool mappings_read(pid_t pid, struct arena *a, struct mappings *ret)
{
	ssize_t len = readlink(arena_printf(a, "/proc/%d/exe", (int)pid), ret->program,
			       sizeof(ret->program) - 1);
	struct err ignored;
	size_t n;

	ret->program[len > 0 ? len : 0] = '\0';
	return !file_read(arena_printf(a, "/proc/%d/maps", (int)pid), MAPS_MAX, a, &ret->text, &n,
			  &ignored);
}

static bool mappings_next(struct mappings *m, struct mapping *ret)
{
	for (char *line; (line = strtok_r(m->text, "\n", &m->rest));) {
		m->text = NULL;
		if (parse(line, ret))
			return true;
	}
	return false;
}

/* To be opened, also where it is of another container. */
static const char *path_of(pid_t pid, const struct mapping *m, const char *program, struct arena *a)
{
	return streq(m->path, program) ? arena_printf(a, "/proc/%d/exe", (int)pid)
				       : arena_printf(a, "/proc/%d/root%s", (int)pid, m->path);
}

static void look_into(pid_t pid, const struct mapping *m, const char *program, struct arena *a,
		      struct py_runtime *ret)
{
	struct symbol found[] = {{.name = "_PyRuntime"}, {.name = "Py_Version"}};
	unsigned long hex = 0;

	symbols_find(path_of(pid, m, program, a), found, ARRAY_LEN(found));
	if (!found[0].is_there)
		return;
	ret->at = m->start + found[0].offset;
	if (found[1].is_there && peek(pid, m->start + found[1].offset, &hex, sizeof(hex)))
		ret->version = (unsigned)(hex >> 16) & 0xffff;
}

void py_find(pid_t pid, struct arena *a, struct py_runtime *ret)
{
	struct mappings all;
	struct mapping m;
	unsigned named = 0;

	*ret = (struct py_runtime){0};
	if (!mappings_read(pid, a, &all))
		return;
	while (mappings_next(&all, &m)) {
		named = named ? named : named_version(m.path);
		if (!ret->at && m.offset == 0 && may_be_python(m.path, all.program))
			look_into(pid, &m, all.program, a, ret);
	}
	ret->version = ret->version ? ret->version : named;
}

/* --- what it has as variables now ------------------------------------------------ */

static bool is_libc(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return starts_with(name, "libc.so") || starts_with(name, "libc-2") ||
	       starts_with(name, "ld-musl");
}

/* The program's own copy of the C library's pointer, where it was linked to have one. */
static uint64_t environ_at(pid_t pid, struct arena *a)
{
	struct mappings all;
	struct mapping m;
	uint64_t at = 0;

	if (!mappings_read(pid, a, &all))
		return 0;
	while (mappings_next(&all, &m)) {
		bool is_program = streq(m.path, all.program);
		struct symbol found = {.name = "environ"};

		if (m.offset || (!is_program && (at || !is_libc(m.path))))
			continue;
		symbols_find(path_of(pid, &m, all.program, a), &found, 1);
		if (found.is_there)
			at = m.start + found.offset;
		if (found.is_there && is_program)
			break;
	}
	return at;
}

const char *py_environ(pid_t pid, struct arena *a, size_t *ret_n)
{
	uint64_t at = environ_at(pid, a), list = at ? peek_pointer(pid, at) : 0;
	char one[VARIABLE_MAX];
	struct text t;

	text_init(&t, a);
	for (int i = 0; list && i < MOST_VARIABLES; i++, list += sizeof(uint64_t)) {
		uint64_t variable = peek_pointer(pid, list);

		if (!variable)
			break;
		if (peek_text(pid, variable, one, sizeof(one)))
			text_addn(&t, one, strlen(one) + 1);
	}
	*ret_n = t.n;
	return t.s;
}
