/** Where the sidecar tells a browser what to do: a Unix socket in the thread's folder, one line in and one out. */
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import * as z from "zod";
import { type BrowserOp, browserOpSchema } from "../shared/browser/ops.ts";
import type { DoorReply } from "../shared/browser/state.ts";

const MAX_LINE_BYTES = 64 * 1024;
const MAX_CALLERS = 16;
const LINE_MS = 5_000;
const MAX_WAIT_MS = 60_000;

const callSchema = z.object({ op: browserOpSchema, waitMs: z.int().min(0).max(MAX_WAIT_MS) });

/** Does something, and answers by `waitMs` at the latest. It never rejects. */
type Perform = (op: BrowserOp, waitMs: number) => Promise<DoorReply>;

/**
 * @param path short enough for a socket: relative to the working directory
 */
export function openDoor(path: string, perform: Perform): Promise<Server> {
  rmSync(path, { force: true }); // of an earlier process of the thread
  const server = createServer({ allowHalfOpen: true }, (socket) => serve(socket, perform));
  server.maxConnections = MAX_CALLERS;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(server));
  });
}

function serve(socket: Socket, perform: Perform): void {
  let line = "";
  let isRead = false;
  socket.setEncoding("utf8");
  socket.setTimeout(LINE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (text: string) => {
    if (isRead) return;
    line += text;
    if (line.length > MAX_LINE_BYTES) return void socket.destroy();
    if (!line.includes("\n")) return;
    isRead = true;
    socket.setTimeout(0);
    void answer(line).then((reply) => socket.end(`${JSON.stringify(reply)}\n`));
  });

  async function answer(text: string): Promise<DoorReply> {
    const call = readCall(text);
    return call
      ? perform(call.op, call.waitMs)
      : { error: "The browser does not know what to do.", code: "invalid_request" };
  }
}

function readCall(text: string): z.output<typeof callSchema> | undefined {
  try {
    return callSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON
  }
}
