#!/usr/bin/env python3
"""Compiles HLO programs with hloc and with XLA CPU, taking turns in one run, and prints the ratio of compile times.

    python3 -m venv peers && peers/bin/pip install jax==0.10.2 numpy
    peers/bin/python tests/bench/against_xla.py --hloc target/release/hloc tests/corpus/transformer_block.hlo ...

XLA's time is that of its client's compile of the same program as StableHLO (parsing not counted); hloc's is
`compile_ms.total` of `hloc bench --json`, parsing and verifying counted. Medians of --rounds.
"""
import argparse, json, os, statistics, subprocess, time

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
from jaxlib import _hlo, xla_client
from jax._src.lib import _jax


def xla_ms(client, devices, program):
    start = time.perf_counter()
    client.compile_and_load(program, devices, xla_client.CompileOptions())
    return (time.perf_counter() - start) * 1e3


def hloc_ms(hloc, path):
    command = [hloc, "bench", path, "--json", "--min-time", "0.01"]
    inputs = path.removesuffix(".hlo") + ".npz"
    command += ["--inputs", inputs] if os.path.exists(inputs) else ["--random", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["compile_ms"]["total"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+")
    ap.add_argument("--hloc", required=True)
    ap.add_argument("--rounds", type=int, default=5)
    a = ap.parse_args()
    client = jax.devices()[0].client
    devices = _jax.DeviceList(tuple(jax.devices()[:1]))
    ratios = []
    for path in a.files:
        proto = _hlo.hlo_module_from_text(open(path).read()).as_serialized_hlo_module_proto()
        program = _jax.mlir.hlo_to_stablehlo(proto)
        xla, hloc = [], []
        for _ in range(a.rounds):
            xla.append(xla_ms(client, devices, program))
            hloc.append(hloc_ms(a.hloc, path))
        x, h = statistics.median(xla), statistics.median(hloc)
        ratios.append(x / h)
        print(f"{os.path.basename(path):32} xla {x:8.2f} ms  hloc {h:7.2f} ms  ratio {x / h:6.1f}", flush=True)
    print(f"geometric mean of ratios {statistics.geometric_mean(ratios):.1f}, least {min(ratios):.1f}")


main()
