/**
 * `48210` → `48,210`. Not by `toLocaleString`: the first call of that loads tables for 20 ms and 2 MB, which whatever
 * starts often has no time for.
 */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1234` → `1.2k`; below a thousand as it is. */
export function formatThousands(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(1)}k`;
}
