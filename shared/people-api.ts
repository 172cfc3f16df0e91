/** The part of the API about people in Discord, and their roles. */
import * as z from "zod";
import { discordIdSchema } from "./ids.ts";

/** One bot serves one server; more people than will ever have a role in it. */
const MAX_PEOPLE = 1_000;

/** `maker`: may make threads and do all that can be done with any of them. */
export const ROLES = ["maker"] as const;

export const MAX_HANDLE = 64;

const personSchema = z.strictObject({
  id: discordIdSchema,
  role: z.enum(ROLES, { error: `must be ${ROLES.join(", ")}` }),
  /** What others call the person; null if nobody has said. */
  handle: z
    .string()
    .min(1, "must not be empty")
    .max(MAX_HANDLE, `must be at most ${MAX_HANDLE} characters`)
    .nullable(),
});
export type PersonRow = z.output<typeof personSchema>;
/** Without a handle, the one that is known stays. */
const toldPersonSchema = personSchema.partial({ handle: true });
export type ToldPerson = z.output<typeof toldPersonSchema>;

const onceEach = (rows: readonly { id: string }[]) => new Set(rows.map(({ id }) => id)).size === rows.length;

/** All of them: who is not among them has no role any more. */
export const peopleRequestSchema = z.strictObject({
  people: z.array(toldPersonSchema).max(MAX_PEOPLE).refine(onceEach, "must name each id once"),
});
export const peopleReplySchema = z.object({ people: z.array(personSchema) });
