/**
 * The door at which the sidecar tells a browser what to do: a Unix socket in the thread's folder. The browser greets, then
 * it takes one line and answers with one.
 */
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { OUTCOME_UNKNOWN } from "../shared/browser/spec.ts";
import { type DoorCall, type DoorReply, doorCallSchema } from "../shared/browser/state.ts";

const MAX_LINE_BYTES = 64 * 1024;
const MAX_CALLERS = 16;
const LINE_MS = 5_000;
/** Says that whoever has connected is heard; JSON takes it for a space before the answer. */
const GREETING = "\n";
/** The number of the newest inputs whose answers the door keeps, by their ids. */
const KEPT_INPUTS = 200;

/** Does something, and answers soon after `waitMs` at the latest. It never rejects. */
type Perform = (call: DoorCall) => Promise<DoorReply>;

/**
 * @param path short enough for a socket: relative to the working directory
 */
export function openDoor(path: string, perform: Perform): Promise<Server> {
  rmSync(path, { force: true }); // of an earlier process of the thread
  const once = new Once(perform);
  const server = createServer({ allowHalfOpen: true }, (socket) => serve(socket, once));
  server.maxConnections = MAX_CALLERS;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(server));
  });
}

/** Does an input that comes again once. */
class Once {
  readonly #perform: Perform;
  readonly #replies = new Map<string, Promise<DoorReply>>();

  constructor(perform: Perform) {
    this.#perform = perform;
  }

  run(call: DoorCall): Promise<DoorReply> {
    const { input } = call;
    if (input === undefined) return this.#perform(call);
    const known = this.#replies.get(input.id);
    if (known) return known;
    if (input.isRepeat) return Promise.resolve({ error: OUTCOME_UNKNOWN, code: "unknown_outcome" });
    const reply = this.#perform(call);
    this.#replies.set(input.id, reply);
    const [oldest] = this.#replies.keys();
    if (this.#replies.size > KEPT_INPUTS && oldest !== undefined) this.#replies.delete(oldest);
    void reply.then((answer) => {
      // Nothing was done, so it may be done the next time.
      if ("code" in answer && answer.code === "unavailable") this.#replies.delete(input.id);
    });
    return reply;
  }
}

function serve(socket: Socket, once: Once): void {
  let line = "";
  let isRead = false;
  socket.setEncoding("utf8");
  socket.setTimeout(LINE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.write(GREETING);
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
      ? once.run(call)
      : { error: "The browser does not know what to do.", code: "invalid_request" };
  }
}

function readCall(text: string): DoorCall | undefined {
  try {
    return doorCallSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON
  }
}
