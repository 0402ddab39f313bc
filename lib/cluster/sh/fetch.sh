# shellcheck shell=sh disable=SC2154
# The files of this host that are asked for, as fetch_frames.c reads them: a line about each, its
# name, and then as many bytes as the line says. fetch.c sets the words cwd (where relative names
# begin), budget (bytes in all), depth, and left (find's words for what is left out), and puts what
# is asked for into the arguments. Patterns are ours to expand: nobody else has seen these files.
LC_ALL=C; export LC_ALL; ifs=$IFS;
cd "$cwd" 2>/dev/null || cd || exit 1;
# shellcheck disable=SC2016 # for the sh's of below
sizes='for f do { wc -c <"$f"; } 2>/dev/null; done';
# $0 is the number of what was asked for. A file may grow or shrink meanwhile: what comes is always
# as long as was said.
# shellcheck disable=SC2016
send='for f do
    s=$({ wc -c <"$f"; } 2>/dev/null) || { printf "closed %s %s\n%s\n" "$0" "${#f}" "$f"; continue; };
    s=$((s)); n=$s; [ "$n" -le "$cap" ] || n=$cap;
    t=$(stat -c "%Y %i" "$f" 2>/dev/null);
    printf "file %s %s %s %s %s\n%s\n" "$0" "$s" "$n" "${t:-0 0}" "${#f}" "$f";
    { if [ "$n" -lt "$s" ]; then head -c $((n / 2)) "$f"; tail -c $((n - n / 2)) "$f"; else head -c "$n" "$f"; fi;
        head -c "$n" /dev/zero; } 2>/dev/null | head -c "$n";
done';
# Links of the folder itself to files elsewhere, as the reader of folders takes them here.
links() {
    top=$(cd "$2" && pwd -P);
    for l in "$2"/*; do
        if [ -h "$l" ] && [ -f "$l" ]; then
            case $(readlink -f "$l") in "$top"/*) continue ;; esac;
            eval "find -H \"\$l\" $left -exec sh -c \"\$step\" \"\$1\" {} +" 2>/dev/null;
        fi;
    done;
};
spot() {
    case $2 in /*) ;; *) set -- "$1" "$PWD/$2" ;; esac;
    if [ -d "$2" ]; then
        [ "$step" = "$sizes" ] || printf 'folder %s %s\n%s\n' "$1" "${#2}" "$2";
        eval "find \"\$2/.\" -maxdepth $depth $left -exec sh -c \"\$step\" \"\$1\" {} +" 2>/dev/null;
        links "$1" "$2";
    elif [ -f "$2" ]; then
        sh -c "$step" "$1" "$2";
    else
        [ "$step" = "$sizes" ] || printf 'absent %s\n' "$1";
    fi;
};
named() {
    case $2 in [~]/*) set -- "$1" "$HOME/${2#??}" ;; esac;
    if [ -e "$2" ]; then spot "$1" "$2"; return; fi;
    IFS=; any=;
    for f in $2; do
        if [ -e "$f" ]; then any=1; IFS=$ifs; spot "$1" "$f"; IFS=; fi;
    done;
    IFS=$ifs;
    [ "$any" ] || [ "$step" = "$sizes" ] || printf 'absent %s\n' "$1";
};
every() {
    i=0;
    for o do named "$i" "$o"; i=$((i + 1)); done;
};
# Those that are smaller than their share leave the rest of it to the others.
step=$sizes; all=$(every "$@"); n=0; t=0; few=0; many=0;
for s in $all; do n=$((n + 1)); t=$((t + s)); done;
cap=$budget;
if [ "$t" -gt "$budget" ]; then
    cap=$((budget / n));
    for s in $all; do if [ "$s" -le "$cap" ]; then few=$((few + s)); else many=$((many + 1)); fi; done;
    cap=$(((budget - few) / many));
fi;
export cap;
step=$send; every "$@";
echo end;
