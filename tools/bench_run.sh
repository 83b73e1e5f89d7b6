#!/usr/bin/env bash
# What ./dev bench-bundle puts beside its programs as `run`: measures with them on this machine.
#
#   run [OPTIONS]            the suite, as ./dev bench does
#   run sweep [OPTIONS]      the sweep
#   run NAME [ARGS]          another program, if it was packed: bench_NAME
#
# PyTorch is looked for in KILN_PEERS_PYTHON, or in this machine's python3.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
export KILN_PEERS_PYTHON=${KILN_PEERS_PYTHON:-$(command -v python3)}
case ${1-} in
  '' | -*) exec python3 -B "$here/bench/suite.py" --programs "$here/bin" "$@" ;;
  sweep) exec python3 -B "$here/bench/sweep/sweep.py" --programs "$here/bin" "${@:2}" ;;
  *) exec "$here/bin/bench_$1" "${@:2}" ;;
esac
