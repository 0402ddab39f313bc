# shellcheck shell=bash
# jq for all tests of a folder, by its setup_suite.bash. They ask it four thousand questions, and jq
# 1.6 thinks for 30 ms before it reads one: gojq, which starts in 2, answers them alike where it is
# installed. Documents are jq's to write: gojq sorts the keys of an object, and knows no other order.
# And `jq -e` of 1.6 ends with 0 for nothing at all: a program that printed nothing would pass.
GOJQ=$(command -v gojq) || true
jq() {
    local out code=0
    if [[ $GOJQ && ${1-} == -[er]* && $* != *keys_unsorted* ]]; then
        "$GOJQ" "$@"
        return
    fi
    [[ " $* " =~ \ -[a-z]*e[a-z]*\  ]] || { command jq "$@"; return; }
    out=$(command jq "$@"; echo "$?")
    code=${out##*$'\n'} out=${out%"$code"}
    printf %s "$out"
    [[ $out ]] || ((code)) || code=4 # what later versions say
    return "$code"
}
export -f jq
export GOJQ
