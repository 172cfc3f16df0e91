/** Root may do anything, so root does it as somebody else. */
import { lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

const NOBODY = 65_534;

export async function asUser(work: () => Promise<void> | void): Promise<void> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
  }
}

/** Gives that user a tree. */
export function give(path: string): void {
  if (process.getuid?.() !== 0) return;
  lchownSync(path, NOBODY, NOBODY);
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name));
}
