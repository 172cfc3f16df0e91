import type { ThreadType } from "../../../../shared/kinds.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { ConsoleKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export const CONSOLE_KINDS: Readonly<Record<ThreadType, ConsoleKind>> = { terminal, agent, browser, room };
