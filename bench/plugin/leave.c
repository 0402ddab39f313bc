#include "bench/plugin/leave.h"

#include "lib/core/base.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
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
	"sched_yield", "poll",	"epoll_wait",  "read",	  "write",    "readv",
	"writev",      "recv",	"send",	       "recvmsg", "sendmsg",  "clock_gettime",
	"select",      "ppoll", "epoll_pwait", "pselect", "recvfrom", "clock_nanosleep",
};
static struct range calls[ARRAY_LEN(harmless)];

/* glibc 2.35 and later; asks no lock. A library is known to it when it is ready for use. */
struct dl_find_object;
typedef int find_object_fn(void *code, struct dl_find_object *ret);
static find_object_fn *find_ready;

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
	*(void **)&find_ready = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

/* While the loader makes a library ready it runs code of that: which of its functions are for
 * this processor. */
static bool is_being_loaded(uintptr_t code)
{
	uint64_t found[16]; /* larger than what is found */

	return find_ready && find_ready((void *)code, (struct dl_find_object *)found) != 0;
}

struct place {
	uintptr_t at;
	bool waited;		/* a system call just came back because of the signal */
	uint64_t second, third; /* then: its arguments, which the kernel leaves as they were */
};

static struct place place_of(const void *context)
{
	const ucontext_t *c = context;
#if defined(__x86_64__)
	const greg_t *r = c->uc_mcontext.gregs;

	return (struct place){(uintptr_t)r[REG_RIP], r[REG_RAX] == -EINTR, (uint64_t)r[REG_RSI],
			      (uint64_t)r[REG_RDX]};
#elif defined(__aarch64__)
	const mcontext_t *m = &c->uc_mcontext;

	return (struct place){(uintptr_t)m->pc, (long)m->regs[0] == -EINTR, m->regs[1], m->regs[2]};
#else
	(void)c;
	return (struct place){.waited = true, .second = UINT64_MAX};
#endif
}

/*
 * libc waits for a lock with FUTEX_WAIT, and for conditions, semaphores and the ends of
 * threads with FUTEX_WAIT_BITSET. Who waits for a lock may hold another one: the loader's
 * while it waits for the allocator's. Other calls may have that second argument, too, and
 * sleep where libc does it for all since 2.41; a lock's third one is what says that somebody
 * waits for it.
 */
static bool waits_for_lock(const struct place *p)
{
	enum { LOCK_WAITED_FOR = 2 };

	return (p->second & ~(uint64_t)FUTEX_PRIVATE_FLAG) == FUTEX_WAIT &&
	       p->third == LOCK_WAITED_FOR;
}

bool leave_is_safe(const void *context)
{
	struct place p = place_of(context);
	bool critical = false;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (holds(&calls[i], p.at))
			return true;
	if (p.waited)
		return !waits_for_lock(&p);
	for (size_t i = 0; i < PLACES; i++)
		critical |= holds(&places[i], p.at);
	return !critical && !is_being_loaded(p.at);
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
