/** The promises of an agent thread, with the engine `command`. */
import { testSurface } from "../support/engine-surface.ts";
import { commandUnderTest } from "../support/engine-under-test.ts";

testSurface(commandUnderTest, "command");
