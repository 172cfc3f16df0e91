/**
 * The files of words that claude reads at its start in each directory above its own, whoever brought them. A link
 * among them to keys would put these into the model's context; one of the repository may lead to anybody's files.
 * Imports (`@path`) that lead out are not followed.
 */
import { join } from "node:path";
import { realPathOf } from "../../../shared/foreign-files.ts";
import { isInside, type Nested, OUTSIDE, type Places } from "./nested.ts";
import { EACH, isOfProcess } from "./of-process.ts";

const NAMES = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];
const FILES = [...NAMES, ...["CLAUDE.md", "AGENTS.md", "rules"].map((name) => join(".claude", name))];

/**
 * @param above real paths of directories
 * @param repository its own files are what it brings, wherever they lie
 * @returns those that lead to what an agent is not to read, and those of the repository that lead out of it
 */
export function findMemoryLinks(
  above: readonly string[],
  repository: string,
  { roots, guarded }: Pick<Places, "roots" | "guarded">,
): Nested["outward"] {
  return above.flatMap((folder) =>
    FILES.flatMap((name) => {
      const path = join(folder, name);
      const isOfRepository = isInside(repository, folder);
      if (isOfRepository && isOfProcess(folder, name)) return [{ path, real: path, leadsTo: EACH }];
      const real = realPathOf(path);
      if (typeof real !== "string" || real === path || isInside(repository, real)) return [];
      const place = guarded.find((one) => isInside(one.path, real));
      if (place) return [{ path, real, leadsTo: place.name }];
      const isOut = isOfRepository && !roots.some((root) => isInside(root, real));
      return isOut ? [{ path, real, leadsTo: OUTSIDE }] : [];
    }),
  );
}
