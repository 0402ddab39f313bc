#include "lib/python/symbols.h"

#include <elf.h>
#include <fcntl.h>

enum { MOST_SECTIONS = 4096, MOST_PARTS = 512, NAMES_MAX = 64 << 20, AT_ONCE = 1024 };

static bool read_at(int fd, uint64_t at, void *to, size_t n)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Where the file's first byte would be by its own addresses. */
static bool begins_at(int fd, const Elf64_Ehdr *head, uint64_t *ret)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < head->e_phnum && i < MOST_PARTS; i++) {
		if (head->e_phentsize != sizeof(p) ||
		    !read_at(fd, head->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && p.p_offset == 0) {
			*ret = p.p_vaddr;
			return true;
		}
	}
	return false;
}

static void compare(const Elf64_Sym *s, const char *names, size_t n_names, uint64_t begins,
		    struct symbol *v, size_t n)
{
	if (s->st_shndx == SHN_UNDEF || s->st_name >= n_names)
		return;
	for (size_t i = 0; i < n; i++)
		if (!v[i].is_there && streq(names + s->st_name, v[i].name)) {
			v[i].is_there = true;
			v[i].offset = s->st_value - begins;
		}
}

static void search(int fd, const Elf64_Shdr *table, const Elf64_Shdr *strings, uint64_t begins,
		   struct symbol *v, size_t n)
{
	AUTO_FREE char *names = NULL;
	Elf64_Sym part[AT_ONCE];
	uint64_t left = table->sh_size / sizeof(*part), at = table->sh_offset;

	if (strings->sh_size == 0 || strings->sh_size > NAMES_MAX)
		return;
	names = malloc(strings->sh_size + 1);
	if (!names || !read_at(fd, strings->sh_offset, names, strings->sh_size))
		return;
	names[strings->sh_size] = '\0';
	while (left) {
		size_t now = left < AT_ONCE ? left : AT_ONCE;

		if (!read_at(fd, at, part, now * sizeof(*part)))
			return;
		for (size_t i = 0; i < now; i++)
			compare(&part[i], names, strings->sh_size, begins, v, n);
		left -= now;
		at += now * sizeof(*part);
	}
}

static bool all_there(const struct symbol *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!v[i].is_there)
			return false;
	return true;
}

void symbols_find(const char *path, struct symbol *v, size_t n)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	Elf64_Shdr table, strings;
	uint64_t begins;
	Elf64_Ehdr head;

	if (fd < 0 || !read_at(fd, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(table) || !begins_at(fd, &head, &begins))
		return;
	/* what programs are linked with comes first: the whole list may be stripped */
	for (unsigned i = 0; i < head.e_shnum && i < MOST_SECTIONS && !all_there(v, n); i++) {
		if (!read_at(fd, head.e_shoff + i * sizeof(table), &table, sizeof(table)))
			return;
		if ((table.sh_type == SHT_DYNSYM || table.sh_type == SHT_SYMTAB) &&
		    table.sh_link < head.e_shnum &&
		    read_at(fd, head.e_shoff + table.sh_link * sizeof(table), &strings,
			    sizeof(strings)))
			search(fd, &table, &strings, begins, v, n);
	}
}
