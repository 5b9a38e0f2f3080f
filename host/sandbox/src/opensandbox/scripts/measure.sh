# Measures the sandbox: a name and a number on each line.
cd /work || exit 1
size=$(du -sk . 2>/dev/null) && echo "disk-kib ${size%%[!0-9]*}"
count=0
for process in /proc/[0-9]*; do count=$((count + 1)); done
echo "processes $count"
for file in /sys/fs/cgroup/memory.current /sys/fs/cgroup/memory/memory.usage_in_bytes; do
  [ -r "$file" ] && echo "memory-bytes $(cat "$file")" && break
done
if [ -r /sys/fs/cgroup/cpu.stat ]; then
  grep '^usage_usec' /sys/fs/cgroup/cpu.stat
elif [ -r /sys/fs/cgroup/cpuacct/cpuacct.usage ]; then
  echo "usage_nsec $(cat /sys/fs/cgroup/cpuacct/cpuacct.usage)"
fi
exit 0
