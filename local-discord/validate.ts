/** Request bodies in, checked values out; every refusal is Discord's 50035 with the path of the field. */
import * as z from "zod";
import { invalidFields } from "./discord-error.ts";
import { isSnowflake } from "./snowflake.ts";
import { componentsField } from "./validate-components.ts";

/** Length as Discord counts it: code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Text of `min` to `max` code points; surrounding white space does not count and is dropped. */
export function text(max: number, min = 0) {
  return z
    .string()
    .transform((value) => value.trim())
    .superRefine((value, context) => {
      const length = codePoints(value);
      if (length >= min && length <= max) return;
      const [discord, message] =
        min === 0
          ? ["BASE_TYPE_MAX_LENGTH", `Must be ${max} or fewer in length.`]
          : length === 0
            ? ["BASE_TYPE_REQUIRED", "This field is required"]
            : ["BASE_TYPE_BAD_LENGTH", `Must be between ${min} and ${max} in length.`];
      context.addIssue({ code: "custom", message, params: { discord } });
    });
}

export function list<T extends z.ZodType>(item: T, max: number, min = 0) {
  return z.array(item).superRefine((value, context) => {
    if (value.length >= min && value.length <= max) return;
    const [discord, message] =
      min === 0
        ? ["BASE_TYPE_MAX_LENGTH", `Must be ${max} or fewer in length.`]
        : ["BASE_TYPE_BAD_LENGTH", `Must be between ${min} and ${max} in length.`];
    context.addIssue({ code: "custom", message, params: { discord } });
  });
}

export const snowflake = z.union([z.string(), z.number().int()]).transform((value, context) => {
  const id = String(value);
  if (!isSnowflake(id)) {
    context.addIssue({
      code: "custom",
      message: `Value "${id}" is not snowflake.`,
      params: { discord: "NUMBER_TYPE_COERCE" },
    });
  }
  return id;
});

export function oneOf<const T extends readonly (string | number)[]>(values: T) {
  return z.union([z.string(), z.number()]).transform((value, context): T[number] => {
    const found = values.find((allowed) => allowed === value);
    if (found === undefined) {
      context.addIssue({
        code: "custom",
        message: `Value must be one of (${values.join(", ")}).`,
        params: { discord: "BASE_TYPE_CHOICES" },
      });
      return z.NEVER;
    }
    return found;
  });
}

/**
 * Unknown fields are dropped, as Discord ignores them.
 * @throws DiscordError 50035 that names every wrong field.
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw invalidFields(
    parsed.error.issues.map((issue) => ({ path: issue.path, ...discordProblem(issue, body) })),
  );
}

const TYPE_PROBLEMS: Record<string, { code: string; message: string }> = {
  string: { code: "STRING_TYPE_CONVERT", message: "Could not interpret the value as string." },
  number: { code: "NUMBER_TYPE_COERCE", message: "Value is not int." },
  int: { code: "NUMBER_TYPE_COERCE", message: "Value is not int." },
  boolean: { code: "BOOLEAN_TYPE_CONVERT", message: "Must be either true or false." },
  array: { code: "LIST_TYPE_CONVERT", message: "Only iterables may be used in a ListType" },
  object: { code: "DICT_TYPE_CONVERT", message: "Only dictionaries may be used in a DictType" },
};

function discordProblem(issue: z.core.$ZodIssue, body: unknown): { code: string; message: string } {
  if (issue.code === "custom") {
    const code = issue.params?.["discord"];
    return { code: typeof code === "string" ? code : "BASE_TYPE_INVALID", message: issue.message };
  }
  if (valueAt(body, issue.path) === undefined) {
    return { code: "BASE_TYPE_REQUIRED", message: "This field is required" };
  }
  if (issue.code === "invalid_type") {
    const known = TYPE_PROBLEMS[issue.expected];
    if (known) return known;
  }
  if (issue.code === "too_big") {
    return {
      code: "NUMBER_TYPE_MAX",
      message: `int value should be less than or equal to ${issue.maximum}.`,
    };
  }
  if (issue.code === "too_small") {
    return {
      code: "NUMBER_TYPE_MIN",
      message: `int value should be greater than or equal to ${issue.minimum}.`,
    };
  }
  return { code: "BASE_TYPE_INVALID", message: issue.message };
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  let value = body;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

// --- messages ---------------------------------------------------------------------------------------------

const url = text(2048);

const embedSchema = z.object({
  title: text(256).optional(),
  description: text(4096).optional(),
  url: url.optional(),
  timestamp: z.string().optional(),
  color: z.number().int().min(0).max(0xffffff).optional(),
  footer: z.object({ text: text(2048), icon_url: url.optional() }).optional(),
  image: z.object({ url }).optional(),
  thumbnail: z.object({ url }).optional(),
  author: z.object({ name: text(256), url: url.optional(), icon_url: url.optional() }).optional(),
  fields: list(
    z.object({ name: text(256, 1), value: text(1024, 1), inline: z.boolean().optional() }),
    25,
  ).optional(),
});

const EMBED_TOTAL = 6000;

const embedsField = list(embedSchema, 10).superRefine((embeds, context) => {
  const total = embeds.reduce((sum, embed) => sum + embedSize(embed), 0);
  if (total <= EMBED_TOTAL) return;
  context.addIssue({
    code: "custom",
    message: `Embed size exceeds maximum size of ${EMBED_TOTAL}`,
    params: { discord: "MAX_EMBED_SIZE_EXCEEDED" },
  });
});

/** Everything that is text counts towards the sum over all embeds of a message. */
function embedSize(embed: z.infer<typeof embedSchema>): number {
  const parts = [embed.title, embed.description, embed.footer?.text, embed.author?.name];
  for (const field of embed.fields ?? []) parts.push(field.name, field.value);
  return parts.reduce((sum, part) => sum + codePoints(part ?? ""), 0);
}

const allowedMentions = z
  .object({
    parse: list(oneOf(["users", "roles", "everyone"]), 3).optional(),
    users: list(snowflake, 100).optional(),
    roles: list(snowflake, 100).optional(),
    replied_user: z.boolean().nullish(),
  })
  .superRefine((value, context) => {
    // "parse" and an explicit list of the same kind exclude each other.
    for (const kind of ["users", "roles"] as const) {
      if (value.parse?.includes(kind) && (value[kind]?.length ?? 0) > 0) {
        context.addIssue({
          code: "custom",
          path: ["parse"],
          message: `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`,
          params: { discord: "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE" },
        });
      }
    }
  });

const attachmentEntry = z.object({
  id: snowflake,
  filename: z.string().optional(),
  description: text(1024).nullish(),
});

const messageFields = {
  content: text(2000).nullish(),
  embeds: embedsField.nullish(),
  allowed_mentions: allowedMentions.nullish(),
  components: componentsField.nullish(),
  attachments: list(attachmentEntry, 10).nullish(),
  flags: z.number().int().nullish(),
};

export const messageCreateSchema = z.object({
  ...messageFields,
  nonce: z.union([text(25), z.number().int()]).nullish(),
  enforce_nonce: z.boolean().nullish(),
  message_reference: z
    .object({
      message_id: snowflake,
      channel_id: snowflake.optional(),
      fail_if_not_exists: z.boolean().optional(),
    })
    .nullish(),
});

export const messageEditSchema = z.object(messageFields);

export type MessageInput = z.infer<typeof messageCreateSchema>;
export type MessagePatch = z.infer<typeof messageEditSchema>;

// --- threads and channels ---------------------------------------------------------------------------------

/** Minutes; no other value is taken. */
const AUTO_ARCHIVE_MINUTES = [60, 1440, 4320, 10080] as const;

export const threadCreateSchema = z.object({
  name: text(100, 1),
  type: oneOf([10, 11, 12]).optional(),
  auto_archive_duration: oneOf(AUTO_ARCHIVE_MINUTES).nullish(),
  rate_limit_per_user: z.number().int().min(0).max(21600).nullish(),
});

export const channelPatchSchema = z.object({
  name: text(100, 1).optional(),
  topic: text(1024).nullish(),
  archived: z.boolean().optional(),
  locked: z.boolean().optional(),
  auto_archive_duration: oneOf(AUTO_ARCHIVE_MINUTES).optional(),
  rate_limit_per_user: z.number().int().min(0).max(21600).nullish(),
});

export type ThreadInput = z.infer<typeof threadCreateSchema>;
export type ChannelPatch = z.infer<typeof channelPatchSchema>;
