/** Who may write in a room when: each protocol as a table, and the bounds that hold for all. Pure. */
import type { RoomEvent, RoomProtocol, RoomRules, RoomTurn } from "../../shared/rooms/protocol.ts";

/** A member that has passed so often in a row is skipped until somebody names it or a person writes. */
const SKIPPED_AFTER = 2;

/** Who has the turn next, or why nobody has. */
type Next = { holders: readonly string[]; queue?: readonly string[] } | { rests: string };
type Acted = Extract<RoomEvent, { type: "text" | "pass" }>;

interface Protocol {
  /** A person has written while the room rested. */
  begin(rules: RoomRules, turn: RoomTurn, named: readonly string[]): Next;
  /** A member has written or passed; `turn` knows it already. */
  after(rules: RoomRules, turn: RoomTurn, event: Acted): Next;
}

const NOTHING_TO_SAY = "nobody has anything to say";
const NOBODY_NAMED = "nobody was named";

const PROTOCOLS: Readonly<Record<RoomProtocol, Protocol>> = {
  round_robin: {
    begin: (rules, turn) => nextInOrder(rules, turn),
    after: (rules, turn) =>
      isSubset(active(rules, turn), turn.quiet) ? { rests: NOTHING_TO_SAY } : nextInOrder(rules, turn),
  },
  on_demand: {
    begin: ({ order }) => ({ holders: order }),
    after: ({ order }, { holders }, { type, by }) =>
      someOf((type === "text" ? order : holders).filter((one) => one !== by)),
  },
  reactive: {
    begin: (_, __, named) => firstOf(named, NOBODY_NAMED),
    after: (_, { queue }, event) =>
      firstOf(
        event.type === "text" && event.named.length > 0 ? event.named : queue,
        "the last text names nobody",
      ),
  },
  orchestrated: {
    begin: ({ lead }) => (lead === null ? { rests: "the room has no lead" } : { holders: [lead] }),
    after: ({ lead }, { queue }, event) => {
      if (lead === null) return { rests: "the room has no lead" };
      if (event.by !== lead) return queue.length > 0 ? firstOf(queue, "") : { holders: [lead] };
      return event.type === "pass"
        ? { rests: "the lead has nothing more to say" }
        : firstOf(event.named, "the lead named nobody");
    },
  },
};

/**
 * Gives the turn on.
 * @param rules without a member that has left
 */
export function stepRoom(rules: RoomRules, turn: RoomTurn, event: RoomEvent): RoomTurn {
  switch (event.type) {
    case "person":
      return hearPerson(rules, turn, event.named);
    case "left":
      return leave(rules, turn, event);
    case "end":
      return rest(turn, event.why);
    case "text":
    case "pass":
      return act(rules, turn, event);
  }
}

/** Why a member's text may not go in although it has the turn; undefined if it may. A sentence for the model. */
export function whyNoText(
  { protocol, lead, order }: RoomRules,
  { delegate }: RoomTurn,
  { by, named }: { by: string; named: readonly string[] },
): string | undefined {
  if (protocol !== "orchestrated" || by !== lead || order.length < 3) return undefined;
  if (delegate === null || named[0] !== delegate) return undefined;
  return `@${delegate} had the turn last: name somebody else first.`;
}

/** The members that a text names, in the order in which it does, each once; never its writer. */
export function namedIn(text: string, names: readonly string[], by?: string): string[] {
  const found = [...text.toLowerCase().matchAll(/(?<![\w@.-])@([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)/g)];
  const named = found.map(([, name = ""]) => name).filter((name) => name !== by && names.includes(name));
  return [...new Set(named)];
}

function hearPerson(rules: RoomRules, turn: RoomTurn, named: readonly string[]): RoomTurn {
  const heard: RoomTurn = {
    ...turn,
    ...{ turns: 0, passes: {}, quiet: [], proposed: [], lastText: null, lastWriter: null, why: null },
  };
  if (heard.holders.length === 0)
    return give({ ...heard, queue: [] }, PROTOCOLS[rules.protocol].begin(rules, heard, named));
  // The member that has the turn hears it, and keeps the turn.
  if (rules.protocol === "on_demand") return give(heard, { holders: rules.order });
  const isNew = rules.protocol === "reactive" && named.length > 0;
  return isNew ? { ...heard, queue: named.filter((one) => !heard.holders.includes(one)) } : heard;
}

function act(rules: RoomRules, turn: RoomTurn, event: Acted): RoomTurn {
  const { by } = event;
  const isDelegate = rules.protocol === "orchestrated" && by !== rules.lead;
  const acted: RoomTurn = {
    ...turn,
    ...{ turns: turn.turns + 1, lastBy: by, ...(isDelegate && { delegate: by }) },
    ...(event.type === "text" ? afterText(turn, event) : afterPass(turn, event)),
  };
  const bound = boundReached(rules, turn, acted, event);
  return bound === undefined
    ? give(acted, PROTOCOLS[rules.protocol].after(rules, acted, event), event)
    : rest(acted, bound);
}

function afterText({ passes }: RoomTurn, { by, text, named }: Extract<Acted, { type: "text" }>) {
  const heard = Object.entries(passes).filter(([name]) => name !== by && !named.includes(name));
  const lastText = lettersOf(text);
  return { passes: Object.fromEntries(heard), quiet: [], proposed: [], lastWriter: by, lastText };
}

function afterPass({ passes, quiet, proposed }: RoomTurn, { by, ends }: Extract<Acted, { type: "pass" }>) {
  const others = quiet.filter((one) => one !== by);
  return {
    passes: { ...passes, [by]: (passes[by] ?? 0) + 1 },
    quiet: [...others, by],
    ...(ends && { proposed: [...proposed.filter((one) => one !== by), by] }),
  };
}

/** The bounds that hold in every protocol. */
function boundReached(rules: RoomRules, before: RoomTurn, acted: RoomTurn, event: Acted): string | undefined {
  if (event.type === "text" && before.lastText !== null && before.lastText === acted.lastText)
    return acted.lastText === "" ? "two empty texts came in a row" : "two equal texts came in a row";
  const others = active(rules, acted).filter((one) => one !== acted.lastWriter);
  if (acted.proposed.length > 0 && isSubset(others, acted.quiet))
    return `${acted.proposed.map((one) => `@${one}`).join(" and ")} proposed the end, and nobody has more to say`;
  if (acted.turns >= rules.maxTurns) return `${rules.maxTurns} turns without a person are the most`;
  return undefined;
}

function leave(
  rules: RoomRules,
  turn: RoomTurn,
  { by, after }: Extract<RoomEvent, { type: "left" }>,
): RoomTurn {
  const without = (names: readonly string[]) => names.filter((one) => one !== by);
  const left: RoomTurn = {
    ...turn,
    ...{ holders: without(turn.holders), queue: without(turn.queue) },
    ...{ quiet: without(turn.quiet), proposed: without(turn.proposed) },
  };
  if (turn.holders.length === 0 || left.holders.length > 0) return left;
  if (rules.order.length < 2) return rest(left, "too few members are left");
  const pass = { type: "pass", by, ends: false } as const;
  return give({ ...left, lastBy: after }, PROTOCOLS[rules.protocol].after(rules, left, pass), pass);
}

/** @param event none if a person has written */
function give(turn: RoomTurn, next: Next, event?: Acted): RoomTurn {
  if ("rests" in next) return rest(turn, next.rests);
  const { holders, queue = turn.queue } = next;
  // In `on_demand` the others keep the turn that they have.
  const isKept = event?.type === "pass" && turn.holders.length > 1;
  return { ...turn, holders: [...holders], queue: [...queue], turn: turn.turn + (isKept ? 0 : 1), why: null };
}

function rest(turn: RoomTurn, why: string): RoomTurn {
  return { ...turn, holders: [], queue: [], why };
}

/** The first one after whoever had the turn last that is not skipped. */
function nextInOrder(rules: RoomRules, turn: RoomTurn): Next {
  const { order } = rules;
  const at = turn.lastBy === null ? -1 : order.indexOf(turn.lastBy);
  const round = [...order.slice(at + 1), ...order.slice(0, at + 1)];
  const next = round.find((one) => active(rules, turn).includes(one));
  return next === undefined ? { rests: NOTHING_TO_SAY } : { holders: [next] };
}

function active({ order }: RoomRules, { passes }: RoomTurn): string[] {
  return order.filter((one) => (passes[one] ?? 0) < SKIPPED_AFTER);
}

function firstOf([first, ...queue]: readonly string[], rests: string): Next {
  return first === undefined ? { rests } : { holders: [first], queue };
}

function someOf(holders: readonly string[]): Next {
  return holders.length === 0 ? { rests: NOTHING_TO_SAY } : { holders };
}

function isSubset(some: readonly string[], all: readonly string[]): boolean {
  return some.every((one) => all.includes(one));
}

/** Two texts that differ in spaces, signs and smileys alone say the same. */
function lettersOf(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "")
    .slice(0, 2_000);
}
