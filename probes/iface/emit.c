#include "probes/iface/emit.h"

#include "lib/cluster/fanout.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/utf8.h"

#include <sys/stat.h>

static void left_out(const struct suggestion *s, struct text *out)
{
	for (size_t i = 0; i < s->left_out.n; i++)
		text_addf(out, "# %s\n", s->left_out.v[i]);
}

/* Comments come last: `eval $(ifprobe --suggest)` without quotes joins the
 * lines, and a comment before an export would swallow it. */
static void shell(const struct suggestion *s, struct text *out)
{
	for (size_t i = 0; i < s->env.n; i++)
		text_addf(out, "export %s=%s\n", s->env.v[i].name,
			  shell_quote(s->a, s->env.v[i].value));
	for (size_t i = 0; i < s->env.n; i++)
		if (s->env.v[i].comment)
			text_addf(out, "# %s: %s\n", s->env.v[i].name, s->env.v[i].comment);
	left_out(s, out);
}

/* @value in single quotes, with @escaped[i] in place of each @special[i]. */
static void quoted(const char *value, const char *special, const char *const *escaped,
		   struct text *out)
{
	text_add(out, "'");
	for (; *value; value++) {
		const char *at = strchr(special, *value);

		if (at)
			text_add(out, escaped[at - special]);
		else
			text_addn(out, value, 1);
	}
	text_add(out, "'");
}

/* For eval "`...`", which joins the lines, and may take a # for a word: no comments. Quotes do not
 * keep csh from what it does with '!'. */
static void csh(const struct suggestion *s, struct text *out)
{
	static const char *const escaped[] = {"'\\''", "\\!"};

	for (size_t i = 0; i < s->env.n; i++) {
		text_addf(out, "setenv %s ", s->env.v[i].name);
		quoted(s->env.v[i].value, "'!", escaped, out);
		text_add(out, ";\n");
	}
}

static void fish(const struct suggestion *s, struct text *out)
{
	static const char *const escaped[] = {"\\'", "\\\\"};

	for (size_t i = 0; i < s->env.n; i++) {
		text_addf(out, "set -gx %s ", s->env.v[i].name);
		quoted(s->env.v[i].value, "'\\", escaped, out);
		text_add(out, "\n");
	}
	left_out(s, out);
}

void emit_peer_args(const str_list *peers, struct text *out)
{
	for (size_t i = 0; i < peers->n; i++)
		text_addf(out, " --peer %s", shell_quote(out->a, peers->v[i]));
}

const char *emit_own_folder(struct arena *a)
{
	static const char *const found[] = {"/bin", "/usr/bin", "/usr/local/bin"};
	const char *self = self_beside(a, "ifprobe");
	struct stat st;

	if (!self || stat(self, &st) || (st.st_uid && st.st_uid != geteuid()))
		return "";
	self = arena_strndup(a, self, (size_t)(strrchr(self, '/') - self));
	if (stat(self, &st) || (st.st_mode & S_IWOTH))
		return "";
	for (size_t i = 0; i < ARRAY_LEN(found); i++)
		if (streq(self, found[i]))
			return "";
	return self;
}

/* Interfaces that lead nowhere are waited for at every start of a shell, so not for long. */
static void ask_again(const str_list *peers, const char *folder, struct text *out)
{
	const char *in =
		*folder ? arena_printf(out->a, "PATH=$PATH:%s; ", shell_quote(out->a, folder)) : "";
	const char *file = shell_quote(out->a, arena_printf(out->a, "%s/ifprobe", folder));
	const char *ask = arena_printf(out->a, "%sifprobe --suggest --quiet", in);

	text_addf(
		out, "# Every start of a shell asks again which interface is right on this node%s",
		peers->n ? ":\n# one that reaches the peers or, while they do not answer, the best "
			   "by rank.\n"
			 : ".\n");
	text_addf(out, "if command -v ifprobe >/dev/null 2>&1%s%s%s; then\n",
		  *folder ? " || [ -x " : "", *folder ? file : "", *folder ? " ]" : "");
	if (peers->n) {
		text_addf(out, "    windsock=$(%s --deadline 500ms", ask);
		emit_peer_args(peers, out);
		text_addf(out,
			  " 2>/dev/null) || :\n"
			  "    eval \"${windsock:-$(%s 2>/dev/null)}\"\n"
			  "    unset windsock\n",
			  ask);
	} else {
		text_addf(out, "    eval \"$(%s 2>/dev/null)\"\n", ask);
	}
	text_add(out, "fi\n");
}

static void bashrc_computed(const str_list *peers, struct text *out)
{
	ask_again(peers, emit_own_folder(out->a), out);
}

/* For all users, and none of them runs what lies in another one's folder. */
static void profile_computed(const str_list *peers, struct text *out) { ask_again(peers, "", out); }

/* NAME=value, byte for byte: docker's env file and NCCL's conf know no quotes. */
static void plain(const struct suggestion *s, struct text *out)
{
	for (size_t i = 0; i < s->env.n; i++)
		text_addf(out, "%s=%s\n", s->env.v[i].name, s->env.v[i].value);
}

static void nccl_conf(const struct suggestion *s, struct text *out)
{
	for (size_t i = 0; i < s->env.n; i++)
		if (starts_with(s->env.v[i].name, "NCCL_"))
			text_addf(out, "%s=%s\n", s->env.v[i].name, s->env.v[i].value);
}

/* TaskProlog's standard output is read by slurmstepd, not by a shell. */
static void slurm(const struct suggestion *s, struct text *out)
{
	for (size_t i = 0; i < s->env.n; i++)
		text_addf(out, "export %s=%s\n", s->env.v[i].name, s->env.v[i].value);
}

#define TASK_PROLOG                                                                                \
	"# Slurm TaskProlog: what this prints becomes the task's environment, but for what the\n"  \
	"# job has set itself. It must never fail: a task whose prolog fails is cancelled.\n"

static void slurm_script(const struct suggestion *s, struct text *out)
{
	text_add(out, TASK_PROLOG);
	for (size_t i = 0; i < s->env.n; i++) {
		const char *name = s->env.v[i].name;
		const char *line = arena_printf(s->a, "export %s=%s", name, s->env.v[i].value);

		text_addf(out, "[ \"${%s+set}\" ] || printf '%%s\\n' %s\n", name,
			  shell_quote(s->a, line));
	}
	text_add(out, ":\n");
}

static void slurm_script_computed(const str_list *peers, struct text *out)
{
	text_add(out, TASK_PROLOG
		 "PATH=$PATH:" EMIT_USUAL_PATH "\n"
		 "windsock() {\n"
		 "    timeout -k 1 12 ifprobe --suggest=slurm --quiet --budget 10s \"$@\" "
		 "2>/dev/null </dev/null\n"
		 "}\n"
		 "if command -v ifprobe >/dev/null 2>&1; then\n");
	if (peers->n) {
		text_add(out,
			 "    # One that reaches the peers or, while they do not answer, the best "
			 "by rank.\n"
			 "    lines=$(windsock --deadline 2s");
		emit_peer_args(peers, out);
		text_add(out, ")\n    [ -n \"$lines\" ] || ");
	} else {
		text_add(out, "    ");
	}
	text_add(
		out,
		"lines=$(windsock)\n"
		"    [ -z \"$lines\" ] || printf '%s\\n' \"$lines\" | while IFS= read -r line; do\n"
		"        name=${line#export }\n"
		"        printenv \"${name%%=*}\" >/dev/null || printf '%s\\n' \"$line\"\n"
		"    done\n"
		"fi\n"
		":\n");
}

/* systemd.exec(5): double quotes, backslash and % have a meaning. */
static void systemd(const struct suggestion *s, struct text *out)
{
	text_add(out, "[Service]\n");
	for (size_t i = 0; i < s->env.n; i++) {
		text_addf(out, "Environment=\"%s=", s->env.v[i].name);
		for (const char *p = s->env.v[i].value; *p; p++) {
			if (*p == '"' || *p == '\\')
				text_add(out, "\\");
			text_addn(out, p, 1);
			if (*p == '%')
				text_add(out, "%");
		}
		text_add(out, "\"\n");
	}
}

static void k8s(const struct suggestion *s, struct text *out)
{
	text_add(out, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: windsock-nccl\ndata:\n");
	for (size_t i = 0; i < s->env.n; i++) {
		text_addf(out, "  %s: '", s->env.v[i].name);
		for (const char *p = s->env.v[i].value; *p; p++)
			text_addn(out, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
		text_add(out, "'\n");
	}
}

/* The value of a line that ends at @end, with what k8s() quotes taken back; NULL: none of ours. */
static const char *k8s_value(const char *p, const char *end, struct arena *a)
{
	struct text value;

	if (end - p < 2 || *p != '\'' || end[-1] != '\'')
		return NULL;
	text_init(&value, a);
	for (p++, end--; p < end; p++) {
		text_addn(&value, p, 1);
		p += *p == '\'';
	}
	return value.s;
}

static void k8s_read(const char *text, struct suggestion *ret)
{
	for (const char *p = text, *end; *p; p = *end ? end + 1 : end) {
		const char *colon = strstr(p, ": "), *name, *value;

		end = p + strcspn(p, "\n");
		if (!starts_with(p, "  ") || !colon || colon > end)
			continue;
		name = arena_strndup(ret->a, p + 2, (size_t)(colon - p - 2));
		value = k8s_value(colon + 2, end, ret->a);
		if (suggest_can_say(name, value))
			*LIST_ADD(ret->a, &ret->env) =
				(struct env_line){.name = name, .value = value};
	}
}

static bool is_printable(const char *s)
{
	while (*s) {
		uint32_t c;

		s += utf8_next(s, strlen(s), &c);
		if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == UTF8_BAD)
			return false;
	}
	return true;
}

bool emit_can_say(const struct emit_form *form, const struct suggestion *s, struct report *r)
{
	struct finding *f;

	if (!form->text_only || is_printable(s->iface->name))
		return true;
	f = report_find(r, "suggest.form", form->name);
	finding_set(f, ST_FAIL,
		    "takes printable UTF-8 only, and the name of the interface is not: "
		    "no line of it would be read as meant");
	finding_expect(f, "a name in printable characters");
	finding_fix(f, "sudo ip link set dev %s name NEW   # it has to be down for that",
		    shell_quote(s->a, s->iface->name));
	report_add(r, f);
	return false;
}

static const struct emit_form forms[] = {
	{.name = "shell", .help = "export lines for eval", .render = shell},
	{.name = "csh", .help = "setenv lines for eval \"`...`\" of csh and tcsh", .render = csh},
	{.name = "fish", .help = "set lines for | source", .render = fish},
	{.name = "env", .help = "NAME=value lines, nothing quoted", .render = plain},
	{.name = "slurm", .help = "what a TaskProlog prints", .render = slurm},
	{.name = "bashrc",
	 .help = "a marked block in ~/.bashrc, also read by ssh-started ranks",
	 .render = shell,
	 .render_computed = bashrc_computed,
	 .is_block = true,
	 .place = RC_ABOVE_INTERACTIVE,
	 .user_path = "~/.bashrc",
	 .then = "new shells have it; for this one: . ~/.bashrc"},
	{.name = "profile.d",
	 .help = "login shells of every user",
	 .render = shell,
	 .render_computed = profile_computed,
	 .is_block = true,
	 .root_path = "/etc/profile.d/windsock.sh",
	 .then = "new login shells have it"},
	{.name = "nccl.conf",
	 .help = "NCCL's own file: read by every NCCL on this host, whoever starts it",
	 .render = nccl_conf,
	 .is_block = true,
	 .root_path = "/etc/nccl.conf",
	 .user_path = "~/.nccl.conf"},
	{.name = "systemd",
	 .help = "a drop-in for the service named by --unit",
	 .render = systemd,
	 .text_only = true,
	 .is_block = true,
	 .then = "systemctl daemon-reload, then restart the unit"},
	{.name = "slurm-taskprolog",
	 .help = "a TaskProlog script: the right value on each node of a job",
	 .render = slurm_script,
	 .render_computed = slurm_script_computed,
	 .is_block = true,
	 .place = RC_KEEP,
	 .head = "#!/bin/sh\n",
	 .mode = 0755,
	 .root_path = "/etc/slurm/windsock-taskprolog",
	 .then = "add TaskProlog=/etc/slurm/windsock-taskprolog to slurm.conf, then: scontrol "
		 "reconfigure"},
	{.name = "docker",
	 .help = "an env file for docker run --network host --env-file",
	 .render = plain,
	 .text_only = true,
	 .is_block = true,
	 .place = RC_KEEP,
	 .user_path = "windsock.env",
	 .then = "docker run --network host --env-file windsock.env ..."},
	{.name = "k8s",
	 .help = "a ConfigMap for envFrom (pods with hostNetwork: true)",
	 .render = k8s,
	 .read = k8s_read,
	 .text_only = true,
	 .user_path = "windsock-nccl.yaml",
	 .then = "kubectl apply -f windsock-nccl.yaml, and envFrom: [{configMapRef: {name: "
		 "windsock-nccl}}]"},
};

const char *const emit_print_names[] = {"shell",     "csh",	"fish", "env",	  "slurm",
					"nccl.conf", "systemd", "k8s",	"docker", NULL};
const char *const emit_write_names[] = {"nccl.conf", "profile.d", "systemd", "slurm-taskprolog",
					"docker",    "k8s",	  NULL};

const struct emit_form *emit_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (streq(forms[i].name, name))
			return &forms[i];
	return NULL;
}
