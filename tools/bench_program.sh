#!/bin/sh
# What ./dev bench-bundle puts in place of each program: starts the one of this name with the libraries packed beside it.
place=$(dirname "$(readlink -f "$0")")/..
LD_LIBRARY_PATH=$place/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$place/programs/$(basename "$0")" "$@"
