/** What an engine is given to reach its thread's own tools: an address and a token, in a file of the thread's folder. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import * as z from "zod";
import { threadPath } from "../../shared/agent/paths.ts";
import { isOpen } from "../../shared/api.ts";
import { type ThreadId, threadIdSchema } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import { localUrl } from "../../shared/local-url.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { Store } from "../store/store.ts";
import type { AgentFolders } from "./folders.ts";

/** A call of a tool may wait for a person or another thread. */
const CALL_TIMEOUT_MS = 86_400_000;

/** As the engine calls our server. */
export const MCP_SERVER = "threadmux";

const fileSchema = z.object({
  mcpServers: z.object({
    [MCP_SERVER]: z.object({ url: z.string(), headers: z.object({ Authorization: z.string() }) }),
  }),
});

export class McpFiles {
  readonly #store: Store;
  readonly #folders: AgentFolders;
  /** The sidecar's address, once it listens. */
  #url: string | undefined;

  constructor(store: Store, folders: AgentFolders) {
    this.#store = store;
    this.#folders = folders;
  }

  /** Where the sidecar listens: programs of this machine are to reach it. */
  setPlace({ host, port }: { host: string; port: number }): void {
    this.#url = localUrl({ host, port });
  }

  /** Before an engine is started: its file names where the sidecar is now. Its token stays the same. */
  write(threadId: ThreadId): void {
    const known = this.#read(threadId);
    const url = this.#url === undefined ? known?.url : `${this.#url}/mcp`;
    if (known && known.url === url) return;
    const authorization = known?.headers.Authorization ?? `Bearer ${threadId}.${secret()}`;
    const headers = { Authorization: authorization };
    const server = { type: "http", url: url ?? "", headers, timeout: CALL_TIMEOUT_MS, alwaysLoad: true };
    const text = JSON.stringify({ mcpServers: { [MCP_SERVER]: server } });
    writeWhole(threadPath(this.#folders.of(threadId), "mcp"), `${text}\n`, { isDurable: true });
  }

  /** The open thread whose tools a caller may use; undefined if its token is none, or its thread is over. */
  findThread(authorization: string | undefined): ThreadId | undefined {
    const named = /^Bearer ([^.]+)\./.exec(authorization ?? "")?.[1];
    const { data: threadId } = threadIdSchema.safeParse(named);
    if (authorization === undefined || threadId === undefined) return;
    const thread = this.#store.threads.find(threadId);
    if (!thread || !kindOf(thread).hasTurns || !isOpen(thread.status)) return undefined;
    const token = this.#read(threadId)?.headers.Authorization;
    return token !== undefined && isSame(token, authorization) ? threadId : undefined;
  }

  #read(threadId: ThreadId) {
    try {
      const text = readFileSync(threadPath(this.#folders.of(threadId), "mcp"), "utf8");
      return fileSchema.safeParse(JSON.parse(text)).data?.mcpServers[MCP_SERVER];
    } catch {
      return undefined; // not there, or damaged: it is written anew
    }
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
