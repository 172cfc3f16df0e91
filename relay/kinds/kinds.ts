/** The kinds of threads that the relay serves. A new one is a line here; the compiler says what it lacks. */
import type { OwnKind } from "../../shared/kinds.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { RelayKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export const RELAY_KINDS: Readonly<Record<OwnKind, RelayKind>> = { terminal, agent, browser, room };
