# Tells what the path is that walk.sh came to.
if [ -d "$at" ]; then
  echo directory
  readlink -f "$at"
elif [ -f "$at" ]; then
  echo file
  stat -L -c %s "$at" 2>/dev/null
  exit 0
elif [ -e "$at" ]; then
  echo other
else
  echo missing
fi
