"""Memory of our own: aligned private pages that nobody touched yet, given back when asked."""

import ctypes
import mmap
from dataclasses import dataclass

PAGE = mmap.PAGESIZE
HUGE_PAGE = 2 << 20
# Below this, huge pages would only waste memory.
HUGE_FROM = 2 * HUGE_PAGE


@dataclass
class Allocation:
    """Pages from `address` on, `size` bytes of which are wanted; the address is aligned to a (huge) page."""

    size: int
    address: int
    _pages: mmap.mmap

    def free(self) -> None:
        """Unmap the pages; using the address afterwards is a fault."""
        self._pages.close()

    @property
    def freed(self) -> bool:
        """Whether the pages have been given back."""
        return self._pages.closed


def allocate(size: int) -> Allocation:
    """Fresh pages for `size` bytes, in huge pages where that many fit and the system has them.

    Python's allocators are no use here: their arrays begin 16 bytes into a page, where aligned and non-temporal stores
    are faults, and a shared mapping (the default of mmap) gets no huge pages.

    Raises:
        MemoryError: the system refuses.
    """
    alignment = HUGE_PAGE if size >= HUGE_FROM else PAGE
    try:
        pages = mmap.mmap(-1, size + alignment, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"{size} bytes were asked for and the system refused: {error}") from error
    if size >= HUGE_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        _advise_huge(pages)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    return Allocation(size, start + -start % alignment, pages)


def _advise_huge(pages: mmap.mmap) -> None:
    try:
        pages.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return  # a kernel built without huge pages refuses the advice; Environment.state records which it is
