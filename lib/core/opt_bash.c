/* Completion for bash; works with and without the bash-completion package. */
#include "lib/core/opt_table.h"

static const char head[] =
	"    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"    local opt=$prev i eq='' lead='' list='' kind='' words='' last=''\n"
	"    # readline cuts --opt=value into three words, unless \"=\" is no word break.\n"
	"    if [[ $cur == = ]]; then\n"
	"        eq=1 cur=''\n"
	"    elif [[ $prev == = ]]; then\n"
	"        eq=1 opt=${COMP_WORDS[COMP_CWORD-2]}\n"
	"    elif [[ $cur == --*=* ]]; then\n"
	"        eq=1 opt=${cur%%=*} lead=${cur%%=*}= cur=${cur#*=}\n"
	"    fi\n"
	"    for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"        if [[ ! $last && ${COMP_WORDS[i]} == -- ]]; then last=$i opt=''; fi\n"
	"    done\n";

/* What the other command itself knows, where the bash-completion package asks it. */
static const char behind[] = "        if [[ $last ]]; then\n"
			     "            if declare -F _command_offset >/dev/null; then\n"
			     "                _command_offset $((last + 1))\n"
			     "                return\n"
			     "            fi\n"
			     "            kind=file eq=''\n"
			     "            if ((COMP_CWORD == last + 1)); then kind=command; fi\n"
			     "        fi\n";

static const char tail[] =
	"    if [[ $list && $cur == *,* ]]; then\n"
	"        lead+=${cur%,*}, cur=${cur##*,}\n"
	"    fi\n"
	"    COMPREPLY=()\n"
	"    case $kind in\n"
	"    command) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\" | command sort -u) ;;\n"
	"    file) mapfile -t COMPREPLY < <(compgen -f -P \"$lead\" -- \"$cur\") ;;\n"
	"    dir) mapfile -t COMPREPLY < <(compgen -d -P \"$lead\" -- \"$cur\") ;;\n"
	"    host | hosts) words=\"$(compgen -A hostname) $(command sed -n "
	"'s/^[[:space:]]*Host[[:space:]]//p' \\\n"
	"        ~/.ssh/config 2>/dev/null | command tr ' ' '\\n' | command grep -v '[*?!]')\" ;;\n"
	"    iface)\n"
	"        for i in /sys/class/net/*/; do\n"
	"            i=${i%/}\n"
	"            [[ ! -d $i ]] || words+=\" ${i##*/}\"\n"
	"        done ;;\n"
	"    esac\n"
	"    if [[ $words ]]; then\n"
	"        # Single quotes: the words are data, not shell.\n"
	"        # shellcheck disable=SC2016\n"
	"        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -P \"$lead\" -W '$words' -- "
	"\"$cur\" | command sort -u)\n"
	"    fi\n"
	"    if [[ $kind == hosts && $cur && ! $lead ]]; then\n"
	"        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"    fi\n"
	"    if [[ $kind == file || $kind == dir || $kind == hosts ]]; then\n"
	"        compopt -o filenames 2>/dev/null\n"
	"    fi\n"
	"    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then\n"
	"        compopt -o nospace 2>/dev/null\n"
	"    fi\n"
	"    return 0\n"
	"}\n";

static const char *kind_name(enum opt_complete c)
{
	static const char *const names[] = {
		[OPT_C_NONE] = "none", [OPT_C_FILE] = "file",	[OPT_C_DIR] = "dir",
		[OPT_C_HOST] = "host", [OPT_C_HOSTS] = "hosts", [OPT_C_IFACE] = "iface",
	};

	return names[c];
}

/* One word between single quotes. */
static void quoted(struct text *out, const char *s)
{
	text_add(out, "'");
	for (; *s; s++)
		text_addf(out, *s == '\'' ? "'\\''" : "%c", *s);
	text_add(out, "'");
}

/* What may stand behind one option; nothing for a switch. */
static void value_case(struct text *out, const struct opt_row *r)
{
	const struct opt *o = r->o;

	if (o->hidden || !opt_metavar(o))
		return;
	/* The value of an option that may stand alone comes with "=" only. */
	text_addf(out, o->if_bare ? "    --%s=)" : "    --%s|--%s=", o->name, o->name);
	if (!o->if_bare && r->shortname)
		text_addf(out, "|-%c", r->shortname);
	text_add(out, o->if_bare ? " " : ") ");
	if (o->choices || o->words) {
		text_add(out, "kind=words words=");
		quoted(out, opt_join(out->a, o->choices ?: o->words, " "));
	} else {
		text_addf(out, "kind='%s'", kind_name(o->complete));
	}
	if (o->words || o->complete == OPT_C_HOST || o->complete == OPT_C_HOSTS ||
	    o->complete == OPT_C_IFACE)
		text_add(out, " list=1");
	text_add(out, " ;;\n");
}

static void option_words(struct text *out, const opt_rows *rows, bool negated)
{
	const char *between = "";

	for (size_t i = 0; i < rows->n; i++) {
		const struct opt *o = rows->v[i].o;

		if (o->hidden || (negated && o->type != OPT_BOOL))
			continue;
		text_addf(out, negated ? "%s--no-%s" : "%s--%s", between, o->name);
		if (o->if_bare && opt_metavar(o))
			text_addf(out, " --%s=", o->name);
		between = " ";
	}
}

void opt_bash(const struct opt_usage *u, struct text *out)
{
	const struct command *cmd = u->cmd;
	opt_rows rows;

	opt_flatten(u, NULL, out->a, &rows);
	text_addf(out, "# bash completion for %s; printed by: %s --generate bash\n", cmd->name,
		  cmd->name);
	text_addf(out, "_%s()\n{\n%s    case $opt${eq:+=} in\n", cmd->name, head);
	for (size_t i = 0; i < rows.n; i++)
		value_case(out, &rows.v[i]);
	text_add(out, "    *)\n");
	if (cmd->wraps)
		text_add(out, behind);
	text_add(out, "        if [[ $eq ]]; then return 0; fi\n");
	text_addf(out, "        if [[ ! $last && $cur == --no-* ]]; then\n            words='");
	option_words(out, &rows, true);
	/* A command without operands has nothing better to offer than its options. */
	text_addf(out, "'\n        elif [[ ! $last && %s ]]; then\n",
		  cmd->operand ? "$cur == -*" : "( $cur == -* || ! $cur )");
	text_add(out, "            words='");
	option_words(out, &rows, false);
	text_addf(out, "'\n        else\n            kind=${kind:-%s}\n",
		  cmd->operand ? kind_name(cmd->operand_complete) : "none");
	if (cmd->verbs)
		text_addf(out, "            if ((COMP_CWORD == 1)); then words='%s'; fi\n",
			  opt_join(out->a, cmd->verbs, " "));
	if (cmd->line_verb)
		text_addf(out, "            if [[ $prev == %s ]]; then kind=hosts list=1; fi\n",
			  cmd->line_verb);
	text_add(out, "        fi ;;\n    esac\n");
	text_addf(out, "%scomplete -F _%s %s\n", tail, cmd->name, cmd->name);
}
