/** Defines what rooms are made of: their protocols, their bounds, and who has the turn. */
import * as z from "zod";

/**
 * `round_robin`: in the order of the members. `on_demand`: any member, once until another one has written.
 * `reactive`: those whom the last text names (`@reviewer`), in that order. `orchestrated`: a lead names others, and has
 * the turn again after them.
 */
export const ROOM_PROTOCOLS = ["round_robin", "on_demand", "reactive", "orchestrated"] as const;
export type RoomProtocol = (typeof ROOM_PROTOCOLS)[number];

/** Each in a few words, for people who choose one. */
export const PROTOCOL_WORDS: Readonly<Record<RoomProtocol, string>> = {
  round_robin: "one after the other",
  on_demand: "whoever has something to say",
  reactive: "only who was named with @",
  orchestrated: "the lead names who is next",
};

export const roomProtocolSchema = z.enum(ROOM_PROTOCOLS, `must be one of ${ROOM_PROTOCOLS.join(", ")}`);

/** Turns for each member since a person wrote, if nobody says otherwise. */
export const TURNS_A_MEMBER = 10;
export const MIN_MEMBERS = 2;
export const MAX_MEMBERS = 8;

/** The rules of a room, as far as they say who may write. Members are called by their names. */
export interface RoomRules {
  readonly protocol: RoomProtocol;
  /** All members that are there, in their order. */
  readonly order: readonly string[];
  /** The member that leads in `orchestrated`; null in other protocols. */
  readonly lead: string | null;
  /** Turns since a person wrote, of all members together. */
  readonly maxTurns: number;
}

/** Who has the turn, and all that the next decision needs. */
export const roomTurnSchema = z.object({
  /** Counts up with each turn that is given. */
  turn: z.int(),
  /** Who may write now; more than one in `on_demand` alone. Empty: the room rests. */
  holders: z.array(z.string()),
  /** Texts and passes since a person wrote. */
  turns: z.int(),
  /** How often in a row each has passed. */
  passes: z.record(z.string(), z.int()),
  /** Who has passed since the last text. */
  quiet: z.array(z.string()),
  /** The members among them that proposed the end. */
  proposed: z.array(z.string()),
  /** Who was named, and has not had the turn yet. */
  queue: z.array(z.string()),
  /** Who wrote, or passed, last. */
  lastBy: z.string().nullable(),
  /** Who wrote last. */
  lastWriter: z.string().nullable(),
  /** The last text's letters and digits, if a member wrote it. */
  lastText: z.string().nullable(),
  /** Whom the lead named last. */
  delegate: z.string().nullable(),
  /** Why the room rests, for people; null while somebody has the turn, and before the first text. */
  why: z.string().nullable(),
});
export type RoomTurn = z.infer<typeof roomTurnSchema>;

export const NO_TURN: RoomTurn = {
  ...{ turn: 0, holders: [], turns: 0, passes: {}, quiet: [], proposed: [], queue: [] },
  ...{ lastBy: null, lastWriter: null, lastText: null, delegate: null, why: null },
};

export type RoomEvent =
  /** A person has written, and named these members. */
  | { readonly type: "person"; readonly named: readonly string[] }
  /** A member that may write has written. */
  | { readonly type: "text"; readonly by: string; readonly text: string; readonly named: readonly string[] }
  /** A member that may write has nothing to say; `ends`: it proposes the end. */
  | { readonly type: "pass"; readonly by: string; readonly ends: boolean }
  /** A member is no member any more; the rules do not have it. `after`: who stands before it in the order. */
  | { readonly type: "left"; readonly by: string; readonly after: string | null }
  /** A person's stop, or a bound. */
  | { readonly type: "end"; readonly why: string };
