/** The kinds of threads at the command line. A new one is a line here; the compiler says what it lacks. */
import type { OwnKind } from "../../shared/kinds.ts";
import { agent } from "./agent.ts";
import { browser } from "./browser.ts";
import type { CliKind } from "./kind.ts";
import { room } from "./room.ts";
import { terminal } from "./terminal.ts";

export type CliKinds = Readonly<Record<OwnKind, CliKind>>;

export const CLI_KINDS: CliKinds = { terminal, agent, browser, room };
