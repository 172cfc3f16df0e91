/** The part of the API about rooms. */
import * as z from "zod";
import { inputValuesSchema } from "../directives/inputs.ts";
import { newHomeSchema } from "../home-api.ts";
import { anyThreadNameSchema, knownThreadId, snowflakeSchema, threadIdSchema } from "../ids.ts";
import { lazy } from "../lazy.ts";
import { MAX_MEMBERS, MIN_MEMBERS, ROOM_PROTOCOLS, roomProtocolSchema } from "./protocol.ts";

const seconds = (most: number) => z.int(`must be whole seconds`).min(2).max(most);

/** Bounds, each of which ends a round. */
const boundFields = {
  /** Turns since a person wrote, of all members together. Not set: 10 for each member. */
  maxTurns: z.int().min(1).max(1_000).optional(),
  /** Dollars since a person wrote, of all members together. Null: no cap, which is said in the room. */
  maxUsd: z.number().positive().max(10_000).nullable().default(5),
  /** How long one turn may take. */
  turnSeconds: seconds(86_400).default(600),
};

/** An agent thread that is there, by any name of it, or a directive that makes one. */
export const newMemberSchema = z.union(
  [
    z.strictObject({ threadId: anyThreadNameSchema }),
    z.strictObject({ directive: z.string().min(1).max(80), inputs: inputValuesSchema.optional() }),
  ],
  "must name an agent thread (threadId) or a directive",
);
export type NewMember = z.infer<typeof newMemberSchema>;

export const newRoomSchema = lazy(() =>
  z.strictObject({
    threadId: threadIdSchema,
    /** Directory below `REPOS_DIR`, in which directives make members. */
    dir: z.string().min(1).max(4_096).default("."),
    title: z.string().min(1).max(1_000).optional(),
    protocol: roomProtocolSchema,
    members: z
      .array(newMemberSchema)
      .min(MIN_MEMBERS, `must be at least ${MIN_MEMBERS} agents`)
      .max(MAX_MEMBERS, `must be at most ${MAX_MEMBERS} agents`),
    /** The member that leads in `orchestrated`, as `members` names it. */
    lead: z.string().min(1).max(1_000).optional(),
    ...boundFields,
    home: newHomeSchema.optional(),
    /** In place of `home`: the Discord channel in which the relay makes its thread, and those of new members. */
    channelId: snowflakeSchema.optional(),
  }),
);
export type NewRoomRequest = z.input<ReturnType<typeof newRoomSchema>>;
export type NewRoom = z.output<ReturnType<typeof newRoomSchema>>;

export const roomProtocolRequestSchema = z.strictObject({
  protocol: roomProtocolSchema,
  /** The member that leads in `orchestrated`: its name, thread or number. */
  lead: z.string().min(1).max(1_000).optional(),
});

export const removeMemberSchema = z.strictObject({
  /** Its name in the room, its thread's id or its number. */
  member: z.string().min(1).max(1_000),
});

export const roomSchema = lazy(() =>
  z.object({
    threadId: knownThreadId,
    name: z.string(),
    title: z.string(),
    /** False once it was ended. */
    isOpen: z.boolean(),
    protocol: z.enum(ROOM_PROTOCOLS),
    lead: z.string().nullable(),
    members: z.array(
      z.object({
        /** By which others name it: `@reviewer`. */
        name: z.string(),
        threadId: knownThreadId,
        number: z.int().nullable(),
        directive: z.string().nullable(),
        /** Its cost since a person wrote, in dollars. */
        costUsd: z.number(),
      }),
    ),
    /** The names of those who may write now; empty while the room rests. */
    turnOf: z.array(z.string()),
    /** Since when, ISO 8601; null while the room rests. */
    turnSince: z.iso.datetime().nullable(),
    /** Why it rests; null while it does not, and before the first text. */
    why: z.string().nullable(),
    /** Turns since a person wrote. */
    turns: z.int(),
    maxTurns: z.int(),
    /** Dollars since a person wrote. */
    costUsd: z.number(),
    maxUsd: z.number().nullable(),
    turnSeconds: z.int(),
    /** The last line's number. */
    lines: z.int(),
  }),
);
export type Room = z.infer<ReturnType<typeof roomSchema>>;

/** `text`: of a member. `person`: of a person. `note`: of ours. `pass`, `call`: a member passed, or called a tool. */
export const ROOM_LINE_KINDS = ["text", "person", "note", "pass", "call"] as const;
export type RoomLineKind = (typeof ROOM_LINE_KINDS)[number];

export const roomLineSchema = z.object({
  /** From 1 on, in the room's order. */
  seq: z.int(),
  at: z.iso.datetime(),
  kind: z.enum(ROOM_LINE_KINDS),
  /** A member's name, or a person's handle; null of a note. */
  name: z.string().nullable(),
  /** The number of the member's agent; null of others. */
  number: z.int().nullable(),
  text: z.string(),
});
export type RoomLine = z.infer<typeof roomLineSchema>;

export const MAX_ROOM_LINES = 200;
export const roomsReplySchema = lazy(() => z.object({ rooms: z.array(roomSchema()) }));
export const roomLinesQuerySchema = z.strictObject({
  /** Lines after this one. */
  since: z.coerce.number().int().min(0).default(0),
});
/** At most {@link MAX_ROOM_LINES}, the oldest first. */
export const roomLinesReplySchema = z.object({ lines: z.array(roomLineSchema), more: z.boolean() });
export const stopReplySchema = z.object({
  /** False if it rested already. */
  stopped: z.boolean(),
});
