/** The kinds of threads at the command line. A new one is a line here; the compiler says what it lacks. */
import type { ThreadType } from "../../shared/api.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { CliKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export const CLI_KINDS: Readonly<Record<ThreadType, CliKind>> = { terminal, agent, browser, room };
