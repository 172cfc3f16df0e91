/** What those who act are called in the page. */
import type { Thread } from "../../../shared/api.ts";
import { cleanLine } from "../../../shared/clean-text.ts";
import { snowflakeSchema } from "../../../shared/ids.ts";
import type { PersonRow } from "../../../shared/people-api.ts";
import { describePrincipal, type Principal, parsePrincipal, type Source } from "../../../shared/principal.ts";
import { listPeople } from "./api.ts";

let rows: readonly PersonRow[] = [];
let names: ReadonlyMap<string, string> = new Map();
/** By thread. */
let threadNames: ReadonlyMap<string, string> = new Map();

interface ShortNamed {
  threadId: string;
  name?: string | undefined;
  number: number | null;
}

type Named = Pick<Thread, "threadId" | "name" | "number" | "title">;

/** What threads are called from now on. */
export function learnThreads(threads: readonly Named[]): void {
  threadNames = new Map([
    ...threadNames,
    ...threads.map((thread): [string, string] => [thread.threadId, `thread ${shortName(thread)}`]),
  ]);
}

/** `#12`, or the id that its maker chose. An id of Discord's means nothing to a reader. */
export function shortName({ threadId, name, number }: ShortNamed): string {
  if (number !== null) return `#${number}`;
  return isDiscordId(threadId) ? (name ?? "") : threadId;
}

/** Who has a role, as the sidecar said last. */
export function knownPeople(): readonly PersonRow[] {
  return rows;
}

function isDiscordId(text: string): boolean {
  return snowflakeSchema.safeParse(text).success;
}

/** Asks the sidecar for the names. What is drawn already stays as it is. @throws ApiError */
export async function learnNames(): Promise<void> {
  rows = await listPeople();
  names = new Map(rows.flatMap(({ id, handle }) => (handle === null ? [] : [[id, handle]])));
}

/** Somebody in Discord has an `@` before the name: it can't be taken for who they are not, such as "the owner". */
export function nameOf(source: Source): string {
  const principal = parsePrincipal(source);
  return cleanLine(wordsFor(principal));
}

function wordsFor(principal: Principal): string {
  if (principal.kind === "person") {
    const handle = names.get(principal.discordId);
    return handle === undefined ? "somebody in Discord" : `@${handle}`;
  }
  if (principal.kind === "thread")
    return (
      threadNames.get(principal.threadId) ??
      (isDiscordId(principal.threadId) ? "a thread" : describePrincipal(principal))
    );
  return describePrincipal(principal);
}
