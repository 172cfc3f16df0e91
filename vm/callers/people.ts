/** Who may: the one place where the sidecar judges what a person in Discord is allowed. */
import { AppError } from "../../shared/errors.ts";
import type { PersonRow } from "../../shared/people-api.ts";
import type { Principal } from "../../shared/principal.ts";

/** So many of those who could are named in a refusal. */
const MAX_NAMED = 5;

/** Who has a role. */
interface Roles {
  find(discordId: string): PersonRow | undefined;
  list(): readonly PersonRow[];
}

export class People {
  readonly #table: Roles;

  constructor(table: Roles) {
    this.#table = table;
  }

  /** Whether a person has a role; whoever is no person needs none. */
  may(principal: Principal): boolean {
    return principal.kind !== "person" || this.#table.find(principal.discordId) !== undefined;
  }

  /** @throws AppError `forbidden`, which says who could, if it is a person without a role */
  judge(principal: Principal): void {
    if (this.may(principal)) return;
    throw new AppError("forbidden", `You have no role that allows this. ${whoCould(this.#table.list())}`);
  }
}

function whoCould(people: readonly PersonRow[]): string {
  if (people.length === 0) return "Nobody has one: the relay says who has (ALLOWED_USER_IDS) when it starts.";
  const named = people.slice(0, MAX_NAMED).map(({ id }) => `<@${id}>`);
  const more = people.length > MAX_NAMED ? ` and ${people.length - MAX_NAMED} more` : "";
  return `Makers could (ALLOWED_USER_IDS): ${named.join(", ")}${more}.`;
}
