/** The ids of threads that are made here. */
import { randomInt } from "node:crypto";
import { basename } from "node:path";
import { AppError } from "../shared/errors.ts";
import { trimEndOf } from "../shared/trim-end.ts";

/** The relay takes a thread of such an id for one of its own, and ends it where Discord has none like it. */
const DISCORD_ID = /^\d{17,20}$/;

/** @throws AppError `invalid_request` */
export function refuseDiscordId(threadId: string): void {
  if (!DISCORD_ID.test(threadId)) return;
  throw new AppError("invalid_request", "--id: must not be 17 to 20 digits; such ids are Discord's own");
}

/** The directory's name and five characters that nobody confuses: an id that can be typed by its start. */
export function makeId(dir: string): string {
  const letters = basename(dir)
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+/, "");
  const name = trimEndOf(letters, "-").slice(0, 20);
  const alphabet = "23456789abcdefghjkmnpqrstvwxyz";
  const suffix = Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${name === "" ? "t" : name}-${suffix}`;
}
