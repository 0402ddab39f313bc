#include "lib/core/wait.h"

#include <errno.h>
#include <sys/wait.h>

int wait_child(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
