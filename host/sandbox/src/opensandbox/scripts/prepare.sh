# Makes a new sandbox fit for use.
for tool in mkfifo dd wc head cat readlink tr grep rm du sh; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "it has no $tool"
    exit 1
  fi
done
mkdir -p /work || exit 1
cd /work || exit 1
rm -rf /tmp/.keepsake
echo ready
