/* Completion for zsh: a #compdef file that leaves the work to _arguments. */
#include "lib/core/opt_table.h"

/* Inside single quotes, brackets and between colons. */
static void spec_text(struct text *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("[]:\\", *s))
			text_add(out, "\\");
		text_addf(out, *s == '\'' ? "'\\''" : "%c", *s);
	}
}

static const char *action(enum opt_complete c)
{
	static const char *const actions[] = {
		[OPT_C_NONE] = " ",
		[OPT_C_FILE] = "_files",
		[OPT_C_DIR] = "_files -/",
		[OPT_C_HOST] = "_sequence _hosts",
		[OPT_C_HOSTS] = "{ _sequence _hosts; _files }",
		[OPT_C_IFACE] = "_sequence compadd - /sys/class/net/*(N\\:t)",
	};

	return actions[c];
}

/* Behind -- as where that command is typed alone. */
static const char behind[] =
	"if (( ${words[(i)--]} < CURRENT )); then (( CURRENT -= ${words[(i)--]} )); "
	"words=(${(@)words[${words[(i)--]}+1,-1]}); _normal; else";

static void value(struct text *out, const struct opt *o)
{
	const char *metavar = opt_metavar(o);

	if (!metavar)
		return;
	text_add(out, o->if_bare ? "::" : ":");
	spec_text(out, metavar);
	text_add(out, ":");
	if (o->words) {
		text_addf(out, "_sequence compadd - %s", opt_join(out->a, o->words, " "));
		return;
	}
	if (!o->choices) {
		text_add(out, action(o->complete));
		return;
	}
	text_add(out, "(");
	spec_text(out, opt_join(out->a, o->choices, " "));
	text_add(out, ")");
}

/* One way to write an option: '(-h --help)--help[show this help]' */
static void spec(struct text *out, const struct opt_row *r, const char *name, bool is_short)
{
	const struct opt *o = r->o;

	text_add(out, " \\\n        '");
	if (o->type == OPT_LIST)
		text_add(out, "*");
	else if (r->shortname)
		text_addf(out, "(-%c --%s)", r->shortname, o->name);
	text_add(out, name);
	/* "=-": only behind the "="; "=": there or as the next word; "+": glued or next. */
	if (opt_metavar(o))
		text_add(out, o->if_bare ? (is_short ? "-" : "=-") : is_short ? "+" : "=");
	text_add(out, "[");
	spec_text(out, o->help);
	text_add(out, "]");
	value(out, o);
	text_add(out, "'");
}

/* Begins the spec of operands: of the first one ("1"), or of all ("*"). */
static void operand(struct text *out, const char *which, const struct command *cmd)
{
	text_addf(out, " \\\n        '%s:", which);
	spec_text(out, cmd->operand);
	text_add(out, ":");
}

static void operands(struct text *out, const struct command *cmd)
{
	if (!cmd->operand)
		return;
	if (cmd->verbs) {
		operand(out, "1", cmd);
		text_addf(out, "{ compadd - %s; %s }'", opt_join(out->a, cmd->verbs, " "),
			  action(cmd->operand_complete));
	}
	operand(out, "*", cmd);
	if (cmd->line_verb)
		text_addf(out, "{ if [[ $words[CURRENT-1] == %s ]]; then %s; else %s; fi }'",
			  cmd->line_verb, action(OPT_C_HOSTS), action(cmd->operand_complete));
	else if (cmd->wraps)
		text_addf(out, "{ %s %s; fi }'", behind, action(cmd->operand_complete));
	else
		text_addf(out, "%s'", action(cmd->operand_complete));
}

void opt_zsh(const struct opt_usage *u, struct text *out)
{
	const struct command *cmd = u->cmd;
	opt_rows rows;

	opt_flatten(u, NULL, out->a, &rows);
	text_addf(out, "#compdef %s\n# printed by: %s --generate zsh\n_%s()\n{\n", cmd->name,
		  cmd->name, cmd->name);
	text_add(out, "    _arguments -s -S :");
	for (size_t i = 0; i < rows.n; i++) {
		const struct opt_row *r = &rows.v[i];

		if (r->o->hidden)
			continue;
		spec(out, r, arena_printf(out->a, "--%s", r->o->name), false);
		if (r->shortname)
			spec(out, r, arena_printf(out->a, "-%c", r->shortname), true);
	}
	operands(out, cmd);
	text_addf(out, "\n}\n_%s \"$@\"\n", cmd->name);
}
