/** Describes rooms for the API. */
import { isOpen } from "../../shared/api.ts";
import type { Room } from "../../shared/rooms/api.ts";
import type { Store } from "../store/store.ts";
import { type FoundRoom, rulesOf } from "./book.ts";
import type { RoomDriver } from "./driver.ts";

/** A member's cost counts from when a person wrote last. */
export function describeRoom(
  { row, members }: FoundRoom,
  { store, driver }: { store: Pick<Store, "threads" | "rooms">; driver: Pick<RoomDriver, "costOf"> },
): Room {
  const { threadId, turn } = row;
  const thread = store.threads.find(threadId);
  const shown = members.map(({ name, memberId, number, directive, baseUsd }) => {
    const costUsd = Math.max(0, driver.costOf(memberId) - baseUsd);
    return { name, threadId: memberId, number, directive, costUsd };
  });
  return {
    ...{ threadId, name: thread?.name ?? "", title: thread?.title ?? "" },
    isOpen: isOpen(thread?.status ?? "killed"),
    ...{ protocol: row.protocol, lead: row.lead, members: shown, turnOf: turn.holders },
    turnSince: row.turnSince === null ? null : new Date(row.turnSince).toISOString(),
    ...{ why: turn.why, turns: turn.turns, maxTurns: rulesOf(row, members).maxTurns },
    costUsd: shown.reduce((sum, { costUsd }) => sum + costUsd, 0),
    ...{ maxUsd: row.maxUsd, turnSeconds: row.turnSeconds },
    lines: store.rooms.findLastLine(threadId)?.seq ?? 0,
  };
}
