/* The folders that are built into a library: DT_RPATH, and DT_RUNPATH, which replaces it. */
#include "lib/host/loader.h"

#include "lib/core/text.h"

#include <elf.h>
#include <fcntl.h>

enum { PARTS_MAX = 64, ENTRIES_MAX = 512, LIST_MAX = 4096 };

struct elf {
	int fd;
	Elf64_Phdr parts[PARTS_MAX];
	size_t nparts;
};

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Of this machine's kind, as whatever could load it is. */
static bool begin(struct elf *x)
{
	static const unsigned char kind[] = {ELFMAG0, ELFMAG1,	  ELFMAG2,
					     ELFMAG3, ELFCLASS64, ELFDATA2LSB};
	Elf64_Ehdr head;

	if (!read_at(x->fd, &head, sizeof(head), 0) || memcmp(head.e_ident, kind, sizeof(kind)) ||
	    head.e_phentsize != sizeof(x->parts[0]) || head.e_phnum > PARTS_MAX)
		return false;
	x->nparts = head.e_phnum;
	return read_at(x->fd, x->parts, x->nparts * sizeof(x->parts[0]), head.e_phoff);
}

/* Where in the file that lies which is at @address once it is loaded. */
static bool is_at(const struct elf *x, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < x->nparts; i++) {
		const Elf64_Phdr *p = &x->parts[i];

		if (p->p_type != PT_LOAD || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		*ret = p->p_offset + (address - p->p_vaddr);
		return true;
	}
	return false;
}

/* Where its texts are, and where among them that list is; false: it has none. */
static bool find_list(const struct elf *x, uint64_t *ret)
{
	uint64_t texts = 0, list[2] = {0}, at;
	Elf64_Dyn entry = {.d_tag = DT_NULL};
	size_t i = 0;

	while (i < x->nparts && x->parts[i].p_type != PT_DYNAMIC)
		i++;
	if (i == x->nparts)
		return false;
	at = x->parts[i].p_offset;
	for (size_t k = 0; k < ENTRIES_MAX; k++, at += sizeof(entry)) {
		if (!read_at(x->fd, &entry, sizeof(entry), at) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			texts = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
			list[entry.d_tag == DT_RUNPATH] = entry.d_un.d_val;
	}
	at = list[1] ? list[1] : list[0];
	return texts && at && is_at(x, texts, ret) && !__builtin_add_overflow(*ret, at, ret);
}

static bool read_list(const char *path, char list[LIST_MAX])
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf x = {.fd = fd};
	uint64_t at;
	ssize_t n;

	if (fd < 0 || !begin(&x) || !find_list(&x, &at) || at > INT64_MAX)
		return false;
	n = pread(fd, list, LIST_MAX - 1, (off_t)at);
	if (n <= 0)
		return false;
	list[n] = '\0';
	return strlen(list) < (size_t)n; /* all of it */
}

/* $ORIGIN is the folder of the library itself. */
static const char *folder(struct arena *a, const char *part, size_t n, const char *library)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(library, '/'), *text = arena_strndup(a, part, n);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (starts_with(text, names[i]))
			return arena_printf(a, "%.*s%s", slash ? (int)(slash - library) : 1,
					    slash ? library : ".", text + strlen(names[i]));
	return text;
}

const char *loader_finds_for(struct arena *a, const char *library, const char *name)
{
	char list[LIST_MAX];

	if (!read_list(library, list))
		return NULL;
	for (const char *p = list; *p; p += *p == ':') {
		size_t n = strcspn(p, ":");
		const char *path = arena_printf(a, "%s/%s", folder(a, p, n, library), name);

		if (n && !access(path, R_OK))
			return path;
		p += n;
	}
	return NULL;
}
