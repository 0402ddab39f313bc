#include "bench/plugin/leave.h"

#include "lib/core/base.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

struct range {
	uintptr_t from, to; /* to: the first byte behind it */
};

/* The code of the loader, of the allocator and of libc: who is there may hold their locks. */
enum { LOADER, ALLOCATOR, LIBC, PLACES };
static struct range places[PLACES];

/* ... but not in these, which libraries call most while they wait without sleeping. */
static const char *const harmless[] = {
	"sched_yield", "poll", "epoll_wait", "read",	"write",   "readv",
	"writev",      "recv", "send",	     "recvmsg", "sendmsg", "clock_gettime",
};
static struct range calls[ARRAY_LEN(harmless)];

static bool holds(const struct range *r, uintptr_t at) { return at >= r->from && at < r->to; }

struct search {
	uintptr_t of;
	struct range *ret;
};

static int find_object(struct dl_phdr_info *o, size_t size, void *arg)
{
	const struct search *s = arg;

	(void)size;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		uintptr_t from = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
		struct range r = {from, from + o->dlpi_phdr[i].p_memsz};

		if (o->dlpi_phdr[i].p_type != PT_LOAD || !(o->dlpi_phdr[i].p_flags & PF_X) ||
		    !holds(&r, s->of))
			continue;
		*s->ret = r;
		return 1;
	}
	return 0;
}

static struct range object_of(uintptr_t code)
{
	struct range found = {0};
	struct search s = {code, &found};

	(void)dl_iterate_phdr(find_object, &s);
	return found;
}

static struct range function_of(const char *name)
{
	const void *f = dlsym(RTLD_DEFAULT, name);
	ElfW(Sym) *symbol = NULL;
	Dl_info where;

	if (!f || !dladdr1(f, &where, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return (struct range){0};
	return (struct range){(uintptr_t)where.dli_saddr,
			      (uintptr_t)where.dli_saddr + symbol->st_size};
}

void leave_prepare(void)
{
	static const char *const inside[PLACES] = {
		[LOADER] = "__tls_get_addr", [ALLOCATOR] = "malloc", [LIBC] = "abort"};

	for (size_t i = 0; i < PLACES; i++)
		places[i] = object_of((uintptr_t)dlsym(RTLD_DEFAULT, inside[i]));
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		calls[i] = function_of(harmless[i]);
}

/* Where it was, and whether a system call just came back because of the signal: one that
 * waited, then. Those of the allocator and the loader never do. */
static uintptr_t place(const void *context, bool *ret_waited)
{
	const ucontext_t *c = context;
#if defined(__x86_64__)
	*ret_waited = c->uc_mcontext.gregs[REG_RAX] == -EINTR;
	return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	*ret_waited = (long)c->uc_mcontext.regs[0] == -EINTR;
	return (uintptr_t)c->uc_mcontext.pc;
#else
	*ret_waited = true;
	return 0;
#endif
}

bool leave_is_safe(const void *context)
{
	bool waited;
	uintptr_t at = place(context, &waited);
	bool critical = false;

	if (waited)
		return true;
	for (size_t i = 0; i < PLACES; i++)
		critical |= holds(&places[i], at);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		critical &= !holds(&calls[i], at);
	return !critical;
}

static void end_at_once(int status, void *arg)
{
	(void)arg;
	(void)fflush(NULL);
	_exit(status);
}

void leave_for_good(void)
{
	static bool once;

	if (!once)
		(void)on_exit(end_at_once, NULL);
	once = true;
}
