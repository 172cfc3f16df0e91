/**
 * Pictures that tools give the model. The program may not write into the thread's folder: it tells the runner a picture
 * with the event that names it, and the runner keeps it there before the event.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { findImageType, IMAGE_BEGINNING_BYTES } from "../../../shared/agent/attachments.ts";
import { THREAD_FILES } from "../../../shared/agent/paths.ts";
import { writeWhole } from "../../../shared/whole-file.ts";

/** That the program remembers: the runner may not have kept them yet. */
const MAX_REMEMBERED_BYTES = 20 * 1024 * 1024;
/** The most that one thread's pictures take. The model is told that older ones are gone. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024;

/** A picture as the runner is told of it. */
export interface ToldPicture {
  uri: string;
  base64: string;
}

/** The program's. */
export class Pictures {
  readonly #recent = new Map<string, Buffer>();
  readonly #readKept: (uri: string) => Buffer | undefined;

  /** @param readKept gives one of the thread's folder; undefined if it is gone */
  constructor(readKept: (uri: string) => Buffer | undefined) {
    this.#readKept = readKept;
  }

  add(data: Buffer): ToldPicture {
    const uri = uriOf(data);
    this.#recent.set(uri, data);
    let bytes = [...this.#recent.values()].reduce((sum, { length }) => sum + length, 0);
    for (const [old, { length }] of this.#recent) {
      if (bytes <= MAX_REMEMBERED_BYTES || old === uri) break;
      this.#recent.delete(old);
      bytes -= length;
    }
    return { uri, base64: data.toString("base64") };
  }

  read(uri: string): Buffer | undefined {
    return this.#recent.get(uri) ?? this.#readKept(uri);
  }
}

/**
 * The runner's part. Keeping one again changes nothing.
 * @param folder the thread's
 * @throws Error if it is none, or is called otherwise
 */
export function keepPicture(folder: string, { uri, base64 }: ToldPicture): void {
  const data = Buffer.from(base64, "base64");
  if (uriOf(data) !== uri) throw new Error("a picture of another name");
  const path = join(folder, uri);
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  removeOldest(dirname(path), MAX_KEPT_BYTES - data.length);
  writeWhole(path, data);
}

function removeOldest(folder: string, maxBytes: number): void {
  const kept = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), stat: statSync(join(folder, name)) }))
    .sort((one, other) => one.stat.mtimeMs - other.stat.mtimeMs);
  let bytes = kept.reduce((sum, { stat }) => sum + stat.size, 0);
  for (const { path, stat } of kept) {
    if (bytes <= maxBytes) return;
    rmSync(path);
    bytes -= stat.size;
  }
}

/** Named by what it is: the same picture is kept once. @throws Error if it is none */
function uriOf(data: Buffer): string {
  const type = findImageType(data.subarray(0, IMAGE_BEGINNING_BYTES));
  if (type === undefined) throw new Error("no picture");
  const name = createHash("sha256").update(data).digest("hex").slice(0, 32);
  return `${THREAD_FILES.pictures}/${name}.${type.slice(type.indexOf("/") + 1)}`;
}
