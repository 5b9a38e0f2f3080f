# Removes what is left of a command's outputs. Set before: _k_dir.
if [ -s "$_k_dir/keepers" ]; then kill -KILL $(cat "$_k_dir/keepers") 2>/dev/null; fi
rm -rf "$_k_dir"
