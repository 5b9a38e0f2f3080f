# Kills a command with all that it started. Set before: _k_dir, _k_mark.
if [ -s "$_k_dir/process" ]; then kill -KILL -"$(cat "$_k_dir/process")" 2>/dev/null; fi
# What left the process group still bears the mark, unless it took it off.
_k_round=0
while [ "$_k_round" -lt 10 ]; do
  _k_found=
  for _k_process in /proc/[0-9]*; do
    if tr '\000' '\n' 2>/dev/null <"$_k_process/environ" | grep -qxF "KEEPSAKE_EXECUTION=$_k_mark"; then
      kill -KILL "${_k_process#/proc/}" 2>/dev/null && _k_found=1
    fi
  done 2>/dev/null
  [ -z "$_k_found" ] && break
  _k_round=$((_k_round + 1))
done
