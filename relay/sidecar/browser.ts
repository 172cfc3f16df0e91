/** One thread's browser on its sidecar. */
import type { SentBrowserOp } from "../../shared/browser/ops.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { ThreadName } from "../../shared/ids.ts";
import { browsers } from "../../shared/protocol/browsers.ts";
import { findFile } from "./find-file.ts";

/** Longest wait for the sidecar, in milliseconds; it answers sooner, while the page may still load. */
const TIMEOUT_MS = 30_000;

export class VmBrowser {
  readonly #client: SidecarClient;
  readonly #threadId: ThreadName;

  constructor(client: SidecarClient, threadId: ThreadName) {
    this.#client = client;
    this.#threadId = threadId;
  }

  /** @throws AppError */
  async act(op: SentBrowserOp): Promise<void> {
    await this.#client.call(browsers.act, { id: this.#threadId }, { body: op, timeoutMs: TIMEOUT_MS });
  }

  /** The newest picture; undefined if there is none. */
  findPicture(): Promise<{ name: string; data: Buffer } | undefined> {
    return findFile("page.png", this.#client.downloadPicture(this.#threadId));
  }
}
