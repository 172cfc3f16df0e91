/** The gateway's frames: opcodes, close codes, what comes in parsed, what goes out as text. */
import type { RawData, WebSocket } from "ws";
import * as z from "zod";

export const Op = {
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

export const Close = {
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
export const SESSION_ENDING = [1000, 1001, 4004, 4007, 4010, 4012, 4013, 4014];
const frameSchema = z.object({ op: z.number().int(), d: z.unknown() });
export const identifySchema = z.object({
  token: z.string(),
  intents: z.number(),
  shard: z.tuple([z.number().int(), z.number().int()]).optional(),
});
export const resumeSchema = z.object({
  token: z.string(),
  session_id: z.string(),
  seq: z.number().int().nullable(),
});

/** @returns undefined for what is no JSON or no frame: the caller closes with 4002 */
export function parseFrame(bytes: Buffer): z.infer<typeof frameSchema> | undefined {
  try {
    return frameSchema.parse(JSON.parse(bytes.toString("utf8")));
  } catch {
    return undefined; // neither
  }
}

export function dispatchFrame(seq: number, name: string, json: string): string {
  return `{"op":${Op.dispatch},"t":"${name}","s":${seq},"d":${json}}`;
}

export function sendFrame(socket: WebSocket, frame: { op: number; d?: unknown }): void {
  sendText(socket, JSON.stringify({ t: null, s: null, d: null, ...frame }));
}

export function sendText(socket: WebSocket, text: string): void {
  if (socket.readyState === socket.OPEN) socket.send(text);
}

export function bytesOf(data: RawData): Buffer {
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
}
