/** The gateway: sessions over WebSockets, with resume, intents, close codes and faults on demand. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { isSameSecret } from "./access.ts";
import { dispatchesOf, guildCreateWire, Intent, KNOWN_INTENTS, readyWire } from "./gateway-events.ts";
import {
  bytesOf,
  Close,
  identifySchema,
  Op,
  parseFrame,
  resumeSchema,
  SESSION_ENDING,
  sendFrame,
} from "./gateway-protocol.ts";
import { type Connection, GatewaySessions } from "./gateway-sessions.ts";
import type { World, WorldEvent } from "./state.ts";
import type { Stats } from "./stats.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const SESSION_TTL_MS = 180_000;

export type GatewayOptions = {
  world: World;
  stats: Stats;
  url: string;
  heartbeatIntervalMs?: number;
  /** How long a dropped session can be resumed. */
  sessionTtlMs?: number;
};

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #connections = new Set<Connection>();
  readonly #sessions: GatewaySessions;
  readonly #identifies: number[] = [];
  readonly #unsubscribe: () => void;
  /** New connections are reset while this is on. */
  isRefusing = false;
  /** Off: heartbeats go unanswered, the client takes the connection for dead. */
  doesAcknowledge = true;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#sessions = new GatewaySessions({
      now: options.world.now,
      ttlMs: options.sessionTtlMs ?? SESSION_TTL_MS,
    });
    this.#unsubscribe = options.world.onEvent((event) => this.#publish(event));
  }

  /** Events leave this much later than the REST answers that caused them. */
  set delayMs(delayMs: number) {
    this.#sessions.delayMs = delayMs;
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
    for (const connection of this.#connections) sendFrame(connection.socket, { op: Op.reconnect, d: null });
  }

  /** Opcode 9. Without `isResumable` the sessions are gone. */
  invalidateSessions(isResumable: boolean): void {
    for (const connection of this.#connections) {
      if (!isResumable && connection.session) this.#sessions.delete(connection.session);
      sendFrame(connection.socket, { op: Op.invalidSession, d: isResumable });
    }
  }

  /** Opcode 1 from the server: the client must beat at once. */
  requestHeartbeat(): void {
    for (const connection of this.#connections) sendFrame(connection.socket, { op: Op.heartbeat, d: null });
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
    sendFrame(connection.socket, {
      op: Op.hello,
      d: { heartbeat_interval: this.#options.heartbeatIntervalMs ?? 41_250, _trace: ["local"] },
    });
  }

  #forget(connection: Connection, code: number): void {
    this.#connections.delete(connection);
    const session = connection.session;
    if (session?.connection === connection) {
      this.#sessions.drop(session);
      // A client that says 1000 or 1001 goes offline; anything else leaves the session for a resume.
      if (!connection.isClosedByUs && (code === 1000 || code === 1001)) this.#sessions.delete(session);
    }
    this.#updatePresence();
  }

  #end(connection: Connection, code: number): void {
    connection.isClosedByUs = true;
    this.#options.stats.closes.push(code);
    if (SESSION_ENDING.includes(code) && connection.session) this.#sessions.delete(connection.session);
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
    const bytes = bytesOf(data);
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
        if (this.doesAcknowledge) sendFrame(connection.socket, { op: Op.heartbeatAck });
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
      sendFrame(connection.socket, { op: Op.invalidSession, d: false });
      return undefined;
    }
    this.#identifies.push(now);

    this.#start(connection, intents);
    return undefined;
  }

  #start(connection: Connection, intents: number): void {
    const { world, url } = this.#options;
    const session = this.#sessions.start(connection, intents);
    const ready = readyWire(world, { id: session.id, resumeUrl: url });
    this.#sessions.dispatch(session, "READY", JSON.stringify(ready));
    if ((intents & Intent.guilds) !== 0) {
      this.#sessions.dispatch(session, "GUILD_CREATE", JSON.stringify(guildCreateWire(world)));
    }
    this.#updatePresence();
  }

  #resume(connection: Connection, data: unknown): number | undefined {
    const { world, stats } = this.#options;
    const parsed = resumeSchema.safeParse(data);
    if (!parsed.success) return Close.decode;
    if (!isSameSecret(parsed.data.token, world.data.botToken)) {
      return Close.authenticationFailed;
    }
    stats.resumes += 1;
    const seq = parsed.data.seq ?? 0;
    const session = this.#sessions.findResumable(parsed.data.session_id, seq);
    if (!session) {
      sendFrame(connection.socket, { op: Op.invalidSession, d: false });
      return undefined;
    }
    if (seq > session.seq) return Close.invalidSeq;
    this.#sessions.resume(session, connection, seq);
    this.#sessions.dispatch(session, "RESUMED", '{"_trace":["local"]}');
    this.#updatePresence();
    return undefined;
  }

  #publish(event: WorldEvent): void {
    if (this.#sessions.count === 0) return;
    const dispatches = dispatchesOf(this.#options.world, event);
    if (dispatches.length === 0) return;
    const sessions = this.#sessions.live();
    for (const { name, intent, data } of dispatches) {
      const jsonByIntents = new Map<number, string>();
      for (const session of sessions) {
        if (intent !== 0 && (session.intents & intent) === 0) continue;
        const json = jsonByIntents.get(session.intents) ?? JSON.stringify(data(session.intents));
        jsonByIntents.set(session.intents, json);
        this.#sessions.dispatch(session, name, json);
      }
    }
  }

  #updatePresence(): void {
    const { world } = this.#options;
    const isOnline = [...this.#connections].some((connection) => connection.session !== undefined);
    if (!world.passing.setBotOnline(isOnline)) return;
    world.emit({ type: "presence", isOnline });
  }
}
