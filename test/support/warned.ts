/** Warnings of Node.js about what the product does, in this process or in one of its own: each makes a test red. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

const warnings: string[] = [];

/** Those since the last call. */
export function takeWarnings(): string[] {
  return warnings.splice(0);
}

export function noteWarning(warning: string): void {
  warnings.push(warning);
}

/** Of a program that logs JSON lines: what Node.js prints among them begins with its process's id. */
export function watchWarnings(name: string, stderr: Readable): void {
  createInterface({ input: stderr }).on("line", (line) => {
    if (/^\(node:\d+\) \w*Warning: /.test(line)) noteWarning(`${name}: ${line}`);
  });
}
