/**
 * Keeps a line of the transcript or inbox short: long strings are cut to head and tail, their whole bodies go to
 * `blobs/<sha256>`. The line says in `blobs` which strings are cut, by JSON pointer, and how long they truly are.
 */
import { createHash } from "node:crypto";
import { trimEndOf } from "../trim-end.ts";
import { MAX_LINE_BYTES } from "./jsonl.ts";

/** Longest body that is kept of what a tool put out: head and tail of it, half each. */
export const MAX_BLOB_BYTES = 1024 * 1024;
const EXCERPT_BYTES = 2_048;
/** Room for `seq`, `id` and the like, which the writer adds. */
const ROOM_BYTES = 1_024;
/** The size of one entry in `blobs`, without its pointer. */
const MAP_ENTRY_BYTES = 150;

export interface Blob {
  sha256: string;
  body: Buffer;
}

/** By JSON pointer. `isJson`: not a string was cut, but the JSON text of what stood there. */
export type BlobMap = Record<string, { sha256: string; bytes: number; isJson?: boolean | undefined }>;

/**
 * `value` with its longest strings cut until it fits a line.
 * @param maxBlobBytes of each body; Infinity for what people send, which is never cut.
 */
export function boundLine<T extends object>(
  value: T,
  maxBlobBytes = MAX_BLOB_BYTES,
): { value: T & { blobs?: BlobMap }; blobs: Blob[] } {
  let bytes = jsonBytes(value);
  if (bytes <= MAX_LINE_BYTES - ROOM_BYTES) return { value, blobs: [] };
  const copy = structuredClone(value) as T & { blobs?: BlobMap };
  const map: BlobMap = {};
  const blobs: Blob[] = [];
  const cut = (path: readonly string[], whole: string, before: unknown, isJson = false) => {
    const { sha256, body, trueBytes } = makeBlob(whole, maxBlobBytes);
    const pointer = pointerOf(path);
    const short = excerpt(whole);
    write(copy, path, short);
    map[pointer] = { sha256, bytes: trueBytes, ...(isJson && { isJson }) };
    blobs.push({ sha256, body });
    bytes += jsonBytes(short) + jsonBytes(pointer) + MAP_ENTRY_BYTES - jsonBytes(before);
  };
  for (const { path, text } of longStrings(copy)) {
    if (bytes <= MAX_LINE_BYTES - ROOM_BYTES) break;
    cut(path, text, text);
  }
  // Many short strings: what holds them becomes its own JSON text, cut like any other string. A part of a member goes
  // before the member itself: a reader knows more members by their shape than parts.
  for (const find of [partsOf, membersOf]) {
    for (const [path, part] of find(copy)) {
      if (bytes <= MAX_LINE_BYTES - ROOM_BYTES) break;
      for (const pointer of Object.keys(map))
        if (pointer.startsWith(`${pointerOf(path)}/`)) delete map[pointer];
      cut(path, JSON.stringify(at(value, path)), part, true);
    }
  }
  copy.blobs = map;
  return { value: copy, blobs };
}

/**
 * `value` with what was cut whole again.
 * @param read gives a body by its hash; undefined if it is gone: the string stays cut.
 */
export function unboundLine<T extends { blobs?: BlobMap | undefined }>(
  value: T,
  read: (sha256: string) => string | undefined,
): T {
  if (!value.blobs) return value;
  const copy = structuredClone(value);
  for (const [pointer, { sha256, isJson }] of Object.entries(value.blobs)) {
    const body = read(sha256);
    if (body !== undefined) write(copy, pathOf(pointer), isJson ? parseWhole(body) : body);
  }
  return copy;
}

/** As {@link unboundLine}, if bodies are to be fetched: each once. */
export async function readWhole<T extends { blobs?: BlobMap | undefined }>(
  value: T,
  read: (sha256: string) => Promise<string>,
): Promise<T> {
  const bodies = new Map<string, string>();
  for (const { sha256 } of Object.values(value.blobs ?? {})) {
    if (!bodies.has(sha256)) bodies.set(sha256, await read(sha256));
  }
  return unboundLine(value, (sha256) => bodies.get(sha256));
}

/** A body of which only head and tail are kept stays a text. */
function parseWhole(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function makeBlob(text: string, maxBytes: number): Blob & { trueBytes: number } {
  const whole = Buffer.from(text);
  const body = whole.length <= maxBytes ? whole : headAndTail(whole, maxBytes);
  return { sha256: createHash("sha256").update(body).digest("hex"), body, trueBytes: whole.length };
}

function headAndTail(whole: Buffer, maxBytes: number): Buffer {
  const half = Math.floor(maxBytes / 2) - 50;
  const note = `\n… ${whole.length - 2 * half} bytes left out …\n`;
  const head = trimEndOf(whole.subarray(0, half).toString("utf8"), "\uFFFD");
  const tail = whole
    .subarray(-half)
    .toString("utf8")
    .replace(/^\uFFFD+/, "");
  return Buffer.from(head + note + tail);
}

function excerpt(text: string): string {
  return headAndTail(Buffer.from(text), EXCERPT_BYTES).toString("utf8");
}

interface Found {
  path: string[];
  text: string;
}

/** Strings that are longer than an excerpt, longest first. */
function longStrings(value: unknown): Found[] {
  const found: Found[] = [];
  const visit = (node: unknown, path: string[]) => {
    if (typeof node === "string") {
      if (jsonBytes(node) > 2 * EXCERPT_BYTES) found.push({ path, text: node });
    } else if (typeof node === "object" && node !== null) {
      for (const [key, member] of Object.entries(node)) visit(member, [...path, key]);
    }
  };
  visit(value, []);
  return found.sort((a, b) => b.text.length - a.text.length);
}

/** With their places, the biggest first. */
function membersOf(value: object, before: readonly string[] = []): [string[], object][] {
  return Object.entries(value)
    .flatMap(([name, member]): [string[], object][] =>
      typeof member === "object" && member !== null ? [[[...before, name], member]] : [],
    )
    .sort((a, b) => jsonBytes(b[1]) - jsonBytes(a[1]));
}

/** Those of its members that are records; each is larger than what would stand there instead. */
function partsOf(value: object): [string[], object][] {
  return membersOf(value)
    .flatMap(([path, member]) => (Array.isArray(member) ? [] : membersOf(member, path)))
    .filter(([, part]) => jsonBytes(part) > 2 * EXCERPT_BYTES);
}

function at(value: object, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], value);
}

function write(target: object, path: readonly string[], part: unknown): void {
  let node = target as Record<string, unknown>;
  for (const key of path.slice(0, -1)) {
    const next = node[key];
    if (typeof next !== "object" || next === null) return; // a reader's own version of the line lacks it
    node = next as Record<string, unknown>;
  }
  const last = path.at(-1);
  if (last !== undefined) node[last] = part;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function pointerOf(path: readonly string[]): string {
  return path.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function pathOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}
