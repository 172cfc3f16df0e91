/** The messages of ACP, as far as we read them. A part that we don't know is left out and breaks nothing. */
import * as z from "zod";
import { TOOL_KINDS } from "../../../shared/agent/values.ts";

const str = z.string();
/** Agents write null for what they leave out. */
const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const flag = z.boolean().catch(false).default(false);
const count = z.number().nonnegative().transform(Math.trunc);
const list = <T extends z.ZodType>(schema: T) =>
  z
    .array(z.unknown())
    .catch([])
    .default([])
    .transform((items) => items.flatMap((item) => schema.safeParse(item).data ?? []) as z.output<T>[]);

export const messageSchema = z.looseObject({
  id: z.union([str, z.number(), z.null()]).optional(),
  method: str.optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: maybe(
    z.looseObject({ code: z.number().catch(0), message: str.catch(""), data: z.unknown().optional() }),
  ),
});
export type Message = z.infer<typeof messageSchema>;

export const initializedSchema = z.looseObject({
  protocolVersion: z.number(),
  agentInfo: maybe(z.looseObject({ name: str, title: maybe(str), version: maybe(str) })),
  agentCapabilities: z
    .looseObject({
      loadSession: flag,
      promptCapabilities: z.looseObject({ image: flag }).catch({ image: false }).default({ image: false }),
      mcpCapabilities: z.looseObject({ http: flag }).catch({ http: false }).default({ http: false }),
      sessionCapabilities: z.looseObject({ resume: z.unknown().optional() }).catch({}).default({}),
    })
    .prefault({}),
  authMethods: list(z.looseObject({ name: str })),
  _meta: maybe(z.looseObject({ steering: maybe(z.looseObject({ supported: flag })) })),
});
export type Initialized = z.infer<typeof initializedSchema>;

const modeOptionSchema = z.looseObject({
  id: str,
  category: maybe(str),
  currentValue: maybe(str),
  options: list(z.looseObject({ value: str })),
});

export const sessionSchema = z.looseObject({
  sessionId: maybe(str),
  modes: maybe(z.looseObject({ currentModeId: str, availableModes: list(z.looseObject({ id: str })) })),
  configOptions: list(modeOptionSchema),
});
export type SessionInfo = z.infer<typeof sessionSchema>;

const usage = z.looseObject({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: maybe(count),
  cachedWriteTokens: maybe(count),
  thoughtTokens: maybe(count),
});

export const promptedSchema = z.looseObject({ stopReason: str, usage: maybe(usage) });
export type Prompted = z.infer<typeof promptedSchema>;
export const steeredSchema = z.looseObject({ outcome: maybe(str) });

const blockSchema = z.looseObject({ type: str, text: maybe(str) });
export const contentSchema = z.union([
  z.looseObject({
    type: z.literal("diff"),
    path: str,
    oldText: z.string().nullish().catch(null),
    newText: str,
  }),
  z.looseObject({ type: z.literal("content"), content: blockSchema }),
]);
export type AcpContent = z.infer<typeof contentSchema>;

export const callSchema = z.looseObject({
  toolCallId: str,
  title: maybe(str),
  name: maybe(str),
  kind: maybe(z.enum(TOOL_KINDS)),
  status: maybe(z.enum(["pending", "in_progress", "completed", "failed"])),
  content: maybe(z.array(z.unknown())),
  locations: list(z.looseObject({ path: str, line: maybe(z.number().int()) })),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: maybe(z.looseObject({ claudeCode: maybe(z.looseObject({ toolName: maybe(str) })) })),
});
export type AcpCall = z.infer<typeof callSchema>;

const chunk = { messageId: maybe(str), content: blockSchema };
const updates = {
  user_message_chunk: z.looseObject(chunk),
  agent_message_chunk: z.looseObject(chunk),
  agent_thought_chunk: z.looseObject(chunk),
  tool_call: callSchema,
  tool_call_update: callSchema,
  plan: z.looseObject({
    entries: list(
      z.looseObject({
        content: str,
        priority: z.enum(["high", "medium", "low"]).catch("medium"),
        status: z.enum(["pending", "in_progress", "completed"]).catch("pending"),
      }),
    ),
  }),
  usage_update: z.looseObject({
    used: count,
    size: count,
    cost: maybe(z.looseObject({ amount: z.number(), currency: str })),
  }),
  session_info_update: z.looseObject({ title: maybe(str) }),
  current_mode_update: z.looseObject({ currentModeId: str }),
  config_option_update: z.looseObject({ configOptions: list(modeOptionSchema) }),
  compaction_update: z.looseObject({ status: str }),
};
type Updates = typeof updates;
export type Update = { [K in keyof Updates]: { sessionUpdate: K } & z.output<Updates[K]> }[keyof Updates];

/** Known, and of no use to a thread. */
const UNUSED = ["available_commands_update", "plan_update", "plan_removed"];

export const notificationSchema = z.looseObject({
  sessionId: str,
  update: z.looseObject({ sessionUpdate: str }),
});

/** @returns `unused` for a kind that says nothing to a thread, `unknown` for one that we don't know or can't read */
export function parseUpdate(update: { sessionUpdate: string }): Update | "unused" | "unknown" {
  const { sessionUpdate: kind } = update;
  if (UNUSED.includes(kind)) return "unused";
  if (!Object.hasOwn(updates, kind)) return "unknown";
  const parsed = updates[kind as keyof Updates].safeParse(update);
  return parsed.success ? ({ ...parsed.data, sessionUpdate: kind } as Update) : "unknown";
}

export const permissionSchema = z.looseObject({
  sessionId: str,
  toolCall: callSchema,
  options: list(
    z.looseObject({
      optionId: str,
      name: str.catch(""),
      kind: z.enum(["allow_once", "allow_always", "reject_once", "reject_always"]),
    }),
  ),
});
export type AcpPermission = z.infer<typeof permissionSchema>;
