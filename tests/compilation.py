"""How the tests compile: fast, since they spend their time on it."""

import importlib.metadata

# Without LLVM's costly passes compilation takes half of its time.
XLA_FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
# Every core has a worker: a program need not be split to be compiled in parallel.
XLA_FLAGS += " --xla_cpu_parallel_codegen_split_count=1"
if importlib.metadata.version("jaxlib").startswith("0.10."):
    # Without the emitters of fused loops a quarter. XLA aborts on flags that it does not know.
    XLA_FLAGS += " --xla_cpu_use_fusion_emitters=false"
