/** Which member of a room somebody means, and whether a protocol has a lead. */
import { AppError } from "../../shared/errors.ts";
import type { RoomProtocol } from "../../shared/rooms/protocol.ts";
import type { RoomMember } from "../store/rooms.ts";
import type { Homes } from "../threads/homes.ts";

/**
 * Finds a member by its name in the room, or by any name of its thread.
 * @param field of the request, for the error
 * @throws AppError `invalid_request`
 */
export function memberIn<M extends Pick<RoomMember, "name" | "memberId">>(
  members: readonly M[],
  wanted: string,
  { field, homes }: { field: string; homes: Pick<Homes, "find"> },
): M {
  const name = wanted.replace(/^@/, "");
  const found =
    members.find((member) => member.name === name) ??
    members.find((member) => member.memberId === homes.find(wanted));
  if (found) return found;
  const names = members.map((member) => `@${member.name}`).join(", ");
  throw new AppError(
    "invalid_request",
    `${field}: ${JSON.stringify(wanted)} is no member of this room; those are ${names}.`,
  );
}

/** @throws AppError `invalid_request` */
export function checkLead(protocol: RoomProtocol, lead: string | undefined): void {
  if (protocol === "orchestrated" && lead === undefined)
    throw new AppError("invalid_request", "lead: is needed: the member that names others.");
  if (protocol !== "orchestrated" && lead !== undefined)
    throw new AppError("invalid_request", `lead: is for orchestrated; ${protocol} has none.`);
}
