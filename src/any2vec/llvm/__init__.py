"""The few LLVM intrinsics that kernels are built from: vectors, prefetch, atomics, 64-bit loads."""
