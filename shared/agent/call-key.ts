/** The name by which a call is known again when a restarted engine asks for it once more. Pure. */
import { createHash } from "node:crypto";

/** @returns the same key for the same tool and input, whenever the call is asked */
export function callKeyOf(name: string, input: unknown): string {
  return createHash("sha256")
    .update(`${name}\n${stable(input)}`)
    .digest("hex")
    .slice(0, 32);
}

/** JSON whose members are in order: the model may name them in another order when it calls again. */
function stable(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
