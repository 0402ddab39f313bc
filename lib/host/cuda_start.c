#include "lib/host/cuda_start.h"

#include <dlfcn.h>

/* CUresult: cuda.h is not everywhere. */
enum { NOT_READY = 802, MISMATCH = 803, NO_COMPAT = 804 };

static const char *file_of(const void *in)
{
	Dl_info found;

	return in && dladdr(in, &found) && found.dli_fname ? found.dli_fname : "libcuda.so.1";
}

void cuda_start_fix(int code, const void *in, char *ret, size_t n)
{
	switch (code) {
	case NOT_READY:
		(void)snprintf(ret, n,
			       "sudo systemctl enable --now nvidia-fabricmanager   # of the "
			       "driver's version; nvidia-smi -q | grep -A 3 Fabric says how far it "
			       "is; in a confidential VM: nvidia-smi conf-compute -srs 1");
		break;
	case MISMATCH:
		(void)snprintf(ret, n,
			       "cat /proc/driver/nvidia/version   # %s is of another version than "
			       "that: reboot after an upgrade, start a container anew",
			       file_of(in));
		break;
	case NO_COMPAT:
		(void)snprintf(ret, n,
			       "- %s is CUDA's compatibility library, which is for data center "
			       "GPUs: take its folder out of LD_LIBRARY_PATH and "
			       "/etc/ld.so.conf.d (then ldconfig), so that the driver's own is "
			       "found",
			       file_of(in));
		break;
	default:
		(void)snprintf(ret, n,
			       "nvidia-smi   # it says more; so does dmesg -T | grep -i nvrm");
	}
}
