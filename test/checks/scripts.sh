#!/bin/bash
# shell scripts are sound
set -euo pipefail

mapfile -t scripts < <(find test .ci -type f \( -name '*.sh' -o -path '.ci/*' \) | sort)
for script in "${scripts[@]}"; do
	bash -n "$script"
done
if command -v shellcheck >/dev/null; then
	shellcheck -S warning -x -P . "${scripts[@]}"
else
	echo "no shellcheck: syntax only"
fi
