/** The promises of an agent thread, with the engine `own`. */
import { testSurface } from "../support/engine-surface.ts";
import { ownUnderTest } from "../support/engine-under-test.ts";

testSurface(ownUnderTest, "own");
