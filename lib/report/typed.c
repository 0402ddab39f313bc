#include "lib/report/typed.h"

#include "lib/core/base.h"
#include "lib/report/line.h"

#include <ctype.h>

/* Programs and words of the shell. A fix that begins with another one is told as words until it
 * stands here. Sorted. */
/* clang-format off */
static const char *const programs[] = {
	".", "VBoxManage", "accelerate", "apptainer", "apt-get", "apt-mark", "arp",
	"ausearch", "autossh", "aws", "bash", "blaunch", "bridge", "chmod", "chown",
	"chronyc", "chrt", "cmake", "compute-sanitizer", "conda", "conntrack",
	"cpupower", "crictl", "curl", "dask", "dcgmi", "ddpsmoke", "deepspeed", "df",
	"dhclient", "dkms", "dmesg", "dmidecode", "dnf", "docker", "du", "echo",
	"enroot", "env", "etcd", "ethtool", "eval", "fi_info", "findmnt",
	"firewall-cmd", "for", "fuser", "gcloud", "getenforce", "getent", "git",
	"gpustat", "grep", "hccn_tool", "horovodrun", "hostname", "hostnamectl",
	"huggingface-cli", "ib_write_bw", "ibstat", "ibstatus", "ibv_devices",
	"ibv_devinfo", "if", "ifprobe", "ip", "ipcrm", "iptables", "journalctl", "jq",
	"kubectl", "ldconfig", "ldd", "ln", "loginctl", "ls", "lscpu", "lsmod", "lsof",
	"lspci", "mkdir", "mlxlink", "modprobe", "mokutil", "mpiexec", "mpirun", "mv",
	"namei", "ncclbench", "ncclwhy", "netplan", "nfsstat", "nft", "nmcli", "nohup",
	"npu-smi", "ntpq", "numactl", "nvidia-ctk", "nvidia-modprobe", "nvidia-smi",
	"nvme", "oarsh", "pdsh", "pip", "podman", "portcheck", "printf", "ps", "pwd",
	"py-spy", "python", "python3", "qrsh", "ray", "rdma", "resolvectl", "rm",
	"rmmod", "rocm-smi", "rsh", "rsync", "salloc", "sbatch", "scancel", "scontrol",
	"scp", "sed", "setpci", "setsebool", "sglang", "sh", "show_gids", "sinfo",
	"slurmd", "squeue", "srun", "ss", "ssh", "ssh-add", "ssh-copy-id",
	"ssh-keygen", "ssh-keyscan", "sshpass", "sudo", "swapoff", "sysctl",
	"systemctl", "tar", "taskset", "tc", "tcpdump", "tee", "timedatectl", "top",
	"torchrun", "tracepath", "traceroute", "tsh", "ucx_info", "ufw", "ulimit",
	"umask", "umount", "update-grub", "uptime", "usermod", "virsh", "vllm",
	"vmstat", "wget", "windsock", "wsl", "xpu-smi",
};
/* Words of English as well: what comes next tells. Sorted. */
static const char *const both[] = {
	"cat", "cd", "command", "date", "export", "find", "free", "kill", "make", "module",
	"mount", "ping", "sleep", "source", "touch", "trap", "uname", "unset", "watch",
};
/* clang-format on */

/* What is no English after them. Sorted. */
static const char *const parts[] = {"clean", "install", "load", "purge"};
static const char *const articles[] = {"a", "an", "it", "that", "the"};
/* What no command has outside of quotes: "docker run ... or apptainer". Sorted. */
static const char *const joints[] = {"and", "of", "or", "that", "the", "where"};

static int by_name(const void *key, const void *at) { return strcmp(key, *(char *const *)at); }

#define IS_IN(list, word) (bsearch(word, list, ARRAY_LEN(list), sizeof(*(list)), by_name) != NULL)

enum { WORD_MAX = 40 };

/* The word at @s, "" for one that is longer than all of ours; returns where it ends. */
static const char *take_word(const char *s, const char *end, char ret[WORD_MAX])
{
	size_t n = 0;

	while (s + n < end && !strchr(" \t\n;", s[n]))
		n++;
	ret[0] = '\0';
	if (n < WORD_MAX) {
		memcpy(ret, s, n);
		ret[n] = '\0';
	}
	return s + n;
}

static const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && strchr(" \t\n", *s))
		s++;
	return s;
}

static bool is_plain(const char *word)
{
	size_t n = 0;

	while (islower((unsigned char)word[n]))
		n++;
	return n && !word[n];
}

/* Behind the NAME=VALUE of an environment. */
static const char *skip_settings(const char *s, const char *end)
{
	for (;;) {
		size_t n = 0;

		while (s + n < end && (isupper((unsigned char)s[n]) || s[n] == '_' ||
				       (n && isdigit((unsigned char)s[n]))))
			n++;
		if (!n || s + n >= end || s[n] != '=')
			return s;
		while (s < end && !strchr(" \t\n;", *s))
			s = strchr("'\"\\", *s) ? line_skip_quoted(s) : s + 1;
		s = skip_blanks(s, end);
	}
}

/* "ncclwhy the log", "make NCCL_NET, ...", "mount it"; not "make clean". */
static bool goes_on_in_english(const char *first, const char *rest, const char *end)
{
	char word[WORD_MAX];
	size_t n;

	(void)take_word(skip_blanks(rest, end), end, word);
	n = strlen(word);
	if (n && strchr(",:", word[n - 1]))
		return true;
	return IS_IN(articles, word) ||
	       (is_plain(word) && IS_IN(both, first) && !IS_IN(parts, word));
}

static bool has_joint(const char *s, const char *end)
{
	char word[WORD_MAX];

	for (s = skip_blanks(s, end); s < end; s = skip_blanks(s, end)) {
		const char *stop = take_word(s, end, word);

		if (IS_IN(joints, word))
			return true;
		for (stop += stop == s; s < stop;)
			s = strchr("'\"\\", *s) ? line_skip_quoted(s) : s + 1;
	}
	return false;
}

/* "hosts=$(sed ...) && ...": a name of the shell's own. */
static bool is_captured(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_");

	return n && starts_with(s + n, "=$(");
}

/* One command, of those that ; parts. */
static bool is_command(const char *from, const char *end)
{
	const char *s = skip_settings(from, end), *rest;
	char word[WORD_MAX];

	rest = take_word(s, end, word);
	if (s > from && (streq(word, "COMMAND") || streq(word, "...")))
		return true; /* with these settings */
	if (has_joint(s, end))
		return false;
	if (starts_with(s, "/") || starts_with(s, "./") || starts_with(s, "~/"))
		return true;
	return (IS_IN(programs, word) || IS_IN(both, word)) && !goes_on_in_english(word, rest, end);
}

/* To the next ; that stands outside of quotes, or @end. */
static const char *command_end(const char *s, const char *end)
{
	while (s < end && *s != ';')
		s = strchr("'\"\\", *s) ? line_skip_quoted(s) : s + 1;
	return s < end ? s : end;
}

/* Their ; part what belongs together. */
static bool is_compound(const char *s)
{
	static const char *const words[] = {"for ", "if ", "while "};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (starts_with(s, words[i]))
			return true;
	return is_captured(s);
}

bool fix_is_typed(const char *fix)
{
	const char *end = line_remark(fix), *line = memchr(fix, '\n', (size_t)(end - fix));
	const char *s = skip_blanks(fix, end), *stop;

	if (line)
		end = line;
	if (s == end || is_compound(s))
		return s < end;
	for (; s < end; s = skip_blanks(stop + (stop < end), end)) {
		stop = command_end(s, end);
		if (!is_command(s, stop))
			return false;
	}
	return true;
}

const char *fix_mark(const char *fix) { return fix_is_typed(fix) ? "->" : " -"; }

/* Who is root types it without, who reads it of another host types it with it. */
static const char *without_sudo(const char *s) { return s + (starts_with(s, "sudo ") ? 5 : 0); }

static size_t command_length(const char *s)
{
	const char *end = line_remark(s);

	while (end > s && end[-1] == ' ')
		end--;
	return (size_t)(end - s);
}

static const char *place(const char *fix, const char *host)
{
	static const char on[] = "# on ";
	const char *remark = line_remark(fix);

	return starts_with(remark, on) ? remark + strlen(on) : host;
}

bool fix_is_same(const char *x, const char *x_host, const char *y, const char *y_host)
{
	static const char ends[] = " ,:;\n";
	const char *at_x = place(x, x_host), *at_y = place(y, y_host);
	const char *run_x = without_sudo(x), *run_y = without_sudo(y);
	size_t n = command_length(run_x), at = strcspn(at_x, ends);

	if (strchr(x, '\n') || strchr(y, '\n')) /* the remark of the first line ends neither */
		return streq(x, y) && streq(x_host, y_host);
	return n == command_length(run_y) && !memcmp(run_x, run_y, n) &&
	       at == strcspn(at_y, ends) && !memcmp(at_x, at_y, at);
}
