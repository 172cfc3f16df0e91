/** The size that a terminal is held to after its program kept tmux from all other threads. Pure. */
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";

interface Size {
  readonly cols: number;
  readonly rows: number;
}

/**
 * What tmux spends on a byte that a program prints goes with the cells of its pane. The dearest sequence there is
 * (DECALN, 3 bytes that fill the screen) costs it some 8 µs a cell for each 4,096 bytes, which it reads in one go and
 * looks at no other pane meanwhile: 40 ms at this size, 800 ms at 500 × 200.
 */
const SMALL = { cols: 120, rows: 40 };
const SMALL_CELLS = SMALL.cols * SMALL.rows;
/** How long it stays so. */
export const HELD_MS = 10 * 60_000;

export function isLarge({ cols, rows }: Size): boolean {
  return cols * rows > SMALL_CELLS;
}

/** The size at which a large terminal is held: no side becomes longer than it was. */
export function smallSizeOf({ cols, rows }: Size): Size {
  return { cols: Math.min(cols, SMALL.cols), rows: Math.min(rows, SMALL.rows) };
}

/** @throws AppError `rate_limited` */
export function refuseWhileHeld(
  { threadId, heldSmallUntil }: { threadId: ThreadId; heldSmallUntil: number | null },
  size: Size,
  now: number,
): void {
  const leftMs = (heldSmallUntil ?? 0) - now;
  if (leftMs <= 0 || !isLarge(size)) return;
  const minutes = Math.ceil(leftMs / 60_000);
  const { cols, rows } = SMALL;
  throw new AppError(
    "rate_limited",
    `What thread ${threadId} printed on a larger terminal kept all threads waiting: for ${minutes} more ` +
      `${minutes === 1 ? "minute" : "minutes"} it can have at most as many cells as ${cols} × ${rows}.`,
  );
}
