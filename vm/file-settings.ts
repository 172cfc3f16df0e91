/** The settings of files that lie beside what the API tells. */
import * as z from "zod";

export const flag = () =>
  z
    .enum(["0", "1"], { error: "must be 1 or 0" })
    .default("0")
    .transform((value) => value === "1");

export const fileSettings = {
  ASK_FILES: flag().describe(
    "`1`: a file answers an ask, see [agents.md](agents.md#answers-by-files). A program of the thread could write one too. `0`: only what comes in over the API answers.",
  ),
  PROJECT_FILES: flag().describe(
    "`1`: agents' threads lie in `.ai/threads/<name>/` of their directory too, for `tail -f` and scripts, see [agents.md](agents.md#files-in-the-project). Nothing of threadmux reads them. `0`: they don't.",
  ),
};

export interface FileSettings {
  /** Whether a file beside an ask's may answer it. */
  askFiles?: boolean;
  /** Whether threads are shown by files in their directories. */
  projectFiles?: boolean;
}

export function findFileSettings({
  ASK_FILES,
  PROJECT_FILES,
}: {
  ASK_FILES?: boolean | undefined;
  PROJECT_FILES?: boolean | undefined;
}): FileSettings {
  return { ...(ASK_FILES && { askFiles: true }), ...(PROJECT_FILES && { projectFiles: true }) };
}
