# shellcheck shell=sh disable=SC2154
# `answers FOLDER` is false where whoever looks there hangs, which is said: $dead. A shell of its own
# looks; where there is no sleep it is waited for. $bang is the sign of the last child's number.
bang=$(printf '\041');
answers() {
    (cd "$1" && [ -x . ]) </dev/null >/dev/null 2>&1 & eval "look=\$$bang";
    (s=; trap 'kill $s; exit' TERM; sleep "$patience" 3>&- & eval "s=\$$bang";
        wait "$s" && kill -9 "$look" && echo "$1: $dead" >&3) 3>&2 </dev/null >/dev/null 2>&1 &
    eval "dog=\$$bang";
    { wait "$look"; found=$?; kill "$dog"; wait "$dog"; } 2>/dev/null;
    [ $found -le 128 ];
};
