/** The order in which vitest takes the files of a run. */
import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * @param longest names of test files without their ending, by how long they take, so that none of them is left running
 * alone at the end
 * @returns for `sequence.sequencer` of vitest's configuration
 */
export function longestFirst(longest: readonly string[]) {
  const rank = ({ moduleId }: TestSpecification) => {
    const index = longest.indexOf(basename(moduleId).replace(/\.(test|agents)\.ts$/, ""));
    return index < 0 ? longest.length : index;
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
    }
  };
}
