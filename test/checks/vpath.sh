#!/bin/bash
# it can be built outside of its sources, as packagers do
set -euo pipefail

mkdir "$SCRATCH/tree" "$SCRATCH/build"
tar --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude='./tmp_check*' --exclude='./results' -cf - . | tar -C "$SCRATCH/tree" -xf -
make -s -C "$SCRATCH/build" -f "$SCRATCH/tree/Makefile" VPATH="$SCRATCH/tree" with_llvm=no COPT="-O0 -Werror"
make -s -C "$SCRATCH/build" -f "$SCRATCH/tree/Makefile" VPATH="$SCRATCH/tree" with_llvm=no DESTDIR="$SCRATCH/stage" install

# The same files as in an installation from the sources, and nothing written into these.
make -s with_llvm=no DESTDIR="$SCRATCH/usual" install
diff <(cd "$SCRATCH/usual" && find . -type f | sort) <(cd "$SCRATCH/stage" && find . -type f | sort)
[ -z "$(find "$SCRATCH/tree" -name '*.o')" ] || { echo "objects among the sources"; exit 1; }
find "$SCRATCH/stage" -type f | wc -l
