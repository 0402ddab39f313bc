# shellcheck shell=sh disable=SC2154
# --copy-self on a host: become the agent out of what is there already, or ask for our folder on
# stdin and become it out of that. launch_copy.c sets what is known here: n, our name; own, our path;
# sum, of that file; all and size, of the folder; keep; run, of a run that carries, or nothing; and
# the words: asks, terminal, unfed. Begins behind answers.sh.
same() { [ -x "$1" ] && [ "$(sha256sum <"$1" 2>/dev/null)" = "$sum  -" ]; };
# what has its sums is whole where nobody can count: it came there in one step
good() {
    if command -v sha256sum >/dev/null; then
        (cd "$1" && sha256sum -c SHA256SUMS) >/dev/null 2>&1;
    else
        [ -f "$1/SHA256SUMS" ];
    fi;
};
agent() {
    LD_LIBRARY_PATH=$1/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH};
    export LD_LIBRARY_PATH;
    "$1/bin/$n" --version </dev/null >/dev/null || exit 1;
    exec "$1/bin/$n" --agent;
};

# a dead file server keeps nothing of ours from another folder
answers "${own%/*}" || own=;
if same "$own"; then exec "$own" --agent; fi;
# what is started later in a run that carries takes what is at our own path (carry.c)
# shellcheck disable=SC2015 # the other way is for either
[ "$run" ] && [ -x "$own" ] || { p=$(command -v "$n") && same "$p" && exec "$p" --agent; };
kept=${XDG_CACHE_HOME:-$HOME/.cache}/windsock/$all;
answers "${XDG_CACHE_HOME:-$HOME}" || { keep=0; kept=; };
if good "$kept"; then touch "$kept" 2>/dev/null; agent "$kept"; fi;

for t in mktemp head tar; do
    command -v $t >/dev/null || {
        echo "$n: there is no $t there, which --copy-self takes: install it" >&2;
        exit 1;
    };
done;
if [ -t 0 ]; then echo "$n: $terminal" >&2; exit 1; fi;
if [ -c /dev/stdin ]; then echo "$n: $unfed" >&2; exit 1; fi;

new() {
    answers "$1" || return;
    if [ "$run" ]; then
        mkdir "$1/windsock.$run.$h" && echo "$1/windsock.$run.$h";
    else
        mktemp -d "$1/windsock.XXXXXX";
    fi 2>/dev/null;
};
# Several hosts may share a home and come at once: the copy is made beside its place and gets there in
# one step, which fails where another host was quicker. A damaged one is put away first, and comes
# back if it was another's good one by then. Builds that nobody has used for a month go. Where it
# cannot be kept, the run still has $d.
keeps() {
    t=${kept%/*};
    mkdir -p "$t" && b=$(mktemp -d "$t/new.XXXXXX") && mkdir "$b/new" &&
        tar -cf - -C "$d" . | tar -xf - -C "$b/new" && good "$b/new" || return;
    good "$kept" || if [ -e "$kept" ]; then
        mv -T "$kept" "$b/old";
        if good "$b/old"; then mv -T "$b/old" "$kept"; fi;
    fi;
    mv -T "$b/new" "$kept" || good "$kept" || return;
    for t in "$t"/*; do
        if [ -f "$t/SHA256SUMS" ] || [ -d "$t/new" ]; then
            [ -z "$(find "$t" -prune -type d -mtime +30)" ] || rm -rf "$t";
        fi;
    done;
} 2>/dev/null;

umask 077;
d=; b=; h=$(uname -n);
trap '[ -z "$d$b" ] || rm -rf "$d" "$b"' EXIT;
trap 'exit 1' HUP INT PIPE TERM;
# /tmp may be mounted noexec
for t in "${TMPDIR:-/tmp}" "$HOME" /var/tmp; do
    d=$(new "$t") || continue;
    d=$(cd "$d" && pwd -P);
    printf '#\041/bin/sh\012' >"$d/x"; chmod 700 "$d/x";
    "$d/x" 2>/dev/null && break;
    rm -rf "$d"; d=;
done;
[ "$d" ] || { echo "$n: no folder there takes programs: tried TMPDIR, HOME, /var/tmp" >&2; exit 1; };
rm "$d/x";
printf '\012%s\012' "$asks";
head -c "$size" | tar -xf - -C "$d" || {
    echo "$n: our folder does not fit into $d: is that disk full?" >&2;
    exit 1;
};
good "$d" || { echo "$n: the copy arrived damaged: is its disk full?" >&2; exit 1; };
if [ "$keep" = 1 ] && keeps; then rm -rf "$d" "$b"; d=; b=; agent "$kept"; fi;
rm -rf "$b"; b=;
WINDSOCK_COPY=$d;
export WINDSOCK_COPY;
agent "$d";
