# shellcheck shell=bash
# jq 1.6 ends `jq -e` of nothing at all with 0: a program that printed nothing would pass. For all
# tests of a folder, by its setup_suite.bash.
jq() {
    local out code=0
    [[ " $* " =~ \ -[a-z]*e[a-z]*\  ]] || { command jq "$@"; return; }
    out=$(command jq "$@"; echo "$?")
    code=${out##*$'\n'} out=${out%"$code"}
    printf %s "$out"
    [[ $out ]] || ((code)) || code=4 # what later versions say
    return "$code"
}
export -f jq
