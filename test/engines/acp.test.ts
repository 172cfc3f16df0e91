/** The promises of an agent thread, with the engine `acp`. */
import { testSurface } from "../support/engine-surface.ts";
import { acpUnderTest } from "../support/engine-under-test.ts";

testSurface(acpUnderTest, "acp");
