/** What those who act are called in the page. */
import { cleanLine } from "../../../shared/clean-text.ts";
import { describePrincipal, parsePrincipal, type Source } from "../../../shared/principal.ts";
import { listPeople } from "./api.ts";

let names: ReadonlyMap<string, string> = new Map();

/** Asks the sidecar for the names. What is drawn already stays as it is. @throws ApiError */
export async function learnNames(): Promise<void> {
  const people = await listPeople();
  names = new Map(people.flatMap(({ id, handle }) => (handle === null ? [] : [[id, handle]])));
}

/** Somebody in Discord has an `@` before the name: it can't be taken for who they are not, such as "the owner". */
export function nameOf(source: Source): string {
  const principal = parsePrincipal(source);
  const handle = principal.kind === "person" ? names.get(principal.discordId) : undefined;
  return cleanLine(handle === undefined ? describePrincipal(principal) : `@${handle}`);
}
