/** A font with what some characters need alone: the rasteriser reads a font whole, three times for each text. */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lazy } from "../../shared/lazy.ts";

/** The rasteriser reads a smaller font without trouble, so it is used as it is. */
const MIN_BYTES = 2 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
/** More than one picture has: then the next one's font has its own characters alone. */
const MAX_CODES = 4_000;

interface Made {
  path: string;
  /** Undefined if it is the file itself. */
  fd?: number;
  codes: ReadonlySet<number>;
}
const made = new Map<string, Made>();

/**
 * The path of such a font; the file itself if it is small, or can't be cut. It lives until one with more characters is
 * made, or as long as this process.
 * @param codes the characters that are drawn with it
 */
export function plainFontFile(file: string, codes: readonly number[]): string {
  const known = made.get(file);
  if (known && (known.fd === undefined || codes.every((code) => known.codes.has(code)))) return known.path;
  const all = new Set([...(known?.codes ?? []), ...codes]);
  const fresh = make(file, all.size <= MAX_CODES ? all : new Set(codes));
  if (known?.fd !== undefined) closeSync(known.fd);
  made.set(file, fresh);
  return fresh.path;
}

function make(file: string, codes: ReadonlySet<number>): Made {
  try {
    const { size } = statSync(file);
    if (process.platform !== "linux" || size < MIN_BYTES || size > MAX_BYTES) return { path: file, codes };
    const fd = keepUnnamed(subsetFont(readFileSync(file), codes));
    return { path: `/proc/self/fd/${fd}`, fd, codes };
  } catch {
    return { path: file, codes }; // damaged, or no room for it: the rasteriser takes the file as it is
  }
}

/** The functions of HarfBuzz that are called here: https://harfbuzz.github.io/harfbuzz-hb-subset.html */
interface Harfbuzz {
  memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(bytes: number): number;
  hb_blob_create(at: number, bytes: number, mode: number, userData: number, destroy: number): number;
  hb_blob_get_data(blob: number, length: number): number;
  hb_blob_get_length(blob: number): number;
  hb_face_create(blob: number, index: number): number;
  hb_face_reference_blob(face: number): number;
  hb_set_add(set: number, value: number): void;
  hb_set_clear(set: number): void;
  hb_set_invert(set: number): void;
  hb_subset_input_create_or_fail(): number;
  hb_subset_input_set(input: number, which: number): number;
  hb_subset_input_set_flags(input: number, flags: number): void;
  hb_subset_input_unicode_set(input: number): number;
  hb_subset_or_fail(face: number, input: number): number;
}
const MEMORY_IS_WRITABLE = 2;
const NAME_LANGUAGES = 5;
const WITHOUT_HINTS = 1;
const WITH_OLD_NAMES = 8;

const program = lazy(
  () =>
    new WebAssembly.Module(
      readFileSync(createRequire(import.meta.url).resolve("harfbuzzjs/dist/harfbuzz-subset.wasm")),
    ),
);

/**
 * The font with the glyphs of these characters, and with all that joins and places them. Of a collection, its first.
 * @throws Error if it is no font, or damaged
 */
export function subsetFont(font: Buffer, codes: Iterable<number>): Buffer {
  // One for each font: all the memory that it takes goes with it.
  const hb = new WebAssembly.Instance(program()).exports as unknown as Harfbuzz;
  hb._initialize();
  const at = hb.malloc(font.length);
  new Uint8Array(hb.memory.buffer).set(font, at);
  const face = hb.hb_face_create(hb.hb_blob_create(at, font.length, MEMORY_IS_WRITABLE, 0, 0), 0);
  const input = hb.hb_subset_input_create_or_fail();
  const languages = hb.hb_subset_input_set(input, NAME_LANGUAGES);
  hb.hb_set_clear(languages);
  hb.hb_set_invert(languages);
  hb.hb_subset_input_set_flags(input, WITHOUT_HINTS | WITH_OLD_NAMES);
  const kept = hb.hb_subset_input_unicode_set(input);
  for (const code of codes) hb.hb_set_add(kept, code);
  const subset = hb.hb_subset_or_fail(face, input);
  if (subset === 0) throw new Error("no font, or damaged");
  const blob = hb.hb_face_reference_blob(subset);
  // The memory may be another one by now: it grows.
  const { buffer } = hb.memory;
  return Buffer.from(new Uint8Array(buffer, hb.hb_blob_get_data(blob, 0), hb.hb_blob_get_length(blob)));
}

/** A file that has no name any more: it goes with this process, however that ends. */
function keepUnnamed(bytes: Buffer): number {
  const file = join(tmpdir(), `threadmux-font-${randomBytes(12).toString("hex")}`);
  const fd = openSync(file, "wx+", 0o600);
  try {
    unlinkSync(file);
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}
