#ifndef LIB_HOST_PYTHON_H
#define LIB_HOST_PYTHON_H
/*
 * Where Python's packages lie, without starting Python: PyTorch brings NCCL, cuDNN and
 * cuBLAS in packages of their own, and a program may use what is there.
 */
#include "lib/core/arena.h"

/*
 * Folders that exist ("/opt/venv/lib/python3.12/site-packages"), those of the active
 * Python first: PYTHONPATH, VIRTUAL_ENV, CONDA_PREFIX, the python3 on the PATH, the
 * user's own, then /usr/local and /usr; of several versions the newest first. Under a
 * sysroot as they are named there.
 */
void python_packages(struct arena *a, str_list *ret);
/* The first installed one's, by its metadata ("2.5.1+cu124"): importing it would take seconds.
 * NULL: there is none. */
const char *python_version_of(struct arena *a, const char *package);

#endif
