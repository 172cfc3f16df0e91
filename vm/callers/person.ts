/** In whose name a request is made: the relay alone may name a person beside its own credential. */
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../shared/errors.ts";
import { discordIdSchema } from "../../shared/ids.ts";
import { MAX_DISCORD_ROLES } from "../../shared/people-api.ts";
import { PERSON_HEADER, type Principal, person, ROLES_HEADER } from "../../shared/principal.ts";

/**
 * @param credential whom the request's credential is of
 * @returns the person, if the relay names one; else whose credential it is
 * @throws AppError `forbidden` if anybody else names a person, `invalid_request` if what is named is no person
 */
export function inNameOf(credential: Principal, headers: IncomingHttpHeaders): Principal {
  const named = headers[PERSON_HEADER];
  if (named === undefined) return credential;
  if (credential.kind !== "relay") {
    throw new AppError(
      "forbidden",
      "Threadmux-Person: only the relay's own token (RELAY_TOKEN) may name a person; leave the header out.",
    );
  }
  // Node joins a header that comes twice with a comma.
  const { data: discordId } = discordIdSchema.safeParse(named);
  if (discordId === undefined) {
    throw new AppError("invalid_request", "Threadmux-Person: must be one Discord user id, 17 to 20 digits.");
  }
  return person(discordId);
}

/**
 * @returns the roles at Discord that the request says its person has; undefined if it says nothing of them
 * @throws AppError `invalid_request`
 */
export function rolesIn(headers: IncomingHttpHeaders): readonly string[] | undefined {
  const told = headers[ROLES_HEADER];
  if (told === undefined) return undefined;
  const ids = String(told).split(",").filter(Boolean);
  if (ids.length <= MAX_DISCORD_ROLES && ids.every((id) => discordIdSchema.safeParse(id).success)) return ids;
  throw new AppError(
    "invalid_request",
    `Threadmux-Person-Roles: must be at most ${MAX_DISCORD_ROLES} ids of Discord's, separated by commas.`,
  );
}
