/** The part of the API about people in Discord, and their roles. */
import * as z from "zod";
import { discordIdSchema } from "./ids.ts";
import { ROLES } from "./rights.ts";

/** One bot serves one server; more people than will ever have a role in it. */
export const MAX_PEOPLE = 1_000;

export const MAX_HANDLE = 64;
/** As many roles as a server at Discord can have, that of everybody among them. */
export const MAX_DISCORD_ROLES = 250;

const role = z.enum(ROLES, { error: `must be ${ROLES.join(", ")}` });
const grantShape = {
  /** Whether `id` is a user's, or that of a role at Discord: then whoever has that role has this one. */
  kind: z.enum(["user", "role"], { error: "must be user or role" }).default("user"),
  id: discordIdSchema,
  /** Where it holds; null: in all channels. */
  channelId: discordIdSchema.nullable().default(null),
};

const handle = z
  .string()
  .min(1, "must not be empty")
  .max(MAX_HANDLE, `must be at most ${MAX_HANDLE} characters`);
const handleSchema = z.strictObject({ id: discordIdSchema, handle });
export type ToldHandle = z.output<typeof handleSchema>;

const personSchema = z.strictObject({
  ...grantShape,
  role,
  /** What others call the person, or the role at Discord; null if nobody has said. */
  handle: handle.nullable(),
  /** The relay's own settings name it: they alone change it. */
  isFixed: z.boolean(),
});
export type PersonRow = z.output<typeof personSchema>;
/** Without a handle, the one that is known stays. */
export const toldPersonSchema = personSchema.omit({ isFixed: true }).partial({ handle: true });
export type ToldPerson = z.output<typeof toldPersonSchema>;

const nameOf = ({ kind, id, channelId }: Pick<ToldPerson, "kind" | "id" | "channelId">) =>
  `${kind} ${id} ${channelId}`;
const onceEach = (rows: readonly ToldPerson[]) => new Set(rows.map(nameOf)).size === rows.length;

/** All that the relay's settings name: who is not among them has no role by them any more. */
export const peopleRequestSchema = z.strictObject({
  people: z.array(toldPersonSchema).max(MAX_PEOPLE).refine(onceEach, "must name each id once in a channel"),
  /** The names of people who act in Discord, also of those whom the settings do not name. The sidecar keeps none of a person without a role. */
  handles: z.array(handleSchema).max(MAX_PEOPLE).default([]),
});
export const peopleReplySchema = z.object({ people: z.array(personSchema) });

/** The roles that the relay's server has at Discord: a role that is not among them is given nothing from then on. */
export const serverRolesRequestSchema = z.strictObject({
  roles: z
    .array(handleSchema.extend({ handle: handle.nullable() }))
    .min(1, "must have the role of everybody at least")
    .max(MAX_DISCORD_ROLES)
    .refine((rows) => new Set(rows.map(({ id }) => id)).size === rows.length, "must name each id once"),
});
export type ServerRole = z.output<typeof serverRolesRequestSchema>["roles"][number];

/** Gives a role, or takes it back: null. */
export const roleRequestSchema = z.strictObject({ ...grantShape, role: role.nullable() });
export type RoleRequest = z.output<typeof roleRequestSchema>;
