/** A thread as tests of pure parts need it: nothing about it matters but that it is valid. */
import { threadConfigSchema } from "../../shared/agent/config.ts";
import type { Launch } from "../engine.ts";

const AT = "2026-11-22T10:00:00.000Z";

export const config = threadConfigSchema.parse({
  v: 1,
  threadId: "t",
  createdBy: "discord:7",
  createdAt: AT,
  dir: "/app",
  agent: {},
  launch: { program: "claude" },
});

export const launch: Launch = {
  generation: 1,
  sessionId: "s",
  resumed: false,
  reseeded: false,
  takesUp: false,
  taken: [],
  startedAt: AT,
};
