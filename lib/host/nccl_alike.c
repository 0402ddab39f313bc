#include "lib/host/nccl_alike.h"

#include "lib/core/file.h"
#include "lib/host/answers.h"
#include "lib/host/sysroot.h"

#include <ctype.h>
#include <errno.h>

enum { CONF_MAX = 1 << 20 };

const struct nccl_setting nccl_settings[] = {
	/* which way a collective goes, on how many channels, and in what pieces */
	{"NCCL_ALGO", ALIKE_EVERYWHERE},
	{"NCCL_PROTO", ALIKE_EVERYWHERE},
	{"NCCL_PAT_ENABLE", ALIKE_EVERYWHERE},
	{"NCCL_CTA_POLICY", ALIKE_EVERYWHERE},
	{"NCCL_TUNER_PLUGIN", ALIKE_EVERYWHERE},
	{"NCCL_NTHREADS", ALIKE_EVERYWHERE},
	{"NCCL_LL128_NTHREADS", ALIKE_EVERYWHERE},
	{"NCCL_MIN_NCHANNELS", ALIKE_EVERYWHERE},
	{"NCCL_MAX_NCHANNELS", ALIKE_EVERYWHERE},
	{"NCCL_MIN_NRINGS", ALIKE_EVERYWHERE},
	{"NCCL_MAX_NRINGS", ALIKE_EVERYWHERE},
	{"NCCL_MIN_CTAS", ALIKE_EVERYWHERE},
	{"NCCL_MAX_CTAS", ALIKE_EVERYWHERE},
	{"NCCL_MIN_P2P_NCHANNELS", ALIKE_EVERYWHERE},
	{"NCCL_MAX_P2P_NCHANNELS", ALIKE_EVERYWHERE},
	{"NCCL_BUFFSIZE", ALIKE_EVERYWHERE},
	{"NCCL_LL_BUFFSIZE", ALIKE_EVERYWHERE},
	{"NCCL_LL128_BUFFSIZE", ALIKE_EVERYWHERE},
	{"NCCL_CHUNK_SIZE", ALIKE_EVERYWHERE},
	{"NCCL_P2P_NET_CHUNKSIZE", ALIKE_EVERYWHERE},
	{"NCCL_P2P_PCI_CHUNKSIZE", ALIKE_EVERYWHERE},
	{"NCCL_P2P_NVL_CHUNKSIZE", ALIKE_EVERYWHERE},
	{"NCCL_P2P_LL_THRESHOLD", ALIKE_EVERYWHERE},
	{"NCCL_ALLOC_P2P_NET_LL_BUFFERS", ALIKE_EVERYWHERE},
	{"NCCL_NVLS_CHUNKSIZE", ALIKE_EVERYWHERE},
	/* how they meet in the first place */
	{"NCCL_OOB_NET_ENABLE", ALIKE_EVERYWHERE},
	/* each rank searches its own host, and those of one host have to find the same */
	{"NCCL_P2P_DISABLE", ALIKE_ON_HOST},
	{"NCCL_P2P_LEVEL", ALIKE_ON_HOST},
	{"NCCL_P2P_DIRECT_DISABLE", ALIKE_ON_HOST},
	{"NCCL_P2P_READ_ENABLE", ALIKE_ON_HOST},
	{"NCCL_P2P_USE_CUDA_MEMCPY", ALIKE_ON_HOST},
	{"NCCL_SHM_DISABLE", ALIKE_ON_HOST},
	{"NCCL_SHM_LOCALITY", ALIKE_ON_HOST},
	{"NCCL_CUMEM_ENABLE", ALIKE_ON_HOST},
	{"NCCL_CUMEM_HOST_ENABLE", ALIKE_ON_HOST},
	{"NCCL_NET_DISABLE_INTRA", ALIKE_ON_HOST},
	{"NCCL_NVB_DISABLE", ALIKE_ON_HOST},
	{"NCCL_CROSS_NIC", ALIKE_ON_HOST},
	/* one may not have what the others are told to do without */
	{"NCCL_NET", ALIKE_BETTER},
	{"NCCL_NET_PLUGIN", ALIKE_BETTER},
	{"NCCL_IB_DISABLE", ALIKE_BETTER},
	{"NCCL_SOCKET_FAMILY", ALIKE_BETTER},
	{"NCCL_IB_ADDR_FAMILY", ALIKE_BETTER},
	{"NCCL_IB_ROCE_VERSION_NUM", ALIKE_BETTER},
	{"NCCL_IB_QPS_PER_CONNECTION", ALIKE_BETTER},
	{"NCCL_IB_SPLIT_DATA_ON_QPS", ALIKE_BETTER},
	{"NCCL_IB_TC", ALIKE_BETTER},
	{"NCCL_IB_SL", ALIKE_BETTER},
	{"NCCL_NET_GDR_LEVEL", ALIKE_BETTER},
	{"NCCL_NET_GDR_READ", ALIKE_BETTER},
	{"NCCL_DMABUF_ENABLE", ALIKE_BETTER},
	{"NCCL_NCHANNELS_PER_NET_PEER", ALIKE_BETTER},
	{"NCCL_SOCKET_NTHREADS", ALIKE_BETTER},
	{"NCCL_NSOCKS_PERTHREAD", ALIKE_BETTER},
	{"NCCL_PXN_DISABLE", ALIKE_BETTER},
	{"NCCL_P2P_PXN_LEVEL", ALIKE_BETTER},
	{"NCCL_COLLNET_ENABLE", ALIKE_BETTER},
	{"NCCL_NVLS_ENABLE", ALIKE_BETTER},
	{"NCCL_MNNVL_ENABLE", ALIKE_BETTER},
	{"NCCL_COMM_ID", ALIKE_BETTER},
};
const size_t nccl_settings_n = ARRAY_LEN(nccl_settings);

bool nccl_may_differ(const char *name)
{
	for (size_t i = 0; i < nccl_settings_n; i++)
		if (streq(nccl_settings[i].name, name))
			return false;
	return true;
}

/* Of a file of NCCL's the first line counts, and nothing in it is trimmed. */
static const char *of_file(const char *path, const char *name, struct arena *a)
{
	size_t n, length = strlen(name);
	struct err e = {0};
	char *text, *line;

	if (file_read(sysroot_path(a, path), CONF_MAX, a, &text, &n, &e))
		return NULL;
	while ((line = strsep(&text, "\n")))
		if (starts_with(line, name) && line[length] == '=')
			return line + length + 1;
	return NULL;
}

const char *nccl_setting_written(const char *name, struct arena *a)
{
	const char *text = getenv(name), *conf = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");

	if (!text && conf && *conf)
		text = of_file(conf, name, a);
	else if (!text && home && folder_answers(home))
		text = of_file(arena_printf(a, "%s/.nccl.conf", home), name, a);
	if (!text)
		text = of_file("/etc/nccl.conf", name, a);
	return text && *text ? text : NULL;
}

const char *nccl_setting_here(const char *name, struct arena *a)
{
	const char *text = nccl_setting_written(name, a);
	char *end, *copy;
	long long v;

	if (!text)
		return NULL;
	errno = 0;
	v = strtoll(text, &end, 0);
	if (!errno && end != text && !*end)
		return arena_printf(a, "%lld", v);
	copy = arena_strdup(a, text);
	for (char *p = copy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}
