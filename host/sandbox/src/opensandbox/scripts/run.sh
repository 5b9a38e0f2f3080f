# Runs one command of a caller and keeps its output in files, byte for byte.
# The daemon's own event stream cannot carry bytes, and it ends with this
# process, which becomes the command: so that the daemon sees how it ends.
# Set before: _k_dir, _k_at, _k_line (or the file `line`), _k_keep, _k_rest,
# _k_files, _k_blocks.
_k_path=${PATH:-/usr/local/bin:/usr/bin:/bin}
PATH=$_k_path:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
(umask 077; mkdir -p "$_k_dir") && mkfifo -m 600 "$_k_dir/o" "$_k_dir/e" || exit 1
for _k_name in o.data o.end e.data e.end; do : >"$_k_dir/$_k_name" || exit 1; done
if ! cd "$_k_at" 2>/dev/null; then
  rm -rf "$_k_dir"
  echo keepsake-no-directory
  exit 0
fi
# Keeps the first bytes of one output, then only counts.
_k_keeper='
exec <"$1"
kept=0
while [ "$kept" -lt "$3" ]; do
  dd bs=65536 count=1 2>/dev/null >>"$1.data" || break
  size=$(wc -c <"$1.data")
  size=$((size))
  [ "$size" -eq "$kept" ] && break
  kept=$size
done
more=$(head -c "$4" | wc -c)
more=$((more))
echo $((kept + more)) >"$1.end"
if [ "$more" -ge "$4" ]; then kill -KILL -"$2" 2>/dev/null || kill -KILL "$2"; fi
'
_k_session=
if command -v setsid >/dev/null 2>&1; then _k_session=setsid; fi
# Without the mark, as all that bears it is killed with the command.
(unset KEEPSAKE_EXECUTION; exec $_k_session sh -c "$_k_keeper" keeper "$_k_dir/o" $$ "$_k_keep" "$_k_rest") </dev/null >/dev/null 2>&1 &
_k_keepers=$!
(unset KEEPSAKE_EXECUTION; exec $_k_session sh -c "$_k_keeper" keeper "$_k_dir/e" $$ "$_k_keep" "$_k_rest") </dev/null >/dev/null 2>&1 &
echo "$_k_keepers $!" >"$_k_dir/keepers"
echo $$ >"$_k_dir/process"
ulimit -n "$_k_files" 2>/dev/null
# Blocks are 1024 bytes in bash and 512 elsewhere.
if [ -n "${BASH_VERSION:-}" ]; then _k_blocks=$(((_k_blocks + 1) / 2)); fi
ulimit -f "$_k_blocks" 2>/dev/null
_k_input=/dev/null
if [ -f "$_k_dir/input" ]; then _k_input=$_k_dir/input; fi
if [ -f "$_k_dir/line" ]; then _k_line=$(cat "$_k_dir/line"); fi
echo keepsake-started
PATH=$_k_path
exec /bin/sh -c "$_k_line" <"$_k_input" >"$_k_dir/o" 2>"$_k_dir/e"
