#include "lib/python/peek.h"

#include <errno.h>
#include <sys/uio.h>

bool peek(pid_t pid, uint64_t at, void *to, size_t n)
{
	struct iovec here = {.iov_base = to, .iov_len = n};
	/* an address of theirs, never followed here */
	struct iovec there = {.iov_base = (void *)(uintptr_t)at, .iov_len = n}; // NOLINT

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

uint64_t peek_pointer(pid_t pid, uint64_t at)
{
	uint64_t v = 0;

	return peek(pid, at, &v, sizeof(v)) ? v : 0;
}

bool peek_text(pid_t pid, uint64_t at, char *to, size_t n)
{
	enum { PART = 256 }; /* a page ends where one of them does */

	for (size_t have = 0, part; have < n; have += part) {
		part = PART - (at + have) % PART;
		part = part < n - have ? part : n - have;
		if (!peek(pid, at + have, to + have, part))
			return false;
		if (memchr(to + have, '\0', part))
			return true;
	}
	return false;
}

int peek_allowed(pid_t pid, uint64_t at, struct err *e)
{
	char byte;

	if (peek(pid, at, &byte, 1))
		return 0;
	err_sys(e, "the memory of process %d cannot be read", (int)pid);
	if (errno == EPERM || errno == ENOSYS)
		return err_hint(e, "as root: sudo; in a container started with "
				   "--cap-add=SYS_PTRACE, or on its host");
	return -1;
}
