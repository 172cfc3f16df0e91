import type { OwnKind } from "../../../../shared/kinds.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { ConsoleKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export type ConsoleKinds = Readonly<Record<OwnKind, ConsoleKind>>;

export const CONSOLE_KINDS: ConsoleKinds = { terminal, agent, browser, room };
