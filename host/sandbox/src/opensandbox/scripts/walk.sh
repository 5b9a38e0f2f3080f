# Looks where a path below the work directory leads. Set before: _k_last
# (follow or keep, for the last part), and the parts as arguments.
at=/work
root=$(readlink -f /work) || { echo broken; exit 0; }
while [ $# -gt 0 ]; do
  at=$at/$1
  shift
  if [ -L "$at" ] && { [ $# -gt 0 ] || [ "$_k_last" = follow ]; }; then
    to=$(readlink -f "$at") || { echo dangling; exit 0; }
    case $to in
      "$root" | "$root"/*) ;;
      *)
        echo outside
        exit 0
        ;;
    esac
  fi
  if [ $# -gt 0 ] && [ -e "$at" ] && [ ! -d "$at" ]; then
    echo blocked
    exit 0
  fi
done
