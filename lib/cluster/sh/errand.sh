# shellcheck shell=sh disable=SC2154
# Somebody's command, which is $0, ended with whoever asks for it. Not without a group of its own:
# that of who runs it is not ours to end. The command stands in the foreground, as sh lets others
# ignore Ctrl-C for ever, and has nothing on stdin. errand.c sets the words begins and ended.
bang=$(printf '\041'); g=; w=;
# shellcheck disable=SC2034 # the fifth is its process group
read -r p c s q g z 2>/dev/null </proc/$$/stat;
if [ "$g" = $$ ]; then
    exec 3<&0;
    (read -r x && [ "$x" = windsock ] || exit;
        while read -r x; do :; done;
        trap '' TERM; kill -TERM 0; sleep 2; kill -KILL 0) <&3 3<&- >/dev/null 2>&1 &
    eval "w=\$$bang";
    exec 3<&-;
fi;
printf '\012%s\012' "$begins"; printf '\012%s\012' "$begins" >&2;
sh -c "$0" </dev/null; r=$?;
printf '\012%s%s\012' "$ended" $r >&2;
[ -z "$w" ] || kill "$w" 2>/dev/null;
exit $r;
