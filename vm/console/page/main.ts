import { startConsole } from "./console.ts";
import { CONSOLE_KINDS } from "./kinds/kinds.ts";

startConsole(CONSOLE_KINDS);
