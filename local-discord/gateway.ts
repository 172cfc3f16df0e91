/** The gateway: sessions over WebSockets, with resume, intents, close codes and faults on demand. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { isSameSecret } from "./access.ts";
import { dispatchesOf, guildCreateWire, Intent, KNOWN_INTENTS, readyWire } from "./gateway-events.ts";
import type { World, WorldEvent } from "./state.ts";
import type { Stats } from "./stats.ts";

const Op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  presence: 3,
  voice: 4,
  resume: 6,
  reconnect: 7,
  requestMembers: 8,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

const Close = {
  unknownOp: 4001,
  decode: 4002,
  notAuthenticated: 4003,
  authenticationFailed: 4004,
  alreadyAuthenticated: 4005,
  invalidSeq: 4007,
  rateLimited: 4008,
  invalidShard: 4010,
  invalidVersion: 4012,
  invalidIntents: 4013,
  disallowedIntents: 4014,
} as const;

/** After these there is nothing to resume. */
const SESSION_ENDING = [1000, 1001, 4004, 4007, 4010, 4012, 4013, 4014];
/** What a session keeps for a resume. */
const MAX_BUFFERED = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;

const frameSchema = z.object({ op: z.number().int(), d: z.unknown() });
const identifySchema = z.object({
  token: z.string(),
  intents: z.number(),
  shard: z.tuple([z.number().int(), z.number().int()]).optional(),
});
const resumeSchema = z.object({
  token: z.string(),
  session_id: z.string(),
  seq: z.number().int().nullable(),
});

type Session = {
  id: string;
  intents: number;
  seq: number;
  /** What a resume replays; the JSON is shared between sessions that see the same. */
  buffer: { seq: number; name: string; json: string }[];
  connection: Connection | undefined;
  droppedAt: number | undefined;
};

type Connection = { socket: WebSocket; session: Session | undefined; sends: number[]; isClosedByUs: boolean };

export type GatewayOptions = {
  world: World;
  stats: Stats;
  url: () => string;
  heartbeatIntervalMs?: number;
  /** How long a dropped session can be resumed. */
  sessionTtlMs?: number;
};

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #connections = new Set<Connection>();
  readonly #sessions = new Map<string, Session>();
  readonly #identifies: number[] = [];
  readonly #unsubscribe: () => void;
  /** New connections are reset while this is on. */
  isRefusing = false;
  /** Off: heartbeats go unanswered, the client takes the connection for dead. */
  doesAcknowledge = true;
  /** Events leave this much later than the REST answers that caused them. */
  delayMs = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#unsubscribe = options.world.onEvent((event) => this.#publish(event));
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.isRefusing) {
      socket.destroy();
      return;
    }
    const version = new URL(request.url ?? "/", "http://localhost").searchParams.get("v");
    this.#server.handleUpgrade(request, socket, head, (ws) => this.#accept(ws, version));
  }

  /** IDENTIFYs left in the last 24 hours. */
  sessionStarts(): { remaining: number; resetAfterMs: number } {
    const { world } = this.#options;
    const now = world.now();
    while ((this.#identifies[0] ?? now) <= now - DAY_MS) this.#identifies.shift();
    const first = this.#identifies[0];
    return {
      remaining: Math.max(0, world.limits.identify.total - this.#identifies.length),
      resetAfterMs: first === undefined ? 0 : first + DAY_MS - now,
    };
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Ends every TCP connection without a close frame; sessions can be resumed. */
  dropAll(): void {
    for (const connection of this.#connections) {
      connection.isClosedByUs = true;
      connection.socket.terminate();
    }
  }

  /** Opcode 7: "reconnect and resume now". */
  requestReconnect(): void {
    for (const connection of this.#connections) send(connection, { op: Op.reconnect, d: null });
  }

  /** Opcode 9. Without `isResumable` the sessions are gone. */
  invalidateSessions(isResumable: boolean): void {
    for (const connection of this.#connections) {
      if (!isResumable && connection.session) this.#sessions.delete(connection.session.id);
      send(connection, { op: Op.invalidSession, d: isResumable });
    }
  }

  /** Opcode 1 from the server: the client must beat at once. */
  requestHeartbeat(): void {
    for (const connection of this.#connections) send(connection, { op: Op.heartbeat, d: null });
  }

  closeAll(code: number): void {
    for (const connection of this.#connections) this.#end(connection, code);
  }

  /** Forgets every session: the next RESUME is answered with opcode 9. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  close(): void {
    this.#unsubscribe();
    for (const connection of this.#connections) {
      connection.isClosedByUs = true;
      connection.socket.terminate();
    }
    this.#server.close();
  }

  #accept(socket: WebSocket, version: string | null): void {
    const connection: Connection = { socket, session: undefined, sends: [], isClosedByUs: false };
    this.#connections.add(connection);
    socket.on("close", (code) => this.#forget(connection, code));
    socket.on("error", () => socket.terminate());
    if (version !== "10" && version !== "9") {
      this.#end(connection, Close.invalidVersion);
      return;
    }
    socket.on("message", (data) => this.#receive(connection, data));
    send(connection, {
      op: Op.hello,
      d: { heartbeat_interval: this.#options.heartbeatIntervalMs ?? 41_250, _trace: ["local"] },
    });
  }

  #forget(connection: Connection, code: number): void {
    this.#connections.delete(connection);
    const session = connection.session;
    if (session?.connection === connection) {
      session.connection = undefined;
      session.droppedAt = this.#options.world.now();
      // A client that says 1000 or 1001 goes offline; anything else leaves the session for a resume.
      if (!connection.isClosedByUs && (code === 1000 || code === 1001)) this.#sessions.delete(session.id);
    }
    this.#updatePresence();
  }

  #end(connection: Connection, code: number): void {
    connection.isClosedByUs = true;
    this.#options.stats.closes.push(code);
    if (SESSION_ENDING.includes(code) && connection.session) this.#sessions.delete(connection.session.id);
    connection.socket.close(code);
  }

  #receive(connection: Connection, data: RawData): void {
    if (connection.isClosedByUs) return;
    const code = this.#handle(connection, data);
    if (code !== undefined) this.#end(connection, code);
  }

  /** The close code that the frame deserves, if any. */
  #handle(connection: Connection, data: RawData): number | undefined {
    const { world, stats } = this.#options;
    stats.gatewaySends += 1;
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
    if (bytes.byteLength > world.limits.gatewayPayloadBytes) return Close.decode;
    const { limit, perMs } = world.limits.gatewaySends;
    const now = world.now();
    connection.sends.push(now);
    while ((connection.sends[0] ?? now) <= now - perMs) connection.sends.shift();
    if (connection.sends.length > limit) return Close.rateLimited;

    const frame = parseFrame(bytes);
    if (!frame) return Close.decode;
    switch (frame.op) {
      case Op.heartbeat:
        stats.heartbeats += 1;
        if (this.doesAcknowledge) send(connection, { op: Op.heartbeatAck });
        return undefined;
      case Op.identify:
        return this.#identify(connection, frame.d);
      case Op.resume:
        return this.#resume(connection, frame.d);
      case Op.presence:
      case Op.voice:
      case Op.requestMembers:
        return connection.session ? undefined : Close.notAuthenticated;
      default:
        return Close.unknownOp;
    }
  }

  #identify(connection: Connection, data: unknown): number | undefined {
    const { world, stats } = this.#options;
    if (connection.session) return Close.alreadyAuthenticated;
    const parsed = identifySchema.safeParse(data);
    if (!parsed.success) return Close.decode;
    const { token, intents, shard } = parsed.data;
    if (!isSameSecret(token, world.data.botToken)) return Close.authenticationFailed;
    if (shard && (shard[0] !== 0 || shard[1] !== 1)) return Close.invalidShard;
    if (!Number.isInteger(intents) || intents < 0 || (intents & ~KNOWN_INTENTS) !== 0) {
      return Close.invalidIntents;
    }
    const granted = world.switches.isMessageContentGranted ? Intent.messageContent : 0;
    const privileged = Intent.messageContent | Intent.guildMembers | Intent.guildPresences;
    if ((intents & privileged & ~granted) !== 0) return Close.disallowedIntents;

    // One IDENTIFY per window, and only so many a day.
    const now = world.now();
    const last = this.#identifies.at(-1);
    const isTooSoon = last !== undefined && now - last < world.limits.identify.windowMs;
    stats.identifies += 1;
    if (isTooSoon || this.sessionStarts().remaining === 0) {
      send(connection, { op: Op.invalidSession, d: false });
      return undefined;
    }
    this.#identifies.push(now);

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
    this.#dispatch(
      session,
      "READY",
      JSON.stringify(readyWire(world, { id: session.id, resumeUrl: this.#options.url() })),
    );
    if ((intents & Intent.guilds) !== 0)
      this.#dispatch(session, "GUILD_CREATE", JSON.stringify(guildCreateWire(world)));
    this.#updatePresence();
    return undefined;
  }

  #resume(connection: Connection, data: unknown): number | undefined {
    const { world, stats } = this.#options;
    const parsed = resumeSchema.safeParse(data);
    if (!parsed.success) return Close.decode;
    if (!isSameSecret(parsed.data.token, world.data.botToken)) {
      return Close.authenticationFailed;
    }
    stats.resumes += 1;
    const session = this.#sessions.get(parsed.data.session_id);
    const seq = parsed.data.seq ?? 0;
    const firstKept = session?.buffer[0]?.seq ?? (session?.seq ?? 0) + 1;
    if (!session || this.#isStale(session) || seq < firstKept - 1) {
      send(connection, { op: Op.invalidSession, d: false });
      return undefined;
    }
    if (seq > session.seq) return Close.invalidSeq;
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
    this.#dispatch(session, "RESUMED", '{"_trace":["local"]}');
    this.#updatePresence();
    return undefined;
  }

  #publish(event: WorldEvent): void {
    if (this.#sessions.size === 0) return;
    const dispatches = dispatchesOf(this.#options.world, event);
    if (dispatches.length === 0) return;
    this.#forgetStaleSessions();
    for (const { name, intent, data } of dispatches) {
      const jsonByIntents = new Map<number, string>();
      for (const session of this.#sessions.values()) {
        if (intent !== 0 && (session.intents & intent) === 0) continue;
        const json = jsonByIntents.get(session.intents) ?? JSON.stringify(data(session.intents));
        jsonByIntents.set(session.intents, json);
        this.#dispatch(session, name, json);
      }
    }
  }

  /** Nobody can resume them any more: they would only collect events. */
  #forgetStaleSessions(): void {
    for (const [id, session] of this.#sessions) if (this.#isStale(session)) this.#sessions.delete(id);
  }

  #isStale(session: Session): boolean {
    const ttlMs = this.#options.sessionTtlMs ?? 180_000;
    return session.droppedAt !== undefined && this.#options.world.now() - session.droppedAt > ttlMs;
  }

  #dispatch(session: Session, name: string, json: string): void {
    session.seq += 1;
    const frame = dispatchFrame(session.seq, name, json);
    session.buffer.push({ seq: session.seq, name, json });
    if (session.buffer.length > MAX_BUFFERED) session.buffer.splice(0, MAX_BUFFERED / 10);
    const connection = session.connection;
    if (!connection) return;
    if (this.delayMs <= 0) sendText(connection, frame);
    else
      setTimeout(
        () => session.connection === connection && sendText(connection, frame),
        this.delayMs,
      ).unref();
  }

  #updatePresence(): void {
    const { world } = this.#options;
    const isOnline = [...this.#connections].some((connection) => connection.session !== undefined);
    if (isOnline === world.isBotOnline) return;
    world.isBotOnline = isOnline;
    world.emit({ type: "presence", isOnline });
  }
}

function parseFrame(bytes: Buffer): z.infer<typeof frameSchema> | undefined {
  try {
    return frameSchema.parse(JSON.parse(bytes.toString("utf8")));
  } catch {
    return undefined; // not JSON, or no frame: the caller closes with 4002
  }
}

function dispatchFrame(seq: number, name: string, json: string): string {
  return `{"op":${Op.dispatch},"t":"${name}","s":${seq},"d":${json}}`;
}

function send(connection: Connection, frame: { op: number; d?: unknown }): void {
  sendText(connection, JSON.stringify({ t: null, s: null, d: null, ...frame }));
}

function sendText(connection: Connection, text: string): void {
  if (connection.socket.readyState === connection.socket.OPEN) connection.socket.send(text);
}
