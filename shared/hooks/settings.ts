/** What a hook is made of: whose requests it takes, which of them count, and what of them is passed on. */
import * as z from "zod";

/** The senders whose way to prove a request is known. */
export const HOOK_PRESETS = [
  "github",
  "gitlab",
  "stripe",
  "standard",
  "alertmanager",
  "hmac",
  "bearer",
] as const;
export type HookPreset = (typeof HOOK_PRESETS)[number];

export const HMAC_ALGORITHMS = ["sha256", "sha512", "sha1"] as const;
export type HmacAlgorithm = (typeof HMAC_ALGORITHMS)[number];

const MIN_SECRET = 16;
const MAX_SECRET = 256;

/** A hook's secret as it is set; it is kept in a file of its own and never listed. */
export const hookSecretSchema = z
  .string()
  .min(MIN_SECRET, `must have at least ${MIN_SECRET} characters (make one with: openssl rand -hex 32)`)
  .max(MAX_SECRET, `must have at most ${MAX_SECRET} characters`)
  .regex(/^[!-~]+$/, "must be of printable ASCII characters without spaces");

/** Fewer bytes are no key of an HMAC. */
const MIN_KEY_BYTES = 16;

/** Why the secret does not fit the preset, a sentence's end after its name; undefined if it does. */
export function findSecretProblem(preset: HookPreset, secret: string): string | undefined {
  const { error } = hookSecretSchema.safeParse(secret);
  if (error) return error.issues[0]?.message;
  if (preset !== "standard") return undefined;
  const key = secret.replace(/^whsec_/, "");
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(key) ? (key.replace(/={1,2}$/, "").length * 3) / 4 : 0;
  return bytes >= MIN_KEY_BYTES
    ? undefined
    : `must be base64 of at least ${MIN_KEY_BYTES} bytes, after whsec_ or not`;
}

const headerName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9-]+$/, "must be the name of a header, such as X-Signature")
  .transform((name) => name.toLowerCase());

/** Text that stands in what is signed; the body stands at its end. */
const SIGNED = /^(?:[\w.:-]*\{timestamp\}[\w.:-]*)?\{body\}$/;

export const hookProofSchema = z.discriminatedUnion("preset", [
  z.strictObject({ preset: z.enum(["github", "gitlab", "stripe", "standard", "alertmanager", "bearer"]) }),
  z
    .strictObject({
      preset: z.literal("hmac"),
      /** Has the signature, in hexadecimal or base64, with or without a word and `=` before it. */
      header: headerName,
      algorithm: z
        .enum(HMAC_ALGORITHMS, { error: `must be ${HMAC_ALGORITHMS.join(", ")}` })
        .default("sha256"),
      /** Has the seconds since 1970, at most 300 from now. */
      timestampHeader: headerName.optional(),
      signs: z
        .string()
        .max(64)
        .regex(
          SIGNED,
          "must be {body}, or {timestamp} and {body} with a separator, such as {timestamp}.{body}",
        )
        .default("{body}"),
    })
    .refine(
      ({ timestampHeader, signs }) => (timestampHeader !== undefined) === signs.includes("{timestamp}"),
      {
        path: ["timestampHeader"],
        error:
          "a time counts only if it is signed: give timestampHeader and {timestamp} in signs, or neither",
      },
    ),
]);
/** How a request proves that it comes from the hook's sender. */
export type HookProof = z.output<typeof hookProofSchema>;

/** A JSON pointer (RFC 6901) to something below the body: `/a/0/b`, with `~1` for `/` and `~0` for `~`. */
export const pointerSchema = z
  .string()
  .max(500)
  .regex(/^(?:\/(?:[^/~]|~[01])*)+$/, "must be a JSON pointer, such as /action or /commits/0/id");

const scalar = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]);
export type Scalar = z.output<typeof scalar>;

export const hookConditionSchema = z.union(
  [
    z.strictObject({ path: pointerSchema, equals: scalar }),
    z.strictObject({ path: pointerSchema, in: z.array(scalar).min(1).max(100) }),
    z.strictObject({ path: pointerSchema, exists: z.boolean() }),
  ],
  { error: "must be a path with one of equals, in or exists" },
);
export type HookCondition = z.output<typeof hookConditionSchema>;

/** Text of the hook's maker, in which `{/path}` stands for a field of the body. */
export const hookTemplateSchema = z
  .string()
  .min(1)
  .max(4_000)
  .superRefine((template, context) => {
    const fields = template.match(/\{\/[^{}]*\}/g) ?? [];
    if (fields.length > 50) context.addIssue({ code: "custom", message: "may take at most 50 fields" });
    for (const field of fields) {
      const { success } = pointerSchema.safeParse(field.slice(1, -1));
      if (!success) context.addIssue({ code: "custom", message: `${field} is no JSON pointer in braces` });
    }
  });

export const hookCoalesceSchema = z
  .strictObject({
    /** Requests with the same value there are put together; all of them if it is not set. */
    key: pointerSchema.optional(),
    /** Begins anew with each request. */
    windowSeconds: z.number().int().min(1).max(3_600),
    /** After the first of them. */
    maxWaitSeconds: z.number().int().min(1).max(86_400),
  })
  .refine(({ windowSeconds, maxWaitSeconds }) => maxWaitSeconds >= windowSeconds, {
    path: ["maxWaitSeconds"],
    error: "must be at least windowSeconds",
  });
export type HookCoalesce = z.output<typeof hookCoalesceSchema>;

export const hookSettingsSchema = z.strictObject({
  proof: hookProofSchema,
  /** A request counts if all of them hold. */
  filter: z.array(hookConditionSchema).max(20).optional(),
  template: hookTemplateSchema.optional(),
  coalesce: hookCoalesceSchema.optional(),
  perMinute: z.number().int().min(1).max(60_000).default(30),
});
export type HookSettings = z.output<typeof hookSettingsSchema>;
