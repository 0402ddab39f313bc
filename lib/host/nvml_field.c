/* What newer GPUs tell by number alone. */
#include "lib/host/nvml_abi.h"

bool nvml_field(const struct nvml_api *api, abi_gpu gpu, unsigned id, unsigned scope, int64_t *ret)
{
	struct abi_field f = {.id = id, .scope = scope};

	if (!api->fields || api->fields(gpu, 1, &f) || f.error)
		return false;
	switch (f.type) {
	case ABI_UNSIGNED:
		*ret = f.value.u;
		return true;
	case ABI_ULONG:
	case ABI_ULONGLONG:
		*ret = (int64_t)f.value.ull;
		return f.value.ull <= INT64_MAX;
	case ABI_LONGLONG:
		*ret = f.value.sll;
		return true;
	case ABI_INT:
		*ret = f.value.s;
		return true;
	default:
		return false;
	}
}
