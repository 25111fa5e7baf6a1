"""What the NVIDIA driver says about its first GPU, without loading a CUDA library."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache

_NAME_BYTES = 256


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first GPU.

    Attributes:
        name: as the driver calls it.
        driver: the CUDA version that the driver speaks, such as 13000.
        memory: bytes in all.
    """

    name: str
    driver: int
    memory: int


@cache
def first_gpu() -> Gpu | None:
    """The GPU with number 0, None where there is no driver or no GPU.

    Asked through the CUDA driver API (cuInit, cuDeviceGetName, cuDeviceTotalMem; NVIDIA's reference
    manual), which works in containers that have no nvidia-smi.
    """
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return None
    device, driver = ctypes.c_int(), ctypes.c_int()
    name, memory = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_size_t()
    failed = (
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(device), 0)
        or cuda.cuDeviceGetName(name, _NAME_BYTES, device)
        or cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        or cuda.cuDriverGetVersion(ctypes.byref(driver))
    )
    if failed:
        return None
    return Gpu(name.value.decode(errors="replace"), driver.value, memory.value)
