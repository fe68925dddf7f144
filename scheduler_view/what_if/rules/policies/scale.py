"""The scale of CPU and GPUs that policies share (scheduling.md S35)."""

CPU_SCALE = 128_000  # thousandths of CPUs: 128 CPUs are 1
GPU_SCALE = 8_000  # thousandths of GPUs: 8 GPUs are 1
