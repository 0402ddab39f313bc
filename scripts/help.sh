# shellcheck shell=sh
# help.sh: what --help says of a script: its own first lines. Each script here sources this
# before it does anything:
#
#   . "$(dirname "$0")/help.sh"
case ${1-} in
-h | --help)
    sed -n '1d;/^#/!q;s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
