# shellcheck shell=sh disable=SC2154
# `carried ARGUMENTS` becomes the program $n out of what copy.sh has brought or kept: the folder is
# $r in one of its places, or $k. Anybody may have made one of that name in /tmp, or a link that
# leads elsewhere when it is looked at again: what it leads to is taken. Begins behind answers.sh.
carried() {
    for d in "${TMPDIR:-/tmp}" "$HOME" /var/tmp "$k"; do
        answers "$d" || continue;
        if [ "$d" = "$k" ]; then
            if command -v sha256sum >/dev/null; then
                (cd "$k" && sha256sum -c SHA256SUMS) >/dev/null 2>&1 || continue;
            fi;
        else
            d=$d/$r;
        fi;
        d=$(cd "$d" 2>/dev/null && pwd -P) || continue;
        if [ -O "$d" ] && [ -x "$d/bin/$n" ]; then
            LD_LIBRARY_PATH=$d/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH};
            export LD_LIBRARY_PATH;
            exec "$d/bin/$n" "$@";
        fi;
    done;
};
