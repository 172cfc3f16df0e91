/** The promises of an agent thread, with the engine `claude`. */
import { testSurface } from "../support/engine-surface.ts";
import { claudeUnderTest } from "../support/engine-under-test.ts";

testSurface(claudeUnderTest, "claude");
