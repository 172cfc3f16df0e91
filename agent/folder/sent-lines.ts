/** Keeps on disk which answers and requests the runners sent to one engine process, for a runner that takes it over. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { engineSentPath } from "../../shared/agent/paths.ts";
import { AppendFile } from "./append-file.ts";

/**
 * A line that was sent, its echo and its reply all have the same receipt. The `body` of an answer is the whole answer:
 * another answer to the same request is not the one that was sent.
 */
export interface Receipt {
  kind: "answer" | "request";
  id: string;
  body: string;
}

export class SentLines {
  readonly #file: AppendFile;
  /** Answers that were sent. */
  readonly #answers = new Set<string>();
  /** Requests of ours that had no reply yet, and how often each was sent. */
  readonly #requests = new Map<string, number>();

  /** Begins the file for a process that is about to be started. */
  static begin(folder: string, generation: number): SentLines {
    const path = engineSentPath(folder, generation);
    rmSync(path, { force: true });
    return new SentLines(path);
  }

  /** Undefined for a process that a version of ours started which kept no such file. */
  static find(folder: string, generation: number): SentLines | undefined {
    const path = engineSentPath(folder, generation);
    return existsSync(path) ? new SentLines(path) : undefined;
  }

  private constructor(path: string) {
    this.#file = new AppendFile(path);
    for (const line of readFileSync(path, "utf8").split("\n")) this.#count(line);
  }

  /** Before the line is sent: no echo of it comes earlier. */
  note(receipt: Receipt): void {
    const line = keyOf(receipt);
    this.#file.append(`${line}\n`);
    this.#count(line);
  }

  /** Whether the engine's echo, or reply, is of a line that was sent. Each request has one reply. */
  takes(receipt: Receipt): boolean {
    if (receipt.kind === "answer") return this.#answers.has(keyOf(receipt));
    const key = keyOf(receipt);
    const count = this.#requests.get(key) ?? 0;
    this.#requests.set(key, Math.max(0, count - 1));
    return count > 0;
  }

  close(): void {
    this.#file.close();
  }

  #count(key: string): void {
    if (key.startsWith("answer ")) this.#answers.add(key);
    else this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }
}

/** A key of one length, whatever the engine calls its requests. */
function keyOf({ kind, id, body }: Receipt): string {
  const hash = createHash("sha256").update(JSON.stringify([id, kind === "answer" ? body : ""]));
  return `${kind} ${hash.digest("base64url")}`;
}
