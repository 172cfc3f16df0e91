/** The gateway's sessions: what each has been told, and whether it can still be resumed. */
import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { dispatchFrame, sendText } from "./gateway-protocol.ts";

/** What a session keeps for a resume. */
const MAX_BUFFERED = 10_000;

export type Session = {
  id: string;
  intents: number;
  seq: number;
  /** What a resume replays; the JSON is shared between sessions that see the same. */
  buffer: { seq: number; name: string; json: string }[];
  connection: Connection | undefined;
  droppedAt: number | undefined;
};

export type Connection = {
  socket: WebSocket;
  session: Session | undefined;
  sends: number[];
  isClosedByUs: boolean;
};

export class GatewaySessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;
  readonly #ttlMs: number;
  /** Events leave this much later than the REST answers that caused them. */
  delayMs = 0;

  /** @param options `ttlMs`: how long a dropped session can be resumed */
  constructor(options: { now: () => number; ttlMs: number }) {
    this.#now = options.now;
    this.#ttlMs = options.ttlMs;
  }

  get count(): number {
    return this.#sessions.size;
  }

  start(connection: Connection, intents: number): Session {
    const session: Session = {
      id: randomBytes(16).toString("hex"),
      intents,
      seq: 0,
      buffer: [],
      connection,
      droppedAt: undefined,
    };
    connection.session = session;
    this.#sessions.set(session.id, session);
    return session;
  }

  /** The session if it still knows everything that came after `seq`. */
  findResumable(id: string, seq: number): Session | undefined {
    const session = this.#sessions.get(id);
    if (!session || this.#isStale(session)) return undefined;
    const firstKept = session.buffer[0]?.seq ?? session.seq + 1;
    return seq < firstKept - 1 ? undefined : session;
  }

  /** Moves the session to another connection and replays what came after `seq`. */
  resume(session: Session, connection: Connection, seq: number): void {
    if (session.connection && session.connection !== connection) {
      session.connection.isClosedByUs = true;
      session.connection.socket.terminate();
    }
    session.connection = connection;
    session.droppedAt = undefined;
    connection.session = session;
    session.buffer = session.buffer.filter((entry) => entry.seq > seq);
    for (const { seq: missed, name, json } of session.buffer) {
      connection.socket.send(dispatchFrame(missed, name, json));
    }
  }

  /** Its connection is gone; the session waits for a resume. */
  drop(session: Session): void {
    session.connection = undefined;
    session.droppedAt = this.#now();
  }

  delete(session: Session): void {
    this.#sessions.delete(session.id);
  }

  clear(): void {
    this.#sessions.clear();
  }

  /** Sessions that wait for a resume or are connected. Whatever nobody can resume any more is forgotten. */
  live(): Session[] {
    for (const session of this.#sessions.values()) if (this.#isStale(session)) this.delete(session);
    return [...this.#sessions.values()];
  }

  dispatch(session: Session, name: string, json: string): void {
    session.seq += 1;
    const frame = dispatchFrame(session.seq, name, json);
    session.buffer.push({ seq: session.seq, name, json });
    if (session.buffer.length > MAX_BUFFERED) session.buffer.splice(0, MAX_BUFFERED / 10);
    const { connection } = session;
    if (!connection) return;
    if (this.delayMs <= 0) sendText(connection.socket, frame);
    else {
      setTimeout(() => {
        if (session.connection === connection) sendText(connection.socket, frame);
      }, this.delayMs).unref();
    }
  }

  #isStale(session: Session): boolean {
    return session.droppedAt !== undefined && this.#now() - session.droppedAt > this.#ttlMs;
  }
}
