#!/bin/sh
# Two sessions of one customer, in two processes and two sandboxes. Both are
# ordinary `host run` commands; copy them from the output and vary them.
set -eu
cd "$(dirname "$0")/../.."

data=${HOST_DATA:-.keepsake}
if [ -e "$data" ]; then
  echo "The folder $data is there already: what follows adds to what it remembers."
  echo "(\`make clean-demo\` begins anew.)"
else
  echo "The folder $data is not there yet: nothing is remembered."
fi
# What a reader needs to set, to copy the commands.
[ -z "${HOST_CONFIG:-}" ] || printf '\n$ export HOST_CONFIG=%s HOST_DATA=%s\n' "$HOST_CONFIG" "$data"

run() {
  echo
  echo "\$ target/release/host run support-agent --resource jordan --steps --message \"$1\""
  target/release/host run support-agent --resource jordan --steps --message "$1"
}

echo
echo "== Session 1: the customer tells something =="
run "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd."

echo
echo "== Session 2: another process, a new sandbox, the same customer =="
run "Which plan am I on?"

echo
echo "== What is remembered, and whether its record is intact =="
echo
echo "\$ target/release/host memory list --resource jordan"
target/release/host memory list --resource jordan
echo
echo "\$ target/release/host ledger verify"
target/release/host ledger verify
